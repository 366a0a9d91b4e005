import { printable } from "../core/dom.js";
import { formatWeight } from "../core/format.js";
import { listText } from "../core/lists.js";
import { strongestInRow } from "../core/matrix.js";

const DESCRIBED = 20; // rows of a picture in words

// Describes heads, cells and steps in words: titles, tooltips, text for screen readers.
export class Reader {
  constructor(explorer) {
    this.explorer = explorer;
  }

  title(kind, layer, head) {
    const { layers, heads } = this.explorer.model.kinds[kind];
    const how = this.explorer.state.summary;
    if (layer === "all" && head === "all") return this.explorer.t(`title_${how}_all`, { n: layers * heads });
    if (head === "all") return this.explorer.t(`title_${how}_heads`, { layer: layer + 1, n: heads });
    if (layer === "all") return this.explorer.t(`title_${how}_layers`, { head: head + 1, n: layers });
    return this.explorer.t("title_head", { layer: layer + 1, head: head + 1 });
  }

  // A picture in words, for screen readers: the strongest link of its first rows.
  describe(view) {
    const { t } = this.explorer;
    const links = view.rowLabels.slice(0, DESCRIBED).map((row, r) => {
      const k = strongestInRow(view.data, view.keys, r);
      return t("head_label_link", {
        row,
        column: view.columnLabels[k],
        weight: view.data[r * view.keys + k].toFixed(2),
      });
    });
    if (view.queries > DESCRIBED) links.push(t("head_label_more", { n: view.queries - DESCRIBED }));
    return t("head_label", {
      title: this.title(view.kind, view.layer, view.head),
      kind: t("kind_" + view.kind),
      rows: view.queries,
      columns: view.keys,
      links: listText(t, links),
    });
  }

  linkLines(view, row, column) {
    const at = row * view.keys + column;
    const masked = view.mask && view.mask[at];
    const value = formatWeight(view.data[at], view.exact || masked);
    const lines = [
      { text: this.explorer.t("link", { row: view.rowLabels[row], column: view.columnLabels[column] }) },
      { text: view.exact || masked ? value : this.explorer.t("approximate", { value }), class: "hs-tip-number" },
    ];
    lines.splice(1, 0, ...this.meaningLines(view, row, column));
    const { recorded } = this.explorer.model;
    if (recorded && !masked) lines.push({ text: this.explorer.t("recorded"), class: "hs-tip-dim" });
    if (masked) lines.push({ text: this.explorer.t(this.whyMasked(view, row, column)), class: "hs-tip-dim" });
    if (this.isOut(view)) lines.push({ text: this.explorer.t("knocked_out"), class: "hs-tip-dim" });
    if (view.sides.rows !== "source") lines.push({ text: this.step(view.rows[row][0]), class: "hs-tip-dim" });
    return lines;
  }

  // What the two words of a cell mean, each once.
  meaningLines(view, row, column) {
    const { model, state, t } = this.explorer;
    const { sides } = view;
    const found = [model.meaning(sides.rows, view.rows[row][0], state)];
    found.push(model.meaning(sides.columns, view.columns[column][0], state));
    const lines = found.filter(Boolean).map((one) => t("meaning", one));
    return [...new Set(lines)].map((text) => ({ text, class: "hs-tip-meaning" }));
  }

  isOut({ kind, layer, head }) {
    const { zero } = this.explorer.model.kinds[kind];
    return Boolean(zero && layer !== "all" && head !== "all" && zero[layer][head]);
  }

  // Why a cell is hidden. If the row sees another future token, the causal mask does not hide this one.
  whyMasked(view, row, column) {
    const key = view.columns[column][0];
    const latest = view.rows[row][view.rows[row].length - 1];
    const seesFuture = view.columns.some((group, c) => group[0] > latest && !view.mask[row * view.keys + c]);
    const masked = this.explorer.model.header.causal !== false; // a model made without the mask hides nothing
    if (view.kind === "decoder_self" && key > latest && !seesFuture && masked) return "masked_cell";
    // A decoder may be fed <pad> first, which is not padding: only a source is padded.
    const { sides } = view;
    const padding = sides.columns === "source" && this.explorer.model.header.tokens.source[key] === "<pad>";
    return padding ? "masked_padding" : "masked_switch";
  }

  step(index) {
    const { labels } = this.explorer.model.header;
    return this.explorer.t("step", {
      n: index + 1,
      fed: printable(labels.target_in[index]),
      predicted: printable(labels.target_out[index]),
    });
  }

  hoverTile(kind, layer, head, row, column, event) {
    const view = this.explorer.model.view(kind, layer, head, this.explorer.state);
    if (!view.queries || !view.keys) return this.explorer.tooltip.hide();
    return this.explorer.tooltip.show(
      [this.title(kind, layer, head), ...this.linkLines(view, row, column)],
      event.clientX,
      event.clientY,
    );
  }

  hoverCell(view, [row, column], event) {
    this.explorer.tooltip.show(
      this.linkLines(view, row, column).map((line, i) => (i ? line : line.text)),
      event.clientX,
      event.clientY,
    );
  }
}
