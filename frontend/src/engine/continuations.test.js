import assert from "node:assert/strict";
import { test } from "node:test";
import { continuations, shown } from "./continuations.js";

const [PAD, UNK, START, END, A, B] = [0, 1, 2, 3, 4, 5];
const PIECES = ["<pad>", "<unk>", "<s>", "</s>", "▁a", "b"];

const near = (found, wanted) => found.forEach((value, at) => assert.ok(Math.abs(value - wanted[at]) < 1e-6));

// What each token is followed by: half of the time by one, a quarter by another, the rest by <pad>, which is never
// written.
const NEXT = { [START]: [A, B], [A]: [B, A], [B]: [END, A] };
const row = (token) => {
  const logits = new Float32Array(6).fill(-Infinity);
  const [first, second] = NEXT[token] ?? [A, B];
  return Object.assign(logits, { [first]: Math.log(2), [second]: 0, [PAD]: 0 });
};

// A model in which every token says what follows it. fed: what each pass was given.
function markov({ causal = true, max_positions = 8, last = undefined } = {}) {
  const fed = [];
  const tokenizer = {
    encode: (text) => Array.from(text, (letter) => ({ a: A, b: B })[letter] ?? UNK),
    pieces: (ids) => ids.map((id) => PIECES[id]),
    surfaces: (text) => Array.from(text, (letter) => `▁${letter}`),
    decode: (ids) => ids.map((id) => "····ab"[id]).join(""),
  };
  const config = { start_id: START, end_id: END, pad_id: PAD, unk_id: UNK, causal, max_positions };
  return {
    fed,
    config: { ...config, heads: 1, encoder_layers: 0, decoder_layers: 0, d_model: 1, d_ff: 1 },
    get about() {
      return { config: this.config, mean: false, last };
    },
    tokenizers: { source: tokenizer, target: tokenizer },
    encode: (text) => [...tokenizer.encode(text), END],
    limit: (asked) => Math.min(max_positions, asked || max_positions),
    run: async () => ({}),
    decode: async (_source, _encoded, _switches, tokens, past, known) => {
      fed.push([tokens, past && known]);
      const data = Float32Array.from(tokens.flatMap((token) => [...row(token)]));
      return {
        logits: { data, dims: [tokens.length, 6] },
        "decoder_self.keys": "keys",
        "decoder_self.values": "values",
      };
    },
    project: async ({ logits }) => ({ logits }),
  };
}

const HALF = [Math.log(0.5), Math.log(0.25)];

test("greedy search writes after each beginning until </s>, and says what it chose from", async () => {
  const model = markov();
  const { found } = await continuations(model, { source: "ab", forced: [[], [B, A], "ba"] });
  assert.deepEqual(found.map(({ ids }) => ids), [[A, B, END], [B, A, B, END], [B, A, B, END]]); // prettier-ignore
  assert.deepEqual(found[2], found[1]);
  const [own, given] = found;
  assert.deepEqual([own.forced, given.forced, own.complete, own.text, own.possible], [0, 2, true, "ab·", 4]);
  near(given.log_probs, [HALF[1], HALF[1], HALF[0], HALF[0]]);
  assert.deepEqual(given.steps.map(({ before }) => before), ["", "b", "ba", "bab"]); // prettier-ignore
  assert.deepEqual(own.steps[0].labels.slice(0, 2), ["a", "…b"]);
});

test("forced tokens are fed at once, later ones one by one onto what is kept", async () => {
  const model = markov();
  await continuations(model, { source: "ab", forced: [[B, A]] });
  assert.deepEqual(model.fed, [[[START, B, A], null], [[B], 3]]); // prettier-ignore
});

test("without the causal mask no step sees a later token, and nothing is kept", async () => {
  const model = markov({ causal: false });
  const { found } = await continuations(model, { source: "ab", forced: [[B, A]] });
  assert.deepEqual(model.fed.map(([tokens]) => tokens), [[START], [START, B], [START, B, A], [START, B, A, B]]); // prettier-ignore
  assert.deepEqual(found, (await continuations(markov(), { source: "ab", forced: [[B, A]] })).found);
});

test("it ends at the limit and at a </s> that was given", async () => {
  const { found } = await continuations(markov(), { source: "a", forced: [[], [A, A, A], [A, END]], limit: 2 });
  assert.deepEqual(found.map(({ ids, complete }) => [ids, complete]), [[[A, B], false], [[A, A], false], [[A, END], true]]); // prettier-ignore
  const [ended] = (await continuations(markov({ last: END }), { source: "a", limit: 2 })).found;
  assert.deepEqual([ended.ids, ended.complete], [[A, END], false]);
});

test("a beginning that cannot be written is refused, and so are numbers that are none", async () => {
  const asked = (begin) => continuations(markov(), { source: "ab", forced: [begin], limit: 3 });
  await assert.rejects(asked("x"), { about: { code: "unwritable", side: "target", tokens: 2, limit: 3, prefix: "x" } });
  await assert.rejects(asked("aaa"), ({ about }) => about.code === "beginning" && about.tokens === 4);
  const model = markov();
  model.decode = /** @type {any} */ (async () => ({ logits: { data: new Float32Array(6).fill(NaN), dims: [1, 6] } }));
  await assert.rejects(continuations(model, { source: "ab" }), ({ about }) => about.code === "numbers");
});

test("tokens that continue a word are marked, but not in a vocabulary of letters", () => {
  const tokenizer = (surface) => ({ surfaces: () => [surface], pieces: (ids) => ids.map((id) => PIECES[id]) });
  assert.deepEqual(shown(tokenizer("▁a"), [A, B, END, UNK]), ["a", "…b", "</s>", "<unk>"]);
  assert.deepEqual(shown(tokenizer("a"), [A, B]), ["a", "b"]);
});
