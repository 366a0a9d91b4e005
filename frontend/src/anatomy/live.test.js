import assert from "node:assert/strict";
import { test } from "node:test";
import { Live } from "../live/live.js";
import { START_ANATOMY } from "../state/generated.js";
import { AnatomyData } from "./data.js";
import { liveAnatomy } from "./live.js";
import { tinyFacts, tinyParameters, tinyTrace } from "./testing/tiny.js";

const PIECES = ["<pad>", "▁x", "<s>", "</s>", "▁a"];
globalThis.document = /** @type {any} */ ({ documentElement: {} });
const settled = () => new Promise((resolve) => setTimeout(resolve));

// The part of an AnatomyView that `liveAnatomy` knows.
class View {
  /** @type {any} */ source;
  /** @type {any} */ revision;
  constructor() {
    this.data = new AnatomyData();
    this.element = { style: { getPropertyValue: () => "1", removeProperty() {} } };
    this.params = {};
    this.switches = { params: () => this.params };
    this.shown = []; // packs that were drawn
    this.draws = 0;
  }

  // As the app does with a pack of the server.
  take(header) {
    if (this.source.order(header)) return false;
    this.accept({ header, array: () => new Float32Array(9) });
    return true;
  }

  accept(pack) {
    this.shown.push(pack.header.sort);
    this.how = pack.header;
    if (this.data.take(pack) && pack.header.sort === "trace") this.adopt(pack.header);
  }

  speak() {
    return false;
  }

  adopt({ state, switches }) {
    if (state.revision !== this.revision) [this.revision, this.params] = [state.revision, switches];
    this.state = this.data.state = { ...START_ANATOMY, ...this.state, ...state };
  }

  show(packs) {
    for (const pack of packs) this.accept(pack);
    this.source.moved();
    this.draws++;
  }

  go(partial) {
    this.state = this.data.state = { ...this.state, ...partial };
    return this.source.moved();
  }
}

// answer(asked): the trace of a pass.
function engineOf(answer = (_asked) => /** @type {any} */ (tinyTrace())) {
  const engine = {
    about: { name: "tiny", mean: true },
    asked: [],
    read: [],
    trace: async (asked) => {
      engine.asked.push(asked);
      return answer(asked);
    },
    parameters: async (names) => {
      engine.read.push(names);
      return tinyParameters(names);
    },
    pieces: async (ids) => ids.map((id) => PIECES[id]),
  };
  return engine;
}

const SENTENCE = { source: "a b", target: "" };
const first = (more) => ({
  ...{ sort: "facts", checkpoint: "tiny", state: { revision: 3, zoom: "sub" }, switches: {}, texts: {} },
  ...tinyFacts(),
  ...more,
});

async function started(header = first(), engine = engineOf()) {
  const [view, live] = [new View(), new Live()];
  live.set({ engine, sentence: SENTENCE, limit: 128 });
  const stop = liveAnatomy(/** @type {any} */ (view), live);
  view.take(header);
  await settled();
  return { view, live, engine, stop };
}

test("the first numbers come from the engine, with the state that the server wants", async () => {
  const { view, engine } = await started(first({ switches: { skip: "encoder.1.ff" } }));
  assert.deepEqual(view.shown, ["trace"]);
  assert.equal(view.revision, 3);
  assert.equal(view.state.zoom, "sub");
  assert.deepEqual(
    engine.asked.map(({ switches, output }) => [switches, output]),
    [
      [undefined, undefined],
      [{ skip: "encoder.1.ff" }, [1, 3]], // the same tokens
    ],
  );
});

test("nothing is asked of an engine with another model", async () => {
  const { view, engine } = await started(first({ checkpoint: "other" }));
  assert.deepEqual([view.shown, engine.asked], [[], []]);
  assert.equal(view.go({}), false);
});

// A sentence that the server has drawn, and then the engine.
async function afterServer(zoom) {
  const trace = tinyTrace();
  const drawn = {
    ids: { source: trace.source_ids, target_out: trace.target_out_ids },
    labels: { source: trace.source_labels, target_out: trace.target_out_labels },
    tokens: { target_in: trace.target_in },
  };
  const [view, live, state] = [new View(), new Live(), { revision: 3, zoom }];
  live.set({ sentence: SENTENCE });
  liveAnatomy(/** @type {any} */ (view), live);
  view.take(first({ sort: "trace", id: "7a", state, ...drawn }));
  live.set({ engine: engineOf() });
  view.take(first({ state })); // from now on the server sends no numbers
  await settled();
  return view;
}

test("what the server has drawn is not drawn again, and its places are made here", async () => {
  const view = await afterServer("model");
  assert.deepEqual([view.shown, view.draws], [["trace"], 0]);
  view.go({ zoom: "sub" });
  assert.equal(view.go({ place: "encoder.ff", step: "inner" }), true);
  assert.equal(view.data.placePack.header.id, "7a");
  assert.equal(view.data.open.header.id, "7a");
});

test("a place that the server has not sent is drawn as soon as the engine is there", async () => {
  const view = await afterServer("sub");
  assert.equal(view.data.placePack.header.id, "7a");
  assert.ok(view.draws > 0);
});

test("packs of the server are refused once the engine draws, but for another model", async () => {
  const { view } = await started();
  assert.equal(view.take({ sort: "open", id: "old" }), false);
  assert.equal(view.take(first({ sort: "trace", id: "old" })), false);
  assert.equal(view.take(first({ sort: "trace", checkpoint: "other", id: "new", tokens: { target_in: [] } })), true);
});

test("of two sentences the newest is drawn, whichever pass ends first", async () => {
  const ends = [];
  const answer = ({ source }) =>
    source === "a b" ? tinyTrace() : new Promise((end) => ends.push(() => end(tinyTrace({ source_text: source }))));
  const { view, live } = await started(first(), engineOf(answer));
  live.set({ sentence: { source: "c", target: "" } });
  live.set({ sentence: { source: "d", target: "" } });
  await settled();
  ends[1]();
  await settled();
  ends[0]();
  await settled();
  assert.equal(view.data.header.sentences.source, "d");
  assert.equal(view.draws, 2);
});

test("a text that cannot be read leaves the drawing, and the next one is drawn", async () => {
  const answer = ({ source }) => {
    if (source === "?") throw Object.assign(new Error("unreadable"), { name: "InputError" });
    return tinyTrace({ source_text: source });
  };
  const { view, live } = await started(first(), engineOf(answer));
  live.set({ sentence: { source: "?", target: "" } });
  await settled();
  assert.equal(view.data.header.sentences.source, "a b");
  live.set({ sentence: SENTENCE });
  await settled();
  assert.equal(view.draws, 2);
});

test("the numbers of a sub-layer are there at once, rows of tables and matrices after they were read", async () => {
  const { view, engine } = await started();
  const { draws } = view;
  assert.equal(view.go({ place: "decoder.cross", step: "project", zoom: "sub" }), true);
  assert.equal(view.data.placePack.header.place, "decoder.0.cross");
  assert.equal(view.data.waiting, true);
  await settled();
  assert.equal(view.data.waiting, false);
  assert.equal(view.draws, draws + 1);
  view.go({ place: "output", step: "logits", t: 0 });
  assert.equal(view.data.placePack, null);
  await settled();
  assert.deepEqual([...view.data.matrix("place.biases").data], [2, 4, 1, 3, 5]);
  view.go({ t: 1 });
  assert.equal(view.data.placePack.header.t, 1); // the rows of all steps were read together
  assert.equal(engine.read.length, 3);
});

test("a switch needs one pass more, and one that only the server knows leaves the drawing to it", async () => {
  const { view, engine } = await started();
  view.params = { zero: "cross.1.2", pad: "2" };
  assert.equal(view.source.switched(), true);
  await settled();
  assert.deepEqual(
    engine.asked.slice(1).map(({ switches }) => switches),
    [{ pad: "2" }, { zero: "cross.1.2", pad: "2" }],
  );
  assert.deepEqual(view.data.header.switches, view.params);
  view.params = { resample: "7@cross" };
  assert.equal(view.source.switched(), false);
  assert.equal(view.take({ sort: "place", id: "of the server" }), true);
});

test("switches that leave a token nothing to see are not applied", async () => {
  const blind = (trace) => ({ ...trace.decoder_self, mask: { data: new Uint8Array(8), shape: [1, 2, 2, 2] } });
  const answer = ({ switches }) =>
    tinyTrace(switches ? { switches, ...(switches.hide && { decoder_self: blind(tinyTrace()) }) } : {});
  const asked = { hide: "target.1", zero: "cross.1.2" };
  const { view } = await started(first({ switches: asked, refused: { resample: "7" } }), engineOf(answer));
  const { unapplied, switches, holding } = view.data.header;
  assert.deepEqual([switches, holding], [asked, { zero: "cross.1.2" }]);
  assert.deepEqual(unapplied, { resample: "7", hide: "target.1" });
});

test("switches that make the pass fail are not applied", async () => {
  const answer = ({ switches }) => {
    if (switches) throw new Error("an index is out of bounds");
    return tinyTrace();
  };
  const { view } = await started(first({ switches: { positions: "shift.900" } }), engineOf(answer));
  assert.deepEqual(view.data.header.unapplied, { positions: "shift.900" });
});

test("a translation that is too long is drawn in part, and a source that is too long not at all", async () => {
  const ids = Array.from({ length: 70 }, () => 1);
  const answer = ({ output, source }) =>
    tinyTrace({ source_ids: source === "long" ? ids : [4, 3], ...(!output && { target_out_ids: ids }) });
  const { view, live, engine } = await started(first(), engineOf(answer));
  assert.equal(engine.asked[1].output.length, 64);
  assert.equal(view.data.header.whole, 70);
  live.set({ sentence: { source: "long", target: "" } });
  await settled();
  assert.deepEqual(view.how, { sort: "long", limit: 64, source: 70, target: 2 });
});

test("a drawing that is gone follows nothing", async () => {
  const { view, live, engine, stop } = await started();
  stop();
  live.set({ sentence: { source: "c", target: "" } });
  await settled();
  assert.equal(engine.asked.length, 1);
  assert.equal(view.source, null);
});
