import assert from "node:assert/strict";
import { test } from "node:test";
import { Run, RunStore } from "./store.js";

// A run of one layer of two heads, two tokens a side: 3 kinds x 2 heads x 4 cells = 24 bytes a frame. Byte i of frame f
// is 24 f + i.
const OPENING = {
  layers: 1,
  heads: 2,
  source_tokens: ["a", "b"],
  target_in: ["<s>", "b"],
  shown: [],
  recorded: [0, 2, 5, 9, 14, 20],
};
const bytes = (from, count) => Uint8Array.from({ length: 24 * count }, (_, i) => (24 * from + i) % 256);
function pack(...runs) {
  const made = ({ id = "a", from = 0, to = from, opening = OPENING, ...more } = {}) => ({
    ...{ id, from, opening, recorded: to, stage: "training", causal: true, step: 0 },
    frames: OPENING.recorded.slice(from, to).map((step) => ({ step })),
    weights: to > from ? { shape: [to - from, 24], data: bytes(from, to - from) } : null,
    ...more,
  });
  return { header: { runs: runs.map(made), number: 7 }, array: (reference) => reference.data };
}

test("new frames are added to those already received, without gaps or duplicates", () => {
  const store = new RunStore();
  const take = (from, to, recorded) => {
    const { grown, number } = store.take(pack({ from, to, recorded }), 0);
    assert.equal(number, 7);
    return [grown.length, store.runs[0].frames.length, store.lacks];
  };
  assert.deepEqual(take(0, 2, 2), [1, 2, false]);
  assert.deepEqual(take(2, 3, 3), [1, 3, false]);
  assert.deepEqual(take(1, 4, 4), [1, 4, false]); // of an older ask: it begins with what is here
  assert.deepEqual(take(5, 6, 6), [0, 4, true]); // a gap
  assert.deepEqual(take(4, 6, 6), [1, 6, false]);
  assert.deepEqual(take(0, 0, 6), [0, 6, false]);
  const { frames, weights } = store.runs[0];
  assert.deepEqual(
    frames.map((frame) => frame.step),
    OPENING.recorded,
  );
  weights.forEach((weight, frame) => assert.deepEqual([...weight], [...bytes(frame, 1)]));
  assert.deepEqual(store.have(), { a: 6 });
});

test("a matrix is read from the bytes of its kind, layer and head", () => {
  const store = new RunStore();
  store.take(pack({ to: 3 }), 0);
  const matrix = (kind, head) => [...store.runs[0].matrix(2, kind, 0, head)];
  assert.deepEqual(matrix("encoder_self", 1), [52, 53, 54, 55]);
  assert.deepEqual(matrix("decoder_self", 0), [56, 57, 58, 59]);
  assert.deepEqual(matrix("cross", 1), [68, 69, 70, 71]);
});

test("only decoder self-attention of a causal model has a mask", () => {
  const store = new RunStore();
  store.take(pack({ to: 1 }, { id: "b", to: 1, causal: false }), 0);
  const [masked, open] = store.runs;
  assert.deepEqual([...masked.mask("decoder_self")], [0, 1, 0, 0]);
  assert.deepEqual([masked.mask("cross"), open.mask("decoder_self")], [null, null]);
});

test("a run keeps its colour slot when other runs are removed", () => {
  const store = new RunStore();
  const slots = (ids) => {
    store.take(pack(...[...ids].map((id) => ({ id }))), 0);
    return store.runs.map((run) => run.slot);
  };
  assert.deepEqual(
    [slots("abcd"), slots("acd"), slots("acde")],
    [
      [0, 1, 2, 3],
      [0, 2, 3],
      [0, 2, 3, 1],
    ],
  );
});

test("the frame of a step is the last one recorded at or before that step", () => {
  const store = new RunStore();
  store.take(pack({ to: 6 }), 0);
  const frames = [0, 1, 2, 4, 5, 13, 14, 20, 1000].map((step) => store.runs[0].frameAt(step));
  assert.deepEqual(frames, [0, 0, 1, 1, 2, 3, 4, 5, 5]);
});

test("speed is measured over the last seconds, and the time left never exceeds the limit", () => {
  const run = new Run("a");
  const about = { stage: "training", steps: 400, limit: 120, seconds: 0 };
  for (let i = 0; i <= 70; i++) run.follow((run.about = { ...about, step: i < 20 ? i : 20 + (i - 20) * 5 }), i * 200);
  assert.ok(Math.abs(run.speed - 25) < 0.25);
  assert.ok(Math.abs(run.left - (400 - 270) / 25) < 0.06);
  run.follow({ ...about, stage: "paused", step: 270 }, 15000);
  assert.deepEqual([run.speed, run.left], [null, null]);
});
