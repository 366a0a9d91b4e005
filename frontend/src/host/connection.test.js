import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

// As much of a browser as this touches: Streamlit's element with the state of its connection, dialogs, and a network.
let app, box, dialogs, reachable, offline, asked;

beforeEach(() => {
  app = { dataset: { testConnectionState: "CONNECTED" } };
  dialogs = [];
  asked = [];
  reachable = true;
  globalThis.document = /** @type {any} */ ({
    baseURI: "http://app.test/base/lab",
    createElement: () => (box = { textContent: "", setAttribute: (name, value) => (box[name] = value) }),
    body: { append() {} },
    querySelector: () => app,
    querySelectorAll: () => dialogs,
  });
  globalThis.window = /** @type {any} */ ({ addEventListener: (name, act) => name === "offline" && (offline = act) });
  globalThis.fetch = async (address) => {
    asked.push(String(address));
    if (!reachable) throw new TypeError("Failed to fetch");
    return /** @type {any} */ ({});
  };
  network(true);
});

const network = (onLine) => Object.defineProperty(globalThis, "navigator", { value: { onLine }, configurable: true });
const answered = () => new Promise((done) => setImmediate(done));

// Starts the watch with a clock of its own. Returns what lets time pass, in milliseconds.
async function started(context, sentence = "gone") {
  let now = 0;
  context.mock.timers.enable({ apis: ["setInterval"] });
  context.mock.method(performance, "now", () => now);
  const { watchConnection } = await import(`./connection.js?${Math.random()}`);
  watchConnection(sentence);
  const pass = (time) => {
    for (const end = now + time; now < end;) {
      now += 100;
      context.mock.timers.tick(100);
    }
  };
  return { pass, watchConnection };
}

test("a lost connection is told after a moment, in the last language, until it is back", async (context) => {
  const { pass, watchConnection } = await started(context);
  pass(60_000);
  assert.equal(box.textContent, "");
  assert.equal(box.role, "status");
  app.dataset.testConnectionState = "PINGING_SERVER";
  pass(1000);
  assert.equal(box.textContent, "");
  app.dataset.testConnectionState = "CONNECTING";
  pass(2000);
  assert.equal(box.textContent, "gone");
  watchConnection("weg");
  assert.equal(box.textContent, "weg");
  app.dataset.testConnectionState = "CONNECTED";
  pass(500);
  assert.equal(box.textContent, "");
  app.dataset.testConnectionState = "PINGING_SERVER"; // counted anew
  pass(1000);
  assert.equal(box.textContent, "");
});

test("a device without network asks the server, which may be the device itself", async (context) => {
  const { pass } = await started(context);
  network(false);
  offline();
  await answered();
  assert.deepEqual([box.textContent, asked], ["", ["http://app.test/base/_stcore/health"]]);
  reachable = false;
  pass(500);
  await answered();
  assert.equal(box.textContent, "gone");
  network(true);
  pass(500);
  await answered();
  assert.equal(box.textContent, "gone"); // a network, but not the server
  reachable = true;
  pass(500);
  await answered();
  assert.equal(box.textContent, "");
  asked.length = 0;
  pass(60_000);
  assert.deepEqual(asked, []);
});

test("Streamlit's dialog is closed, and no other one", async (context) => {
  const { pass } = await started(context);
  const closed = [];
  const dialog = (textContent) => ({ textContent, querySelector: () => ({ click: () => closed.push(textContent) }) });
  dialogs.push(dialog("Connection errorIs Streamlit still running?"), dialog("Link"));
  pass(500);
  assert.deepEqual(closed, []);
  app.dataset.testConnectionState = "PINGING_SERVER";
  pass(500);
  assert.deepEqual(closed, ["Connection errorIs Streamlit still running?"]);
});
