import assert from "node:assert/strict";
import { test } from "node:test";
import { headsIn, targetsOf, readSwitches, writeSwitches } from "./params.js";

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
