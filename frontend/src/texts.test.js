import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { ANATOMY_TEXTS } from "./anatomy/words/texts.js";
import { NUMBER_TEXTS } from "./anatomy/number/texts.js";
import { FORMATION_TEXTS } from "./formation/texts.js";
import { MEASURES_TEXTS } from "./measures/texts.js";
import { POSITION_TEXTS } from "./positions/texts.js";
import { TRAINING_TEXTS } from "./training/texts.js";
import { WHY_TEXTS } from "./why/texts.js";

// Table of texts -> the folders whose code uses it, and the beginnings of keys that are put together from a name of the
// data, such as "kind_" + kind.
/** @type {[string, Record<string, string>, string[], RegExp][]} */
const TABLES = [
  ["anatomy", ANATOMY_TEXTS, ["anatomy"], /^tell_/],
  ["number", NUMBER_TEXTS, ["anatomy/number"], /^number_(name|why|card|from|col|a)_/],
  ["formation", FORMATION_TEXTS, ["formation"], /^(previous|next)$/],
  ["measures", MEASURES_TEXTS, ["measures"], /^(full|unit|formula|meaning|term)_/],
  ["positions", POSITION_TEXTS, ["positions"], /^((d_model|length|k|q)(_term)?)$/],
  ["training", TRAINING_TEXTS, ["training"], /^(loss|exact|forced)_(unit|title)$/],
  ["why", WHY_TEXTS, ["why"], /^$/],
];
const SOURCES = import.meta.dirname;

function codeOf(folders) {
  const paths = readdirSync(SOURCES, { recursive: true }).map((path) => String(path).replaceAll("\\", "/"));
  const isCode = (path) => path.endsWith(".js") && !/(\.test|texts|explanations\w*)\.js$/.test(path);
  const chosen = paths.filter((path) => isCode(path) && folders.some((folder) => path.startsWith(`${folder}/`)));
  return chosen.map((path) => readFileSync(`${SOURCES}/${path}`, "utf8")).join("\n");
}

for (const [name, texts, folders, built] of TABLES) {
  test(`every text of ${name} is used and every text asked for is there`, () => {
    const code = codeOf([...folders, "host"]);
    const strings = new Set([...code.matchAll(/"([\w ]+)"/g)].map(([, text]) => text));
    const starts = [...code.matchAll(/["`]([\w]+_)(?:"|\$\{)/g)].map(([, text]) => text);
    const ends = [...code.matchAll(/["}](_[a-z_]+)["`]/g)].map(([, text]) => text);
    const unused = Object.keys(texts).filter(
      (key) =>
        !strings.has(key) &&
        !built.test(key) &&
        !starts.some((start) => key.startsWith(start)) &&
        !ends.some((end) => key.endsWith(end)),
    );
    assert.deepEqual(unused, []);
    const askedKeys = [...code.matchAll(/\bt\("(\w+)"/g)].map(([, key]) => key).filter((key) => !key.endsWith("_"));
    const missing = askedKeys.filter((key) => key !== "region" && !(key in texts)); // region: of host/plain_view.js
    if (!name.startsWith("anatomy")) assert.deepEqual(missing, []); // its code uses four tables at once
  });
}
