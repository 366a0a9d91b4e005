import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { download, DownloadError } from "./download.js";

const LENGTH = 300_000;
const LONG = 2 ** 22 + 1000; // more than one entry of the cache
const HERE = "https://headscope.test/models/m/";
const bytesOf = (seed, length = LENGTH) => new Uint8Array(length).map((_, index) => (index * 31 + seed) % 251);

// A server of files. breaks: after how many bytes of each answer the connection ends; ranges: whether it knows them.
class Server {
  requests = [];

  constructor(files, { breaks = [], ranges = true, etag = true, encoding = "" } = {}) {
    this.files = files;
    this.breaks = breaks;
    this.ranges = ranges;
    this.etag = etag;
    this.encoding = encoding;
  }

  fetch = async (url, { headers, cache }) => {
    this.requests.push({ url, range: headers.Range, cache });
    const content = this.files[url.split("?")[0]];
    if (!content) return new Response("", { status: 404 });
    const tag = `"${content[0]}"`;
    const start = this.ranges && headers["If-Range"] === tag ? Number(headers.Range.match(/\d+/)[0]) : 0;
    const told = { ...(this.etag && { etag: tag }), ...(this.encoding && { "content-encoding": this.encoding }) };
    const end = this.breaks.length ? start + this.breaks.shift() : content.length;
    let at = start;
    const body = new ReadableStream({
      pull(controller) {
        const chunk = content.slice(at, Math.min(at + 2 ** 18, end));
        at += chunk.length;
        if (chunk.length) controller.enqueue(chunk);
        else if (end < content.length) controller.error(new TypeError("network error"));
        else controller.close();
      },
    });
    return new Response(body, { status: start ? 206 : 200, headers: told });
  };
}

// The part of Cache Storage that is used. full: how many entries fit.
class FakeCaches {
  entries = new Map();

  constructor(full = Infinity) {
    this.full = full;
  }

  open = async () => ({
    keys: async () => [...this.entries.keys()].map((url) => ({ url })),
    match: async (url) => this.entries.get(url)?.clone(),
    put: async (url, response) => {
      if (this.entries.size >= this.full) throw new DOMException("", "QuotaExceededError");
      this.entries.set(url, response);
    },
    delete: async (url) => this.entries.delete(url),
  });
}

const file = (name, hash = "h1", bytes = LENGTH) => ({ url: HERE + name, bytes, hash });
// deepEqual of millions of numbers takes a second.
function assertSame(found, wanted) {
  assert.equal(found.length, wanted.length);
  wanted.forEach((bytes, index) => assert.equal(Buffer.compare(found[index], bytes), 0));
}
const all = async (...asked) => Promise.all(await download(.../** @type {[any]} */ (asked)));
const using = (server, caches = undefined) => ({ fetch: server.fetch, caches, wait: async () => {} });

test("files come in their order, and progress ends with all bytes", async () => {
  const server = new Server({ [`${HERE}a`]: bytesOf(1), [`${HERE}b`]: bytesOf(2, 10) });
  const seen = [];
  const sources = [file("a"), file("b", "h2", 10), { blob: new Blob([bytesOf(3, 7)]) }];
  const found = await all(sources, (state) => seen.push(state), using(server));
  assertSame(found, [bytesOf(1), bytesOf(2, 10), bytesOf(3, 7)]);
  assert.deepEqual(seen.at(-1), { loaded: LENGTH + 17, total: LENGTH + 17 });
  seen.forEach(({ loaded }, index) => assert.ok(!index || loaded > seen[index - 1].loaded));
});

test("what is in the cache is not downloaded again, and a new version replaces it", async () => {
  const caches = new FakeCaches();
  const server = new Server({ [`${HERE}a`]: bytesOf(1), [`${HERE}b`]: bytesOf(2) });
  await all([file("a"), file("b")], undefined, using(server, caches));
  assert.equal(server.requests.length, 2);
  const again = await all([file("b"), file("a")], undefined, using(server, caches));
  assert.equal(server.requests.length, 2);
  assertSame(again, [bytesOf(2), bytesOf(1)]);
  server.files[`${HERE}a`] = bytesOf(9);
  assertSame(await all([file("a", "h9")], undefined, using(server, caches)), [bytesOf(9)]);
  const versions = [...caches.entries.keys()].map((url) => url.slice(HERE.length).split("&")[0]);
  assert.deepEqual([...new Set(versions)].sort(), ["a?v=h9", "b?v=h1"]);
});

test("a broken download goes on where it ended", async () => {
  const server = new Server({ [`${HERE}a`]: bytesOf(1) }, { breaks: [100_000, 50_000] });
  assertSame(await all([file("a")], undefined, using(server)), [bytesOf(1)]);
  assert.deepEqual(server.requests.map(({ range }) => range), [undefined, "bytes=100000-", "bytes=150000-"]); // prettier-ignore
});

test("a download that was given up goes on with the next page, from the last whole entry", async () => {
  const caches = new FakeCaches();
  const broken = new Server({ [`${HERE}a`]: bytesOf(1, LONG) }, { breaks: [2 ** 22 + 500, 0, 0, 0, 0] });
  await assert.rejects(all([file("a", "h1", LONG)], undefined, using(broken, caches)), DownloadError);
  assert.equal(broken.requests.length, 5);
  const server = new Server({ [`${HERE}a`]: bytesOf(1, LONG) });
  assertSame(await all([file("a", "h1", LONG)], undefined, using(server, caches)), [bytesOf(1, LONG)]);
  assert.deepEqual(server.requests.map(({ range }) => range), [`bytes=${2 ** 22}-`]); // prettier-ignore
});

for (const [what, options] of Object.entries({ ranges: { ranges: false }, "an ETag": { etag: false } }))
  test(`a server without ${what} starts again`, async () => {
    const server = new Server({ [`${HERE}a`]: bytesOf(1) }, { breaks: [100_000], ...options });
    assertSame(await all([file("a")], undefined, using(server)), [bytesOf(1)]);
    assert.equal(server.requests.length, 2);
  });

test("a file that changed in the middle of a download is never mixed with the old one", async () => {
  const server = new Server({ [`${HERE}a`]: bytesOf(1) }, { breaks: [100_000] });
  const changed = { ...using(server), wait: async () => void (server.files[`${HERE}a`] = bytesOf(5)) };
  assertSame(await all([file("a")], undefined, changed), [bytesOf(5)]);
});

test("a server that breaks each time at the same place is given up", async () => {
  const server = new Server({ [`${HERE}a`]: bytesOf(1) }, { breaks: new Array(50).fill(70_000), ranges: false });
  await assert.rejects(all([file("a")], undefined, using(server)), DownloadError);
  assert.equal(server.requests.length, 5);
});

test("a missing file and one of another length end the download", async () => {
  const server = new Server({ [`${HERE}a`]: bytesOf(1) });
  await assert.rejects(all([file("none")], undefined, using(server)), DownloadError);
  await assert.rejects(all([file("a", "h1", LENGTH - 1)], undefined, using(server)), DownloadError);
  assert.equal(server.requests.length, 2);
});

test("nothing fails for want of Cache Storage or of room in it", async () => {
  const denied = { open: () => Promise.reject(new DOMException("", "SecurityError")) };
  const kinds = [
    [undefined, "default"],
    [denied, "default"],
    [new FakeCaches(1), "no-store"],
  ];
  for (const [caches, cache] of kinds) {
    const server = new Server({ [`${HERE}a`]: bytesOf(1) });
    assertSame(await all([file("a")], undefined, using(server, caches)), [bytesOf(1)]);
    assert.equal(server.requests[0].cache, cache); // whether the browser's other cache shall keep it
  }
});

test("a packed file that the browser has unpacked already is taken as it is", async () => {
  const server = new Server({ [`${HERE}a`]: bytesOf(1) }, { encoding: "gzip" });
  const source = { ...file("a", "h1", 100), packed: true };
  assertSame(await all([source], undefined, using(server, new FakeCaches())), [bytesOf(1)]);
});

test("a gzip file is unpacked once and kept unpacked; where the disk is full, it is unpacked again", async () => {
  const content = bytesOf(3, LONG);
  const packed = new Uint8Array(gzipSync(content));
  const source = { ...file("a.gz", "h1", packed.length), packed: true };
  const server = new Server({ [source.url]: packed });
  for (const caches of [new FakeCaches(), new FakeCaches(1)]) {
    for (let time = 0; time < 2; time++) assertSame(await all([source], undefined, using(server, caches)), [content]);
    assert.equal(server.requests.splice(0).length, 1);
  }
  const caches = new FakeCaches();
  await all([source], undefined, using(server, caches));
  assert.deepEqual([...caches.entries.keys()], [`${source.url}?v=h1&whole`]);
  const progress = [];
  await all([source], (state) => progress.push(state), using(server, caches));
  assert.deepEqual(progress, [{ loaded: packed.length, total: packed.length }]);
  assertSame(await all([{ blob: new Blob([packed]), packed: true }], undefined, using(server)), [content]);
});
