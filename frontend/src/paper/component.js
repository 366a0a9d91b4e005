import { el, svgEl } from "../core/dom.js";
import { followPageLink } from "../host/streamlit.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { savable } from "../saving/menu.js";
import { FIGURE_1, FIGURE_2, START } from "./layout.js";
import { PAPER_TEXTS } from "./texts.js";

// Figures 1 and 2 of the paper. A box is a link: a click follows the page's own link to the same view, which keeps the
// session; the address in it is for a new tab. data = {base, here: sizes; parts; links: name -> {key, href, label}}.

const HEAD = 5; // half the width of an arrow's head
const ROUND = 5;
const LETTER = 6.4; // width of a letter of a box, on average

class View extends PlainView {
  constructor(parent) {
    super(parent, "paper", PAPER_TEXTS);
  }

  build() {
    this.figures = el("div", { class: "paper-figures" });
    return [savable(this, "paper-save", this.figures, () => this.saved())];
  }

  paint() {
    const figures = [this.figure("figure1", FIGURE_1), this.figure("figure2", FIGURE_2)];
    this.figures.replaceChildren(...figures);
  }

  figure(name, { left = 0, width, height, frames, boxes, arrows, words, sums }) {
    const svg = svgEl(
      "svg",
      { viewBox: `${left} 0 ${width} ${height}`, role: "group", "data-testid": `paper-${name}` },
      ...frames.map((frame) => this.frame(frame)),
      ...arrows.map((points) => this.arrow(points)),
      ...sums.map(([x, y]) => this.sum(x, y)),
      ...words.map((word) => this.word(word)),
      ...boxes.map((box) => this.box(box)),
    );
    const caption = el("figcaption", {}, this.t(name));
    return el("figure", { class: `paper-${name}`, "aria-label": this.t(name) }, svg, caption);
  }

  // The paper's number beside this model's. text: its name in the texts; name, here: of both sizes.
  size(text, name = text, here = name) {
    return this.t(text, { base: this.data.base[name], here: this.data.here[here] });
  }

  frame({ x, y, width, height, size, stack, name, at }) {
    const rect = svgEl("rect", { class: "paper-frame", x, y, width, height, rx: 10 });
    const words = size ? this.size(size, size, stack === "decoder" ? "decoder_layers" : size) : "";
    const text = words ? svgEl("text", { class: "paper-size", x: at[0], y: at[1] }, ...withSubscript(words)) : null;
    const what = svgEl("text", { class: "paper-size", x: name, y: at[1] }, this.t(stack));
    return svgEl("g", {}, rect, text, what);
  }

  arrow(points) {
    const path = points.map(([x, y], i) => `${i ? "L" : "M"}${x} ${y}`).join("");
    const [[x0, y0], [x, y]] = points.slice(-2);
    const [dx, dy] = [Math.sign(x - x0), Math.sign(y - y0)];
    const head = `M${x} ${y}l${-dx * 7 - dy * HEAD} ${-dy * 7 - dx * HEAD}l${2 * dy * HEAD} ${2 * dx * HEAD}z`;
    const lines = [svgEl("path", { d: path }), svgEl("path", { class: "paper-head", d: head })];
    return svgEl("g", { class: "paper-arrow" }, ...lines);
  }

  sum(x, y) {
    const plus = svgEl("path", { d: `M${x - 6} ${y}h12M${x} ${y - 6}v12` });
    return svgEl("g", { class: "paper-sum" }, svgEl("circle", { cx: x, cy: y, r: 9 }), plus);
  }

  word({ x, y, text, anchor = "middle", letter }) {
    return svgEl("text", { class: "paper-word", x, y, "text-anchor": anchor }, letter ?? this.t(text));
  }

  box({ name, text, x, y, width, height, look, size, lines = size ? [[size]] : [], link = name }) {
    const opens = this.data.links[link];
    const middle = x + width / 2;
    const sizes = lines.map(([text, of]) => this.size(text, of));
    const top = y + height / 2 + 5 - 7 * sizes.length;
    const narrow = this.t(text).length * LETTER > width;
    const squeezed = narrow ? { textLength: width - 10, lengthAdjust: "spacingAndGlyphs" } : {};
    const centred = { x: middle, "text-anchor": "middle" };
    const label = svgEl("text", { ...centred, y: top, ...squeezed }, this.t(text));
    const below = sizes.map((line, i) =>
      svgEl("text", { ...centred, class: "paper-size", y: top + 16 * (i + 1) }, ...withSubscript(line)),
    );
    const rect = svgEl("rect", { x, y, width, height, rx: ROUND });
    if (!opens) return svgEl("g", { class: "paper-box", "data-look": look }, rect, label, ...below);
    const click = (event) => {
      if (event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      followPageLink(opens.key);
    };
    const start = name === START;
    const spoken = [start && this.t("start"), this.t(text), sizes.join(", "), this.t("opens", { label: opens.label })];
    const attributes = {
      class: "paper-box",
      "data-look": look,
      "data-start": start ? "" : null,
      "data-testid": `paper-box-${name}`,
      href: opens.href,
      "aria-label": spoken.filter(Boolean).join(". "),
      click,
    };
    return this.hint(
      svgEl("a", attributes, rect, label, ...below, start ? this.start(x, y + height / 2) : null),
      () => [this.t("opens", { label: opens.label })],
    );
  }

  // "Start here", and an arrow to the box.
  start(x, y) {
    const words = svgEl("text", { x: x - 34, y: y + 5, "text-anchor": "end" }, this.t("start"));
    return svgEl("g", { class: "paper-start" }, words, svgEl("path", { d: `M${x - 30} ${y}h24m-8 -6l8 6l-8 6` }));
  }

  saved() {
    const names = Object.keys(this.data.base);
    const rows = names.map((name) => [name, this.data.base[name], this.data.here[name]]);
    const caption = [this.t("figure1"), this.t("figure2")];
    return { stem: ["paper"], caption, rows: [["size", "paper", "here"], ...rows] };
  }
}

// "d_model = 512" with its subscript.
function withSubscript(text) {
  const [symbol, below, rest] = text.split(/_(\w+)/);
  return below
    ? [symbol, svgEl("tspan", { dy: 3, class: "paper-below" }, below), svgEl("tspan", { dy: -3 }, rest)]
    : [text];
}

export default plainComponent(View);
