import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Live } from "../live/live.js";
import { tinyTrace } from "../anatomy/testing/tiny.js";
import { liveLab } from "./live.js";

globalThis.document = /** @type {any} */ (new EventTarget());

// A Lab that notes which packs it draws; its cards show `switches`.
class FakeLab {
  constructor() {
    this.drawn = [];
    this.switches = {};
    this.onSwitches = () => {};
    this.element = { style: { getPropertyValue() {}, setProperty() {}, removeProperty() {} } };
  }

  order({ switches }) {
    this.switches = switches;
  }

  params() {
    return this.switches;
  }

  take({ header }, side) {
    this.drawn.push([header.from ?? "engine", header.says ? "says" : side, header.switches]);
  }

  drawNow() {}

  nextParams() {
    return [];
  }

  press(switches) {
    this.switches = switches;
    this.onSwitches();
  }
}

const engine = {
  about: { name: "tiny", mean: false, config: { encoder_layers: 1, decoder_layers: 1, heads: 2, residual: true } },
  trace: async ({ switches = {} }) => tinyTrace({ switches }),
};

const settle = async () => {
  for (let i = 0; i < 20; i++) await turn();
};

// A pack of the server.
const pack = (header) => ({ header: { from: "server", checkpoint: "tiny", cards: true, pictures: true, ...header } });
const before = (switches) => pack({ state: { revision: 1 }, switches });

function makeLab() {
  const live = new Live();
  const lab = new FakeLab();
  const follow = liveLab(/** @type {any} */ (lab), live);
  live.set({ sentence: { source: "a b", target: "" } });
  return { live, lab, follow };
}

const drawn = (lab) => lab.drawn.splice(0).map((entry) => entry.slice(0, 2).join(" "));

test("without the engine the packs of the server are drawn as they come", async () => {
  const { lab, follow } = makeLab();
  follow.take(before({}), "lab_before");
  follow.take(pack({}), "lab_after");
  follow.take(pack({ says: {} }), "lab_says");
  assert.deepEqual(drawn(lab), ["server before", "server after", "server says"]);
});

test("once the engine draws, the server's packs are kept, and a press is drawn from the engine", async () => {
  const { live, lab, follow } = makeLab();
  follow.take(before({}), "lab_before");
  follow.take(pack({}), "lab_after");
  drawn(lab);
  live.set({ engine });
  await settle();
  assert.deepEqual(drawn(lab), ["engine before", "engine after", "engine says"]);
  lab.press({ scaling: "off" });
  await settle();
  assert.deepEqual(lab.drawn[0].slice(1), ["after", { scaling: "off" }]); // the other side stays
  assert.deepEqual(drawn(lab), ["engine after", "engine says"]);
  follow.take(pack({}), "lab_after"); // of the switches before
  assert.deepEqual(drawn(lab), []);
});

test("a switch that needs the server leaves the picture to it, with both sides of the server", async () => {
  const { live, lab, follow } = makeLab();
  live.set({ engine });
  follow.take(before({}), "lab_before");
  follow.take(pack({}), "lab_after");
  await settle();
  drawn(lab);
  lab.press({ resample: "7" });
  await settle();
  assert.deepEqual(drawn(lab), []); // the last picture stays until the server's comes
  follow.take(pack({}), "lab_after");
  assert.deepEqual(drawn(lab), ["server before", "server after"]);
  lab.press({ scaling: "off" });
  await settle();
  assert.deepEqual(drawn(lab), ["engine before", "engine after", "engine says"]);
});

test("a page with switches of its own, and another model than the engine's, are the server's", async () => {
  for (const header of [{ cards: false }, { checkpoint: "other" }]) {
    const { live, lab, follow } = makeLab();
    live.set({ engine });
    follow.take(pack({ ...header, state: { revision: 1 }, switches: {} }), "lab_before");
    await settle();
    assert.deepEqual(drawn(lab), ["server before"]);
  }
});
