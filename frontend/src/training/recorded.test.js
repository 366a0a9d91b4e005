import assert from "node:assert/strict";
import { test } from "node:test";
import { joinRuns, placeOf } from "./recorded.js";
import { RunStore } from "./store.js";

// The pack of a run with two frames of one head of one row.
function packOf(id, bytes) {
  const opening = { source_tokens: ["a"], target_in: ["<s>"], layers: 1, heads: 1, shown: [["a", "a"]] };
  const frames = [{ step: 0 }, { step: 9 }];
  const run = { id, stage: "done", from: 0, recorded: 2, causal: true, opening, frames };
  const weights = { dtype: "uint8", shape: [2, 3], offset: 0 };
  return { header: { runs: [{ ...run, weights }] }, array: () => Uint8Array.from(bytes) };
}

test("the runs of a preset become one pack, each with its own frames", () => {
  const packs = [packOf("first", [1, 2, 3, 4, 5, 6]), packOf("second", [7, 8, 9, 10, 11, 12])];
  const joined = joinRuns(
    packs.map((pack, i) => ({ name: ["with", "without"][i], pack })),
    { scene: "one recorded 1" },
  );
  const store = new RunStore();
  assert.deepEqual(store.take(joined).grown, ["first", "second"]);
  assert.deepEqual(
    store.runs.map((run) => [run.about.label, [...run.matrix(1, "cross", 0, 0)], run.lacks]),
    [
      ["with", [6], false],
      ["without", [12], false],
    ],
  );
  assert.equal(store.more.scene, "one recorded 1");
});

test("a link says where a picture is, and leaves the rest as the preset begins", () => {
  const usual = { run: 2, step: -1, kinds: "cross", layer: 2, head: 1, rows: "predicted", log: "off" };
  const link = { step: "500", layer: "1", rows: "fed", head: "x" };
  assert.deepEqual(
    placeOf(usual, (name) => link[name]),
    { ...usual, step: 500, layer: 1, rows: "fed" },
  );
});
