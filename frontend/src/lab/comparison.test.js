import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Live } from "../live/live.js";
import { comparisonOf } from "./comparison.js";

const mask = (...data) => ({ mask: { data: Uint8Array.from(data), shape: [1, 1, 2, 2] } });
const ABOUT = { name: "tiny", mean: false, config: {} };

// An engine that notes what it is asked, and answers when it is told to. hidden: rows and keys of the masks.
function fakeEngine(answer = (_) => ({})) {
  const engine = { about: ABOUT, asked: [], waiting: [] };
  engine.trace = (asked) => {
    engine.asked.push(asked);
    return new Promise((resolve, reject) => engine.waiting.push({ asked, resolve, reject }));
  };
  // Answers everything, and what is asked because of it.
  engine.answer = async () => {
    for (await turn(); engine.waiting.length; await turn()) {
      const { asked, resolve, reject } = engine.waiting.shift();
      const found = answer(asked);
      if (found instanceof Error) reject(found);
      else
        resolve({
          ...{ asked, own: !asked.target, source_ids: [1, 2], target_in_ids: [0, 5], target_out_ids: [5, 3] },
          ...{ encoder_self: mask(1, 1, 1, 1), decoder_self: mask(1, 0, 1, 1), cross: mask(1, 1, 1, 1), ...found },
        });
    }
  };
  return engine;
}

function follow(engine, target = "", ahead = []) {
  const live = new Live();
  const comparison = comparisonOf(live);
  comparison.set(null, { model: ABOUT.name, writes: true, ahead: () => ahead });
  const told = [];
  const stop = comparison.onChange(() => told.push([comparison.passes, comparison.written]));
  live.set({ engine, sentence: { source: "a b", target } });
  return { live, comparison, told, stop };
}

const switchesOf = (engine) => engine.asked.map(({ switches }) => switches);

test("both sides read the tokens of the pass without switches, and the model then writes with them", async () => {
  const engine = fakeEngine();
  const { live, comparison, told } = follow(engine);
  assert.equal(comparisonOf(live), comparison);
  comparison.set({ scaling: "off" });
  await engine.answer();
  assert.deepEqual(switchesOf(engine), [undefined, { scaling: "off" }, { scaling: "off" }]);
  const [, switched, writes] = engine.asked;
  assert.deepEqual([switched.output, writes.output, writes.draft], [[5, 3], undefined, [5, 3]]);
  assert.equal(told.length, 2); // the passes, then what is written
  assert.deepEqual([comparison.passes.before.asked.switches, comparison.passes.after.asked], [undefined, switched]);
  assert.deepEqual([comparison.written.before, comparison.written.after.asked], [comparison.passes.before, writes]);
});

test("another switch needs no new pass without switches; none needs none at all", async () => {
  const engine = fakeEngine();
  const { comparison } = follow(engine);
  comparison.set({ scaling: "off" });
  await engine.answer();
  comparison.set({ causal: "off" });
  await engine.answer();
  assert.equal(engine.asked.length, 5);
  comparison.set({});
  await engine.answer();
  assert.equal(engine.asked.length, 5);
  assert.equal(comparison.passes.after, comparison.passes.before);
  assert.equal(comparison.written.after, comparison.written.before);
});

test("the switches that are likely next are computed ahead, once nothing else is asked", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const engine = fakeEngine();
  const ahead = [{}, { causal: "off" }, { scaling: "off" }, { resample: "7" }];
  const { comparison, told } = follow(engine, "", ahead);
  comparison.set({ scaling: "off" });
  await engine.answer();
  const { passes, written } = comparison;
  context.mock.timers.tick(400);
  await engine.answer();
  assert.deepEqual(switchesOf(engine).slice(3), [{ causal: "off" }]); // the others are known, or the server's
  assert.equal(told.length, 2);
  comparison.set({ causal: "off" });
  await turn();
  assert.deepEqual(comparison.passes.switches, { causal: "off" });
  comparison.set({ scaling: "off" });
  await engine.answer();
  assert.deepEqual([comparison.passes, comparison.written], [passes, written]); // as it was
});

test("<pad> belongs to both sides; a typed target is read, and the model writes without it", async () => {
  const engine = fakeEngine();
  const { comparison } = follow(engine, "b a");
  comparison.set({ pad: "2", padding: "off" });
  await engine.answer();
  assert.deepEqual(
    engine.asked.map(({ target, switches }) => [target, switches]),
    [
      ["b a", undefined],
      ["b a", { pad: "2" }],
      ["b a", { pad: "2", padding: "off" }],
      ["", undefined],
      ["", { pad: "2", padding: "off" }],
    ],
  );
});

test("only the newest question is answered", async () => {
  const engine = fakeEngine();
  const { live, comparison, told } = follow(engine);
  comparison.set({ scaling: "off" });
  live.set({ sentence: { source: "a b c", target: "" } });
  await engine.answer();
  assert.ok(told.every(([passes]) => passes.before.asked.source === "a b c"));
  assert.equal(engine.asked.filter(({ source }) => source === "a b").length, 1);
});

test("hidden tokens that the sentence lacks, or that leave a row nothing to see, are left out", async () => {
  const engine = fakeEngine(({ switches }) => (switches?.hide ? { decoder_self: mask(0, 0, 0, 1) } : {}));
  const { comparison } = follow(engine);
  for (const hide of ["source.3", "target.1"]) {
    comparison.set({ hide, scaling: "off" });
    await engine.answer();
    assert.deepEqual(comparison.passes.switches, { scaling: "off" }, hide);
  }
});

test("more <pad> than fits is left out", async () => {
  const error = Object.assign(new Error("pads"), { name: "InputError", about: { code: "pads" } });
  const engine = fakeEngine(({ switches }) => (switches?.pad ? error : {}));
  const { comparison } = follow(engine);
  comparison.set({ pad: "64", padding: "off" });
  await engine.answer();
  assert.deepEqual(comparison.passes.switches, { padding: "off" });
});

test("without <s> in sight the model cannot write", async () => {
  const open = { decoder_self: mask(0, 1, 0, 1) };
  const engine = fakeEngine(({ switches }) => (switches ? open : {}));
  const { comparison } = follow(engine);
  comparison.set({ hide: "target.1", causal: "off" });
  await engine.answer();
  assert.deepEqual(comparison.passes.switches, { hide: "target.1", causal: "off" });
  assert.deepEqual(comparison.written, {});
});

test("switches that need the server, and a closed engine, end the comparison", async () => {
  const engine = fakeEngine();
  const { live, comparison, stop } = follow(engine);
  comparison.set({ scaling: "off" });
  await engine.answer();
  comparison.set({ resample: "7" });
  assert.deepEqual([comparison.possible, comparison.passes], [false, null]);
  comparison.set({ scaling: "off" });
  await engine.answer();
  assert.ok(comparison.passes);
  live.set({ engine: null });
  assert.equal(comparison.passes, null);
  stop();
  live.set({ engine });
  assert.equal(engine.waiting.length, 0); // nobody listens
});

test("a text that cannot be read changes nothing", async () => {
  const error = Object.assign(new Error("long"), { name: "InputError", about: { code: "long" } });
  const engine = fakeEngine(({ source }) => (source === "long" ? error : {}));
  const { live, comparison } = follow(engine);
  comparison.set({});
  await engine.answer();
  const { passes } = comparison;
  live.set({ sentence: { source: "long", target: "" } });
  await engine.answer();
  assert.equal(comparison.passes, passes);
});
