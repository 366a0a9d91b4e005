import assert from "node:assert/strict";
import { test } from "node:test";
import { makeTexts } from "../core/texts.js";
import { lossAxis, roomy } from "./curves.js";
import { RUN_COMMANDS } from "../state/generated.js";
import { commandsFor } from "./status.js";
import { TRAINING_TEXTS } from "./texts.js";
import { numbersCsv } from "./saving.js";
import { lettersOf, lossText, mistakesOf, numberTexts, percentText, stageText } from "./words.js";

const t = makeTexts({}, TRAINING_TEXTS);

test("each letter of an output is right, wrong or missing", () => {
  const states = (written, right) =>
    lettersOf(written, right)
      .map((letter) => letter.state[0])
      .join("");
  const cases = [
    ["abc", "abc", "rrr"],
    ["abd", "abc", "rrw"],
    ["ab", "abc", "rrm"],
    ["abcd", "abc", "rrrw"],
    ["", "ab", "mm"],
    ["ba", "ab", "ww"],
    ["😀b", "😀c", "rw"],
  ];
  for (const [written, right, expected] of cases) assert.equal(states(written, right), expected, written);
});

test("99.6% is not rounded to 100%, and 0.5% is not rounded to 0%", () => {
  const shares = [0, 1, 0.996, 0.005, 0.35, null].map((share) => percentText(t, share));
  assert.deepEqual(shares, ["0%", "100%", "99.6%", "0.5%", "35%", "–"]);
  const losses = [3.3, 0.0042, 0.5, 12, null].map((loss) => lossText(t, loss));
  assert.deepEqual(losses, ["3.300", "0.0042", "0.500", "12.0", "–"]);
});

test("every stage of a run is described", () => {
  /** @type {[object, number | null, string][]} */
  const cases = [
    [{ stage: "waiting", place: 1 }, 1, "next in the queue"],
    [{ stage: "waiting", place: 2 }, 3, "2nd of 3 waiting"],
    [{ stage: "waiting", place: 4 }, 9, "4th of 9 waiting"],
    [{ stage: "waiting", place: 3 }, null, "3rd in the queue"],
    [{ stage: "training" }, 0, "step 120 of 4,000"],
    [{ stage: "done", reason: "time" }, 0, "ended at step 120 of 4,000: limit of 90 s of computing"],
    [{ stage: "done", reason: "odd" }, 0, "ended at step 120 of 4,000"],
    [{ stage: "failed", error: "the loss is not finite." }, 0, "failed at step 120: the loss is not finite."],
  ];
  const usual = { step: 120, steps: 4000, limit: 90, reason: "", place: 0, error: "", seconds: 2 };
  for (const [about, waiting, text] of cases)
    assert.equal(stageText(t, { about: { ...usual, ...about }, frames: [], speed: null }, waiting), text);
});

test("the axis of the loss reaches the largest loss", () => {
  /** @type {[number, boolean][]} */
  const axes = [
    [3.4, false],
    [0.07, false],
    [45, false],
    [0, false],
    [3.4, true],
    [0.5, true],
  ];
  for (const [top, log] of axes) {
    const { ticks, share } = lossAxis(top, log);
    assert.deepEqual(
      ticks,
      [...ticks].sort((a, b) => a - b),
    );
    assert.ok(ticks.at(-1) >= top && share(top) >= 0 && share(top) <= 1 && ticks.length >= 2 && ticks.length <= 7);
    assert.ok(Math.abs(ticks[0] - (log ? 1e-4 : 0)) < 1e-12);
  }
});

test("no two labels of an axis overlap", () => {
  const at = (height) => (value) => height * (1 - value / 3);
  assert.deepEqual(roomy([0, 1, 2, 3], at(66), 20), [0, 1, 2, 3]);
  assert.deepEqual(roomy([0, 1, 2, 3], at(57), 20), [0, 3]); // 2 would touch 3, and 1 touches 0
  assert.deepEqual(roomy([0, 1, 2, 3], at(30), 20), [0, 3]);
  assert.deepEqual(
    roomy([0, 0.5, 1], (value) => 30 * (1 - value), 20),
    [0, 1],
  );
});

test("the queue says minutes, if anybody knows", () => {
  const known = { stage: "waiting", step: 0, steps: 9, limit: 90 };
  const waiting = (about) => stageText(t, { about: { ...known, ...about }, frames: [] }, 3);
  assert.equal(waiting({ place: 2, wait: null }), "2nd of 3 waiting");
  assert.equal(waiting({ place: 2, wait: 59 }), "2nd of 3 waiting; starts in less than a minute");
  assert.equal(waiting({ place: 1, wait: 170 }), "1st of 3 waiting; starts in about 3 min");
});

test("a recorded run takes no commands and has no speed", () => {
  const run = { about: { stage: "done", reason: "steps", recording: true, step: 9, steps: 9, seed: 1 }, frames: [] };
  assert.deepEqual([stageText(t, run, 0), numberTexts(t, run), commandsFor(run.about)], ["recorded", "", []]);
});

test("a run that somebody else in the room steers is watched, and can be removed from the page", () => {
  const run = (stage) => ({ about: { stage, watched: true, step: 4, steps: 9, reason: "steps" }, frames: [] });
  assert.equal(stageText(t, run("training"), 0), "step 4 of 9 · you watch a run of your room");
  for (const stage of ["training", "paused", "waiting", "starting"])
    assert.deepEqual(commandsFor(run(stage).about), ["remove"]);
  assert.equal(stageText(t, run("done"), 0), "all 9 steps done");
  assert.deepEqual(commandsFor(run("done").about), ["again", "remove"]);
});

test("the numbers of all steps as a table", () => {
  const frames = [
    { step: 0, loss: null, exact: 0 },
    { step: 9, loss: 0.5, validation_loss: 0.25, forced: 1, exact: 1 },
  ];
  const text = numbersCsv(t, [{ about: { label: "=reverse", seed: 3 }, frames }]);
  const lines = text.slice(1).split("\r\n");
  assert.equal(lines[0], "run,seed,step,training loss,unseen loss,teacher-forced exact,free-running exact");
  assert.deepEqual(lines.slice(1), ["'=reverse,3,0,,,,0", "'=reverse,3,9,0.5,0.25,1,1", ""]);
});

test("every command that Python takes is offered at some stage of a run", () => {
  const stages = ["training", "paused", "waiting", "starting", "done", "failed"];
  const offered = stages.flatMap((stage) => [true, false].flatMap((openable) => commandsFor({ stage, openable })));
  const commands = new Set(offered.filter((name) => name !== "open")); // a link of the page
  assert.deepEqual([...commands].sort(), [...RUN_COMMANDS].sort());
});

test("mistakes are counted against the letters of the right answer", () => {
  assert.equal(mistakesOf("abc", "abc"), null);
  assert.deepEqual(mistakesOf("abx", "abc"), { wrong: 1, letters: 3, extra: 0 });
  assert.deepEqual(mistakesOf("a", "abc"), { wrong: 2, letters: 3, extra: 0 });
  assert.deepEqual(mistakesOf("xxxxx", "abc"), { wrong: 3, letters: 3, extra: 2 });
  assert.deepEqual(mistakesOf("abcd", "abc"), { wrong: 0, letters: 3, extra: 1 });
});
