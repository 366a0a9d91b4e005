import assert from "node:assert/strict";
import { test } from "node:test";
import { readSwitches, writeSwitches } from "./params.js";
import { LAB_TEXTS } from "./texts.js";
import { TRIES, switchesOf, tryOf } from "./tries.js";
import { rowOfInterest } from "./row.js";

const FORMS = Object.fromEntries(
  ["scaling", "bias", "causal", "padding", "pad", "weights", "hide", "zero"].map((name) => [
    name,
    { bare: name === "zero" },
  ]),
);
const EMPTY = readSwitches({}, FORMS);
/** @type {[any, any, any]} */
const HEAD = ["cross", 2, 6];

test("each button has a sentence on what it did", () => {
  for (const name of TRIES) assert.ok(`lab_did_${name}` in LAB_TEXTS, name);
});

test("each button sets its switch alone, and is found again in a link", () => {
  const links = TRIES.map((name) => writeSwitches(switchesOf(name, EMPTY, HEAD), FORMS));
  assert.deepEqual(links, [
    { scaling: "off" },
    { bias: "off" },
    { causal: "off" },
    { padding: "off", pad: "4" },
    { weights: "uniform" },
    { zero: "cross.3.7" },
  ]);
  TRIES.forEach((name, i) => assert.equal(tryOf(readSwitches(links[i], FORMS), EMPTY, HEAD), name));
  for (const other of [{}, { scaling: "0.5" }, { scaling: "off", causal: "off" }, { zero: "cross.3" }])
    assert.equal(tryOf(readSwitches(other, FORMS), EMPTY, HEAD), null);
});

test("a mean of heads is knocked out as a whole", () => {
  const of = (kind, layer, head) => writeSwitches(switchesOf("head", EMPTY, [kind, layer, head]), FORMS).zero;
  assert.equal(of("cross", 2, "all"), "cross.3");
  assert.equal(of("cross", "all", 6), "cross.*.7");
  assert.equal(of("cross", "all", "all"), "cross");
});

test("the row that changes most is shown; without a change, the flattest", () => {
  const before = [0.9, 0.1, 0.5, 0.5, 0.7, 0.3];
  assert.equal(rowOfInterest(before, [0.9, 0.1, 0.5, 0.5, 0.1, 0.9], 3, 2), 2);
  assert.equal(rowOfInterest(before, before, 3, 2), 1);
});
