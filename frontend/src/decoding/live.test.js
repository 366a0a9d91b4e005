import assert from "node:assert/strict";
import { test } from "node:test";
import { Live } from "../live/live.js";
import { liveDecoding } from "./live.js";

globalThis.document = /** @type {any} */ ({ documentElement: {}, addEventListener() {} });
const settled = () => new Promise((resolve) => setTimeout(resolve));
const END = 3;
const SENTENCE = { source: "s", target: "" };

// An engine that writes 4, 5, 6, </s> after any beginning; at the second step it is least certain.
class Engine {
  about = { name: "tiny", config: { pad_id: 0, start_id: 2 } };
  asked = [];

  async continuations({ forced: [forced] }) {
    this.asked.push(forced);
    if (forced === "!")
      throw Object.assign(new Error(), { name: "InputError", about: { code: "unwritable", prefix: "!" } });
    const given = typeof forced === "string" ? Array.from(forced, Number) : forced;
    const ids = given.at(-1) === END ? given : [...given, 4, 5, 6, END];
    const steps = ids.map((id, at) => ({
      ids: [id, 7],
      labels: [`#${id}`, "#7"],
      probabilities: [0.5, 0.25],
      rest: 0.25,
      entropy: at === 1 ? 2 : 1,
      before: ids.slice(0, at).join(""),
    }));
    const log_probs = ids.map(() => Math.log(0.5));
    const labels = ids.map(String);
    const about = { text: ids.join(""), complete: true, forced: given.length, possible: 6 };
    return { found: [{ ids, labels, log_probs, steps, ...about }] };
  }

  // One head, which attends to the step's own key; the source has as many tokens as the output.
  async trace({ output }) {
    const size = output.length;
    const data = Float32Array.from({ length: size * size }, (_, at) => Number(at % (size + 1) === 0));
    const weights = { data, shape: [1, 1, size, size] };
    const labels = output.map(String);
    this.asked.push(output);
    return { cross: { weights }, decoder_self: { weights }, source_labels: labels, target_in_labels: labels };
  }
}

async function drawn(state, engine = new Engine()) {
  const style = { getPropertyValue() {}, setProperty() {}, removeProperty() {} };
  const view = /** @type {any} */ ({
    state,
    computed: null,
    show() {},
    draw() {},
    element: { style },
    data: { model: "tiny" },
  });
  const live = new Live();
  live.set({ engine, sentence: SENTENCE });
  const { show } = liveDecoding(view, live);
  show();
  await settled();
  return { numbers: view.computed, view, engine };
}

test("at first the step is shown at which the model is least certain", async () => {
  const { numbers } = await drawn({ begin: "", branches: "", at: "" });
  assert.deepEqual(numbers.at, { line: 0, step: 1 });
  const [line] = numbers.lines;
  assert.deepEqual([line.ids, line.tokens, line.forced, line.shared], [[4, 5, 6, END], ["4", "5", "6", "3"], 0, 0]);
  assert.deepEqual([line.drops, line.probs], [false, [0.5, 0.5, 0.5, 0.5]]);
  assert.equal(line.score, 4 * Math.log(0.5));
  const { ids, tokens, p, rest, others, entropy, most, before, rules } = numbers.bars;
  assert.deepEqual([ids, tokens, p, rest, entropy], [[5, 7], ["#5", "#7"], [0.5, 0.25], 0.25, 2]);
  assert.deepEqual([others, most, before, rules], [4, Math.log(6), "4", []]);
  assert.deepEqual(numbers.cross, { layers: 1, heads: 1, keys: ["4", "5", "6", "3"], weights: [[0, 1, 0, 0]] });
  assert.deepEqual(numbers.self.keys, ["4", "5"]);
  assert.deepEqual(numbers.self.weights, [[0, 1]]);
});

test("a branch shares the beginning of its translation and goes on from its token", async () => {
  const { numbers, engine } = await drawn({ begin: "", branches: "1.3.7_2.1.5", at: "3.9" });
  assert.deepEqual(numbers.lines.map(({ ids }) => ids), [[4, 5, 6, END], [4, 5, 7, 4, 5, 6, END], [5, 4, 5, 6, END]]); // prettier-ignore
  assert.deepEqual(numbers.lines.map(({ shared, forced, drops }) => [shared, forced, drops]), [[0, 0, false], [2, 3, true], [0, 1, true]]); // prettier-ignore
  assert.deepEqual(numbers.at, { line: 2, step: 4 }); // the nearest that there is
  assert.deepEqual(engine.asked, ["", [4, 5, 7], [5], [5, 4, 5, 6, END]]);
});

test("what was computed for the sentence is not computed again", async () => {
  const { view, engine } = await drawn({ begin: "", branches: "1.1.5", at: "1.1" });
  engine.asked.length = 0;
  view.state = { begin: "", branches: "1.1.5", at: "1.4" };
  view.follow();
  await settled();
  assert.deepEqual([engine.asked, view.computed.at], [[], { line: 0, step: 3 }]);
});

test("branches that do not fit are left out", async () => {
  for (const branches of ["1.5.4", "2.1.4", "1.1.0", "1.1.2", "1.1.8"]) {
    const { numbers } = await drawn({ begin: "", branches, at: "" });
    assert.deepEqual([numbers.unfit, numbers.lines.length], [true, 1], branches);
  }
  assert.equal((await drawn({ begin: "", branches: "1.1.7", at: "" })).numbers.unfit, false);
});

test("a beginning is kept; one that cannot be written is left out, and why is known", async () => {
  const { numbers } = await drawn({ begin: "76", branches: "", at: "" });
  assert.deepEqual([numbers.begin, numbers.wrong, numbers.lines[0].forced], ["76", null, 2]);
  const { numbers: other } = await drawn({ begin: "!", branches: "", at: "" });
  assert.deepEqual([other.wrong, other.lines[0].forced], [{ code: "unwritable", prefix: "!" }, 0]);
});

test("of a model that computes NaN nothing is drawn but why", async () => {
  const engine = new Engine();
  engine.continuations = async () => {
    throw Object.assign(new Error(), { name: "InputError", about: { code: "numbers", side: "target" } });
  };
  const { numbers } = await drawn({ begin: "", branches: "", at: "" }, engine);
  assert.deepEqual([numbers.wrong.code, numbers.lines], ["numbers", undefined]);
});
