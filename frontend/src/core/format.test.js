import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDeviation } from "./format.js";

test("a deviation is written as a power of ten, as the texts write it", () => {
  const written = [9.54e-7, 2.5e-10, 3, 1.2e12, -1e-5, 0, NaN].map((value) =>
    formatDeviation(value).replaceAll("\u00a0", " "),
  );
  assert.deepEqual(written, ["9.5 × 10⁻⁷", "2.5 × 10⁻¹⁰", "3.0", "1.2 × 10¹²", "−1.0 × 10⁻⁵", "0", "NaN"]);
});
