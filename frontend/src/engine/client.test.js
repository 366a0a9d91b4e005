import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Engine } from "./client.js";

// Workers that do what a test says, and the messages they got.
class FakeWorker {
  /** @type {any[]} */ static started = [];
  messages = [];
  ended = false;
  /** @type {any} */ onmessage = null;

  constructor(script) {
    if (script.includes("forbidden")) throw new DOMException("forbidden by a policy", "SecurityError");
    this.script = script;
    FakeWorker.started.push(this);
  }

  postMessage(message) {
    this.messages.push(message);
  }

  terminate() {
    this.ended = true;
  }

  say(data) {
    this.onmessage({ data });
  }
}

const ABOUT = { name: "reverse" };
const ASKED = { base: "models/reverse/", about: ABOUT };
const newEngine = (options = {}) => new Engine({ script: "engine.js", wasm: "ort.wasm.gz", ...options });

async function opened(options = {}) {
  const engine = newEngine(options);
  const ready = engine.open(ASKED);
  FakeWorker.started.at(-1).say({ ready: true });
  await ready;
  return { engine, worker: FakeWorker.started.at(-1) };
}

beforeEach(() => {
  FakeWorker.started = [];
  const page = { Worker: FakeWorker, document: { baseURI: "https://host.test/below/" }, navigator: {} };
  for (const [name, value] of Object.entries(page))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
});

test("a model opens with progress, at addresses beside the page", async () => {
  const seen = [];
  const engine = newEngine();
  const ready = engine.open({ ...ASKED, progress: (state) => seen.push(state) });
  const [worker] = FakeWorker.started;
  assert.equal(worker.script, "https://host.test/below/engine.js");
  assert.equal(worker.messages[0].base, "https://host.test/below/models/reverse/");
  assert.equal(worker.messages[0].wasm, "https://host.test/below/ort.wasm.gz");
  worker.say({ progress: { loaded: 1, total: 2 } });
  assert.equal(engine.ready, false);
  worker.say({ ready: true });
  await ready;
  assert.deepEqual([engine.ready, engine.about, seen], [true, ABOUT, [{ loaded: 1, total: 2 }]]);
});

test("what is known first is handed on, and the trace has it too", async () => {
  const { engine, worker } = await opened();
  const parts = [];
  const answer = engine.trace({ source: "ab", channel: "heads" }, (part) => parts.push(part));
  const { id, call, asked, channel, parts: wanted } = worker.messages.at(-1);
  assert.deepEqual([call, asked, channel, wanted], ["trace", { source: "ab" }, "heads", true]);
  worker.say({ id, part: { stage: "encoder", trace: { source_ids: [1] } } });
  worker.say({ id, part: { stage: "words", ids: [2], text: "b" } });
  worker.say({ id, result: { target_out_ids: [2, 3] } });
  assert.deepEqual(await answer, { source_ids: [1], target_out_ids: [2, 3] });
  assert.deepEqual(
    parts.map(({ stage }) => stage),
    ["encoder", "words"],
  );
});

test("errors of a request have their name and what they are about, and the engine goes on", async () => {
  const { engine, worker } = await opened();
  const about = { code: "long", side: "source", tokens: 200, limit: 128 };
  const long = engine.trace({ source: "ab" });
  worker.say({ id: worker.messages.at(-1).id, error: { name: "InputError", message: "source: long", about } });
  await assert.rejects(long, { name: "InputError", about });
  const old = engine.trace({ source: "ab" });
  worker.say({ id: worker.messages.at(-1).id, error: { name: "Dropped", message: "" } });
  await assert.rejects(old, { name: "Dropped" });
  assert.ok(engine.ready);
});

test("without SIMD, with little memory or without a worker there is no engine, and the error says why", async () => {
  const reasonOf = (engine) => engine.open(ASKED).then(assert.fail, ({ reason }) => reason);
  const { validate } = WebAssembly;
  WebAssembly.validate = () => false;
  assert.equal(await reasonOf(newEngine()), "simd");
  WebAssembly.validate = validate;
  globalThis.navigator = /** @type {any} */ ({ deviceMemory: 1 });
  assert.equal(await reasonOf(newEngine()), "memory");
  globalThis.navigator = /** @type {any} */ ({ deviceMemory: 8 });
  assert.equal(await reasonOf(newEngine({ script: "forbidden.js" })), "worker");
  assert.equal(FakeWorker.started.length, 0);
});

for (const [reason, event] of Object.entries({
  download: { data: { failed: { name: "DownloadError", message: "model.safetensors: 404" } } },
  memory: { data: { failed: { name: "Error", message: "ERROR_MESSAGE: std::bad_alloc" } } },
  worker: { data: { failed: { name: "TypeError", message: "x is not a function" } } },
}))
  test(`an engine that cannot open says: ${reason}`, async () => {
    const engine = newEngine({ failed: () => assert.fail("nobody used it") });
    const ready = engine.open(ASKED);
    FakeWorker.started[0].onmessage(event);
    await assert.rejects(ready, { name: "EngineError", reason });
    assert.ok(FakeWorker.started[0].ended && !engine.ready);
  });

test("a script that does not load is an engine that cannot open", async () => {
  const ready = newEngine().open(ASKED);
  FakeWorker.started[0].onerror({ message: "404", preventDefault() {} });
  await assert.rejects(ready, { reason: "worker" });
});

test("an engine that runs out of memory ends and says so", async () => {
  const told = [];
  const { engine, worker } = await opened({ failed: (error) => told.push(error.reason) });
  const [first, second] = [engine.trace({ source: "ab" }), engine.trace({ source: "cd" })];
  const message = "Array buffer allocation failed";
  worker.say({ id: worker.messages.at(-2).id, error: { name: "RangeError", message } });
  await assert.rejects(first, { message });
  await assert.rejects(second, { reason: "memory" });
  assert.deepEqual([told, worker.ended, engine.ready], [["memory"], true, false]);
  await assert.rejects(engine.trace({ source: "ab" }), { reason: "worker" });
});

test("another model takes the place of the first, whose late messages change nothing", async () => {
  const engine = newEngine();
  const first = engine.open(ASKED);
  const second = engine.open({ ...ASKED, about: { name: "sort" } });
  await assert.rejects(first, { name: "Dropped" });
  const [old, worker] = FakeWorker.started;
  old.say({ failed: { name: "DownloadError", message: "" } });
  old.onerror({ message: "", preventDefault() {} });
  worker.say({ ready: true });
  await second;
  assert.deepEqual([old.ended, engine.ready, engine.about], [true, true, { name: "sort" }]);
  const trace = engine.trace({ source: "ab" });
  engine.close();
  await assert.rejects(trace, { name: "Dropped" });
});

test("a metered or slow connection is asked first", () => {
  assert.ok(Engine.wanted(undefined) && Engine.wanted({ effectiveType: "2g", type: "wifi", saveData: false }));
  for (const connection of [{ saveData: true }, { type: "cellular" }]) assert.ok(!Engine.wanted(connection));
});
