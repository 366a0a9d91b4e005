import assert from "node:assert/strict";
import { test } from "node:test";
import { faultsOf } from "./faults.js";

const ctx = { area: { x: 0, y: 0, w: 200, h: 100 }, unit: 15 };
const text = { key: "a", kind: "text", text: "Gesellschaft", size: 1, x: 10, y: 10, w: 100, h: 20 };
const matrix = { key: "m:x", kind: "matrix", x: 10, y: 40, w: 50, h: 50 };

test("a correct board has no faults, and every fault is named", () => {
  assert.deepEqual(faultsOf([text, matrix], ctx, { cut: false }), []);
  const broken = {
    "twice: m:x": [matrix, { ...matrix, x: 100 }],
    "no rectangle: a": [{ ...text, x: NaN }],
    "not to be seen: m:x": [{ ...matrix, w: 0.5 }],
    "no spoken name: a": [{ ...text, go: {} }],
    "a says NaN": [{ ...text, text: "NaN" }],
    "longer than its room: a Gesellschaft": [{ ...text, w: 90 }],
    "small: a": [{ ...text, size: 0.8 }],
    "outside: m:x": [{ ...matrix, y: 60 }],
    "a meets m:x": [{ ...text, y: 32 }, matrix],
    "m:x meets m:y": [matrix, { ...matrix, key: "m:y", x: 50 }],
    "leans out: t": [{ key: "t", kind: "tokens", orient: "columns", labels: ["Donau"], x: 160, y: 10, w: 40, h: 50 }],
  };
  for (const [fault, items] of Object.entries(broken)) assert.deepEqual(faultsOf(items, ctx, { cut: false }), [fault]);
});
