import assert from "node:assert/strict";
import { test } from "node:test";
import { strongestWord } from "./finding.js";

const view = (rowLabels, columnLabels, rows) => ({
  rowLabels, columnLabels, queries: rowLabels.length, keys: columnLabels.length, data: rows.flat(),
}); // prettier-ignore

test("the strongest link of two content words is found, whatever function words and signs have", () => {
  const labels = ["Das", "kleine", "Kind", "."];
  const rows = [
    [0.99, 0, 0, 0.01],
    [0, 0.6, 0.4, 0],
    [0.1, 0.2, 0.7, 0],
    [0, 0, 0, 1],
  ];
  assert.deepEqual(strongestWord(view(labels, ["The", "small", "child", "."], rows)), { row: 2, column: 2 });
});

test("of equal links one that crosses the sentence is found", () => {
  const rows = [
    [0.9, 0, 0],
    [0, 0.05, 0.9],
    [0, 0.9, 0.05],
  ];
  const found = strongestWord(view(["Gestern", "angerufen", "Bruder"], ["Yesterday", "brother", "called"], rows));
  assert.deepEqual(found, { row: 1, column: 2 });
});

test("short words count where there is no longer one, and signs never", () => {
  assert.deepEqual(strongestWord(view(["a", "."], ["b", "."], [[0.2, 0.8], [0, 1]])), { row: 0, column: 0 }); // prettier-ignore
  assert.equal(strongestWord(view(["."], ["."], [[1]])), null);
});
