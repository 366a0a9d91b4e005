import { documentTop, el, sliderEl } from "../core/dom.js";
import { fileStem, savePicture, svgFile } from "../core/save.js";
import { SAVED_FONT } from "../core/svg_context.js";
import { toldOf } from "../saving/told.js";
import { makeSaveMenu } from "../core/menu.js";
import { figureCsv } from "./csv.js";
import { FigureReader } from "./reader.js";
import { inkLabels } from "./ink.js";
import { figureMarkup } from "./markup.js";
import { readTheme } from "../core/colour.js";
import { countDrawing } from "../core/picture.js";
import { plotlyReady } from "../host/streamlit.js";

// A plotly figure from Python, {data, layout, frames}: title above and equation below the plot as HTML, so that they
// wrap and screen readers can read them; a slider over the frames; a menu that saves the picture.

const NARROW = 560; // CSS pixels
const BIG = 1.3; // as the big text of the page
const SMALLEST = 10; // CSS pixels: labels of rows at least
const SHARED = 0.65; // of the height of a phone, for figures that share its first screen
const LEAST = 230; // CSS pixels: the height of a figure of the first screen at least

// One figure after the other, with a frame between them: the first figure of a page is visible before the last is
// drawn.
let drawingQueue = Promise.resolve();

function nextTurn() {
  drawingQueue = drawingQueue.then(() => new Promise((done) => setTimeout(done)));
  return drawingQueue;
}

function scaled(value, factor) {
  if (Array.isArray(value)) return value.map((item) => scaled(item, factor));
  if (!value || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
  const grown = {};
  for (const [name, item] of Object.entries(value)) {
    const isFont = /font$/.test(name) && item && typeof item === "object" && typeof item.size === "number";
    grown[name] = isFont ? { ...item, size: item.size * factor } : scaled(item, factor);
  }
  return grown;
}

// The fonts of a trace: its texts and its colour scale.
function scaledTrace(trace, factor) {
  if (factor === 1) return trace;
  const fonts = Object.keys(trace).filter((name) => /^(inside|outside)?textfont$/.test(name) || name === "colorbar");
  const scaledFonts = Object.fromEntries(fonts.map((name) => [name, trace[name]]));
  return { ...trace, ...scaled(scaledFonts, factor) };
}

// The same figure in the colours of the other theme: layout.meta.palette = {light: [...], dark: [...]}.
function tinted(figure, dark) {
  const { palette } = figure.layout.meta || {};
  if (!palette) return figure;
  const [from, to] = dark ? [palette.light, palette.dark] : [palette.dark, palette.light];
  const replacements = new Map(from.map((colour, i) => [colour, to[i]]));
  const tint = (value) => {
    if (typeof value === "string") return replacements.get(value) || value;
    // long lists are numbers; a colour scale is a list of pairs of number and colour
    if (Array.isArray(value)) return typeof value[0] === "number" && value.length > 2 ? value : value.map(tint);
    if (!value || typeof value !== "object" || ArrayBuffer.isView(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, tint(item)]));
  };
  const { meta, ...layout } = figure.layout;
  return { data: tint(figure.data), layout: { ...tint(layout), meta }, frames: tint(figure.frames) };
}

export class FigurePlot {
  // t: of makeTexts with FIGURE_TEXTS among its texts; onStep: called with the index of the frame to which the user
  // moved the slider; onPick: called with the index of the clicked point, bar or heatmap column
  constructor(t, onStep, onPick) {
    this.t = t;
    this.onStep = onStep;
    this.onPick = onPick;
    this.title = el("h2");
    this.equation = el("p", { class: "hs-fig-equation" });
    this.number = el("output");
    this.range = sliderEl(null, null, { min: 0, step: 1 }, (step) => this.goTo(step, true));
    this.slide = el("label", { class: "hs-fig-slide", hidden: true }, this.number, this.range);
    this.box = el("div", { class: "hs-fig-plot" });
    this.error = el("p", { class: "hs-fig-error", role: "alert", hidden: true });
    this.menu = makeSaveMenu(t, "figure-save", (format) => this.save(format));
    const head = el("div", { class: "hs-fig-head" }, this.title, this.menu);
    this.reader = new FigureReader(this.box, t, (row, column) => this.picked({ pointIndex: [row, column] }));
    this.element = el(
      "figure",
      { class: "hs-fig hs-pictured" },
      head,
      this.slide,
      this.box,
      this.equation,
      this.error,
      this.reader.spoken,
    );
    this.at = 0;
  }

  destroy() {
    this.gone = true;
    if (window.Plotly) window.Plotly.purge(this.box);
  }

  // figure: {data, layout, frames}; name: stem of saved files; big: large text; start: first frame; quiet: others
  // report that it is drawn; first: it belongs to the first screen and is no higher than what the window has left
  // share: that many figures below one another share the first screen of a phone
  // about: what the names of saved files say besides; told: `told` of pages/components/saving.py, or nothing
  show(figure, options = /** @type {any} */ ({})) {
    this.options = options;
    this.given = this.figure = figure;
    this.tinted = null;
    this.name = options.name || "figure";
    this.big = Boolean(options.big);
    const { title } = figure.layout;
    this.title.replaceChildren(...figureMarkup(title && title.text));
    this.title.hidden = !this.title.textContent;
    this.equation.replaceChildren(...figureMarkup(title && title.subtitle && title.subtitle.text));
    this.element.setAttribute("aria-label", `${this.title.textContent || this.name}. ${this.equation.textContent}`);
    const frames = figure.frames || [];
    const slider = (figure.layout.sliders || [])[0];
    this.slide.hidden = frames.length < 2;
    if (frames.length) {
      this.prefix = slider && slider.currentvalue ? slider.currentvalue.prefix : "";
      this.range.max = frames.length - 1;
      const longest = Math.max(...frames.map((frame) => frame.name.length));
      this.number.style.minWidth = `${0.56 * (String(this.prefix).length + longest) + 0.5}em`; // the slider does not move
      this.range.setAttribute("aria-label", String(this.prefix).replace(/:\s*$/, ""));
      this.at = Math.max(0, Math.min(frames.length - 1, options.start ?? slider?.active ?? 0));
    }
    return this.draw();
  }

  goTo(at, byHand) {
    this.at = at;
    if (byHand && this.onStep) this.onStep(at);
    return this.draw();
  }

  // The figure with the slider's frame applied.
  current() {
    const { figure } = this;
    const frame = (figure.frames || [])[this.at];
    if (!frame) return figure;
    const data = figure.data.slice();
    (frame.data || []).forEach((part, i) => {
      const trace = frame.traces ? frame.traces[i] : i;
      data[trace] = { ...data[trace], ...part };
    });
    return { data, layout: { ...figure.layout, ...(frame.layout || {}) } };
  }

  // The layout for the available space.
  layout(figure, width) {
    const { title, sliders, ...rest } = figure.layout;
    const above = title && title.text ? 64 : 0;
    const grow = this.big ? BIG : 1;
    const narrow = width < NARROW;
    const layout = scaled(rest, narrow ? grow * 0.88 : grow);
    layout.margin = { ...layout.margin, t: 14, ...(narrow ? { l: 42, r: 12 } : {}) };
    // of figures that stand beside one another: the space for labels of the one that has the longest
    for (const [side, space] of Object.entries(rest.meta?.margin || {}))
      layout.margin[side] = Math.round(space * grow * (narrow ? 0.88 : 1));
    layout.height = ((rest.height || 380) - above) * (this.big ? 1.12 : 1);
    if (narrow && figure.data.some(hasColourScale)) {
      layout.height += SCALE_WIDTH;
      layout.margin.b = (layout.margin.b || 50) + SCALE_WIDTH;
    }
    const named = figure.data.filter((trace) => trace.name && trace.showlegend !== false).length;
    if (narrow && layout.legend?.y < 0 && named > SHORT_LEGEND) {
      // one name a line: plotly gives them half of the height at most, and would write over the axis
      layout.height += named * LEGEND_LINE;
      layout.margin.b = (layout.margin.b || 50) + named * LEGEND_LINE;
    }
    const most = this.most(narrow);
    if (layout.height > most) {
      layout.height = most;
      fitRows(layout);
      // below the plot, plotly counts the distance of a legend in heights of the plot
      if (layout.legend && layout.legend.y < 0)
        layout.legend = { ...layout.legend, yref: "container", y: 0, yanchor: "bottom" };
    }
    layout.width = width;
    layout.autosize = false;
    layout.dragmode = window.matchMedia("(pointer: coarse)").matches ? false : layout.dragmode || "zoom";
    return { layout, narrow };
  }

  // The height that the window leaves for a figure of the first screen.
  most(narrow) {
    const { first, share } = this.options;
    if (!first) return Infinity;
    if (narrow && share) return Math.max(LEAST, Math.floor((SHARED * window.innerHeight) / share));
    const above = Math.min(documentTop(this.box), window.innerHeight * (narrow ? 0.55 : 0.6));
    const left = window.innerHeight - above - this.equation.offsetHeight - 10;
    return Math.max(LEAST * (this.big ? 1.15 : 1), Math.floor(left));
  }

  async draw() {
    if (!this.given) return;
    const { dark } = readTheme(this.element);
    if (this.tinted !== dark) this.figure = tinted(this.given, dark);
    this.tinted = dark;
    const frames = this.figure.frames || [];
    if (frames.length) {
      const label = frames[this.at].name;
      this.range.value = this.at;
      this.range.setAttribute("aria-valuetext", label);
      this.number.textContent = `${this.prefix}${label}`;
    }
    const wanted = (this.wanted = {});
    try {
      const Plotly = await plotlyReady();
      if (!this.done) await nextTurn();
      const width = this.box.clientWidth;
      if (this.gone || this.wanted !== wanted || !width) return;
      const state = [this.figure, this.at, this.big, width, this.most(width < NARROW)];
      if (this.done && state.every((item, i) => item === this.done[i])) return; // a resize that changed nothing
      const figure = this.current();
      const { layout, narrow } = this.layout(figure, width);
      const grown = figure.data.map((trace) => scaledTrace(trace, this.big ? BIG : 1));
      const data = narrow ? grown.map(isNarrow) : grown;
      // plotly has no space for a colour scale that turns from vertical to horizontal or back: draw the figure anew
      const turned = Boolean(this.done) && this.narrow !== narrow;
      this.narrow = narrow;
      if (turned) Plotly.purge(this.box);
      await Plotly.react(this.box, data, layout, { displayModeBar: false, displaylogo: false, responsive: false });
      this.error.hidden = true;
      if ((turned || !this.done) && this.onPick) this.box.on("plotly_click", (event) => this.picked(event.points[0]));
      this.box.classList.toggle("hs-fig-picks", Boolean(this.options.picks));
      this.box.classList.toggle("hs-fig-narrow", narrow);
      inkLabels(this.box);
      this.reader.describe(this.title.textContent || this.name);
      this.done = state;
      countDrawing(this.element, this.options.quiet ? "" : this.name);
    } catch (error) {
      const reason = error.message === "missing" ? this.t("missing") : error.message;
      this.error.textContent = this.t("failed", { reason });
      this.error.hidden = false;
    }
  }

  picked(point) {
    if (!this.options.picks || !point) return;
    const { pointIndex } = point;
    this.onPick(Array.isArray(pointIndex) ? pointIndex[1] : pointIndex);
  }

  async save(format) {
    const Plotly = await plotlyReady();
    const figure = this.current();
    const frames = this.figure.frames || [];
    const frame = frames.length > 1 ? frames[this.at].name : "";
    const { told, about } = this.options;
    const { stem, lines, switches } = told ? toldOf(told) : { stem: [], lines: [], switches: [] };
    const parts = [...stem, this.name, about, ...switches, frame.split(/[,(]/)[0].trim()];
    return savePicture(fileStem(["headscope", ...parts.filter(Boolean)]), format, {
      svg: () => this.drawing(Plotly, figure, frame, lines),
      csv: () => figureCsv(figure),
    });
  }

  // The figure as SVG under the lines of a caption; its title and equation are in it.
  async drawing(Plotly, figure, frame, lines) {
    const width = Math.max(640, this.box.clientWidth);
    const { sliders, ...layout } = figure.layout;
    const title = { ...layout.title, y: 1, yref: "container", yanchor: "top", pad: { t: 18 } };
    title.font = { ...title.font, weight: 600 };
    if (frame) title.text = `${title.text || ""} · ${this.prefix}${frame}`;
    const above = layout.legend && layout.legend.y >= 1 ? 48 : 14; // marks and a legend there are under the equation
    const margin = { ...layout.margin, l: 72, t: 84 + above };
    const ground = getComputedStyle(this.element).getPropertyValue("--hs-bg").trim() || "#ffffff";
    const font = { ...layout.font, family: SAVED_FONT };
    const picture = {
      ...layout,
      title,
      margin,
      font,
      paper_bgcolor: ground,
      plot_bgcolor: ground,
      width,
      autosize: false,
    };
    const grow = this.big ? BIG : 1;
    const data = figure.data.map((trace) => scaledTrace(trace, grow));
    const made = { data, layout: scaled(picture, grow) };
    const size = { width, height: (layout.height || 444) + above };
    const address = await Plotly.toImage(made, { format: "svg", ...size });
    const markup = decodeURIComponent(address.slice(address.indexOf(",") + 1)); // the site's policy allows no fetch of it
    const theme = readTheme(this.element);
    return svgFile({ theme, caption: lines, title: this.title.textContent || this.name, markup, ...size });
  }
}

// Makes the labels of rows small enough to stand below one another.
function fitRows(layout) {
  const height = layout.height - layout.margin.t - (layout.margin.b || 50) - 2 * layout.font.size;
  for (const [name, axis] of Object.entries(layout)) {
    if (!/^yaxis/.test(name) || axis.tickmode !== "array") continue;
    const [from, to] = axis.domain || [0, 1];
    const space = (height * (to - from)) / Math.max(1, axis.tickvals.length) / 1.15;
    const size = (axis.tickfont && axis.tickfont.size) || layout.font.size;
    if (space < size) layout[name] = { ...axis, tickfont: { ...axis.tickfont, size: Math.max(SMALLEST, space) } };
  }
}

// On a phone the colour scale is at the very bottom, where it costs no width and touches no label.
const SCALE_WIDTH = 58; // CSS pixels that it takes there
const SHORT_LEGEND = 8; // names that find room below a narrow figure as it is
const LEGEND_LINE = 18; // pixels

function hasColourScale(trace) {
  return trace.type === "heatmap" && trace.showscale !== false && trace.visible !== false;
}

const CROWDED = 12; // numbers above bars that stand beside one another on a phone

function isNarrow(trace) {
  if (trace.type === "bar" && Array.isArray(trace.text) && trace.text.length > CROWDED && trace.orientation !== "h")
    return { ...trace, textangle: -90 };
  if (!hasColourScale(trace)) return trace;
  const below = { orientation: "h", yref: "container", y: 0, yanchor: "bottom", ypad: 4, thickness: 12, len: 0.9 };
  const title = (trace.colorbar || {}).title;
  return {
    ...trace,
    colorbar: { ...trace.colorbar, ...below, ...(title ? { title: { ...title, side: "top" } } : {}) },
  };
}
