// Downloads the files of the engine and keeps them in the browser's Cache Storage. web.json says length and hash of each:
// a file that is there needs no request, a new version replaces the old one, and a download that broke goes on where it
// ended, also after the page was closed. What came as gzip is unpacked once, and kept unpacked.
//
// A server needs no more than to send files. One that knows ranges and says an ETag or a date lets a download go on.

import { unpacked } from "./unpack.js";

export const CACHE = "headscope"; // the name of the storage
const PART = 2 ** 22; // bytes of an entry of the cache
const TRIES = 5; // without a new byte
const FIRST_PAUSE = 500; // milliseconds before the second try; twice as long before each following one
const TOLD = 50; // milliseconds between two reports of progress

/**
 * bytes, hash: of the file as it is sent. packed: a gzip file, which some servers declare to be an encoding, so that the
 * browser unpacks it. Or the file itself, of a page that has everything inside.
 * @typedef {{url: string, bytes: number, hash: string, packed?: boolean}} Remote
 * @typedef {Remote | {blob: Blob, packed?: boolean}} Source
 */

export class DownloadError extends Error {
  name = "DownloadError";
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/**
 * The contents of files, in their order: a promise for each.
 * @param {Source[]} sources
 * @param {(state: {loaded: number, total: number}) => void} progress bytes of all files, those of the cache included
 * @returns {Promise<Promise<Uint8Array>[]>}
 */
export async function download(sources, progress = (_) => {}, { fetch, caches, wait } = browser()) {
  const cache = await openCache(caches, sources);
  const loaded = sources.map(() => 0);
  const total = sources.reduce((sum, source) => sum + ("blob" in source ? source.blob.size : source.bytes), 0);
  let told = 0;
  const tell = (index, bytes) => {
    loaded[index] = bytes;
    const sum = loaded.reduce((a, b) => a + b, 0);
    if (sum < total && Date.now() - told < TOLD) return;
    told = Date.now();
    progress({ loaded: sum, total });
  };
  const contents = sources.map(async (source, index) => {
    const unpack = source.packed ? unpacked : (bytes) => bytes;
    if (!("blob" in source)) return kept(source, unpack, cache, (bytes) => tell(index, bytes), fetch, wait);
    const content = new Uint8Array(await source.blob.arrayBuffer());
    tell(index, content.length);
    return unpack(content);
  });
  for (const content of contents) content.catch(() => {}); // whoever waits for it hears of it
  return contents;
}

const browser = () => ({ fetch: globalThis.fetch.bind(globalThis), caches: globalThis.caches, wait: pause });

// The cache, without old versions of these files. A page on http has none, nor has a private window of some browsers.
async function openCache(caches, sources) {
  try {
    const cache = await caches.open(CACHE);
    const hashes = new Map(sources.map(({ url, hash }) => [url, hash]));
    for (const { url } of await cache.keys()) {
      const hash = hashes.get(url.split("?")[0]);
      if (hash && new URL(url).searchParams.get("v") !== hash) await cache.delete(url);
    }
    return cache;
  } catch {
    return undefined;
  }
}

// What the cache has, or what is sent; of a gzip file, the cache keeps the content when it is whole.
async function kept(source, unpack, cache, tell, fetch, wait) {
  const { url, bytes, hash, packed } = source;
  const whole = `${url}?v=${hash}&whole`;
  const found = packed && (await cache?.match(whole));
  if (found) {
    tell(bytes);
    return new Uint8Array(await found.arrayBuffer());
  }
  const content = await unpack(await sent(source, cache, tell, fetch, wait));
  if (packed && cache) {
    const parts = Array.from({ length: Math.ceil(bytes / PART) }, (_, part) => `${url}?v=${hash}&at=${part * PART}`);
    const put = cache
      .put(whole, new Response(content))
      .then(() => Promise.all(parts.map((part) => cache.delete(part))));
    await put.catch(() => {}); // the disk is full: the parts stay
  }
  return content;
}

/** @param {Remote} source */
async function sent({ url, bytes, hash, packed }, cache, tell, fetch, wait) {
  const versioned = `${url}?v=${hash}`;
  const content = new Uint8Array(bytes);
  let validator = ""; // what the server calls this version of the file
  let at = 0; // bytes that are there
  let saved = 0; // bytes in the cache
  const writes = [];
  const save = () => {
    for (; cache && (at - saved >= PART || (at === bytes && saved < bytes)); saved += PART) {
      const part = new Response(content.subarray(saved, Math.min(saved + PART, bytes)), { headers: { validator } });
      const written = cache.put(`${versioned}&at=${saved}`, part);
      writes.push(written.catch(() => (cache = undefined))); // the disk is full
    }
  };
  while (cache && at < bytes) {
    const part = await cache.match(`${versioned}&at=${at}`);
    if (!part) break;
    const found = new Uint8Array(await part.arrayBuffer());
    content.set(found, at);
    validator = part.headers.get("validator");
    saved = at += found.length;
    tell(at);
  }
  let furthest = at;
  for (let tries = 0; at < bytes;) {
    try {
      const goesOn = at && validator;
      const response = await fetch(versioned, {
        headers: goesOn ? { Range: `bytes=${at}-`, "If-Range": validator } : {},
        cache: cache ? "no-store" : "default",
      });
      if (response.status >= 500) throw new TypeError(`${url}: ${response.status}`); // busy: again
      if (!response.ok) throw new DownloadError(`${url}: ${response.status}`);
      if (packed && response.headers.get("content-encoding")) return new Uint8Array(await response.arrayBuffer());
      if (response.status !== 206) at = saved = 0; // another version, or a server without ranges: all of it
      validator = validatorOf(response);
      for (const reader = response.body.getReader(); ;) {
        const { done, value } = await reader.read();
        if (done) break;
        if (at + value.length > bytes) throw new DownloadError(`${url} is longer than ${bytes} bytes`);
        content.set(value, at);
        at += value.length;
        save();
        tell(at);
      }
      if (at < bytes) throw new TypeError(`${url} ended after ${at} of ${bytes} bytes`);
    } catch (error) {
      if (at > furthest) tries = 0;
      furthest = Math.max(furthest, at);
      if (error instanceof DownloadError || ++tries === TRIES) throw new DownloadError(error.message);
      await wait(FIRST_PAUSE * 2 ** (tries - 1));
    }
  }
  await Promise.all(writes);
  return content;
}

// A weak ETag says that two versions mean the same, not that their bytes are equal: no range may rely on it.
function validatorOf({ headers }) {
  const tag = headers.get("etag") ?? headers.get("last-modified") ?? "";
  return tag.startsWith("W/") ? "" : tag;
}
