import { formatNumber } from "../format.js";

// The equation of a number with the numbers in it, in pieces between which a line may break. Indices count from 1; ids,
// which stand in brackets as in E[id], from 0.

const NUMBER_EQUATION_SHOWN = 3; // terms of a sum that are written: the first two and the last

// A factor as it is: 16, 0.7, 5.6569.
export const numberFactor = (value) => String(Number(value.toFixed(4))).replace("-", "−");

// What a switch puts in the place of a number.
const numberInstead = (switched) => (switched ? ["→ 0"] : []);

// "2.32e-5" as 2.32 × 10^{−5}: an e would be read as that of e^x.
const NUMBER_TENS = /e[-−](\d+)$/;
const numberWritten = (value) => formatNumber(value).replace(NUMBER_TENS, " × 10^{−$1}");
const numberWrap = (value, text) => (value < 0 || text.includes("×") ? `(${text})` : text);
const numberBracketed = (value) => numberWrap(value, numberWritten(value));

// e^{a − b}, or e^{a}. A power of ten in it is raised by signs of its own: there is one level of powers.
function numberPower(a, b = null) {
  const raised = (whole, power) => ` × 10⁻${[...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
  const written = (value) => formatNumber(value).replace(NUMBER_TENS, raised);
  return `e^{${written(a)}${b === null ? "" : ` − ${numberWrap(b, written(b))}`}}`;
}

const numberIndexed = (sign, ...indices) => `${sign}_{${indices.join(",")}}`;

const NUMBER_EQUATIONS = {
  given: (found) => [`${numberSign(found)} = ${numberWritten(found.stored)}`],
  lookup: (found) => [`E[${found.id}]_{${found.col + 1}} = ${numberWritten(found.stored)}`],
  dot: (found) => {
    const { a, b, products, bias, skipped, free, of } = found;
    const term = (m) => `${numberWritten(a[m])} × ${numberBracketed(b[m])}`;
    const count = products.length;
    const shown = count <= NUMBER_EQUATION_SHOWN ? products.map((_, m) => m) : [0, 1, count - 1];
    const terms = Array.from(shown, (m, i) => {
      const sign = i ? "+ " : "= ";
      const gap = i === 2 && count > NUMBER_EQUATION_SHOWN ? "+ … " : "";
      return `${gap}${sign}${i && a[m] < 0 ? `${numberBracketed(a[m])} × ${numberBracketed(b[m])}` : term(m)}`;
    });
    const names =
      of.name === "dot"
        ? `${numberIndexed("q", found.row + 1)} · ${numberIndexed("k", found.col + 1)}`
        : numberSign(found);
    const more = bias === null ? [] : [`+ ${numberBracketed(bias)}`];
    return [names, ...terms, ...more, `= ${numberWritten(skipped ? free : found.value)}`, ...numberInstead(skipped)];
  },
  divide: (found) => {
    const [dot, root] = [numberWritten(found.a), numberWritten(found.root)];
    return [`${numberSign(found)} = ${dot} ÷ √${found.depth}`, `= ${dot} ÷ ${root}`, numberResult(found)];
  },
  times: (found) => {
    const product = `= ${numberWritten(found.a)} × ${numberFactor(found.factor)}`;
    const root = found.of.name === "embedding" && found.scaled ? [`= ${numberWritten(found.a)} × √${found.depth}`] : [];
    return [numberSign(found), ...root, product, numberResult(found)];
  },
  mask: (found) => [
    `${numberSign(found)} = ${numberWritten(found.a)} + ${found.hidden ? "(−∞)" : "0"}`,
    numberResult(found),
  ],
  softmax: (found) => {
    const { rule, visible, scores, at, top, exps, total } = found;
    if (rule === 1) return [`${numberSign(found)} = ${found.value ? `1 ÷ ${visible}` : "0"}`, numberResult(found)];
    if (rule === 2) return [`${numberSign(found)} = ${found.value}`];
    const power = numberPower(scores[at], top);
    return [
      `${numberSign(found)} = ${power} ÷ ${numberWritten(total)}`,
      `= ${numberWritten(exps[at])} ÷ ${numberWritten(total)}`,
      numberResult(found),
    ];
  },
  add: (found) => [
    `${numberSign(found)} = ${numberWritten(found.a)} + ${numberBracketed(found.b)}`,
    numberResult(found),
  ],
  plus: (found) => NUMBER_EQUATIONS.add(found),
  norm: (found) => {
    const { x, mean, deviation, gamma, beta } = found;
    const centred = `(${numberWritten(x)} − ${numberBracketed(mean)}) ÷ ${numberWritten(deviation)}`;
    return [
      `${numberSign(found)} = ${centred}`,
      `× ${numberBracketed(gamma)}`,
      `+ ${numberBracketed(beta)}`,
      numberResult(found),
    ];
  },
  activation: (found) => {
    const x = numberWritten(found.x);
    const how = { relu: `max(0, ${x})`, gelu: `${x} × Φ(${x})`, swish: `${x} × σ(${x})` }[found.sort];
    return [`${numberSign(found)} = ${how}`, `= ${numberWritten(found.free)}`, ...numberInstead(found.silenced)];
  },
  split: (found) => {
    const { of, row, col, at, head } = found;
    const whole = numberIndexed(of.sign, row + 1, at + 1);
    return [`${numberIndexed(of.sign, row + 1, col + 1)}^{(${head + 1})} = ${whole}`, numberResult(found)];
  },
  concat: (found) => [
    `${numberSign(found)} = ${numberIndexed("o", found.row + 1, found.at.col + 1)}^{(${found.at.head + 1})}`,
    numberResult(found),
  ],
  probability: (found) => {
    const power = numberPower(found.logit, found.logSum);
    return [
      `${numberSign(found)} = ${power}`,
      `= ${numberPower(found.logit - found.logSum)}`,
      numberResult(found),
    ];
  },
  choose: (found) => NUMBER_EQUATIONS.probability(found),
  back: (found) => NUMBER_EQUATIONS.probability(found),
};

// The sign of the number: of a word its place among the likeliest, else row and column.
function numberSign(found) {
  const { of, col } = found;
  const row = found.made === "choose" || found.made === "back" ? found.words.rank : found.row;
  return of.rows === "word" ? numberIndexed(of.sign, row + 1) : numberIndexed(of.sign, row + 1, col + 1);
}

const numberResult = (found) => `= ${numberWritten(found.value)}`;

export function numberEquation({ found }) {
  return NUMBER_EQUATIONS[found.made](found);
}
