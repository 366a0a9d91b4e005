import assert from "node:assert/strict";
import { test } from "node:test";
import { Live } from "./live.js";
import { followLive, LiveView } from "./view.js";

globalThis.document = /** @type {any} */ ({ documentElement: {}, addEventListener() {} });
const settled = () => new Promise((resolve) => setTimeout(resolve));

// The part of a LiveView that `followLive` knows.
class View {
  computed = null;
  follow = () => {};
  drawn = [];
  style = {
    getPropertyValue: () => "",
    setProperty: (...set) => this.drawn.push(set),
    removeProperty: (name) => this.drawn.push([name]),
  };
  element = { style: this.style };
  data = null;
  show(data) {
    this.data = data;
  }
  draw() {
    this.drawn.push(this.computed);
  }
}

const engine = (name = "tiny") => ({ about: { name } });
const sentence = (source) => ({ sentence: { source, target: "" } });

function following(compute, needs) {
  const view = /** @type {any} */ (new View());
  const live = new Live();
  const driver = followLive(view, live, compute, needs);
  driver.show({ model: "tiny" });
  return { view, live, driver };
}

test("what is typed is computed and drawn as soon as the engine has the model of the data", async () => {
  const { view, live, driver } = following(async (_, { source, limit }) => `${source} ${limit}`);
  live.set(sentence("a b"));
  await settled();
  assert.deepEqual(view.drawn, []);
  live.set({ engine: engine() });
  await settled();
  assert.deepEqual(view.drawn, ["a b 128", ["--hs-stale", "1"]]);
  live.set({ engine: engine("other") });
  assert.deepEqual(view.drawn.slice(2), [["--hs-stale"], null]); // the server draws
  driver.stop();
  live.set({ engine: engine() });
  await settled();
  assert.equal(view.computed, null);
});

test("nothing is computed twice, and nothing for an empty field", async () => {
  let state = 1;
  const computed = [];
  const { view, live } = following(async (_, { source }) => computed.push(source), () => state); // prettier-ignore
  live.set({ engine: engine(), ...sentence("  ") });
  live.set(sentence("a"));
  view.follow();
  await settled();
  state = 2;
  view.follow();
  await settled();
  assert.deepEqual(computed, ["a", "a"]);
});

test("only the newest counts, and an older one learns of it", async () => {
  const waiting = [];
  const lost = [];
  const { view, live } = following(async (_, { source }, check) => {
    await new Promise((resolve) => waiting.push(resolve));
    try {
      check();
    } catch (error) {
      lost.push(source);
      throw error;
    }
    return source;
  });
  live.set({ engine: engine(), ...sentence("old") });
  live.set(sentence("new"));
  waiting.reverse().forEach((resolve) => resolve());
  await settled();
  assert.deepEqual([view.computed, lost], ["new", ["old"]]);
});

test("after a text that cannot be traced the same one is tried again", async () => {
  let wrong = true;
  const { view, live } = following(async () => {
    if (wrong) throw Object.assign(new Error(), { name: "InputError" });
    return "found";
  });
  live.set({ engine: engine(), ...sentence("a") });
  await settled();
  wrong = false;
  view.follow();
  await settled();
  assert.equal(view.computed, "found");
});

test("what was chosen is told once: after its pause, or when it is asked for", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const told = [];
  const view = Object.assign(Object.create(LiveView.prototype), {
    ...{ state: { begin: "", at: "" }, told: {}, data: { revision: 3 }, draw() {}, follow() {} },
    component: { setStateValue: (name, state) => told.push([name, state]) },
  });
  view.choose({ begin: "a" }, 400);
  view.choose({ begin: "ab" }, 400);
  context.mock.timers.tick(399);
  assert.deepEqual([told, view.state.begin], [[], "ab"]);
  view.flush();
  context.mock.timers.tick(1000);
  view.flush();
  assert.deepEqual(told, [["state", { begin: "ab", revision: 3 }]]);
  view.choose({ at: "1.2" });
  context.mock.timers.tick(1000);
  assert.deepEqual(told.slice(1), [["state", { begin: "ab", at: "1.2", revision: 3 }]]);
});

test("an echo of an older report changes no choice, and a change of Python does", () => {
  const view = Object.assign(Object.create(LiveView.prototype), { state: { at: "1.2" }, told: { at: "1.2" } });
  view.data = { revision: 3, state: { at: "" } };
  view.take({ revision: 3 });
  assert.deepEqual(view.state, { at: "1.2" });
  view.take({ revision: 2 });
  assert.deepEqual([view.state, view.told], [{ at: "" }, {}]);
});
