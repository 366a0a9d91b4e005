// A model in the page: its exported graphs (transformer/web/graphs.py) run by onnxruntime-web, and its tokenizers. It
// computes in a worker (worker.js) or in Node.
import * as ort from "onnxruntime-web/wasm";
import { continuations } from "./continuations.js";
import { openWeights } from "./safetensors.js";
import { composed, openTokenizer } from "./tokenizer.js";
import { readable, unwritten } from "./words.js";
import { Switches, KINDS } from "./switches.js";
import { Vocabulary } from "./vocabulary.js";

const GRAPHS = ["encoder", "decoder", "output"];
const PAST = ["decoder_self.keys", "decoder_self.values"];
const NEEDED = ["cross.keys", "cross.values", "decoder_output", ...PAST]; // by what the engine computes next
export const EXTRA = 50; // section 6.1: a translation may have 50 tokens more than the source

/** An array with its shape, as the graphs name it. @typedef {{data: any, shape: number[]}} Tensor */

// A text that cannot be traced. code: "empty", "unreadable", "long" or "pads"; side; tokens, limit: both with </s>.
export class InputError extends Error {
  name = "InputError";
  constructor(code, about) {
    super(`${about.side}: ${code}`);
    this.about = { code, ...about };
  }
}

// A pass that nobody waits for any more.
export class Dropped extends Error {
  name = "Dropped";
}

/**
 * Opens a model, and prepares what needs no weights while these are read.
 * @param {{about: any, file: (name: string) => any, wasm?: any}} given about: web.json; file: gives the bytes of a file of
 *   the model's folder, or a promise of them; wasm: the bytes of onnxruntime's WebAssembly, or a promise of them. Or its
 *   URL if the server says that it is application/wasm: then the browser keeps the compiled code for the next time
 */
export async function makeModel({ about, file, wasm = undefined }) {
  const [tokenizers, vocabulary] = await Promise.all([
    openTokenizers(about.tokenizers, file),
    about.words && openVocabulary(await file(about.words)),
    startRuntime(wasm),
  ]);
  const weights = await file(about.weights);
  const options = { executionProviders: ["wasm"], externalData: [{ path: about.weights, data: weights }] };
  const graphs = {};
  for (const name of GRAPHS) graphs[name] = await ort.InferenceSession.create(await file(`${name}.onnx`), options);
  // A browser may keep a Blob outside of its memory.
  return new Model(about, graphs, tokenizers, new Blob([weights]), vocabulary);
}

const openJson = (bytes) => JSON.parse(new TextDecoder().decode(bytes));
const openVocabulary = (bytes) => new Vocabulary(openJson(bytes));

// names: of the files of each side, of a Marian model with a table of ids; no source where both are the same.
async function openTokenizers(names, file) {
  const open = async ({ model, table }) => openTokenizer(await file(model), table && openJson(await file(table)));
  const target = await open(names.target);
  return { target, source: names.source ? await open(names.source) : target };
}

async function startRuntime(wasm) {
  const given = await wasm;
  ort.env.wasm.numThreads = 1; // more need an isolated page, and take longer where another program uses the core
  if (typeof given === "string") ort.env.wasm.wasmPaths = { wasm: given };
  else if (given) ort.env.wasm.wasmBinary = given;
  await ort.InferenceSession.create(new Uint8Array()).catch(() => {}); // no model is in it, but now the runtime is there
}

const TYPES = { float32: Float32Array, bool: Uint8Array, int64: BigInt64Array };

// A tensor of a graph's input; without values that of the model as trained: factors are 1, all else 0.
function tensorOf({ name, type, shape }, sizes, values) {
  const dims = shape.map((size) => (typeof size === "string" ? sizes[size] : size));
  const count = dims.reduce((product, size) => product * size, 1);
  if (type === "int64" && values) values = Array.from(values, BigInt);
  const data = values ? TYPES[type].from(values) : new TYPES[type](count);
  if (!values && name.endsWith("factor")) data.fill(1);
  return new ort.Tensor(type, data, dims);
}

class Model {
  // weights: a Blob with the file; vocabulary: of a model with a closed one
  constructor(about, graphs, tokenizers, weights, vocabulary = undefined) {
    this.about = about;
    this.config = about.config;
    this.graphs = graphs;
    this.tokenizers = tokenizers;
    this.weights = weights;
    this.vocabulary = vocabulary;
    this.opened = null; // a promise of the parameters in it
  }

  // Parameters by name, see Weights.tensors.
  async parameters({ names }) {
    this.opened ??= openWeights((start, end) => this.weights.slice(start, end).arrayBuffer());
    return (await this.opened).tensors(names);
  }

  // Pieces of the target's vocabulary.
  async pieces({ ids }) {
    return this.tokenizers.target.pieces(ids);
  }

  // Runs a graph. given: name -> values, or a tensor of an earlier run; names: of the outputs, all without them.
  async run(stack, sizes, given, names = undefined) {
    const session = this.graphs[stack];
    const feeds = {};
    for (const input of session.inputMetadata) {
      const value = given[input.name];
      feeds[input.name] = value instanceof ort.Tensor ? value : tensorOf(/** @type {any} */ (input), sizes, value);
    }
    return session.run(feeds, names);
  }

  // The outputs of a graph that a trace has if only tensors of such names are wanted, and those that the engine needs.
  kept(stack, keep) {
    return (
      keep &&
      this.graphs[stack].outputNames.filter((name) => NEEDED.includes(name) || keep.includes(name.split(".")[1]))
    );
  }

  // -- texts -------------------------------------------------------------------------------------------------------

  // Ids of a text with </s>. limit: most tokens. Throws InputError.
  encode(text, side, limit) {
    const ids = this.tokenizers[side].encode(text);
    if (!ids.length) throw new InputError(text.trim() ? "unreadable" : "empty", { side, tokens: 0, limit });
    if (ids.length >= limit) throw new InputError("long", { side, tokens: ids.length + 1, limit });
    return [...ids, this.config.end_id];
  }

  // Of each text of a pair: how many tokens it has, with </s>, and labels of those that are not in the vocabulary. Of the
  // source of a model with a closed vocabulary also the words outside it, see Vocabulary.told.
  count(asked) {
    const of = (side) => {
      const [tokenizer, text] = [this.tokenizers[side], asked[side] ?? ""];
      const ids = tokenizer.encode(text);
      const labels = readable(tokenizer.surfaces(text));
      return { tokens: ids.length + 1, unknown: labels.filter((_, at) => ids[at] === this.config.unk_id) };
    };
    const outside = this.vocabulary?.told(asked.source ?? "");
    return { source: { ...of("source"), outside }, target: of("target") };
  }

  limit(asked) {
    return Math.min(this.config.max_positions, asked || this.config.max_positions);
  }

  // Ids of a text with </s>, and what each was typed as. Throws InputError.
  async tokens({ text, side = "source", limit = undefined }) {
    const ids = this.encode(text, side, this.limit(limit));
    return { ids, labels: readable([...this.tokenizers[side].surfaces(text), "</s>"]) };
  }

  continuations(asked) {
    return continuations(this, asked);
  }

  // -- decoding ----------------------------------------------------------------------------------------------------

  // Greedy search. encoded: of `encode_source`; draft: ids that may hold, as those written for the text before; told:
  // called with the ids after every token, false stops (Dropped). Returns the ids; all tensors of a pass over them if that
  // was needed to check the draft; and the probabilities with which they were written, where a pass would give others: it
  // lets every token see the later ones.
  async write(encoded, switches, { limit, draft = [], told = async (_) => true, kept }) {
    const { source, tensors } = encoded;
    const real = source.length - switches.pads;
    const most = Math.min(
      real + EXTRA, this.config.max_positions - switches.shift("target"), this.limit(limit),
    ); // prettier-ignore
    const cached = this.config.causal && !switches.replays;
    const { start_id: start, end_id: end } = this.config;
    let ids = [];
    let past = null; // keys and values of the tokens fed so far
    let known = 0; // how many those are
    let decoded = null;
    const probabilities = [];
    if (cached && draft.length) {
      ({ ids, past, known, decoded } = await this.held(encoded, switches, draft.slice(0, most - 1), kept));
      endAtLimit(this, ids, most);
      if (!(await told(ids))) throw new Dropped();
    }
    while (ids.length < most && ids.at(-1) !== end) {
      const fed = [start, ...ids].slice(known);
      const found = await this.decode(source, tensors, switches, fed, past, known, ["decoder_output", ...PAST]);
      if (cached) {
        past = { keys: found["decoder_self.keys"], values: found["decoder_self.values"] };
        known = ids.length + 1;
      }
      const { next, logits } = await this.project(found, cached ? ["next"] : ["next", "logits"]);
      ids.push(Number(next.data[0]));
      endAtLimit(this, ids, most);
      if (!cached) {
        const data = logits.data.subarray(-logits.dims[1]); // of the last row
        probabilities.push(...probabilitiesOf({ data, shape: [1, data.length] }, ids.slice(-1)));
      }
      decoded = null;
      if (!(await told(ids))) throw new Dropped();
    }
    return { ids, decoded, probabilities: cached ? null : probabilities, complete: isComplete(this, ids, most) };
  }

  // The ids of a draft that greedy search would write too, and the one that follows them; with their keys and values.
  async held(encoded, switches, draft, kept) {
    const { start_id: start, end_id: end } = this.config;
    const fed = [start, ...draft.filter((id) => id !== end)];
    const found = await this.decode(encoded.source, encoded.tensors, switches, fed, null, 0, kept);
    const { logits: all } = await this.project(found);
    const [rows, vocabulary] = all.dims;
    const ids = [];
    for (let row = 0; row < rows; row++) {
      const logits = all.data.subarray(row * vocabulary, (row + 1) * vocabulary);
      ids.push(largest(logits, unwritten(this.config)));
      if (ids[row] !== fed[row + 1]) break;
    }
    const known = ids.length; // tokens fed that hold: <s> and all ids but the last
    const cut = (name) => cutTokens(found[`decoder_self.${name}`], known);
    const decoded = known === rows ? { ...found, logits: all } : null;
    return { ids, known, past: { keys: cut("keys"), values: cut("values") }, decoded };
  }

  // One pass of the decoder over tokens behind a past.
  decode(source, encoded, switches, fed, past, known, names = undefined) {
    const sizes = { source: source.length, target: fed.length, past: known, keys: known + fed.length };
    const given = {
      ...switches.inputs("decoder", { source: source.length, target: fed.length }, known),
      source, target: fed, "cross.keys": encoded["cross.keys"], "cross.values": encoded["cross.values"],
    }; // prettier-ignore
    for (const kind of KINDS)
      // all keys, also those of the past
      if (kind === "decoder_self") given[`${kind}.hidden`] = switches.hidden(kind, known + fed.length);
    if (past) Object.assign(given, { "past.keys": past.keys, "past.values": past.values });
    return this.run("decoder", sizes, given, names);
  }

  // Logits, and the next token. decoded: what `decode` gives.
  project({ decoder_output }, names = undefined) {
    return this.run("output", {}, { decoder_output }, names);
  }

  // -- traces ------------------------------------------------------------------------------------------------------

  // A pass over a sentence pair with every tensor, by the names of transformer/tracing/trace.py; and
  // written_probabilities, if there are others than those of the pass, see `write`.
  // asked: {source, target ("": the model writes it), output (ids instead of a target), switches, limit, draft, keep: names
  // of tensors in all groups that are wanted, as "weights"; all without it}
  // part: called with what is known first: {stage: "encoder", trace}, {stage: "words", ids, text}, {stage: "heads", trace},
  // all but the logits; needed: what of the trace is computed with further; false: drop the pass
  async trace(asked, part = async (_) => true) {
    const { config } = this;
    const limit = this.limit(asked.limit);
    const switches = new Switches(asked.switches, this.about);
    const read = this.encode(asked.source, "source", limit);
    if (read.length + switches.pads > limit)
      throw new InputError("pads", { side: "source", tokens: read.length + switches.pads, limit });
    const source = [...read, ...new Array(switches.pads).fill(config.pad_id)];
    const padding = new Array(switches.pads).fill("<pad>");
    const trace = {
      checkpoint: this.about.name, languages: this.about.languages, causal: config.causal, switches: switches.params,
      source_text: composed(asked.source), source_ids: source, source_tokens: this.tokenizers.source.pieces(source),
      source_labels: [...readable([...this.tokenizers.source.surfaces(asked.source), "</s>"]), ...padding],
    }; // prettier-ignore
    const own = !asked.target?.trim();
    const given = own ? asked.output : this.encode(asked.target, "target", limit);
    const encoded = await this.run("encoder", { source: source.length }, {
      ...switches.inputs("encoder", { source: source.length }), source,
    }, this.kept("encoder", asked.keep)); // prettier-ignore
    add(trace, encoded, switches);
    if (!(await part({ stage: "encoder", trace, needed: "cross" }))) throw new Dropped();
    const told = (ids) => part({ stage: "words", ids: [...ids], text: this.tokenizers.target.decode(ids) });
    const kept = this.kept("decoder", asked.keep);
    const wanted = { limit, draft: asked.draft, told, kept };
    const written = given ? null : await this.write({ source, tensors: encoded }, switches, wanted);
    const out = given || written.ids;
    const fed = [config.start_id, ...out.slice(0, -1)];
    const decoded = written?.decoded ?? (await this.decode(source, encoded, switches, fed, null, 0, kept));
    const { pieces } = this.tokenizers.target;
    const named = (ids) => pieces.call(this.tokenizers.target, ids);
    const labels = own ? readable(named(out)) : readable([...this.tokenizers.target.surfaces(asked.target), "</s>"]);
    Object.assign(trace, {
      target_text: own ? this.tokenizers.target.decode(out) : composed(asked.target), own,
      complete: written ? written.complete : out.at(-1) === config.end_id,
      target_in_ids: fed, target_out_ids: out, target_in: named(fed), target_out: named(out),
      target_in_labels: [...readable(named([config.start_id])), ...labels.slice(0, -1)], target_out_labels: labels,
      target_position_ids: switches.positions("target", fed.length, 0)["target.position_ids"],
      source_position_ids: switches.positions("source", source.length, 0)["source.position_ids"],
    }); // prettier-ignore
    const { logits: known, ...tensors } = decoded;
    add(trace, tensors, switches);
    if (!known && !(await part({ stage: "heads", trace, needed: "decoder_output" }))) throw new Dropped();
    add(trace, { logits: known ?? (await this.project(decoded, ["logits"])).logits }, switches);
    trace.probabilities = probabilitiesOf(trace.logits, out);
    if (written?.probabilities) trace.written_probabilities = written.probabilities;
    return trace;
  }
}

// Adds the outputs of a graph to a trace: "cross.weights" becomes trace.cross.weights.
function add(trace, outputs, switches) {
  for (const [name, { data, dims }] of Object.entries(outputs)) {
    const [group, field] = name.split(".");
    const tensor = { data, shape: [...dims] };
    if (field === undefined) trace[group] = tensor;
    else (trace[group] ??= { ...switches.heads[group] })[field] = tensor;
  }
}

// Replaces the last id of an output at the limit, if the model's settings say by which (`Constraints.last`).
export function endAtLimit({ about }, ids, limit) {
  if (ids.length === limit && about.last !== undefined) ids[limit - 1] = about.last;
}

// Whether the model ended an output itself, as `is_complete` of transformer/inference/search.py.
export function isComplete({ about, config }, ids, limit) {
  return ids.at(-1) === config.end_id && (about.last === undefined || ids.length < limit);
}

// Index of the largest number but those barred.
function largest(numbers, barred) {
  let best = -1;
  for (let at = 0; at < numbers.length; at++)
    if (!barred.includes(at) && (best < 0 || numbers[at] > numbers[best])) best = at;
  return best;
}

// The first tokens of keys or values, [layer, head, token, width].
function cutTokens({ data, dims }, count) {
  const [layers, heads, tokens, width] = dims;
  const cut = new Float32Array(layers * heads * count * width);
  for (let at = 0; at < layers * heads; at++)
    cut.set(data.subarray(at * tokens * width, (at * tokens + count) * width), at * count * width);
  return new ort.Tensor("float32", cut, [layers, heads, count, width]);
}

// softmax(logits) of one id a row.
function probabilitiesOf({ data, shape: [, vocabulary] }, ids) {
  return ids.map((id, row) => {
    const logits = data.subarray(row * vocabulary, (row + 1) * vocabulary);
    const top = logits.reduce((a, b) => Math.max(a, b), -Infinity);
    return Math.exp(logits[id] - top) / logits.reduce((sum, logit) => sum + Math.exp(logit - top), 0);
  });
}
