import assert from "node:assert/strict";
import { test } from "node:test";
import { listText } from "./lists.js";
import { makeTexts } from "./texts.js";

test("a translation chooses the separator of a list", () => {
  const texts = { list: "{first}; {second}" };
  assert.equal(listText(makeTexts(null, texts), ["a", "b", "c"]), "a; b; c");
  assert.equal(listText(makeTexts({ "{first}; {second}": "{first} | {second}" }, texts), ["a", "b"]), "a | b");
  assert.equal(listText(makeTexts(null, texts), []), "");
});
