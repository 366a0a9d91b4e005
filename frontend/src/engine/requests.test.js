import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Dropped, InputError } from "./model.js";
import { openFolder } from "./node.js";
import { Requests } from "./requests.js";

const REVERSE = join(import.meta.dirname, "../../../checkpoints/reverse");

const breathe = () => new Promise((resolve) => setImmediate(resolve));

// Requests to a model; `asked` resolves with what the page gets for a request: {parts, result} or {error}.
function serve(model) {
  const answers = new Map();
  const send = (message, buffers) => {
    const { id, part, result, error } = structuredClone(message, { transfer: buffers });
    const answer = answers.get(id);
    if (part) answer.parts.push(part);
    else answer.resolve(error ? { error } : { result, parts: answer.parts });
  };
  const requests = new Requests(model, send, breathe);
  const asked = (request) =>
    new Promise((resolve) => {
      answers.set(request.id, { parts: [], resolve });
      requests.add({ call: "trace", parts: true, ...request });
    });
  return { asked };
}

// A model whose passes have three steps; `steps` are those that ran.
function slowModel() {
  const steps = [];
  const trace = async ({ source }, part) => {
    for (let step = 1; step <= 3; step++) {
      steps.push(`${source}${step}`);
      if (!(await part({ stage: "words", ids: [step], text: source }))) throw new Dropped();
    }
    return { source_text: source };
  };
  return { steps, trace };
}

test("the newest text wins: a pass that nobody waits for ends between two steps, one that waits never starts", async () => {
  const model = slowModel();
  const { asked } = serve(model);
  const first = asked({ id: 1, channel: "heads", asked: { source: "a" } });
  await breathe();
  const second = asked({ id: 2, channel: "heads", asked: { source: "b" } });
  const third = asked({ id: 3, channel: "heads", asked: { source: "c" } });
  assert.equal((await first).error.name, "Dropped");
  assert.equal((await second).error.name, "Dropped");
  assert.equal((await third).result.source_text, "c");
  assert.ok(!model.steps.includes("a3") && !model.steps.some((step) => step.startsWith("b")));
});

test("channels do not disturb each other, and requests without a channel are all answered", async () => {
  const model = slowModel();
  const { asked } = serve(model);
  const channels = ["before", "after", undefined, undefined];
  const answers = channels.map((channel, id) => asked({ id, channel, asked: { source: `${id}` } }));
  for (const [id, { result }] of (await Promise.all(answers)).entries()) assert.equal(result.source_text, `${id}`);
});

test("an error reaches the page with what it is about, and the next request is answered", async () => {
  const trace = async ({ source }) => {
    if (source) return { source_text: source };
    throw new InputError("empty", { side: "source", tokens: 0, limit: 9 });
  };
  const { asked } = serve({ trace });
  const { error } = await asked({ id: 1, asked: { source: "" } });
  assert.equal(error.name, "InputError");
  assert.deepEqual(error.about, { code: "empty", side: "source", tokens: 0, limit: 9 });
  assert.equal((await asked({ id: 2, asked: { source: "a" } })).result.source_text, "a");
});

test("parts and the rest together are the whole trace, and each tensor travels once", async () => {
  const model = await openFolder(REVERSE);
  const whole = await model.trace({ source: "stone" });
  const { asked } = serve(model);
  const { result, parts } = await asked({ id: 1, asked: { source: "stone" } });
  const traces = [...parts.flatMap(({ trace }) => trace ?? []), result];
  const names = traces.flatMap(Object.keys);
  assert.equal(new Set(names).size, names.length);
  assert.deepEqual(Object.assign({}, ...traces), whole);
  assert.deepEqual(Object.keys(result).sort(), ["decoder_output", "logits", "probabilities"]);
  assert.deepEqual(
    parts.map(({ stage, text }) => text ?? stage),
    ["encoder", "e", "en", "eno", "enot", "enots", "enots", "heads"],
  );
  assert.deepEqual((await asked({ id: 2, parts: false, asked: { source: "stone" } })).result, whole);
});

test("with the words of the text before as a draft, the model writes what it writes without, in fewer steps", async () => {
  const model = await openFolder(REVERSE);
  const { asked } = serve(model);
  let passes = 0;
  const run = model.run.bind(model);
  model.run = (stack, ...rest) => {
    passes += Number(stack === "decoder");
    return run(stack, ...rest);
  };
  const typed = ["t", "tr", "tra", "trai", "train", "trains", "strains", "strain", "strain", "grain"];
  const counts = { plain: [], drafted: [] };
  for (const [id, source] of typed.entries()) {
    passes = 0;
    const plain = await model.trace({ source });
    counts.plain.push(passes);
    passes = 0;
    const { result, parts } = await asked({ id, channel: "heads", asked: { source } });
    counts.drafted.push(passes);
    const { target_out_ids: ids } = Object.assign({}, ...parts.map(({ trace }) => trace), result);
    assert.deepEqual(ids, plain.target_out_ids);
  }
  assert.equal(counts.drafted[8], 1); // the same text again: the pass that checks the draft is that of the trace
  assert.equal(counts.plain[8], "strain".length + 1 + 1);
  counts.drafted.forEach((count, index) => assert.ok(count <= counts.plain[index] + 1));
});

test("a draft that reaches the limit adds no word", async () => {
  const model = await openFolder(REVERSE);
  const asked = { source: "stone", limit: 6, switches: { zero: "cross" } };
  const plain = await model.trace(asked);
  assert.ok(!plain.complete && plain.target_out_ids.length === 6);
  assert.deepEqual(await model.trace({ ...asked, draft: plain.target_out_ids }), plain);
  model.about.last = model.config.end_id; // as the settings of Marian models have it
  const ended = await model.trace(asked);
  assert.deepEqual(ended.target_out_ids, [...plain.target_out_ids.slice(0, -1), model.config.end_id]);
  assert.ok(!ended.complete);
  for (const { target_out_ids: draft } of [plain, ended])
    assert.deepEqual(await model.trace({ ...asked, draft }), ended);
});
