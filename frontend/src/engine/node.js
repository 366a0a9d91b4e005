// The engine in Node, for tests and measurements: a model from a checkpoint's folder.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { makeModel } from "./model.js";

// As in the browser (node_in_browser.js), SentencePiece gets bytes where it asks for a file.
const read = fs.readFileSync;
fs.readFileSync = /** @type {any} */ ((path, ...rest) => (path instanceof Uint8Array ? path : read(path, ...rest)));
syncBuiltinESMExports();

// about: the content of web.json; without it that of the folder.
export async function openFolder(folder, about = undefined, options = {}) {
  const bytes = (name) => new Uint8Array(read(join(folder, name)));
  about ??= JSON.parse(read(join(folder, "web.json"), "utf8"));
  return makeModel({ about, file: bytes, ...options });
}
