import assert from "node:assert/strict";
import { test } from "node:test";
import * as arithmetic from "./arithmetic.js";

const { activate, agrees, dotProduct, erf, largestTerms, layerNorm, positionWave, probabilityOf, runningSums } =
  arithmetic;
const near = (actual, expected, by = 1e-14) =>
  assert.ok(Math.abs(actual - expected) <= Math.max(1e-15, by * Math.abs(expected)), `${actual} and ${expected}`);

// x, and PyTorch's erf, gelu and silu of it in double precision
const TORCH = [
  [-7.0, -1.0, -8.958667141456544e-12, -0.006377358360804518],
  [-3.0, -0.9999779095030014, -0.00404969409489031, -0.14227761953270035],
  [-1.25, -0.9229001282564583, -0.13206221708356905, -0.27837517353163604],
  [-0.5, -0.5204998778130465, -0.15426876936299344, -0.1887703343990727],
  [-1e-9, -1.1283791670955127e-9, -4.999999996010577e-10, -4.9999999975e-10],
  [0.0, 0.0, 0.0, 0.0],
  [0.1, 0.1124629160182849, 0.053982783727702904, 0.052497918747894],
  [0.5, 0.5204998778130465, 0.34573123063700656, 0.3112296656009273],
  [1.0, 0.8427007929497149, 0.841344746068543, 0.7310585786300049],
  [2.75, 0.9998993780778803, 2.7418056511035998, 2.584761712021479],
  [5.9, 0.9999999999999999, 5.899999989276703, 5.883881431498235],
  [6.5, 1.0, 6.49999999973896, 6.490242315331209],
];

test("activation functions equal those of PyTorch", () => {
  for (const [x, error, gelu, swish] of TORCH) {
    near(erf(x), error);
    near(activate(x, "gelu"), gelu, 1e-12);
    near(activate(x, "swish"), swish);
    assert.equal(activate(x, "relu"), Math.max(0, x));
  }
  near(activate(-800, "swish"), 0);
  assert.equal(activate(800, "swish"), 800);
});

test("the softmax and the rules that can replace it give the weights worked out by hand", () => {
  const row = [3, -Infinity, 4, 1]; // e^-1, 0, e^0 and e^-3 over their sum
  const total = 1 + Math.exp(-1) + Math.exp(-3);
  const [soft, level, best] = [0, 1, 2].map((rule) => arithmetic.softmaxOf(row, 0, rule));
  near(soft.value, Math.exp(-1) / total);
  near(soft.total, total);
  assert.deepEqual([level.value, level.visible, best.value, best.best], [1 / 3, 3, 0, 2]);
  near(probabilityOf([1, 2, 3], 1).value, Math.exp(-1) / (Math.exp(-2) + Math.exp(-1) + 1));
});

test("LayerNorm, dot products, largest terms and running sums equal those worked out by hand", () => {
  // mean 2, variance 2, (4 - 2) / sqrt(2 + 0.25) * 3 + 1
  const norm = layerNorm([0, 2, 4, 1, 3], 2, 3, 1, 0.25);
  assert.deepEqual([norm.mean, norm.deviation], [2, 1.5]);
  near(norm.value, 5);
  const dot = dotProduct([1, 2, 3], [4, -5, 6], 0.5);
  assert.deepEqual([[...dot.products], dot.sum, dot.value], [[4, -10, 18], 12, 12.5]);
  assert.deepEqual(largestTerms([4, -10, 18, 10], 3), [2, 1, 3]);
  assert.deepEqual([...runningSums([4, -10, 18])], [0, 4, -6, 12]);
});

test("a position number is a sine or a cosine, interleaved or in halves", () => {
  const waves = [positionWave(3, 5, 8), positionWave(3, 2, 8, "halves"), positionWave(3, 6, 8, "halves")];
  assert.deepEqual(
    waves.map(({ name, even }) => [name, even]),
    [
      ["cos", 4],
      ["sin", 4],
      ["cos", 4],
    ],
  );
  [Math.cos(3 / 100), Math.sin(3 / 100), Math.cos(3 / 100)].forEach((value, i) => near(waves[i].value, value));
});

test("numbers agree if they differ by less than their tolerance", () => {
  const computed = (value) => ({ value, tolerance: 1e-6 });
  const ways = [
    [1, 1],
    [1 + 1e-6, 1],
    [1 + 3e-6, 1],
    [-Infinity, 1],
    [-Infinity, -Infinity],
  ];
  assert.deepEqual(
    ways.map(([value, stored]) => agrees(computed(value), stored)),
    [true, true, false, false, true],
  );
});
