import assert from "node:assert/strict";
import { test } from "node:test";
import { labSentence } from "./sentence.js";

const t = (key, values) => JSON.stringify([key, values]);

// A side with one head of three rows and three keys.
function side(raw, { kind = "cross", mask = null } = {}) {
  const model = { kinds: { [kind]: { queries: 3, keys: 3 } }, hidden: () => mask };
  return { model, view: { kind, layer: 0, head: 0, raw } };
}

function said(before, after, more) {
  const { sentence, measures } = labSentence({ t, before, after, pads: 0, title: "H", out: false, ...more });
  const [key, values] = JSON.parse(sentence);
  return { key, values, measures };
}

const FLAT = [0.5, 0.3, 0.2, 0.4, 0.4, 0.2, 0.6, 0.2, 0.2];
const SHARP = [1, 0, 0, 0.995, 0.005, 0, 0.6, 0.2, 0.2];

test("a head whose rows saturate is called saturated, with both shares", () => {
  const { key, values } = said(side(FLAT), side(SHARP), { pressed: "scaling", switched: true });
  assert.equal(key, "lab_says_saturated");
  assert.deepEqual([values.saturated_before, values.saturated], ["0%", "67%"]);
  assert.deepEqual([values.largest_before, values.largest], ["0.50", "0.87"]);
  // 1 - sum p^2: 0.62, 0.64, 0.56 before; 0, 0.00995, 0.56 after
  assert.deepEqual([values.gradient_before, values.gradient], ["0.61", "0.19"]);
  assert.equal(said(side(FLAT), side(FLAT), { pressed: "scaling", switched: true }).key, "lab_says_sharper");
  assert.equal(said(side(FLAT), side(FLAT), { pressed: null, switched: false }).key, "lab_says_trained");
});

test("the weight that leaks to later tokens and to <pad> is counted", () => {
  const masked = { kind: "decoder_self", mask: [0, 1, 1, 0, 0, 1, 0, 0, 0] };
  const before = side([1, 0, 0, 0.5, 0.5, 0, 0.2, 0.2, 0.6], masked);
  const after = side([0.4, 0.3, 0.3, 0.5, 0.2, 0.3, 0.2, 0.2, 0.6], { kind: "decoder_self" });
  const causal = said(before, after, { pressed: "causal", switched: true });
  assert.deepEqual([causal.key, causal.values.share], ["lab_says_causal", "30%"]); // (0.6 + 0.3 + 0) / 3
  assert.equal(causal.measures.before.rows, 2); // the first row sees one token
  assert.equal(said(side(FLAT), side(FLAT), { pressed: "causal", switched: true }).key, "lab_says_causal_other");
  const padding = said(side(FLAT), side(FLAT), { pressed: "padding", switched: true, pads: 1 });
  assert.deepEqual([padding.key, padding.values.share], ["lab_says_padding", "20%"]); // the last of three keys
});

test("a knocked-out head, uniform weights and other switches have their sentences", () => {
  const key = (more) => said(side(FLAT), side(SHARP), { switched: true, ...more }).key;
  assert.equal(key({ pressed: "uniform" }), "lab_says_uniform");
  assert.equal(key({ pressed: "head", out: true }), "lab_says_out");
  assert.equal(key({ pressed: null }), "lab_says_changed");
  const mask = [0, 1, 1, 0, 1, 1, 0, 1, 1];
  assert.equal(said(side(FLAT, { mask }), side(SHARP), { pressed: "scaling", switched: true }).key, "lab_says_nothing");
});
