import assert from "node:assert/strict";
import { test } from "node:test";
import { BEAM_TEXTS } from "./texts.js";
import { differences, divisor, leavesGreedy, nBest, rankAt, treeRows } from "./ranking.js";

const node = (parent, total, ranked = false) => ({ parent, total, ranked });
// Short: one token, log p −2; long: three tokens, log p −2.5; a longer one that only a large penalty waits for.
const DATA = {
  steps: [
    [node(0, -1), node(0, -2, true)],
    [node(0, -1.5), node(0, -3)],
    [node(0, -2.5, true), node(1, -4), node(0, -2.6)],
    [node(2, -9), node(2, -2.9, true)],
  ],
  beams: 2,
  penalty: "wu",
  alpha: 1,
  end: 3,
  ends: [2, 3, 3, null],
  positions: 2,
};

test("the length penalty is that of the paper, or length^α", () => {
  assert.equal(divisor("wu", 7, 1), 2);
  assert.equal(divisor("wu", 7, 0), 1);
  assert.equal(divisor("length", 9, 0.5), 3);
});

test("without a penalty the shorter hypothesis wins, with one the longer", () => {
  const none = rankAt(DATA, 0);
  assert.deepEqual([none.end, none.exact, none.wins], [2, true, [1]]);
  assert.deepEqual(none.found, [{ step: 0, rank: 1, score: -2 }]);
  const one = rankAt(DATA, 1);
  assert.equal(one.end, 3);
  assert.deepEqual(one.found, [
    { step: 2, rank: 0, score: -2.5 / (8 / 6) },
    { step: 0, rank: 1, score: -2 },
  ]);
  assert.deepEqual(one.wins, [0, 0, 0]);
});

test("a penalty that the tree is too short for ranks what there is, and says so", () => {
  const { end, exact, found, wins } = rankAt(DATA, 1.5);
  assert.deepEqual([end, exact, found.length], [4, false, 2]);
  assert.deepEqual(wins, [0, 0, 2, 1]); // −2.9 ÷ 1.5^1.5 is more than −2.5 ÷ 1.33^1.5
});

test("the penalty of the link may lie between two positions of the slider", () => {
  assert.equal(rankAt({ ...DATA, alpha: 0.13, end: 4 }, 0.13).end, 4);
});

test("greedy's row stands under the n-best list and has the same columns", () => {
  const steps = structuredClone(DATA.steps);
  Object.assign(steps[0][0], { token: "lo" });
  Object.assign(steps[0][1], { text: "short", token: "short", fate: "finished" });
  Object.assign(steps[1][0], { token: "n" });
  Object.assign(steps[2][0], { text: "long", token: "g", fate: "cut" });
  const tokens = [..."greedy."];
  const data = { ...DATA, steps, greedy: { text: "greedy", tokens, total: -3, cut: false } };
  assert.deepEqual(nBest(data, 1), {
    found: [
      { text: "long", tokens: ["lo", "n", "g"], total: -2.5, length: 3, by: 8 / 6, score: -2.5 / (8 / 6), cut: true },
      { text: "short", tokens: ["short"], total: -2, length: 1, by: 1, score: -2, cut: false },
    ],
    greedy: { text: "greedy", tokens, total: -3, length: 7, by: 2, score: -1.5, cut: false },
  });
});

test("hypotheses of one text tell which of their tokens differ", () => {
  const of = (text, ...tokens) => ({ text, tokens });
  const [der, other, d, once] = [
    of("Der Mann", "Der", "Mann", "</s>"),
    of("Der Mann", "Der", "Man", "…n", "</s>"),
    of("Der Mann", "D", "…er", "Mann", "</s>"),
    of("Ein Mann", "Ein", "Mann", "</s>"),
  ];
  assert.deepEqual(differences([der, once, other, d, der]), [[1, 2], null, [1, 3], [0, 2], [1, 2]]);
  assert.deepEqual(differences([der, der, once]), [null, null, null]); // the same hypothesis twice
  assert.deepEqual(differences([of("aa", "a", "a"), of("aa", "a", "a", "a")]), [
    [2, 2],
    [2, 3],
  ]);
});

test("the table of the tree has log p and score of every node, cut off and pruned ones too", () => {
  const steps = [
    [{ parent: 0, token: "a", log_prob: -1, total: -1, fate: "open", ranked: false }],
    [
      { parent: 0, token: "b", log_prob: -0.75, total: -1.75, fate: "cut", ranked: true },
      { parent: 0, token: "c", log_prob: -6, total: -7, fate: "pruned", ranked: false },
    ],
  ];
  assert.deepEqual(treeRows({ ...DATA, steps, end: 2 }, 1), [
    [1, "", "a", -1, -1, -1, "open"],
    [2, 1, "b", -0.75, -1.75, -1.5, "cut"],
    [2, 1, "c", -6, -7, -6, "pruned"],
  ]);
  for (const fate of ["open", "finished", "pruned", "cut"]) assert.ok(BEAM_TEXTS[`node_${fate}`]);
});

test("the step is known at which the winner leaves greedy search's path", () => {
  const steps = [
    [{ parent: 0, token: "a", total: -1 }],
    [
      { parent: 0, token: "b", total: -1.5 },
      { parent: 0, token: "c", total: -2 },
    ],
    [{ parent: 1, token: "d", total: -2.1, ranked: true }],
  ];
  const found = (tokens) => leavesGreedy({ ...DATA, steps, end: 3, greedy: { tokens } }, 1);
  assert.equal(found(["a", "b", "e"]), 1);
  assert.equal(found(["a", "c"]), 2); // it ends earlier
  assert.equal(found(["a", "c", "d"]), null);
});
