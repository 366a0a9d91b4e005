import { clamp } from "../stage/measure.js";
import { SubLayerSheet } from "../sublayer/sheet.js";

// The sheet of attention: its heads, and the labels of the keys above the columns.
export class AttentionSheet extends SubLayerSheet {
  columnTokens(side, rect) {
    const look = { orient: "columns", align: undefined, colour: side.side, axis: side.axis, ...side.late };
    this.tokens(this.once(`tokens:${side.side}:columns`), side.labels, rect, look);
  }

  // Height that the labels of the keys above `width` need, or as much as there is, and how far the last leans out at the
  // right (60 degrees).
  columnRoom(width, most = Infinity) {
    const { u } = this;
    const space = width / this.k.n;
    if (space >= 4 * u) return { h: 1.5 * u, over: 0 };
    const high = Math.min(most, clamp(this.longest * 0.87 + 0.75 * u, 1.7 * u, 4.2 * u));
    return { h: high, over: Math.max(0, high * 0.62 - space / 2) + 0.3 * u };
  }

  // The frame around a head's part of a matrix.
  frame(name, rect, look = {}) {
    const parent = [this.key(name, this.head), this.key("head_outputs", this.head), this.key(name)];
    this.box(`frame:${this.name}.${name}`, rect, { stroke: "ink", radius: 2, weight: 2, z: 1, parent, ...look });
  }

  // A rectangle that stands for a head: a click opens the head. The head chosen last is framed.
  opens(head, rect, more = {}) {
    const label = this.t("attention_open_head", { n: head + 1, heads: this.heads });
    const [chosen, off] = [head === this.head, this.off(head)];
    const look = { stroke: chosen ? "ink" : off ? "dim" : null, dash: Boolean(off), weight: 1.5, radius: 6, z: -1 };
    const way = { go: { zoom: "head", head }, label, tip: off ? [label, off] : [label] };
    this.box(this.headKey(head), rect, { ...look, ...way, ...more });
  }

  // The end of the scale of all heads together, so that a part has the colours of the whole.
  whole(role) {
    return this.data.matrix("place." + role)?.top;
  }

  // The label of a head that a switch knocks out, or whose output it replaces.
  off(head) {
    const { zero, replaced } = this.data.about || {};
    return zero?.[head] ? this.t("attention_off") : replaced?.[head] ? this.t("attention_replaced") : "";
  }

  headKey(head) {
    return `head:${this.name}.${head}`;
  }
}
