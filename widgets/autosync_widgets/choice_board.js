// The choices of one variable: a button each, grouped by aspect, with the reasons of what is pruned below.

const NOTHING = "Select a variable to see its choices, and why others are pruned.";

function element(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function choiceTitle(choice) {
  if (choice.locked) return "Locked. Click to unlock it.";
  if (choice.by && choice.lockable) return "Not what you locked. Click to lock it instead.";
  if (choice.by) return `Pruned by ${choice.by}.`;
  return choice.lockable ? "Left. Click to lock it." : "Left. It cannot be locked: it is a matter of each shard.";
}

export default {
  render({ model, el }) {
    const root = element("section", "autosync-board");
    root.setAttribute("aria-live", "polite");
    el.append(root);

    /** Which button has the focus, so that it is given back when the board is drawn anew. */
    const focused = () => {
      const data = root.contains(document.activeElement) ? document.activeElement.dataset : {};
      return data.choice === undefined ? null : [data.aspect, data.choice];
    };

    function button(board, aspect, choice) {
      const node = element("button", "autosync-choice", choice.text);
      node.type = "button";
      node.dataset.aspect = aspect.name;
      node.dataset.choice = choice.text;
      node.title = choiceTitle(choice);
      node.setAttribute("aria-label", `${aspect.name} ${choice.text}: ${node.title}`);
      if (choice.lockable) node.setAttribute("aria-pressed", String(choice.locked));
      if (choice.by) node.classList.add("autosync-pruned");
      // What is pruned can still be reached by the keyboard and read, but not chosen.
      if (!choice.lockable) node.setAttribute("aria-disabled", "true");
      node.addEventListener("click", () => {
        if (node.getAttribute("aria-disabled") === "true") return;
        model.send({ say: "choose", variable: board.variable, aspect: aspect.name, choice: choice.text });
      });
      return node;
    }

    function draw() {
      const board = model.get("board");
      const had = focused();
      if (!board.variable) {
        root.replaceChildren(element("p", "autosync-board-hint", NOTHING));
        return;
      }
      const title = element("h4", "", board.variable);
      const parts = [element("div", "autosync-board-title", title)];
      if (board.aspects.some((aspect) => aspect.choices.some((choice) => choice.locked))) {
        const unlock = element("button", "autosync-board-link", "unlock all of it");
        unlock.type = "button";
        unlock.title = "Give back every choice of this variable that you locked.";
        unlock.addEventListener("click", () => model.send({ say: "unlock", variable: board.variable }));
        parts[0].append(unlock);
      }
      parts.push(element("p", "autosync-board-facts", board.facts));
      for (const aspect of board.aspects) {
        const legend = element("legend", "", aspect.name, element("span", "autosync-board-count", aspect.count));
        legend.title = aspect.meaning;
        const choices = element(
          "div",
          "autosync-choices",
          ...aspect.choices.map((choice) => button(board, aspect, choice)),
        );
        const set = element("fieldset", "", legend, choices);
        if (aspect.note) set.append(element("p", "autosync-board-note", aspect.note));
        for (const reason of aspect.reasons) {
          set.append(
            element("p", "autosync-board-note", element("b", "", `${reason.by} pruned ${reason.count}: `), reason.why),
          );
        }
        parts.push(set);
      }
      root.replaceChildren(...parts);
      if (had) {
        [...root.querySelectorAll("button")]
          .find((node) => node.dataset.aspect === had[0] && node.dataset.choice === had[1])
          ?.focus({ preventScroll: true });
      }
    }
    model.on("change:board", draw);
    draw();
    return () => model.off("change:board", draw);
  },
};
