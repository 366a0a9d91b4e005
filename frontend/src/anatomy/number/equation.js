import { formatNumber } from "../format.js";

// The equation of a number with its values, in pieces between which a line may break. Indices count from 1; ids, which
// stand in brackets as in E[id], count from 0.

const SHOWN = 3; // terms of a sum that are written: the first two and the last

// A factor without padding: 16, 0.7, 5.6569.
export const factorName = (value) => String(Number(value.toFixed(4))).replace("-", "−");

// What a switch puts instead of a number.
const replacement = (switched, put = 0) => (switched ? [put ? `→ ${writtenNumber(put)}` : "→ 0"] : []);

// "2.32e-5" as 2.32 × 10^{−5}: an e would be read as that of e^x.
const TENS = /e[-−](\d+)$/;
const writtenNumber = (value) => formatNumber(value).replace(TENS, " × 10^{−$1}");
const wrapped = (value, text) => (value < 0 || text.includes("×") ? `(${text})` : text);
const bracketed = (value) => wrapped(value, writtenNumber(value));

// e^{a − b}, or e^{a}. A power of ten in it is raised by signs of its own: there is one level of powers.
function powerText(a, b = null) {
  const raised = (match, power) => ` × 10⁻${[...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
  const written = (value) => formatNumber(value).replace(TENS, raised);
  return `e^{${written(a)}${b === null ? "" : ` − ${wrapped(b, written(b))}`}}`;
}

const indexed = (sign, ...indices) => `${sign}_{${indices.join(",")}}`;

const EQUATIONS = {
  given: (computation) => [`${signOf(computation)} = ${writtenNumber(computation.stored)}`],
  lookup: (computation) => [`E[${computation.id}]_{${computation.col + 1}} = ${writtenNumber(computation.stored)}`],
  dot: (computation) => {
    const { a, b, products, bias, skipped, free, put, of } = computation;
    const term = (m) => `${writtenNumber(a[m])} × ${bracketed(b[m])}`;
    const count = products.length;
    const writtenTerms = count <= SHOWN ? products.map((_, m) => m) : [0, 1, count - 1];
    const terms = Array.from(writtenTerms, (m, i) => {
      const sign = i ? "+ " : "= ";
      const gap = i === 2 && count > SHOWN ? "+ … " : "";
      return `${gap}${sign}${i && a[m] < 0 ? `${bracketed(a[m])} × ${bracketed(b[m])}` : term(m)}`;
    });
    const names =
      of.name === "dot"
        ? `${indexed("q", computation.row + 1)} · ${indexed("k", computation.col + 1)}`
        : signOf(computation);
    const more = bias === null ? [] : [`+ ${bracketed(bias)}`];
    return [
      names,
      ...terms,
      ...more,
      `= ${writtenNumber(skipped ? free : computation.value)}`,
      ...replacement(skipped, put),
    ];
  },
  divide: (computation) => {
    const [dot, root] = [writtenNumber(computation.a), writtenNumber(computation.root)];
    return [`${signOf(computation)} = ${dot} ÷ √${computation.depth}`, `= ${dot} ÷ ${root}`, resultPieces(computation)];
  },
  times: (computation) => {
    const product = `= ${writtenNumber(computation.a)} × ${factorName(computation.factor)}`;
    const root =
      computation.of.name === "embedding" && computation.scaled
        ? [`= ${writtenNumber(computation.a)} × √${computation.depth}`]
        : [];
    return [signOf(computation), ...root, product, resultPieces(computation)];
  },
  mask: (computation) => [
    `${signOf(computation)} = ${writtenNumber(computation.a)} + ${computation.hidden ? "(−∞)" : "0"}`,
    resultPieces(computation),
  ],
  softmax: (computation) => {
    const { rule, visible, scores, at, top, exps, total } = computation;
    if (rule === 1)
      return [`${signOf(computation)} = ${computation.value ? `1 ÷ ${visible}` : "0"}`, resultPieces(computation)];
    if (rule === 2) return [`${signOf(computation)} = ${computation.value}`];
    const power = powerText(scores[at], top);
    return [
      `${signOf(computation)} = ${power} ÷ ${writtenNumber(total)}`,
      `= ${writtenNumber(exps[at])} ÷ ${writtenNumber(total)}`,
      resultPieces(computation),
    ];
  },
  add: (computation) => [
    `${signOf(computation)} = ${writtenNumber(computation.a)} + ${bracketed(computation.b)}`,
    resultPieces(computation),
  ],
  plus: (computation) => EQUATIONS.add(computation),
  norm: (computation) => {
    const { x, mean, deviation, gamma, beta } = computation;
    const centred = `(${writtenNumber(x)} − ${bracketed(mean)}) ÷ ${writtenNumber(deviation)}`;
    return [
      `${signOf(computation)} = ${centred}`,
      `× ${bracketed(gamma)}`,
      `+ ${bracketed(beta)}`,
      resultPieces(computation),
    ];
  },
  activation: (computation) => {
    const x = writtenNumber(computation.x);
    const how = { relu: `max(0, ${x})`, gelu: `${x} × Φ(${x})`, swish: `${x} × σ(${x})` }[computation.sort];
    return [
      `${signOf(computation)} = ${how}`,
      `= ${writtenNumber(computation.free)}`,
      ...replacement(computation.silenced),
    ];
  },
  split: (computation) => {
    const { of, row, col, at, head } = computation;
    const symbol = indexed(of.sign, row + 1, at + 1);
    return [`${indexed(of.sign, row + 1, col + 1)}^{(${head + 1})} = ${symbol}`, resultPieces(computation)];
  },
  concat: (computation) => [
    `${signOf(computation)} = ${indexed("o", computation.row + 1, computation.at.col + 1)}^{(${computation.at.head + 1})}`,
    resultPieces(computation),
  ],
  probability: (computation) => {
    const power = powerText(computation.logit, computation.logSum);
    return [
      `${signOf(computation)} = ${power}`,
      `= ${powerText(computation.logit - computation.logSum)}`,
      resultPieces(computation),
    ];
  },
  choose: (computation) => EQUATIONS.probability(computation),
  back: (computation) => EQUATIONS.probability(computation),
};

// The symbol of the number: for a word its rank among the most likely, otherwise row and column.
function signOf(computation) {
  const { of, col } = computation;
  const row = computation.made === "choose" || computation.made === "back" ? computation.words.rank : computation.row;
  return of.rows === "word" ? indexed(of.sign, row + 1) : indexed(of.sign, row + 1, col + 1);
}

const resultPieces = (computation) => `= ${writtenNumber(computation.value)}`;

export function equationPieces({ computation }) {
  return EQUATIONS[computation.made](computation);
}
