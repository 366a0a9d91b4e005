import assert from "node:assert/strict";
import { test } from "node:test";
import { START_ANATOMY } from "../state/generated.js";
import { linkOfState, stateOfLink } from "./link.js";

const CONFIG = { encoder_layers: 3, decoder_layers: 2, heads: 4, norm: "post", residual: true };
const open = (params, head) => stateOfLink((name) => params[name], CONFIG, head);

test("a state comes back from its link", () => {
  const state = {
    ...START_ANATOMY,
    ...{ zoom: "number", place: "decoder.cross", encoder: 2, decoder: 1, head: 3, step: "softmax", matrix: "keys" },
    ...{ row: 4, col: 0, t: 2, opened: "more.switches", tempo: "slow" },
  };
  const link = linkOfState(state);
  assert.deepEqual([link.encoder, link.col, link.t, link.tempo], ["3", "1", "3", "slow"]);
  assert.deepEqual(open(link), state);
});

test("what a drawing begins with is not in its link, but for what begins elsewhere without one", () => {
  const link = linkOfState({ ...START_ANATOMY, step: "x" });
  const said = Object.entries(link).filter(([, text]) => text !== null);
  assert.deepEqual(Object.fromEntries(said), { place: "encoder.self", step: "x", head: "1", t: "1" });
});

test("without a link the sentence is about to enter, with the head of the view", () => {
  const { place, head, zoom, step } = open({}, 2);
  assert.deepEqual([place, head, zoom, step], ["source", 2, "model", "row"]);
});

test("a link to a head without a step shows its result", () => {
  assert.equal(open({ zoom: "head", place: "decoder.cross" }).step, "softmax");
  assert.equal(open({ zoom: "sub", place: "decoder.cross" }).step, "x");
});

test("nonsense in a link becomes the nearest valid value", () => {
  const state = open({
    zoom: "head",
    place: "encoder.ff",
    encoder: "99",
    head: "-1",
    step: "softmax",
    tempo: "<b>",
    row: "x",
  });
  assert.deepEqual(
    [state.zoom, state.encoder, state.head, state.step, state.tempo, state.row],
    ["sub", 2, 0, "x", "normal", 0],
  );
});
