import assert from "node:assert/strict";
import { test } from "node:test";
import { inWords, sharedTexts, switchNotes, wordingOf } from "./words.js";

// tests/web/test_lab_packs.py compares the words in English with those of Python.
const t = sharedTexts({});

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
