import { formatNumber } from "../format.js";

// The equation of a number with its values, in pieces between which a line may break. Indices count from 1; ids, which
// stand in brackets as in E[id], count from 0.

const SHOWN = 3; // terms of a sum that are written: the first two and the last

// A factor without padding: 16, 0.7, 5.6569.
export const factorName = (value) => String(Number(value.toFixed(4))).replace("-", "−");

// What a switch puts instead of a number.
const replacement = (switched) => (switched ? ["→ 0"] : []);

// "2.32e-5" as 2.32 × 10^{−5}: an e would be read as that of e^x.
const TENS = /e[-−](\d+)$/;
const writtenNumber = (value) => formatNumber(value).replace(TENS, " × 10^{−$1}");
const wrapped = (value, text) => (value < 0 || text.includes("×") ? `(${text})` : text);
const bracketed = (value) => wrapped(value, writtenNumber(value));

// e^{a − b}, or e^{a}. A power of ten in it is raised by signs of its own: there is one level of powers.
function powerText(a, b = null) {
  const raised = (whole, power) => ` × 10⁻${[...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
  const written = (value) => formatNumber(value).replace(TENS, raised);
  return `e^{${written(a)}${b === null ? "" : ` − ${wrapped(b, written(b))}`}}`;
}

const indexed = (sign, ...indices) => `${sign}_{${indices.join(",")}}`;

const EQUATIONS = {
  given: (found) => [`${signOf(found)} = ${writtenNumber(found.stored)}`],
  lookup: (found) => [`E[${found.id}]_{${found.col + 1}} = ${writtenNumber(found.stored)}`],
  dot: (found) => {
    const { a, b, products, bias, skipped, free, of } = found;
    const term = (m) => `${writtenNumber(a[m])} × ${bracketed(b[m])}`;
    const count = products.length;
    const shown = count <= SHOWN ? products.map((_, m) => m) : [0, 1, count - 1];
    const terms = Array.from(shown, (m, i) => {
      const sign = i ? "+ " : "= ";
      const gap = i === 2 && count > SHOWN ? "+ … " : "";
      return `${gap}${sign}${i && a[m] < 0 ? `${bracketed(a[m])} × ${bracketed(b[m])}` : term(m)}`;
    });
    const names = of.name === "dot" ? `${indexed("q", found.row + 1)} · ${indexed("k", found.col + 1)}` : signOf(found);
    const more = bias === null ? [] : [`+ ${bracketed(bias)}`];
    return [names, ...terms, ...more, `= ${writtenNumber(skipped ? free : found.value)}`, ...replacement(skipped)];
  },
  divide: (found) => {
    const [dot, root] = [writtenNumber(found.a), writtenNumber(found.root)];
    return [`${signOf(found)} = ${dot} ÷ √${found.depth}`, `= ${dot} ÷ ${root}`, resultPieces(found)];
  },
  times: (found) => {
    const product = `= ${writtenNumber(found.a)} × ${factorName(found.factor)}`;
    const root = found.of.name === "embedding" && found.scaled ? [`= ${writtenNumber(found.a)} × √${found.depth}`] : [];
    return [signOf(found), ...root, product, resultPieces(found)];
  },
  mask: (found) => [
    `${signOf(found)} = ${writtenNumber(found.a)} + ${found.hidden ? "(−∞)" : "0"}`,
    resultPieces(found),
  ],
  softmax: (found) => {
    const { rule, visible, scores, at, top, exps, total } = found;
    if (rule === 1) return [`${signOf(found)} = ${found.value ? `1 ÷ ${visible}` : "0"}`, resultPieces(found)];
    if (rule === 2) return [`${signOf(found)} = ${found.value}`];
    const power = powerText(scores[at], top);
    return [
      `${signOf(found)} = ${power} ÷ ${writtenNumber(total)}`,
      `= ${writtenNumber(exps[at])} ÷ ${writtenNumber(total)}`,
      resultPieces(found),
    ];
  },
  add: (found) => [`${signOf(found)} = ${writtenNumber(found.a)} + ${bracketed(found.b)}`, resultPieces(found)],
  plus: (found) => EQUATIONS.add(found),
  norm: (found) => {
    const { x, mean, deviation, gamma, beta } = found;
    const centred = `(${writtenNumber(x)} − ${bracketed(mean)}) ÷ ${writtenNumber(deviation)}`;
    return [`${signOf(found)} = ${centred}`, `× ${bracketed(gamma)}`, `+ ${bracketed(beta)}`, resultPieces(found)];
  },
  activation: (found) => {
    const x = writtenNumber(found.x);
    const how = { relu: `max(0, ${x})`, gelu: `${x} × Φ(${x})`, swish: `${x} × σ(${x})` }[found.sort];
    return [`${signOf(found)} = ${how}`, `= ${writtenNumber(found.free)}`, ...replacement(found.silenced)];
  },
  split: (found) => {
    const { of, row, col, at, head } = found;
    const whole = indexed(of.sign, row + 1, at + 1);
    return [`${indexed(of.sign, row + 1, col + 1)}^{(${head + 1})} = ${whole}`, resultPieces(found)];
  },
  concat: (found) => [
    `${signOf(found)} = ${indexed("o", found.row + 1, found.at.col + 1)}^{(${found.at.head + 1})}`,
    resultPieces(found),
  ],
  probability: (found) => {
    const power = powerText(found.logit, found.logSum);
    return [`${signOf(found)} = ${power}`, `= ${powerText(found.logit - found.logSum)}`, resultPieces(found)];
  },
  choose: (found) => EQUATIONS.probability(found),
  back: (found) => EQUATIONS.probability(found),
};

// The symbol of the number: for a word its rank among the most likely, otherwise row and column.
function signOf(found) {
  const { of, col } = found;
  const row = found.made === "choose" || found.made === "back" ? found.words.rank : found.row;
  return of.rows === "word" ? indexed(of.sign, row + 1) : indexed(of.sign, row + 1, col + 1);
}

const resultPieces = (found) => `= ${writtenNumber(found.value)}`;

export function equationPieces({ found }) {
  return EQUATIONS[found.made](found);
}
