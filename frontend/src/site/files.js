// The files of the site, by paths below its folder. In a site of a single file (headscope site --single-file) they stand in
// the page, as base64.
import { unpacked } from "../engine/unpack.js";

const inPage = (path) => document.getElementById(`file:${path}`);

export const isSingleFile = () => inPage("site.json") !== null;

/** @param {string} path "" for the folder of the site */
export function fileAddress(path) {
  const folder = isSingleFile() ? location.href.split(/[?#]/)[0] : new URL(".", import.meta.url).href;
  return folder + path;
}

const opened = new Map(); // path -> its answer, so that what was opened once needs no network again

/** @param {string} path @returns {Promise<Response>} */
export async function openFile(path) {
  const held = inPage(path);
  if (held) return fetch(`data:application/octet-stream;base64,${held.textContent}`);
  if (!opened.has(path)) {
    const answer = await fetch(fileAddress(path));
    if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
    opened.set(path, answer);
  }
  return opened.get(path).clone();
}

// The bytes of a pack, which the site has as a gzip file.
export async function openPack(path) {
  const file = await openFile(`${path}.gz`);
  return unpacked(new Uint8Array(await file.arrayBuffer()));
}

// A file for the engine: its address, or what it holds if it stands in the page.
export async function fileOrBlob(path) {
  return isSingleFile() ? (await openFile(path)).blob() : fileAddress(path);
}
