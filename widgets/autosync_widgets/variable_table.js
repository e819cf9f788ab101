// A table of variables: sorted by its headings, searched by a field, selected by click or arrow keys.

const PAGE_ROWS = 10;
const SEARCH_FROM_ROWS = 9;

function element(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children);
  return node;
}

function keyOf(cell) {
  return cell.k ?? cell.t;
}

function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}

export default {
  render({ model, el }) {
    const search = element("input", "autosync-table-search");
    search.type = "search";
    search.placeholder = "part of a name";
    search.title = "Show only variables whose name has these letters.";
    const count = element("span", "autosync-table-count");
    count.setAttribute("role", "status");
    const finder = element("label", "autosync-table-finder", "Find a variable ", search, count);
    const caption = element("caption", "");
    const head = element("thead", "");
    const body = element("tbody", "");
    const table = element("table", "autosync-variables", caption, head, body);
    table.setAttribute("role", "grid");
    const frame = element("div", "autosync-table-frame", table);
    el.append(finder, frame);

    let sortColumn = null;
    let descending = false;
    /** Rows as they are drawn: by variable, its element and what it shows. */
    const drawn = new Map();

    function drawHead() {
      caption.textContent = model.get("caption");
      const cells = [{ label: "variable", tooltip: "In forward order, unless sorted." }, ...model.get("columns")];
      const row = element(
        "tr",
        "",
        ...cells.map((column, index) => {
          const button = element("button", "", column.label);
          button.type = "button";
          button.title = `${column.tooltip} Click to sort.`;
          button.addEventListener("click", () => sortBy(index));
          const cell = element("th", column.number ? "autosync-number" : "", button);
          cell.scope = "col";
          return cell;
        }),
      );
      head.replaceChildren(row);
      markSort();
    }

    function sortBy(index) {
      if (sortColumn !== index) [sortColumn, descending] = [index, Boolean(model.get("columns")[index - 1]?.number)];
      else if (descending === Boolean(model.get("columns")[index - 1]?.number)) descending = !descending;
      else sortColumn = null;
      markSort();
      arrange();
    }

    function markSort() {
      [...head.querySelectorAll("th")].forEach((cell, index) => {
        const sorted = index === sortColumn;
        cell.setAttribute("aria-sort", sorted ? (descending ? "descending" : "ascending") : "none");
      });
    }

    function fill(entry, row) {
      const content = JSON.stringify(row);
      if (entry.content === content) return;
      entry.content = content;
      const name = element("th", "", element("span", "autosync-variable-name", row.n));
      name.scope = "row";
      name.title = row.n;
      for (const badge of row.b) name.append(element("span", "autosync-badge", badge));
      const columns = model.get("columns");
      const cells = row.c.map((cell, index) => {
        const node = element("td", columns[index]?.number ? "autosync-number" : "", element("span", "", cell.t));
        if (cell.e) node.classList.add("autosync-strong");
        if (cell.h) node.title = cell.h;
        if (cell.s !== undefined) {
          const bar = element("div", "autosync-share");
          bar.style.width = `${Math.max(cell.s * 100, cell.s > 0 ? 3 : 0)}%`;
          node.append(element("div", "autosync-share-frame", bar));
        }
        return node;
      });
      entry.node.replaceChildren(name, ...cells);
    }

    function drawRows() {
      const rows = model.get("rows");
      const names = new Set(rows.map((row) => row.n));
      for (const name of drawn.keys()) if (!names.has(name)) drawn.delete(name);
      for (const row of rows) {
        let entry = drawn.get(row.n);
        if (!entry) {
          entry = { node: element("tr", ""), content: "" };
          entry.node.dataset.variable = row.n;
          drawn.set(row.n, entry);
        }
        fill(entry, row);
      }
      finder.hidden = rows.length < SEARCH_FROM_ROWS;
      arrange();
    }

    /** Rows in their order, those that are searched for only. */
    function arrange() {
      const wanted = search.value.trim().toLowerCase();
      let rows = model.get("rows").filter((row) => row.n.toLowerCase().includes(wanted));
      if (sortColumn !== null) {
        const key = (row) => (sortColumn === 0 ? row.n : keyOf(row.c[sortColumn - 1]));
        rows = [...rows].sort((a, b) => (descending ? -1 : 1) * compare(key(a), key(b)));
      }
      const nodes = rows.map((row) => drawn.get(row.n).node);
      if (nodes.length !== body.children.length || nodes.some((node, index) => body.children[index] !== node)) {
        body.replaceChildren(...nodes);
      }
      count.textContent = wanted ? `${rows.length} of ${model.get("rows").length}` : "";
      markSelected();
    }

    function markSelected() {
      const selected = model.get("selected");
      let reachable = null;
      for (const node of body.children) {
        const is = node.dataset.variable === selected;
        node.setAttribute("aria-selected", String(is));
        node.tabIndex = -1;
        if (is) reachable = node;
      }
      // One row is in the tab order; arrow keys go on from there.
      reachable ??= body.firstElementChild;
      if (reachable) reachable.tabIndex = 0;
    }

    function select(node, focus) {
      if (!node) return;
      model.set("selected", node.dataset.variable);
      model.save_changes();
      if (focus) {
        node.focus({ preventScroll: true });
        node.scrollIntoView({ block: "nearest" });
      }
    }

    body.addEventListener("click", (event) => select(event.target.closest("tr"), true));
    body.addEventListener("keydown", (event) => {
      const nodes = [...body.children];
      const at = nodes.indexOf(event.target.closest("tr"));
      const last = nodes.length - 1;
      const to = {
        ArrowDown: Math.min(at + 1, last),
        ArrowUp: Math.max(at - 1, 0),
        PageDown: Math.min(at + PAGE_ROWS, last),
        PageUp: Math.max(at - PAGE_ROWS, 0),
        Home: 0,
        End: last,
        Enter: at,
        " ": at,
      }[event.key];
      if (to === undefined || at < 0) return;
      event.preventDefault();
      event.stopPropagation();
      select(nodes[to], true);
    });
    search.addEventListener("input", arrange);
    // Letters typed here are no shortcuts of the notebook.
    search.addEventListener("keydown", (event) => event.stopPropagation());

    const redraw = () => {
      drawHead();
      for (const entry of drawn.values()) entry.content = "";
      drawRows();
    };
    model.on("change:caption", drawHead);
    model.on("change:columns", redraw);
    model.on("change:rows", drawRows);
    model.on("change:selected", markSelected);
    drawHead();
    drawRows();
    return () => {
      model.off("change:caption", drawHead);
      model.off("change:columns", redraw);
      model.off("change:rows", drawRows);
      model.off("change:selected", markSelected);
    };
  },
};
