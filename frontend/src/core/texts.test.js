import assert from "node:assert/strict";
import { test } from "node:test";
import { makeTexts } from "./texts.js";

const TEXTS = { head: "Layer {layer}, head {head}", off: "off" };

test("values are filled into the English text and into its translation", () => {
  assert.equal(makeTexts(null, TEXTS)("head", { layer: 2, head: 6 }), "Layer 2, head 6");
  const german = makeTexts({ "Layer {layer}, head {head}": "Kopf {head} der Schicht {layer}" }, TEXTS);
  assert.equal(german("head", { layer: 2, head: 6 }), "Kopf 6 der Schicht 2");
  assert.equal(german("off"), "off"); // not translated: stays English
});

test("a text without its value or its translation stays as it is", () => {
  assert.equal(makeTexts({}, TEXTS)("head", { layer: 2 }), "Layer 2, head {head}");
  assert.equal(makeTexts({}, TEXTS)("unknown"), "unknown");
});
