import assert from "node:assert/strict";
import { test } from "node:test";
import { START_VIEW } from "./generated.js";
import { changedKeys, mergeState, stateText } from "./state.js";

test("valid values of a link replace those of the state, and the rest stays", () => {
  const start = { ...START_VIEW, head: 3 };
  const next = mergeState(start, { kind: "all", layer: "all", threshold: 0.25, cell: [1, 2], view: "lines" });
  assert.deepEqual(next, { ...start, kind: "all", layer: "all", threshold: 0.25, cell: [1, 2], view: "lines" });
  assert.deepEqual(start, { ...START_VIEW, head: 3 }); // not changed itself
});

test("invalid values of a link change nothing", () => {
  const wrong = [
    { kind: "self" },
    { layer: -1 },
    { layer: 1.5 },
    { head: "2" },
    { summary: null },
    { rows: ["fed"] },
    { threshold: 1.01 },
    { threshold: "much" },
    { threshold: NaN },
    { unknown: 1 },
    { __proto__: { kind: "all" } },
    null,
    undefined,
  ];
  for (const partial of wrong) assert.deepEqual(mergeState(START_VIEW, partial), START_VIEW);
});

test("an invalid cell means that no cell is chosen", () => {
  const start = { ...START_VIEW, cell: [1, 1] };
  for (const cell of [null, [1], [1, -2], [1, "2"], "1,2", [1, 2, 3]])
    assert.equal(mergeState(start, { cell }).cell, null);
  assert.deepEqual(mergeState(start, { layer: 2 }).cell, [1, 1]);
});

test("a number given as text and a yes or no given as 0 or 1 are read", () => {
  assert.equal(mergeState(START_VIEW, { threshold: "0.5" }).threshold, 0.5);
  assert.equal(mergeState(START_VIEW, { big: 1 }).big, true);
});

test("two states are compared by their known keys only", () => {
  const changed = mergeState(START_VIEW, { head: 2, cell: [0, 1] });
  assert.deepEqual(changedKeys(START_VIEW, changed), ["head", "cell"]);
  assert.equal(stateText({ extra: 1, ...START_VIEW }), stateText(START_VIEW));
  assert.notEqual(stateText(changed), stateText(START_VIEW));
});
