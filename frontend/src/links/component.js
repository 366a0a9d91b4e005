import { el, printable, svgEl } from "../core/dom.js";
import { savable } from "../saving/menu.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { LINKS_TEXTS } from "./texts.js";

// Two sentences, one above the other, and lines between the words that translate each other. data = {sources, targets:
// [word], links: [[source, target], numbers from 0], stem, caption}.

class View extends PlainView {
  constructor(parent) {
    super(parent, "links", LINKS_TEXTS);
    this.canvas = document.createElement("canvas"); // measures words
  }

  build() {
    this.picture = el("figure", { class: "links-scroll", tabindex: 0 });
    return [savable(this, "links-save", this.picture, () => this.saved())];
  }

  // The middle of every word, and the width of all, in pixels.
  places(words) {
    const context = this.canvas.getContext("2d");
    context.font = `${this.theme.size * 1.1}px ${this.theme.font}`;
    let at = this.theme.size / 2;
    const middles = words.map((word) => {
      const width = context.measureText(printable(word)).width;
      at += width + this.theme.size;
      return at - this.theme.size - width / 2;
    });
    return { middles, width: at };
  }

  paint() {
    const { sources, targets, links } = this.data;
    const [top, bottom] = [this.places(sources), this.places(targets)];
    const size = this.theme.size;
    const [width, height] = [Math.ceil(Math.max(top.width, bottom.width)), Math.ceil(size * 7.5)];
    const word = (text, x, y, side) => {
      const attributes = { class: "links-word", "data-side": side, x, y, "text-anchor": "middle" };
      return svgEl("text", attributes, printable(text));
    };
    const lines = links.map(([source, target]) => {
      const ends = { x1: top.middles[source], y1: size * 1.7, x2: bottom.middles[target], y2: height - size * 1.7 };
      return svgEl("line", ends);
    });
    const spoken = links.map(([i, j]) => this.t("link", { source: sources[i], target: targets[j] })).join(", ");
    this.picture.setAttribute("aria-label", spoken);
    const svg = svgEl("svg", { class: "links-picture", width, height, viewBox: `0 0 ${width} ${height}` }, ...lines);
    sources.forEach((text, i) => svg.append(word(text, top.middles[i], size * 1.2, "source")));
    targets.forEach((text, i) => svg.append(word(text, bottom.middles[i], height - size * 0.6, "target")));
    this.picture.replaceChildren(svg);
  }

  saved() {
    const { sources, targets, links, stem, caption } = this.data;
    const head = [this.t("csv_source"), this.t("csv_target")];
    return {
      element: this.picture.firstElementChild,
      stem,
      caption,
      rows: [head, ...links.map(([source, target]) => [sources[source], targets[target]])],
    };
  }
}

export default plainComponent(View);
