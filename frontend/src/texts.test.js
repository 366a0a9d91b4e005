import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "acorn";
import { HEAD_TEXTS } from "./heads/texts.js";

// Folders whose code uses the texts of a folder, besides its own; and keys that are put together from names of the data.
const USED_IN = {
  anatomy: ["lab"],
  explorer: ["lab", "anatomy", "heads", "state"],
  lab: ["anatomy"],
  state: ["lab", "explorer", "site"],
  figure: ["positions"],
  heads: ["explorer", "measures", "why", "training"],
  site: ["effect"],
};
const BUILT = {
  decoding: /^(temperature|top_k|top_p)$/,
  explorer: /^(rows|pieces|special|scale|summary|view)_/,
  site: /^unapplied$/,
  "site/pages": /^(others|seed|mean_of_seeds)$|^(words|cut|rescaled|exact|perplexity|wrote)_/,
  softmax: /^preset_/,
  "anatomy/words": /^tell_/,
  "anatomy/number": /^number_(name|why|card|from|col|a)_/,
  formation: /^(aligned_out|aligned_in|previous|next|bleu|exact)$/,
  measures: /^(full|unit|formula|meaning|term)_/,
  positions: /^(halves|fairseq|(d_model|length|k|q)(_term)?)$/,
  state: /^(kind|layer|mask|chip)_|_(in|part|source|target|both|one|some|many)$/,
  training: /^(loss|exact|forced)_(unit|title)$/,
};
const SOURCES = import.meta.dirname;
const paths = readdirSync(SOURCES, { recursive: true }).map((path) => String(path).replaceAll("\\", "/"));

// Every string in the code of some folders: whole ones, and how templates begin and end.
function stringsOf(folders) {
  const strings = { whole: new Set(), starts: new Set(), ends: new Set() };
  const read = (node) => {
    if (node.type === "Literal" && typeof node.value === "string") {
      strings.whole.add(node.value);
      if (node.value.endsWith("_")) strings.starts.add(node.value); // "kind_" + kind
      if (node.value.startsWith("_")) strings.ends.add(node.value);
    }
    if (node.type === "TemplateLiteral" && node.expressions.length) {
      const [first, last] = [node.quasis[0].value.raw, node.quasis.at(-1).value.raw];
      if (first) strings.starts.add(first);
      if (last) strings.ends.add(last);
    }
    for (const child of Object.values(node).flat()) if (child && typeof child.type === "string") read(child);
  };
  for (const path of paths) {
    const code = path.endsWith(".js") && !/(\.test|(^|\/)texts|explanations\w*)\.js$/.test(path);
    if (code && folders.some((folder) => path.startsWith(`${folder}/`)))
      read(parse(readFileSync(join(SOURCES, path), "utf8"), { ecmaVersion: "latest", sourceType: "module" }));
  }
  return strings;
}

for (const path of paths.filter((path) => path.endsWith("/texts.js") && path !== "core/texts.js")) {
  const folder = path.slice(0, -"/texts.js".length);
  test(`the code uses every text of ${folder}`, async () => {
    const top = folder.split("/")[0];
    const { whole, starts, ends } = stringsOf([top, "core", "host", ...(USED_IN[top] ?? [])]);
    const built = BUILT[folder] ?? /^$/;
    const given = Object.values(await import(join(SOURCES, path))).flatMap((texts) => Object.entries(texts));
    const own = given.filter(([key, text]) => folder === "heads" || HEAD_TEXTS[key] !== text);
    const keys = own.map(([key]) => key);
    const unused = keys.filter(
      (key) =>
        !whole.has(key) &&
        !built.test(key) &&
        ![...starts].some((start) => key.startsWith(start)) &&
        ![...ends].some((end) => key.endsWith(end)),
    );
    assert.deepEqual(unused, []);
  });
}
