import assert from "node:assert/strict";
import { test } from "node:test";
import { headsIn, readSwitches, sentenceOf, sentenceValue, targetsOf, usualNames, writeSwitches } from "./params.js";

const FORMS = { scaling: { bare: false }, hide: { bare: false }, zero: { bare: true } };

test("the switches of a link are read and written back unchanged", () => {
  const params = { scaling: "off,0.5@cross.2", zero: "cross.1.2,all.*.3" };
  const lists = readSwitches(params, FORMS);
  assert.deepEqual(lists.scaling, [
    { value: "off", where: "all" },
    { value: "0.5", where: "cross.2" },
  ]);
  assert.deepEqual(lists.zero[1], { value: "", where: "all.*.3" });
  assert.deepEqual(lists.hide, []);
  assert.deepEqual(writeSwitches(lists, FORMS), params);
});

test("a set of heads is written with as few names as possible", () => {
  const sizes = { cross: { layers: 2, heads: 2 }, decoder_self: { layers: 2, heads: 2 } };
  const heads = headsIn(["cross", "decoder_self.2", "decoder_self.1.1"], sizes);
  assert.equal(heads.size, 7);
  assert.deepEqual(targetsOf(heads, sizes), ["cross", "decoder_self.2", "decoder_self.1.1"]);
});

test("a typed sentence becomes a value without separators, and comes back", () => {
  for (const text of ["The dog barks.", "a@b, c=d|e %2C + f", "schläft 한글 😀", "<b>'\"&</b>"]) {
    const value = sentenceValue(text);
    assert.doesNotMatch(value, /[\s,@=|]/);
    assert.equal(sentenceOf(value), text);
  }
  assert.equal(sentenceValue("a b"), "text.a+b"); // as Python writes it
  assert.equal(sentenceValue("a\ud800"), "text.a");
  assert.equal(sentenceOf("text.The+cat|Die+Katze"), "The cat");
  assert.deepEqual([sentenceOf("7"), sentenceOf("text.%"), sentenceOf("")], ["", "", ""]);
});

test("a sub-layer by its name in a pass is the one that its switch names, as in tests/interventions/test_sets.py", () => {
  const cases = [
    ...[["zero", "decoder.2.cross.3,encoder.1.self", "cross.2.3,encoder_self.1"]],
    ...[["scaling", "off@encoder.1.self,0.5@decoder.*.cross.3", "off@encoder_self.1,0.5@cross.*.3"]],
    ...[["skip", "cross.1,encoder_ff.2,encoder_self.3", "decoder.1.cross,encoder.2.ff,encoder.3.self"]],
    ...[["neurons", "decoder_ff.1.17,encoder.1.ff.4,encoder.2.9", "decoder.1.17,encoder.1.4,encoder.2.9"]],
    ...[["resample", "text.decoder.1.self@cross.2", "text.decoder.1.self@cross.2"]],
    ...[["hide", "source.3", "source.3"]],
  ];
  for (const [name, text, usual] of cases) assert.equal(usualNames(name, text), usual);
});
