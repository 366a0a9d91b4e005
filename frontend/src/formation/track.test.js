import assert from "node:assert/strict";
import { test } from "node:test";
import { stopLabels } from "./track.js";

globalThis.document = /** @type {any} */ ({
  createElement: () => ({ style: {}, classList: { toggle() {} }, setAttribute() {}, append(...inner) { this.text = inner.join(""); } }),
}); // prettier-ignore

const STEPS = [0, 100, 200, 400, 542, 800, 1200, 1800, 2744, 4000, 5500, 8031, 10000];
const KOREAN = { random: "무작위", trained: "학습 완료" };

function labels(width, at, texts) {
  const data = { steps: STEPS, formings: [] };
  const view = { data, at, theme: { size: 15 }, t: (name) => texts[name] };
  return stopLabels(view, width).map((one) => one.text);
}

test("on a wide screen every stop has its label", () => {
  assert.ok(labels(1200, 3, KOREAN).every(Boolean));
});

test("on a phone the word at an end drops the number that it would cover", () => {
  const found = labels(350, 0, KOREAN);
  assert.equal(found.at(-1), "학습 완료");
  assert.deepEqual(found.slice(-3, -1), ["", ""]);
  assert.equal(found[0], "무작위");
});

test("the stop that is shown has a label, and no other is near it", () => {
  const found = labels(350, 11, KOREAN);
  assert.equal(found[11], "8,031");
  assert.equal(found[12], "");
});
