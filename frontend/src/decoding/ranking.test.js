import assert from "node:assert/strict";
import { test } from "node:test";
import { divisor, rankAt } from "./ranking.js";

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
