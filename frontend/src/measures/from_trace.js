// Saturation of every head from traces of the engine, as transformer/analysis/saturation.py finds it on the server.
import { spreadOfRow } from "../core/matrix.js";
import { meanOf, rounded, varianceOf } from "../core/statistics.js";
import { KINDS } from "../engine/switches.js";
import { inWords, sharedTexts, told, wordingOf } from "../lab/words.js";

const DIGITS = 6;

// The numbers of the picture, as pages/lab/measures.py sends them, from passes of lab/comparison.js.
export function measuresOf({ before, after, switches }, config, texts) {
  const t = sharedTexts(texts);
  const pads = Number(switches.pad ?? 0);
  const side = (trace) => ofKinds((kind) => saturation(trace[kind], kind === "encoder_self" ? pads : 0));
  const first = side(before);
  return {
    before: first,
    after: after === before ? first : side(after),
    zero: ofKinds((kind) => after[kind].zero),
    switched: after !== before,
    saved: told(t, after, switches),
    in_words: inWords(t, switches, config),
    wording: wordingOf(after),
  };
}

const ofKinds = (make) => Object.fromEntries(KINDS.map((kind) => [kind, make(kind)]));

const NAMES = ["entropy", "largest", "gradient", "saturated"];

// Five measures of every head of a kind, [layer][head]: means over the rows that see at least two keys, null without any;
// and the number of those rows. pads: how many rows at the end are <pad>, which do not count.
/** @returns {Record<string, any[][]>} */
export function saturation(attention, pads = 0) {
  const [layers, heads] = attention.weights.shape;
  const rows = Array.from({ length: layers }, (_, layer) =>
    Array.from({ length: heads }, (_, head) => rowsOf(attention, layer * heads + head, pads)),
  );
  const ofHeads = (number) => rows.map((heads) => heads.map(number));
  const means = (name) => ofHeads((rows) => meanOf(rows.map((row) => row[name])));
  const measures = Object.fromEntries(NAMES.map((name) => [name, rounded(means(name), DIGITS)]));
  const deviations = means("variance").map((heads) => heads.map(Math.sqrt));
  return { ...measures, spread: rounded(deviations, DIGITS), rows: ofHeads((rows) => rows.length) };
}

// What the measures are means of, for every row of a head that counts.
function rowsOf({ weights, scores, mask }, head, pads) {
  const [, , queries, keys] = weights.shape;
  const rows = [];
  for (let query = 0; query < queries - pads; query++) {
    const row = (tensor) => tensor.data.subarray((head * queries + query) * keys, (head * queries + query + 1) * keys);
    const shown = row(mask);
    const seen = shown.reduce((sum, one) => sum + one, 0);
    if (seen < 2) continue;
    const { entropy, ...spread } = spreadOfRow(row(weights));
    const variance = varianceOf(row(scores).filter((_, key) => shown[key]));
    rows.push({ ...spread, entropy: entropy / Math.log(seen), variance });
  }
  return rows;
}
