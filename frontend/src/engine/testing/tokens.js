// What the tokenizer of the page makes of texts, for tests/web/test_tokenizer.py. In: {model: path, table, texts, lists: of
// ids}; out: {texts: [ids, pieces, surfaces, decoded] of each, lists: decoded}.
import fs from "node:fs";
import "../node.js";
import { openTokenizer } from "../tokenizer.js";

const { model, table, texts, lists } = JSON.parse(fs.readFileSync(0, "utf8"));
const tokenizer = await openTokenizer(new Uint8Array(fs.readFileSync(model)), table);
const made = texts.map((text) => {
  const ids = tokenizer.encode(text);
  return [ids, tokenizer.pieces(ids), tokenizer.surfaces(text), tokenizer.decode(ids)];
});
process.stdout.write(JSON.stringify({ texts: made, lists: lists.map((ids) => tokenizer.decode(ids)) }));
