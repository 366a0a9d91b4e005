import assert from "node:assert/strict";
import { test } from "node:test";
import { inWords, phrases, sharedTexts, switchNotes, told, wordingOf } from "./words.js";

// tests/web/test_lab_packs.py compares the words with those of Python.

const CONFIG = { encoder_layers: 2, decoder_layers: 2, heads: 2 };
const t = sharedTexts({});

test("switches are said in plain words, and heads are counted where the model is known", () => {
  assert.deepEqual(phrases(t, { scaling: "off", zero: "cross.2" }, CONFIG), [
    "scaling off",
    "2 heads knocked out in cross-attention, layer 2",
  ]);
  assert.equal(inWords(t, { zero: "cross.2" }), "heads knocked out in cross-attention, layer 2");
  assert.equal(inWords(t, { zero: "cross.2,cross.2.1" }, CONFIG), "2 heads knocked out");
  assert.equal(inWords(t, {}, CONFIG), "no switches");
});

test("places with the same change are one phrase, more than three are counted", () => {
  assert.equal(inWords(t, { weights: "uniform@cross,uniform@all.*.2,argmax@all.1" }, CONFIG), [
    "weights uniform in cross-attention and head 2 of every layer",
    "weights argmax in layer 1 of every attention",
  ].join("; ")); // prettier-ignore
  const many = ["cross.1", "cross.2", "all.1.1", "all.2.2"].map((where) => `0.5@${where}`).join();
  assert.equal(inWords(t, { scaling: many }), "scores × 0.5 in 4 places");
});

test("the words are in the reader's language", () => {
  const german = sharedTexts({ "{first}; {second}": "{first} / {second}", "scaling off": "ohne Skalierung" });
  assert.equal(inWords(german, { scaling: "off", pad: "2" }), "ohne Skalierung / 2 <pad> after the source");
});

test("a layer without heads is explained, with the residual connection that carries x past it or without", () => {
  const kinds = {
    cross: {
      zero: [
        [true, true],
        [true, false],
      ],
    },
  };
  const [note] = switchNotes(t, { causal: true, residual: true, kinds });
  assert.match(note, /^Every head is knocked out in cross-attention, layer 1\. .* carries x past it/);
  assert.match(switchNotes(t, { causal: true, residual: false, kinds })[0], /nothing of x remains/);
  const open = { cross: { zero: [[false, true]] } };
  assert.deepEqual(switchNotes(t, { causal: true, residual: true, kinds: open }), []);
  assert.match(switchNotes(t, { causal: false, residual: true, kinds: open })[0], /trained without the causal mask/);
});

test("attention is not called masked where the mask is off", () => {
  const mask = (...data) => ({ data: Uint8Array.from(data), shape: [1, 2, 2, 2] });
  const trace = (switches, data, causal = true) => ({ causal, switches, decoder_self: { mask: mask(...data) } });
  const masked = [1, 0, 1, 1];
  assert.deepEqual(wordingOf(trace({}, [...masked, ...masked])), {});
  const open = trace({ causal: "off" }, [1, 1, 1, 1, 0, 1, 0, 1]); // one token is hidden from every row
  assert.equal(wordingOf(open).kind_decoder_self, "Decoder self (mask off)");
  const half = trace({ causal: "off@decoder_self.1.1" }, [1, 1, 1, 1, ...masked]);
  assert.equal(wordingOf(half).kind_decoder_self, "Decoder self (mask partly off)");
  assert.match(wordingOf(trace({}, [1, 1, 1, 1, 1, 1, 1, 1], false)).chip, /whole target/);
});

test("a saved picture tells the sentences and the switches", () => {
  const trace = { checkpoint: "tiny", source_text: "a b", target_text: "b a" };
  assert.deepEqual(told(t, trace, { scaling: "off" }), {
    ...{ model: "tiny", sentences: "a b → b a", switches: ["scaling-off"], in_words: "Switched: scaling off" },
  });
  assert.deepEqual(told(t, trace, {}).in_words, "");
});
