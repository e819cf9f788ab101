// One view of a LiveFigure. The kernel owns the figure; this draws it, applies changes, and asks for the whole figure
// when it has none or has missed a message.

const PAGE = Symbol.for("autosync-lab.plotly");
const ASK_AGAIN_MS = 15000;
const AXIS = /^[xy]axis\d*$/;
const PICTURE_AFTER_MS = 1500;
const PICTURE_AT_LEAST_EVERY_MS = 15000;

/** Plotly of this page: one promise that all figures share, whichever kernel's answer comes first. */
function plotlyOfPage() {
  if (!globalThis[PAGE]) {
    const page = {};
    page.ready = new Promise((resolve) => (page.resolve = resolve));
    globalThis[PAGE] = page;
  }
  return globalThis[PAGE];
}

/** Ask the kernel for Plotly, unless it is here or another figure has just asked. */
function needPlotly(model) {
  const page = plotlyOfPage();
  const ask = () => {
    if (page.loaded) return;
    if (!page.asked || Date.now() - page.asked >= ASK_AGAIN_MS) {
      page.asked = Date.now();
      model.send({ say: "need plotly" });
    }
    page.timer = setTimeout(ask, ASK_AGAIN_MS);
  };
  ask();
  return page.ready;
}

async function receivePlotly(buffer) {
  const page = plotlyOfPage();
  if (page.loaded) return;
  page.loaded = true;
  clearTimeout(page.timer);
  const unzipped = new Blob([buffer]).stream().pipeThrough(new DecompressionStream("gzip"));
  const code = await new Response(unzipped).text();
  // The bundle is CommonJS: wrapped like this, it works whatever module loader the page has.
  const wrapped = `const module = { exports: {} };\n${code}\nexport default module.exports;`;
  const address = URL.createObjectURL(new Blob([wrapped], { type: "text/javascript" }));
  try {
    page.resolve((await import(/* webpackIgnore: true */ address)).default);
  } finally {
    URL.revokeObjectURL(address);
  }
}

function cssColour(name, fallback) {
  return getComputedStyle(document.body).getPropertyValue(name).trim() || fallback;
}

/** Values of a layout that come from the page's theme. */
function theme(layout) {
  const text = cssColour("--jp-ui-font-color1", "#333333");
  const faint = cssColour("--jp-border-color2", "#cccccc");
  const background = cssColour("--jp-layout-color1", "#ffffff");
  const values = {
    "font.color": text,
    "font.family": cssColour("--jp-ui-font-family", "sans-serif"),
    "font.size": 13,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    "hoverlabel.bgcolor": background,
    "hoverlabel.font.color": text,
    "modebar.color": text,
    "modebar.activecolor": text,
    "modebar.bgcolor": "rgba(0,0,0,0)",
  };
  for (const axis of new Set(["xaxis", "yaxis", ...Object.keys(layout).filter((key) => AXIS.test(key))])) {
    values[`${axis}.gridcolor`] = faint;
    values[`${axis}.zerolinecolor`] = faint;
    values[`${axis}.linecolor`] = faint;
  }
  return values;
}

function setDotted(target, key, value) {
  const path = key.split(".");
  const last = path.pop();
  for (const part of path) target = target[part] ??= {};
  target[last] = value;
}

function themed(layout) {
  const copy = structuredClone(layout);
  for (const [key, value] of Object.entries(theme(layout))) setDotted(copy, key, value);
  return copy;
}

/** Plotly's settings of one figure: its own picture button saves SVG, one more saves PNG. */
function config(Plotly, plot) {
  const picture = { filename: "autosync-lab" };
  return {
    displaylogo: false,
    responsive: false,
    toImageButtonOptions: { ...picture, format: "svg" },
    modeBarButtonsToAdd: [
      {
        name: "png",
        title: "Download plot as a PNG",
        icon: Plotly.Icons.disk,
        click: () => Plotly.downloadImage(plot, { ...picture, format: "png", scale: 2 }),
      },
    ],
  };
}

async function applyChange(Plotly, plot, change) {
  if (change.do === "extend") {
    const arrays = {};
    for (const [key, tail] of Object.entries(change.arrays)) arrays[key] = [tail];
    await Plotly.extendTraces(plot, arrays, [change.trace]);
  } else if (change.do === "restyle") {
    const values = {};
    for (const [key, value] of Object.entries(change.values)) values[key] = [value];
    await Plotly.restyle(plot, values, [change.trace]);
  } else if (change.do === "add") {
    await Plotly.addTraces(plot, [change.trace]);
  } else if (change.do === "relayout") {
    await Plotly.relayout(plot, change.values);
  }
}

function showPicture(plot, svgText) {
  const picture = new DOMParser().parseFromString(svgText, "image/svg+xml").documentElement;
  if (picture.nodeName !== "svg") return;
  plot.replaceChildren(document.importNode(picture, true));
  plot.classList.add("autosync-picture");
}

export default {
  render({ model, el }) {
    const view = crypto.randomUUID?.() ?? String(Math.random());
    const plot = document.createElement("div");
    plot.className = "autosync-live-figure";
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", model.get("description"));
    el.append(plot);
    if (model.get("picture")) showPicture(plot, model.get("picture"));

    let Plotly = null;
    let number = null;
    let gone = false;
    let pictureTimer = null;
    let lastPicture = 0;
    // Messages are handled one after the other, because each drawing step is asynchronous.
    let work = Promise.resolve();
    const then = (step) => {
      work = work.then(() => (gone ? undefined : step())).catch((error) => console.error("LiveFigure:", error));
    };
    const hello = () => model.send({ say: "hello", view });

    async function draw(figure) {
      Plotly ??= await needPlotly(model);
      if (gone) return;
      if (plot.classList.contains("autosync-picture")) {
        plot.replaceChildren();
        plot.classList.remove("autosync-picture");
      }
      const layout = { ...themed(figure.layout), width: plot.clientWidth || undefined };
      await Plotly.react(plot, structuredClone(figure.data), layout, config(Plotly, plot));
    }

    async function takePicture() {
      lastPicture = Date.now();
      const drawn = number;
      const size = { width: plot.clientWidth || 900, height: plot.clientHeight || 400 };
      const address = await Plotly.toImage(plot, { format: "svg", ...size });
      // Set but not sent: the notebook that this page saves carries it, and the kernel need not know.
      model.set("picture", decodeURIComponent(address.slice(address.indexOf(",") + 1)));
      plot.dataset.kept = drawn;
    }

    function pictureSoon() {
      clearTimeout(pictureTimer);
      const overdue = lastPicture + PICTURE_AT_LEAST_EVERY_MS - Date.now();
      const wait = lastPicture ? Math.min(PICTURE_AFTER_MS, Math.max(0, overdue)) : PICTURE_AFTER_MS;
      pictureTimer = setTimeout(() => then(takePicture), wait);
    }

    function onMessage(message, buffers) {
      if (message.say === "plotly") {
        receivePlotly(buffers[0]).catch((error) => console.error("LiveFigure: Plotly did not load:", error));
      } else if (message.say === "figure") {
        if (message.view && message.view !== view) return;
        then(async () => {
          if (number !== null && message.number < number) return;
          number = message.number;
          await draw(message.figure);
          plot.dataset.drawn = number;
          pictureSoon();
        });
      } else if (message.say === "changes") {
        then(async () => {
          if (number === null || message.number <= number) return;
          if (message.number > number + 1) {
            number = null;
            hello();
            return;
          }
          number = message.number;
          for (const change of message.changes) await applyChange(Plotly, plot, change);
          plot.dataset.drawn = number;
          pictureSoon();
        });
      }
    }

    const sizes = new ResizeObserver(() => {
      const width = plot.clientWidth;
      then(() => {
        if (Plotly && width && plot.layout && plot.layout.width !== width) return Plotly.relayout(plot, { width });
      });
    });
    const themes = new MutationObserver(() => {
      then(() => (Plotly && plot.layout ? Plotly.relayout(plot, theme(plot.layout)) : undefined));
    });
    model.on("msg:custom", onMessage);
    sizes.observe(plot);
    themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "data-jp-theme-light"] });
    hello();

    return () => {
      gone = true;
      clearTimeout(pictureTimer);
      model.off("msg:custom", onMessage);
      sizes.disconnect();
      themes.disconnect();
      if (Plotly) Plotly.purge(plot);
    };
  },
};
