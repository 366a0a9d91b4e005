import assert from "node:assert/strict";
import { test } from "node:test";
import { csvField, runsByColour } from "./save.js";

test("the cells of a tile become one path for each colour", () => {
  // red red blue / blue blue blue
  const [red, blue] = [
    [200, 0, 10, 255],
    [0, 20, 255, 255],
  ];
  const data = Uint8ClampedArray.from([red, red, blue, blue, blue, blue].flat());
  assert.deepEqual(
    [...runsByColour({ data, width: 3, height: 2 })],
    [
      ["rgb(200,0,10)", "M0 0h2v1h-2z"],
      ["rgb(0,20,255)", "M2 0h1v1h-1zM0 1h3v1h-3z"],
    ],
  );
});

test("a field of a table keeps commas and quotes, and is never a formula", () => {
  assert.equal(csvField('a "b", c'), '"a ""b"", c"');
  for (const sign of ["=", "+", "-", "@"]) assert.doesNotMatch(csvField(`${sign}SUM(A1)`), /^"?[=+\-@]/);
});
