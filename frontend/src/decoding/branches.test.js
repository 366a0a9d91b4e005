import assert from "node:assert/strict";
import { test } from "node:test";
import { afterBeginning, readBranches, readPosition, without, writeBranches, writePosition } from "./branches.js";

const branches = (...parts) => parts.map(([line, step, token]) => ({ line, step, token }));

test("branches are read as they are written", () => {
  const text = "1.3.417_2.5.0";
  assert.deepEqual(readBranches(text), branches([0, 2, 417], [1, 4, 0]));
  assert.equal(writeBranches(readBranches(text)), text);
  for (const wrong of ["", "1.2", "0.1.5", "1.0.5", "a.b.c", "1.2.3__1.2.4", "1.1.1_".repeat(9), "1.2.١"])
    assert.deepEqual(readBranches(wrong), []);
});

test("a removed translation takes along those that branch off from it", () => {
  const list = branches([0, 1, 5], [1, 2, 6], [0, 3, 7], [3, 4, 8]);
  assert.deepEqual(without(list, 1), branches([0, 3, 7], [1, 4, 8]));
  assert.deepEqual(without(list, 2), branches([0, 1, 5], [0, 3, 7], [2, 4, 8]));
  assert.deepEqual(without(list, 4), list.slice(0, 3));
});

test("branches inside a beginning go with what branches off from them", () => {
  const list = branches([0, 0, 5], [1, 4, 6], [0, 2, 7], [3, 3, 8]);
  assert.deepEqual(afterBeginning(list, 2), branches([0, 2, 7], [1, 3, 8]));
  assert.deepEqual(afterBeginning(list, 0), list);
  assert.deepEqual(afterBeginning(list, 5), []);
});

test("a position is read as it is written", () => {
  assert.deepEqual(readPosition("2.5"), { line: 1, step: 4 });
  assert.equal(writePosition({ line: 1, step: 4 }), "2.5");
  for (const wrong of ["", "2", "2.5.1", "a.b"]) assert.equal(readPosition(wrong), null);
});
