import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { makeTexts } from "../core/texts.js";
import { Live } from "../live/live.js";
import { Course } from "./course.js";
import { shownLesson } from "./lessons.js";
import { opensStop, stopParams, withSentences } from "./route.js";
import { LESSON_TEXTS } from "./texts.js";

const CAR = { checkpoint: "m", source: "a car" };
const KEPT = { kind: "choose", ask: "?", why: "", tolerance: 0, said: {}, tokens: "", translation: false };
const counts = { function: "token_count", arguments: { side: "source" } };
const stop = (params, more = {}) => ({ page: "heads", params, title: "", section: "", lit: "", cell: null, text: [], question: null, ...more }); // prettier-ignore
const FILE = {
  name: "lesson",
  stops: [
    stop(CAR),
    stop(
      { checkpoint: "m", layer: "2" },
      { question: { ...KEPT, kind: "number", cover: true, options: [], answer: counts } },
    ),
    stop({ checkpoint: "m", part: "leak" }, { page: "lab" }),
    stop(
      { checkpoint: "m" },
      { page: "lab", question: { ...KEPT, cover: true, options: ["yes", "no"], answer: "yes" } },
    ),
    stop({ checkpoint: "m", source: "a dog", target: "Hund" }),
    stop({ checkpoint: "m" }, { cell: { function: "largest_cell", arguments: { kind: "cross", layer: 1, head: 1, row: 2 } } }), // prettier-ignore
  ].map((one, at) => ({ ...one, number: at + 1 })),
};
const LESSON = shownLesson(FILE, { heads: [], lab: ["compare"] });

// One row of two keys for each word of the sentence; a sentence with "?" cannot be read.
const engine = {
  about: { name: "m", config: {} },
  async trace({ source }) {
    if (source.includes("?")) throw Object.assign(new Error(source), { name: "InputError" });
    const words = source.split(" ");
    return {
      checkpoint: "m",
      source_text: source,
      target_text: source.toUpperCase(),
      source_ids: words,
      target_out_labels: words,
      source_labels: ["k", "l"],
      cross: { weights: { data: Float32Array.from(words.flatMap(() => [0, 1])), shape: [1, 1, words.length, 2] } },
    };
  },
};

let live, shown, opened, chosen, course;
const say = (source) => {
  shown.sentence = { ...shown.sentence, source };
  live.set({ sentence: { source, target: "" } });
};
const settled = () => new Promise((resolve) => setTimeout(resolve));
const make = (more = {}) => {
  const answers = new Map();
  const storage = { getItem: (key) => answers.get(key) ?? null, setItem: (key, text) => answers.set(key, text) };
  const go = async ({ page, params }, number) => {
    opened.push([number, page, params.source]);
    const { checkpoint, source, target = "" } = params;
    Object.assign(shown, { page, sentence: { checkpoint, source, target }, link: `${page} ${JSON.stringify(params)}` });
    live.set({ sentence: { source, target } });
  };
  course = new Course(
    /** @type {any} */ ({
      ...{ lesson: LESSON, stop: 1, live, shown: () => shown, go, answers: () => storage, changed() {} },
      ...{ choose: (view) => chosen.push(view), t: makeTexts(null, LESSON_TEXTS), ...more },
    }),
  );
  live.onChange(() => course.follow());
};

beforeEach(() => {
  live = new Live();
  live.set({ engine, sentence: { source: "old text", target: "" } });
  shown = { page: "heads", view: { layer: 0, head: "all", cell: null }, link: "start", sentence: { checkpoint: "m", source: "old text", target: "" } }; // prettier-ignore
  [opened, chosen] = [[], []];
  make();
});
const at = (number) => LESSON.stops.find((one) => one.number === number);
const open = async (number) => {
  await course.open(at(number));
  await settled();
};

test("stops without their page or part are left out, and keep their numbers", () => {
  assert.deepEqual(
    LESSON.stops.map(({ number }) => number),
    [1, 2, 4, 5, 6],
  );
  assert.equal(LESSON.all, 6);
  assert.equal(shownLesson(FILE, { lab: ["compare"] }), null); // one of six
  make({ stop: 3 });
  assert.equal(course.stop.number, 4);
  make({ stop: 99 });
  assert.equal(course.stop.number, 6);
});

test("a view stays covered until the question was answered, whatever was typed after that", async () => {
  await open(1);
  assert.equal(course.covered, false);
  await open(2);
  assert.deepEqual([course.covered, course.waits, course.asked.right], [true, true, 2]);
  shown.page = "lab"; // gives nothing away
  assert.equal(course.covered, false);
  shown.page = "heads";
  course.give("3");
  assert.deepEqual([course.covered, course.waits], [false, false]);
  assert.deepEqual(course.given, { text: "3", right: "2", verdict: false });
  say("one more word");
  await settled();
  assert.deepEqual([course.covered, course.waits, course.asked.right], [false, true, 3]);
  say("a car");
  await settled();
  assert.equal(course.given.text, "3");
});

test("a view is covered before the model is there, and not if there is nothing to ask", async () => {
  live.set({ engine: null });
  await open(2);
  assert.deepEqual([course.covered, course.asked], [true, null]);
  live.set({ engine });
  await settled();
  assert.equal(course.asked.right, 2);
  say("what?");
  await settled();
  assert.deepEqual([course.covered, course.problem], [false, ["unreadable"]]);
  say("a new car");
  await settled();
  assert.deepEqual([course.covered, course.asked.right], [true, 3]);
});

test("a question with a fixed answer needs no model, and holds for any sentence", async () => {
  live.set({ engine: null });
  await open(4);
  assert.deepEqual([course.covered, course.asked.options], [true, ["yes", "no"]]);
  course.give("yes");
  say("other");
  await settled();
  assert.deepEqual([course.covered, course.given.verdict], [false, true]);
});

test("a stop without a sentence has that of the last one that names one, or what was typed", async () => {
  await open(2);
  assert.deepEqual(opened.at(-1), [2, "heads", "a car"]);
  say("my own");
  await open(4); // goes on to stops that name none
  assert.deepEqual(opened.at(-1), [4, "lab", "my own"]);
  await open(5);
  assert.deepEqual(opened.at(-1), [5, "heads", "a dog"]);
  await open(2);
  assert.deepEqual(opened.at(-1), [2, "heads", "my own"]);
  assert.equal(course.isAway, true);
  await open(2); // back to its own
  assert.deepEqual(opened.at(-1), [2, "heads", "a car"]);
  assert.equal(course.isAway, false);
});

test("a link brings its own sentence to a stop that names none", () => {
  const now = { checkpoint: "m", source: "linked", target: "" };
  const params = (number, more) => stopParams(LESSON.stops, at(number), { now, ...more });
  assert.equal(params(2, { linked: true }).source, "linked");
  assert.equal(params(2).source, "a car");
  assert.deepEqual(params(6), { checkpoint: "m", source: "a dog", target: "Hund" });
  assert.equal(params(5, { linked: true }).source, "a dog");
  // The sentence of another model stays with it.
  const [free] = withSentences([{ ...stop({ checkpoint: "other" }), number: 1 }]);
  assert.deepEqual(stopParams([free], free, { now }), { checkpoint: "other" });
});

test("only a link that names no view opens that of the stop", () => {
  assert.equal(opensStop({ lesson: "l", stop: "2", source: "a" }), true);
  assert.equal(opensStop({ lesson: "l", layer: "2" }), false);
  assert.equal(opensStop({ source: "a" }), false);
});

test("the cell of a stop is pressed on arrival, if the sentence has it", async () => {
  await open(6);
  assert.deepEqual(chosen, [{ cell: [1, 1] }]);
  say("short");
  await settled();
  assert.equal(chosen.length, 1);
});

test("who wanders off is offered the way back", async () => {
  await open(1);
  assert.equal(course.isAway, false);
  shown.link = "completed by the page";
  course.update();
  assert.equal(course.isAway, false);
  course.touched = true; // the person pressed something
  shown.link = "elsewhere";
  course.update();
  assert.equal(course.isAway, true);
  await open(1);
  assert.equal(course.isAway, false);
});

test("after a wrong answer a right head is chosen in the picture", () => {
  course.stop = { ...at(2), question: { ...KEPT, kind: "head" } };
  assert.equal(course.chosen(), ""); // the mean of the heads
  shown.view = { layer: 0, head: 1 };
  assert.equal(course.chosen(), "1.2");
  course.asked = { right: new Set(["2.3"]), key: "" };
  course.give(course.chosen());
  assert.deepEqual(chosen, [{ layer: 1, head: 2 }]);
  assert.equal(course.given.verdict, false);
});
