import assert from "node:assert/strict";
import { test } from "node:test";
import { csvField } from "./save.js";

test("a CSV field keeps commas and quotes and is never a formula", () => {
  assert.equal(csvField('a "b", c'), '"a ""b"", c"');
  for (const sign of ["=", "+", "-", "@"]) assert.doesNotMatch(csvField(`${sign}SUM(A1)`), /^"?[=+\-@]/);
});
