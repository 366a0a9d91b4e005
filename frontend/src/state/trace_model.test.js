import assert from "node:assert/strict";
import { test } from "node:test";
import { START_VIEW } from "./generated.js";
import { TraceModel } from "./trace_model.js";

// One layer of two heads of cross-attention: three steps of the decoder by the keys "ka", "tze" (one word) and "</s>".
const PICTURE = Uint8Array.from([51, 102, 102, 0, 0, 255, 255, 0, 0, 153, 51, 51, 85, 85, 85, 0, 204, 51]);
const HEADER = {
  id: "one",
  tokens: { source: ["▁ka", "tze", "</s>"], target_in: ["<s>", "▁c", "at"], target_out: ["▁c", "at", "</s>"] },
  labels: { source: ["ka", "tze", "</s>"], target_in: ["<s>", "c", "at"], target_out: ["c", "at", "</s>"] },
  words: { source: [0, 0, 1], target_in: [0, 1, 1], target_out: [0, 0, 1] },
  word_labels: { source: ["katze", "</s>"], target_in: ["<s>", "cat"], target_out: ["cat", "</s>"] },
  special: { source: [false, false, true], target_in: [true, false, false], target_out: [false, false, true] },
  kinds: { cross: { picture: { shape: [1, 2, 3, 3], data: PICTURE }, masks: null, rows: "target", columns: "source" } },
};
const pack = (header) => ({ header, array: (reference) => reference.data });
const model = (more = {}) => new TraceModel(pack({ ...HEADER, ...more }));
const state = (more) => ({ ...START_VIEW, pieces: "pieces", ...more });
const close = (actual, expected) =>
  assert.deepEqual(
    Array.from(actual, (value) => value.toFixed(5)),
    expected.map((value) => value.toFixed(5)),
  );

test("the weights of a head come from the picture until the exact ones are loaded", () => {
  const made = model();
  const before = made.weights("cross", 0, 1, "mean");
  assert.equal(before.exact, false);
  close(before.data, [0.6, 0.2, 0.2, 1 / 3, 1 / 3, 1 / 3, 0, 0.8, 0.2]);
  const weights = { data: Float32Array.from([0.6, 0.25, 0.15, 0.5, 0.25, 0.25, 0, 0.75, 0.25]), shape: [3, 3] };
  const gained = made.merge(pack({ exact: [{ kind: "cross", layer: 0, head: 1, weights }] }));
  assert.deepEqual([...gained], ["cross"]);
  const after = made.weights("cross", 0, 1, "mean");
  assert.equal(after.exact, true);
  assert.equal(after.data, weights.data);
  assert.equal(made.weights("cross", 0, 0, "mean").exact, false);
});

test("a summary over heads is the mean or the largest of their pictures", () => {
  const made = model();
  close(made.weights("cross", 0, "all", "mean").data.slice(0, 3), [0.4, 0.3, 0.3]);
  close(made.weights("cross", 0, "all", "max").data.slice(0, 3), [0.6, 0.4, 0.4]);
});

test("rows are labelled with the token that is fed in or predicted", () => {
  const made = model();
  assert.deepEqual(made.view("cross", 0, 0, state({ rows: "fed" })).rowLabels, ["<s>", "c", "at"]);
  assert.deepEqual(made.view("cross", 0, 0, state({ rows: "predicted" })).rowLabels, ["c", "at", "</s>"]);
  assert.deepEqual(made.view("cross", 0, 0, state({ pieces: "marked" })).columnLabels, ["▁ka", "tze", "</s>"]);
});

test("the view by words sums over keys, averages over queries and drops special tokens", () => {
  const words = model().view("cross", 0, 0, state({ pieces: "words" }));
  assert.deepEqual(
    [words.rowLabels, words.columnLabels],
    [
      ["cat", "</s>"],
      ["katze", "</s>"],
    ],
  );
  close(words.data, [0.3, 0.7, 1, 0]);
  const hidden = model().view("cross", 0, 0, state({ pieces: "words", special: "hidden" }));
  close(hidden.data, [0.3]);
  // Of each piece's row, what is on "</s>" is left out before: 0.6 / 0.6, and a row of which nothing is left.
  const again = model().view("cross", 0, 0, state({ special: "renormalised" }));
  close(again.data, [1 / 3, 2 / 3, 0, 0]);
});

test("a cell of a summary is masked if every head masks it", () => {
  const masks = { data: Uint8Array.from([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), shape: [2, 3, 3] };
  const made = model({ kinds: { cross: { ...HEADER.kinds.cross, masks, mask_of: [[0, 1]] } } });
  assert.deepEqual([...made.mask("cross", 0, 0, state())], [0, 1, 1, 0, 0, 1, 0, 0, 0]);
  assert.deepEqual([...made.mask("cross", 0, "all", state())], [0, 1, 0, 0, 0, 0, 0, 0, 0]);
  assert.equal(model().mask("cross", 0, 0, state()), null);
});

test("without the server's checks, those of a kind are the worst of its heads", () => {
  const numbers = (data, shape) => ({ data: Float32Array.from(data), shape });
  const exactOf = (head, query, weights) => ({
    ...{ kind: "cross", layer: 0, head, scale: 1, weights: numbers(weights, [3, 3]) },
    ...{ queries: numbers([query, 0, 0], [3, 1]), keys: numbers([100, 0, 0], [3, 1]) },
  });
  const equal = Array(6).fill(1 / 3);
  const exact = [exactOf(0, 0, [0.5, 0.5, 0.25, ...equal]), exactOf(1, 10, [1, 0, 0, ...equal])];
  const { row_sum, masked, recomputed, tolerance } = model({ exact }).checks("cross");
  close([row_sum, masked, recomputed, 1e5 * tolerance], [0.25, 0, 1 / 6, 10]); // the largest score is 1,000
  const checks = { row_sum: 0.5 };
  const cross = { ...HEADER.kinds.cross, checks };
  assert.equal(model({ exact, kinds: { cross } }).checks("cross"), checks);
});

test("a layer or head that the model lacks falls back to the last one", () => {
  assert.deepEqual(model().clampChoice("cross", 7, 9), { layer: 0, head: 1 });
  assert.deepEqual(model().clampChoice("cross", "all", -1), { layer: "all", head: 0 });
});

const MEANINGS = { source: ["cat", null], target_in: null, target_out: ["<b>고양이</b>", null] };

test("a word's meaning stands once, at the first of its tokens that has a letter", () => {
  const tokens = { ...HEADER.tokens, source: ["▁", "katze", "</s>"] };
  const made = model({ meanings: MEANINGS, tokens });
  const on = (more = {}) => made.view("cross", 0, 0, state({ meanings: "on", ...more }));
  assert.deepEqual(on().columnMeanings, ["", "cat", ""]);
  assert.deepEqual(on().rowMeanings, ["<b>고양이</b>", "", ""]);
  assert.deepEqual(on({ pieces: "words" }).columnMeanings, ["cat", ""]);
  assert.equal(on({ rows: "fed" }).rowMeanings, null);
});

test("every token of a word tells its meaning, with the switch on", () => {
  const made = model({ meanings: MEANINGS });
  const on = state({ meanings: "on" });
  assert.deepEqual(made.meaning("source", 1, on), { word: "katze", meaning: "cat" });
  assert.equal(made.meaning("source", 2, on), null);
  assert.equal(made.meaning("source", 1, state()), null);
  assert.equal(made.view("cross", 0, 0, state()).columnMeanings, null);
  assert.equal(model().meaning("source", 1, on), null);
});

test("the switch knows whether there is a meaning at all", () => {
  assert.deepEqual(model({ meanings: MEANINGS }).meaningsKnown(), { any: true });
  assert.deepEqual(model({ meanings: { source: [null, null], target_out: null } }).meaningsKnown(), { any: false });
  assert.equal(model({ meanings: null }).meaningsKnown(), null);
});
