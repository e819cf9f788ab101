// A fieldset of check boxes. What has the focus or the pointer explains itself in the line below.

const HINT = "Point at a strategy to read what it does. A hollow marker means that training results change.";

function element(tag, className, ...children) {
  const node = document.createElement(tag);
  node.className = className;
  node.append(...children);
  return node;
}

export default {
  render({ model, el }) {
    const group = `autosync-${Math.random().toString(36).slice(2)}`;
    const hint = element("div", "autosync-picker-hint");
    hint.id = `${group}-hint`;
    const grid = element("div", "autosync-picker-grid");
    const legend = element("legend", "", "Strategies");
    const all = element("button", "autosync-picker-link", "all");
    const none = element("button", "autosync-picker-link", "none");
    all.title = "Choose every strategy";
    none.title = "Choose no strategy";
    for (const button of [all, none]) button.type = "button";
    legend.append(" ", all, none);
    el.append(element("fieldset", "autosync-picker", legend, grid, hint));

    const choose = (names) => {
      const wanted = new Set(names);
      const order = model.get("options").map((option) => option.name);
      model.set("chosen", order.filter((name) => wanted.has(name)));
      model.save_changes();
    };
    all.addEventListener("click", () => choose(model.get("options").map((option) => option.name)));
    none.addEventListener("click", () => choose([]));

    const say = (option) => {
      hint.textContent = option
        ? `${option.name}: ${option.sentence}${option.source ? ` Source: ${option.source}.` : ""}`
        : HINT;
    };

    const boxes = new Map();
    function drawOptions() {
      boxes.clear();
      grid.replaceChildren(
        ...model.get("options").map((option) => {
          const box = document.createElement("input");
          box.type = "checkbox";
          box.name = option.name;
          box.setAttribute("aria-describedby", hint.id);
          box.addEventListener("change", () => {
            const names = new Set(model.get("chosen"));
            if (box.checked) names.add(option.name);
            else names.delete(option.name);
            choose(names);
          });
          boxes.set(option.name, box);
          const marker = element("span", "autosync-picker-marker");
          marker.innerHTML = option.marker;
          const label = element("label", "autosync-picker-option", box, marker, element("span", "", option.name));
          if (option.lossy) label.append(element("span", "autosync-badge", "lossy"));
          label.title = option.sentence;
          box.addEventListener("focus", () => say(option));
          box.addEventListener("blur", () => say(null));
          label.addEventListener("pointerenter", () => say(option));
          label.addEventListener("pointerleave", () => say(null));
          return label;
        }),
      );
      tick();
    }
    function tick() {
      const chosen = new Set(model.get("chosen"));
      for (const [name, box] of boxes) box.checked = chosen.has(name);
      for (const control of [...boxes.values(), all, none]) control.disabled = model.get("disabled");
    }
    model.on("change:options", drawOptions);
    model.on("change:chosen", tick);
    model.on("change:disabled", tick);
    say(null);
    drawOptions();
  },
};
