import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { chooseParticles } from "./particles.js";
import { makeTexts } from "./texts.js";

const CASES = JSON.parse(readFileSync(new URL("../../../tests/particles.json", import.meta.url), "utf8"));

test("the particle follows the last sound, as in Python", () => {
  for (const [both, one] of CASES) assert.equal(chooseParticles(both), one);
});

test("a translation is filled in with the right particles", () => {
  const t = makeTexts({ "{head} rests.": "{head}은(는) 쉽니다." }, { rests: "{head} rests." });
  assert.equal(t("rests", { head: "2층" }), "2층은 쉽니다.");
  assert.equal(makeTexts(null, { rests: "{head} rests." })("rests", { head: "은(는)" }), "은(는) rests.");
});
