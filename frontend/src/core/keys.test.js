import assert from "node:assert/strict";
import { test } from "node:test";
import { arrowStep, stepIndex } from "./keys.js";

const press = (key, more) => arrowStep({ key, ctrlKey: false, altKey: false, metaKey: false, ...more });

test("arrow keys move by one row or column", () => {
  assert.deepEqual(
    ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"].map((key) => press(key)),
    [
      [-1, 0],
      [1, 0],
      [0, -1],
      [0, 1],
    ],
  );
});

test("other keys and the browser's shortcuts do not move", () => {
  for (const key of ["Enter", "a", "toString"]) assert.equal(press(key), null);
  for (const modifier of ["ctrlKey", "altKey", "metaKey"]) assert.equal(press("ArrowUp", { [modifier]: true }), null);
  assert.deepEqual(press("ArrowUp", { shiftKey: true }), [-1, 0]);
});

test("a step stops at the first and the last item", () => {
  assert.deepEqual(
    [stepIndex(0, -1, 3), stepIndex(1, 1, 3), stepIndex(2, 1, 3), stepIndex(1, -Infinity, 3)],
    [0, 2, 2, 0],
  );
});
