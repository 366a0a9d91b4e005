// The engine as a page sees it: a worker (worker.js) that computes one model.

// A module with one instruction of 128 bits, i8x16.popcnt: a browser without SIMD finds it invalid.
const SIMD = Uint8Array.of(
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
); // prettier-ignore
const LEAST_MEMORY = 2; // gigabytes of the device; a page with `en-de` takes 0.5
const OUT_OF_MEMORY = /memory|alloc|OOM/i;

// Why there is no engine. reason: "simd", "memory", "download" or "worker".
export class EngineError extends Error {
  name = "EngineError";
  constructor(reason, message = reason) {
    super(message);
    this.reason = reason;
  }
}

// An error of a request: name "Dropped" (nobody waits for it any more) or "InputError" (about: see model.js).
const named = ({ name, message, about }) => Object.assign(new Error(message), { name, about });

export class Engine {
  ready = false;
  about = null; // web.json of the model
  worker = null;
  requests = new Map(); // id -> {resolve, reject, part, early: what it has of a trace}
  last = 0; // id

  // script: URL of engine.js; failed(error): the engine ended by itself
  // wasm: URL of ort.wasm.gz, or a Blob with it. Or a URL that ends in ".wasm", from a server that sends the same file
  // as application/wasm with the encoding gzip: then the browser keeps the compiled code and opens in half the time.
  constructor({ script, wasm, failed = (_) => {} }) {
    this.script = script;
    this.wasm = wasm;
    this.failed = failed;
  }

  // Whether a page may download 40 MB unasked: not where the connection is metered. How fast it is, browsers guess from
  // the last answers, also of a busy server.
  static wanted(connection = /** @type {any} */ (navigator).connection) {
    return !(connection?.saveData || connection?.type === "cellular");
  }

  /**
   * Opens a model in place of the one that is open. Rejects with EngineError, or with "Dropped" if another one is opened
   * or the engine closed before.
   * @param {{base: string, about: any, progress?: (state: {loaded: number, total: number}) => void,
   *   blobs?: Record<string, Blob>}} asked base: URL of the model's folder, with a slash at its end; about: its web.json;
   *   blobs: files that the page has already, by name
   */
  async open({ base, about, progress = (_) => {}, blobs = {} }) {
    this.close();
    if (!WebAssembly.validate(SIMD)) throw new EngineError("simd");
    if (/** @type {any} */ (navigator).deviceMemory < LEAST_MEMORY) throw new EngineError("memory");
    const absolute = (url) => new URL(url, document.baseURI).href;
    const worker = start(absolute(this.script));
    const opened = this.request();
    this.worker = worker;
    worker.onerror = (event) => {
      event.preventDefault();
      if (worker === this.worker) this.fail(new EngineError("worker", event.message));
    };
    worker.onmessage = ({ data }) => {
      if (worker !== this.worker) return;
      if (data.progress) progress(data.progress);
      else if (data.failed) this.fail(reasonOf(data.failed));
      else if (data.ready) this.settle(opened.id, "resolve");
      else this.hear(data);
    };
    const wasm = this.wasm instanceof Blob ? this.wasm : absolute(this.wasm);
    worker.postMessage({ base: absolute(base), about, wasm, blobs });
    await opened.promise;
    this.about = about;
    this.ready = true;
  }

  /**
   * A pass over a sentence pair, see Model.trace. Within a channel the newest wins.
   * @param {{source: string, target?: string, output?: number[], switches?: Record<string, string>, limit?: number,
   *   channel?: string}} asked
   * @param {(part: any) => void} [part] called with what is known first
   */
  trace({ channel, ...asked }, part) {
    return this.ask("trace", asked, channel, part);
  }

  // Next-token distributions, see Model.continuations.
  continuations({ channel = undefined, ...asked }) {
    return this.ask("continuations", asked, channel);
  }

  // The tokens of a text, see Model.tokens.
  tokens(asked) {
    return this.ask("tokens", asked, "tokens");
  }

  // How many tokens the texts of a pair have, see Model.count.
  count(sentence) {
    return this.ask("count", sentence, "count");
  }

  // Parameters of the model: names, or [name, rows] for some rows of a matrix; {name: {data, shape}}.
  parameters(names) {
    return this.ask("parameters", { names });
  }

  // Pieces of the target's vocabulary by their ids.
  pieces(ids) {
    return this.ask("pieces", { ids });
  }

  ask(call, asked, channel = undefined, part = undefined) {
    if (!this.ready) return Promise.reject(new EngineError("worker", "no model is open"));
    const { id, promise } = this.request(part);
    this.worker.postMessage({ id, call, asked, channel, parts: Boolean(part) });
    return promise;
  }

  // Ends the worker; who waits for it hears "Dropped".
  close(error = named({ name: "Dropped", message: "the engine was closed", about: undefined })) {
    this.worker?.terminate();
    this.worker = null;
    this.ready = false;
    this.about = null;
    for (const id of [...this.requests.keys()]) this.settle(id, "reject", error);
  }

  fail(error) {
    const ready = this.ready;
    this.close(error);
    if (ready) this.failed(error);
  }

  request(part = undefined) {
    const id = ++this.last;
    const promise = new Promise((resolve, reject) => this.requests.set(id, { resolve, reject, part }));
    return { id, promise };
  }

  settle(id, how, value = undefined) {
    const request = this.requests.get(id);
    this.requests.delete(id);
    request[how](value);
  }

  hear({ id, part, result, error }) {
    const request = this.requests.get(id);
    if (part) {
      if (part.trace) part.trace = request.early = { ...request.early, ...part.trace };
      request.part(part);
    } else if (result) this.settle(id, "resolve", request.early ? { ...request.early, ...result } : result);
    else {
      this.settle(id, "reject", named(error));
      if (reasonOf(error).reason === "memory") this.fail(new EngineError("memory", error.message));
    }
  }
}

function start(script) {
  try {
    return new Worker(script);
  } catch (error) {
    throw new EngineError("worker", error.message);
  }
}

function reasonOf({ name, message }) {
  if (name === "DownloadError") return new EngineError("download", message);
  return new EngineError(name === "RangeError" || OUT_OF_MEMORY.test(message) ? "memory" : "worker", message);
}
