import assert from "node:assert/strict";
import { test } from "node:test";
import { Live } from "../live/live.js";
import { liveDecoding } from "./live.js";

globalThis.document = /** @type {any} */ ({ documentElement: {}, addEventListener() {} });
const settled = () => new Promise((resolve) => setTimeout(resolve));
const END = 3;
const SENTENCE = { source: "s", target: "" };

// tests/web/test_decoding_packs.py compares the numbers with those of Python; here is what the engine is asked for.

// An engine that writes 4, 5, 6, </s> after any beginning.
class Engine {
  about = { name: "tiny", config: { pad_id: 0, start_id: 2 } };
  asked = [];

  async continuations({ forced: [forced] }) {
    this.asked.push(forced);
    const given = typeof forced === "string" ? Array.from(forced, Number) : forced;
    const ids = given.at(-1) === END ? given : [...given, 4, 5, 6, END];
    const steps = ids.map((id, at) => ({
      ids: [id, 7],
      labels: [`#${id}`, "#7"],
      probabilities: [0.5, 0.25],
      rest: 0.25,
      entropy: 1,
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

test("each translation is asked for once, and one pass over the chosen one", async () => {
  const { numbers, engine } = await drawn({ begin: "", branches: "1.3.7_2.1.5", at: "3.9" });
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

test("of a model that computes NaN nothing is drawn but why", async () => {
  const engine = new Engine();
  engine.continuations = async () => {
    throw Object.assign(new Error(), { name: "InputError", about: { code: "numbers", side: "target" } });
  };
  const { numbers } = await drawn({ begin: "", branches: "", at: "" }, engine);
  assert.deepEqual([numbers.wrong.code, numbers.lines], ["numbers", undefined]);
});
