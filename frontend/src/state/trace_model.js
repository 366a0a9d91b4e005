import { CHECK_TOLERANCE, checkMatrix, groupMask, isIdentity, largestOf } from "../core/matrix.js";
import { summarise, tokenGroups, transformMatrix, worse } from "../core/matrix.js";
import { KINDS } from "../core/colour.js";
import { printable } from "../core/dom.js";

const MARK = "▁"; // a token that is only the mark of a word's start

// The data of one trace: the pictures of all heads (8 bits) and the exact numbers that have arrived so far.
export class TraceModel {
  constructor(pack) {
    this.header = pack.header;
    this.id = pack.header.id;
    this.kinds = {};
    for (const kind of KINDS) {
      const kindData = pack.header.kinds[kind];
      if (!kindData) continue;
      const [layers, heads, queries, keys] = kindData.picture.shape;
      const masks = kindData.masks ? pack.array(kindData.masks) : null;
      this.kinds[kind] = { ...kindData, layers, heads, queries, keys, masks, bytes: pack.array(kindData.picture) };
    }
    this.exact = new Map();
    this.cache = new Map();
    this.merge(pack);
  }

  // Whether the tokens are words or parts of words; those of a toy may be letters, of which a text is one word.
  get wordy() {
    const { source } = this.header.words;
    return 3 * new Set(source).size > source.length;
  }

  // Adds exact numbers; returns the kinds that got new ones.
  merge(pack) {
    const gained = new Set();
    for (const entry of pack.header.exact || []) {
      if (!this.kinds[entry.kind]) continue;
      const numbers = { weights: pack.array(entry.weights), count: entry.weights.shape[1] };
      if (entry.queries && entry.keys) {
        numbers.queries = pack.array(entry.queries);
        numbers.keys = pack.array(entry.keys);
        numbers.depth = entry.queries.shape[1];
        numbers.scale = entry.scale;
        numbers.rule = entry.rule || 0;
        numbers.bias = entry.bias ? pack.array(entry.bias) : null;
        numbers.values = entry.values ? pack.array(entry.values) : null;
        numbers.valueDepth = entry.values ? entry.values.shape[1] : 0;
      }
      this.exact.set(this.exactKey(entry.kind, entry.layer, entry.head, entry.summary || "mean"), numbers);
      gained.add(entry.kind);
    }
    for (const key of [...this.cache.keys()]) {
      if (key.startsWith("weights|") || key.startsWith("view|")) this.cache.delete(key);
    }
    return gained;
  }

  exactKey(kind, layer, head, summary) {
    return [kind, layer, head, layer === "all" || head === "all" ? summary : ""].join("|");
  }

  // The exact numbers of one head, or null.
  exactOf(kind, layer, head, summary) {
    return this.exact.get(this.exactKey(kind, layer, head, summary)) || null;
  }

  // Largest deviations over all heads of a kind from what must hold: the server's or, as `check` of
  // transformer/analysis/attention.py, those of the numbers here. At 128 tokens that takes 25 million products.
  checks(kind) {
    const computed = () => {
      const check = ([layer, head]) => checkMatrix(this.exactOf(kind, layer, head), this.hidden(kind, layer, head));
      const heads = this.members(kind, "all", "all").map(check);
      const worst = (name) => heads.map((head) => head[name]).reduce(worse);
      const deviations = { row_sum: worst("row_sum"), masked: worst("masked"), recomputed: worst("recomputed") };
      return { ...deviations, tolerance: CHECK_TOLERANCE * Math.max(1, worst("largest") / 100) };
    };
    return this.kinds[kind].checks ?? this.remember(`checks|${kind}`, computed);
  }

  remember(key, make) {
    if (!this.cache.has(key)) this.cache.set(key, make());
    return this.cache.get(key);
  }

  // The heads that a choice stands for, as [layer, head].
  members(kind, layer, head) {
    const { layers, heads } = this.kinds[kind];
    const pairs = [];
    for (let l = 0; l < layers; l++) {
      for (let h = 0; h < heads; h++)
        if ((layer === "all" || l === layer) && (head === "all" || h === head)) pairs.push([l, h]);
    }
    return pairs;
  }

  headBytes(kind, layer, head) {
    const { heads, queries, keys, bytes } = this.kinds[kind];
    const size = queries * keys;
    const from = (layer * heads + head) * size;
    return bytes.subarray(from, from + size);
  }

  // Weights before anything is dropped or merged: exact float32 if available, else the picture's 8 bits.
  weights(kind, layer, head, summary) {
    return this.remember(["weights", kind, layer, head, summary].join("|"), () => {
      const known = this.exactOf(kind, layer, head, summary);
      if (known) return { data: known.weights, exact: true };
      const members = this.members(kind, layer, head);
      if (layer === "all" || head === "all") {
        const all = members.map(([l, h]) => this.exactOf(kind, l, h, summary)?.weights);
        if (all.every(Boolean)) return { data: summarise(all, summary), exact: true };
      }
      const pictures = members.map(([l, h]) => this.headBytes(kind, l, h));
      return { data: summarise(pictures, summary).map((value) => value / 255), exact: false };
    });
  }

  // Which token list labels the rows and columns of a kind.
  sides(kind, state) {
    const kindData = this.kinds[kind];
    const target = state.rows === "fed" ? "target_in" : "target_out";
    return { rows: kindData.rows === "source" ? "source" : target, columns: kindData.columns };
  }

  // The cells that the mask of a head hides (1: hidden), per pair of subword tokens; null if none. For several heads:
  // the cells that all of them hide.
  hidden(kind, layer, head) {
    const { masks, mask_of: of, queries, keys } = this.kinds[kind];
    if (!masks) return null;
    const maskNumbers = [...new Set(this.members(kind, layer, head).map(([l, h]) => of[l][h]))].sort();
    return this.remember(["hidden", kind, ...maskNumbers].join("|"), () => {
      const all = maskNumbers.map((maskNumber) =>
        masks.subarray(maskNumber * queries * keys, (maskNumber + 1) * queries * keys),
      );
      return all.length === 1 ? all[0] : all[0].map((_, at) => Number(all.every((mask) => mask[at])));
    });
  }

  // The same for the rows and columns that are drawn.
  mask(kind, layer, head, state) {
    const hidden = this.hidden(kind, layer, head);
    if (!hidden) return null;
    const axes = this.axes(kind, state);
    if (axes.identity) return hidden;
    const key = ["mask", kind, layer, head, axes.sides.rows, state.pieces, state.special].join("|");
    return this.remember(key, () => groupMask(hidden, this.kinds[kind].keys, axes.rows, axes.columns));
  }

  // Groups and labels of a kind under the user's choices; the same for every head of the kind.
  axes(kind, state) {
    const sides = this.sides(kind, state);
    const key = ["axes", kind, sides.rows, state.pieces, state.special].join("|");
    return this.remember(key, () => {
      const { words, special } = this.header;
      const kindData = this.kinds[kind];
      const merge = state.pieces === "words";
      const drop = state.special !== "shown";
      const rows = tokenGroups(words[sides.rows], special[sides.rows], drop, merge);
      const columns = tokenGroups(words[sides.columns], special[sides.columns], drop, merge);
      return {
        sides,
        rows,
        columns,
        rowLabels: rows.map((group) => this.label(sides.rows, group, state)),
        columnLabels: columns.map((group) => this.label(sides.columns, group, state)),
        identity: isIdentity(rows, kindData.queries) && isIdentity(columns, kindData.keys),
        renormalise: state.special === "renormalised",
      };
    });
  }

  label(side, group, state) {
    const { tokens, labels, words, word_labels: wordLabels } = this.header;
    if (state.pieces === "words") return printable(wordLabels[side][words[side][group[0]]]);
    return printable((state.pieces === "marked" ? tokens : labels)[side][group[0]]);
  }

  // The word of a token and what it means to this reader; null without the switch and for words that are not in the list.
  meaning(side, index, state) {
    const { meanings, words, word_labels: wordLabels } = this.header;
    const word = words[side][index];
    const meaning = state.meanings === "on" && meanings?.[side]?.[word];
    return meaning ? { word: printable(wordLabels[side][word]), meaning: printable(meaning) } : null;
  }

  // {any: whether a word has a meaning}; null if there is nothing to tell this reader. "asked": the server knows.
  meaningsKnown() {
    const { meanings } = this.header;
    if (meanings === "asked") return { any: true };
    return meanings ? { any: Object.values(meanings).some((side) => side && side.some(Boolean)) } : null;
  }

  // What to write under the labels of an axis: a word's meaning under the first of its tokens that has a letter, "" under
  // the others; null if no label has one.
  meaningLabels(side, groups, state) {
    const { tokens, words } = this.header;
    const told = new Set();
    const labels = groups.map((group) => {
      const index = state.pieces === "words" ? group[0] : group.find((at) => tokens[side][at] !== MARK);
      const found = index === undefined ? null : this.meaning(side, index, state);
      if (!found || told.has(words[side][index])) return "";
      told.add(words[side][index]);
      return found.meaning;
    });
    return told.size ? labels : null;
  }

  pieceLabel(side, index) {
    return printable(this.header.labels[side][index]);
  }

  // Everything about one picture: weights to draw and to read, labels, mask.
  view(kind, layer, head, state) {
    const axes = this.axes(kind, state);
    const { summary, pieces, special, meanings } = state;
    const key = ["view", kind, layer, head, summary, axes.sides.rows, pieces, special, meanings].join("|");
    return this.remember(key, () => {
      const kindData = this.kinds[kind];
      const raw = this.weights(kind, layer, head, state.summary);
      const plain = axes.identity && !axes.renormalise;
      const data = plain
        ? raw.data
        : transformMatrix(raw.data, kindData.keys, axes.rows, axes.columns, axes.renormalise, 1);
      return {
        ...axes,
        rowMeanings: this.meaningLabels(axes.sides.rows, axes.rows, state),
        columnMeanings: this.meaningLabels(axes.sides.columns, axes.columns, state),
        kind,
        layer,
        head,
        data,
        raw: raw.data,
        mask: this.mask(kind, layer, head, state),
        exact: raw.exact,
        queries: axes.rows.length,
        keys: axes.columns.length,
        largest: largestOf(data),
      };
    });
  }

  // The grid's pictures: for every tile, including the margins: bytes of rows x columns, the largest weight among them,
  // mask.
  tiles(kind, state) {
    const axes = this.axes(kind, state);
    const key = ["tiles", kind, state.summary, axes.sides.rows, state.pieces, state.special].join("|");
    return this.remember(key, () => {
      const kindData = this.kinds[kind];
      const grid = [];
      let largest = 0;
      const finish = (values, layer, head) => {
        const plain = axes.identity && !axes.renormalise;
        const out = plain
          ? values
          : transformMatrix(values, kindData.keys, axes.rows, axes.columns, axes.renormalise, 255);
        const top = Math.min(255, largestOf(out));
        largest = Math.max(largest, top);
        const bytes = out instanceof Uint8Array ? out : toBytes(out);
        return { bytes, largest: top / 255, mask: this.mask(kind, layer, head, state) };
      };
      const byLayer = [];
      const byHead = Array.from({ length: kindData.heads }, () => []);
      for (let l = 0; l < kindData.layers; l++) {
        const pictures = [];
        for (let h = 0; h < kindData.heads; h++) {
          pictures.push(this.headBytes(kind, l, h));
          byHead[h].push(pictures[h]);
        }
        byLayer.push(summarise(pictures, state.summary));
        grid.push([...pictures.map((picture, h) => finish(picture, l, h)), finish(byLayer[l], l, "all")]);
      }
      grid.push([
        ...byHead.map((pictures, h) => finish(summarise(pictures, state.summary), "all", h)),
        finish(summarise(byLayer, state.summary), "all", "all"),
      ]);
      return { grid, largest: largest / 255, rows: axes.rows.length, columns: axes.columns.length };
    });
  }

  clampChoice(kind, layer, head) {
    const { layers, heads } = this.kinds[kind];
    return {
      layer: layer === "all" ? "all" : Math.max(0, Math.min(layers - 1, Math.floor(layer) || 0)),
      head: head === "all" ? "all" : Math.max(0, Math.min(heads - 1, Math.floor(head) || 0)),
    };
  }
}

function toBytes(values) {
  const bytes = new Uint8Array(values.length);
  for (let i = 0; i < values.length; i++) bytes[i] = Math.min(255, Math.round(values[i]));
  return bytes;
}
