import assert from "node:assert/strict";
import { test } from "node:test";
import { Poller } from "./poll.js";

function start(context) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const sent = [];
  const made = { wanted: true, sent, pass: (wait) => context.mock.timers.tick(wait) };
  made.poller = new Poller({
    send: (name, value) => sent.push([name, value]),
    wanted: () => made.wanted,
    have: () => ({}),
  });
  made.last = () => sent.at(-1)[1].n;
  made.names = () => sent.map(([name, value]) => (name === "ask" ? "ask" : value.do));
  return made;
}

test("the page asks one question at a time, and repeats it if no answer comes", (context) => {
  const made = start(context);
  const { poller, pass, last, sent } = made;
  const counts = [];
  const after = (act) => {
    act();
    counts.push(sent.length);
  };
  poller.answered(0, false);
  after(() => pass(199));
  after(() => pass(1));
  after(() => pass(2999));
  after(() => pass(1));
  after(() => {
    poller.answered(last() - 1, false); // an old answer
    pass(250);
  });
  after(() => poller.answered(last(), true));
  after(() => {
    made.wanted = false;
    poller.answered(last(), true);
    pass(9000);
  });
  assert.deepEqual(counts, [0, 1, 1, 2, 2, 3, 3]);
});

test("no question is sent while the server has not answered a command", (context) => {
  // A newer message takes the place of one that the server has not seen: behind a command nothing may be sent.
  const { poller, pass, last, names, sent } = start(context);
  poller.answered(0, true);
  const message = last();
  poller.command("a", "pause");
  const paused = last();
  poller.command("b", "stop");
  poller.answered(message, true);
  pass(1000);
  assert.deepEqual(names(), ["ask", "pause"]);
  poller.answered(paused, true);
  assert.deepEqual(names(), ["ask", "pause", "stop"]);
  poller.answered(last(), true);
  assert.deepEqual(names(), ["ask", "pause", "stop", "ask"]);
  assert.equal(new Set(sent.map(([, value]) => value.n)).size, sent.length);
});

test("a stopped poller sends nothing", (context) => {
  const { poller, pass, sent } = start(context);
  poller.answered(0, false);
  poller.stop();
  pass(9000);
  poller.answered(0, true);
  assert.equal(sent.length, 0);
});

test("news of the viewer goes with the next message, at once if none is under way", (context) => {
  const { poller, pass, last, sent } = start(context);
  poller.more = () => ({ place: sent.length });
  poller.nudge();
  assert.equal(sent.length, 1);
  poller.nudge(); // one is under way
  assert.equal(sent.length, 1);
  poller.answered(last(), false);
  pass(200);
  assert.deepEqual(
    sent.map(([, value]) => value.place),
    [0, 1],
  );
});
