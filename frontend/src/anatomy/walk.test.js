import assert from "node:assert/strict";
import { test } from "node:test";
import { walk } from "./walk.js";

const config = { encoder_layers: 1, decoder_layers: 2, heads: 1, norm: "post", residual: true };

test("after the output the next token is fed in, into the first layer", () => {
  const output = { zoom: "model", place: "output", encoder: 0, decoder: 1, head: 0, step: "hidden", t: 0 };
  const { place, decoder, t } = walk(config, output, 1, 3);
  assert.deepEqual({ place, decoder, t }, { place: "target", decoder: 0, t: 1 });
  assert.equal(walk(config, { ...output, t: 2 }, 1, 3).place, "output"); // the last step
});
