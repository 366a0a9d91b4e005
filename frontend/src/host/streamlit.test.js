import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

// As much of a browser as these parts touch: an address with a history, links of the page, and clicks.
let page, links, listeners, streamlit;

beforeEach(async () => {
  listeners = {};
  links = [];
  page = new URL("http://app.test/base/lab");
  const go = (kind) => (state, title, address) => {
    page.entries.push([kind, address]);
    if (address) page.href = new URL(address, page.href).href;
  };
  page.entries = [];
  const listen = (name, act) => (listeners[name] = act);
  globalThis.window = /** @type {any} */ ({
    location: page,
    history: { pushState: go("push"), replaceState: go("replace") },
    addEventListener: listen,
  });
  globalThis.document = /** @type {any} */ ({
    get baseURI() {
      return page.href;
    },
    addEventListener: listen,
    getElementById: () => ({ dataset: { pages: " lab training" } }), // the first page's path is empty
    querySelector: () => links[0] ?? null,
  });
  streamlit = await import(`./streamlit.js?${Math.random()}`);
});

const link = (href) => {
  const made = { getAttribute: () => href, click: () => (made.clicked = true), closest: () => made };
  links.push(made);
  return made;
};

// A component as Streamlit hands it over, with what it was told.
function component(parentElement = {}) {
  const sent = [];
  const send = (how) => (name, value) => sent.push([how, name, value]);
  return { parentElement, sent, setStateValue: send("state"), setTriggerValue: send("trigger") };
}

test("a rerun keeps the component, and only one that is not called again is destroyed", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const gone = [];
  const make = () => ({ destroy: () => gone.push(1) });
  const parent = {};
  const first = streamlit.keepMounted(component(parent), make);
  first.leave();
  const again = component(parent);
  const second = streamlit.keepMounted(again, make); // a rerun: cleaned up and called at once
  assert.equal(second.kept, first.kept);
  second.kept.component.setStateValue("view", 3);
  assert.deepEqual(again.sent, [["state", "view", 3]]);
  context.mock.timers.tick(1000);
  assert.deepEqual(gone, []);
  second.leave();
  context.mock.timers.tick(1000);
  assert.deepEqual(gone, [1]);
  second.kept.component.setStateValue("view", 4); // nobody is there
  assert.equal(again.sent.length, 1);
  assert.notEqual(streamlit.keepMounted(component(parent), make).kept, first.kept);
});

test("an address is an entry of its own, unless it follows another of the same page within a moment", (context) => {
  let now = 0;
  context.mock.method(performance, "now", () => now);
  streamlit.keepMounted(component(), () => ({}));
  window.history.pushState(null, "", "?head=2");
  now += 1000;
  window.history.pushState(null, "", "?head=3");
  now += 1000;
  window.history.pushState(null, "", "?head=4"); // a walk of 2 s is one entry
  now += 2000;
  window.history.pushState(null, "", "?head=5");
  now += 10;
  window.history.pushState(null, "", "/base/anatomy?t=1");
  window.history.pushState(null, "", undefined);
  streamlit.keepMounted(component(), () => ({})); // pushState is replaced once, however many components there are
  window.history.pushState(null, "", "?t=2");
  assert.deepEqual(page.entries, [
    ["push", "?head=2"],
    ["replace", "?head=3"],
    ["replace", "?head=4"],
    ["push", "?head=5"],
    ["push", "/base/anatomy?t=1"],
    ["push", undefined],
    ["replace", "?t=2"],
  ]);
});

test("after a click on a link to another page, messages wait for that page, and only the last one is sent", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const [labLink, anatomyLink] = [link("lab"), link("anatomy?head=2")];
  const made = component();
  const { kept } = streamlit.keepMounted(made, () => ({ destroy() {} }));
  listeners.click({ target: labLink });
  kept.component.setTriggerValue("ask", 1);
  assert.deepEqual(made.sent, [["trigger", "ask", 1]]);
  listeners.click({ target: anatomyLink });
  kept.component.setTriggerValue("ask", 2);
  kept.component.setTriggerValue("ask", 3);
  context.mock.timers.tick(500);
  assert.equal(made.sent.length, 1);
  page.pathname = "/base/anatomy"; // arrived: what is still mounted speaks of the new page
  context.mock.timers.tick(500);
  assert.deepEqual(made.sent.slice(1), [["trigger", "ask", 3]]);
});

test("after back or forward, messages wait until the new page creates a component", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const made = component();
  const { kept } = streamlit.keepMounted(made, () => ({ destroy() {} }));
  page.search = "?head=1";
  listeners.popstate(); // the same page
  kept.component.setStateValue("view", 1);
  page.pathname = "/base/anatomy";
  listeners.popstate();
  kept.component.setStateValue("view", 2);
  context.mock.timers.tick(500);
  assert.deepEqual(made.sent, [["state", "view", 1]]);
  streamlit.keepMounted(component(), () => ({ destroy() {} }));
  context.mock.timers.tick(500);
  assert.deepEqual(made.sent.slice(1), [["state", "view", 2]]);
});

test("a listener receives a feed that starts before or after it", () => {
  const heard = [];
  streamlit.tellFeed("a", 1, true);
  streamlit.tellFeed("b", 2); // not kept
  const stop = streamlit.listenToFeeds(["a", "b"], (data, name) => heard.push([name, data]));
  streamlit.tellFeed("b", 3);
  streamlit.tellFeed("other", 4);
  stop();
  streamlit.tellFeed("a", 5);
  assert.deepEqual(heard, [
    ["a", 1],
    ["b", 3],
  ]);
});

test("settings survive the destruction of a component", () => {
  streamlit.memoryOf("why", { depth: 3 }).depth = 4;
  assert.deepEqual(streamlit.memoryOf("why", { depth: 3 }), { depth: 4 });
});

test("a page follows its own link, or waits until it is there", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.CSS = /** @type {any} */ ({ escape: (text) => text });
  streamlit.followPageLink("hs-after-a");
  const made = link("model");
  assert.equal(made.clicked, undefined);
  context.mock.timers.tick(100);
  assert.equal(made.clicked, true);
});

test("plotly is loaded once, when the base path is known, and again after a failure", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const [scripts, { getElementById }] = [[], document];
  const head = { append: (script) => scripts.push(script) };
  Object.assign(document, { head, createElement: () => ({}), getElementById: () => null });
  const failed = streamlit.plotlyReady();
  assert.equal(scripts.length, 0);
  Object.assign(document, { getElementById });
  context.mock.timers.tick(15);
  await new Promise(setImmediate);
  scripts[0].onerror();
  await assert.rejects(failed, /missing/);
  const [first, second] = [streamlit.plotlyReady(), streamlit.plotlyReady()];
  await new Promise(setImmediate);
  window.Plotly = { version: 4 };
  scripts[1].onload();
  assert.deepEqual([await first, await second, await streamlit.plotlyReady()], Array(3).fill(window.Plotly));
  assert.deepEqual(
    scripts.map(({ src }) => src),
    Array(2).fill("/base/engine/plotly.js"),
  );
  delete window.Plotly;
});
