import { formatNumber } from "../format.js";

// The equation of a number with its values, in pieces between which a line may break. Indices count from 1; ids, which
// stand in brackets as in E[id], count from 0.

const SHOWN = 3; // terms of a sum that are written: the first two and the last

// A factor without padding: 16, 0.7, 5.6569.
export const factorName = (value) => String(Number(value.toFixed(4))).replace("-", "−");

// "2.32e-5" as 2.32 × 10^{−5}: an e would be read as that of e^x.
const TENS = /e[-−](\d+)$/;
const written = (value) => formatNumber(value).replace(TENS, " × 10^{−$1}");
const wrapped = (value, text) => (value < 0 || text.includes("×") ? `(${text})` : text);
const bracketed = (value) => wrapped(value, written(value));

// e^{a − b}, or e^{a}. A power of ten in it is raised by signs of its own: there is one level of powers.
function powerText(a, b = null) {
  const raised = (match, power) => ` × 10⁻${[...power].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
  const exponent = (value) => formatNumber(value).replace(TENS, raised);
  return `e^{${exponent(a)}${b === null ? "" : ` − ${wrapped(b, exponent(b))}`}}`;
}

const indexed = (sign, ...indices) => `${sign}_{${indices.join(",")}}`;

// The symbol of the number: for a word its rank among the most likely, otherwise row and column.
function signOf({ of, kind, words, row, col }) {
  const rank = kind === "choose" || kind === "back" ? words.rank : row;
  return of.rows === "word" ? indexed(of.sign, rank + 1) : indexed(of.sign, row + 1, col + 1);
}

// What a switch puts instead of a number.
const replaced = (switched, value = 0) => (switched ? [value ? `→ ${written(value)}` : "→ 0"] : []);
const result = ({ value }) => `= ${written(value)}`;

// By the kind of a computation: the pieces behind its symbol, or {name: another symbol, pieces}.
const EQUATIONS = {
  given: ({ stored }) => [`= ${written(stored)}`],
  lookup: ({ id, col, stored }) => ({ name: indexed(`E[${id}]`, col + 1), pieces: [`= ${written(stored)}`] }),
  dot: (computation) => {
    const { a, b, products, bias, skipped, unswitched, instead, value, of, row, col } = computation;
    const count = products.length;
    const terms = Array.from(count <= SHOWN ? products.keys() : [0, 1, count - 1], (m, i) => {
      const gap = i === 2 && count > SHOWN ? "+ … " : "";
      return `${gap}${i ? "+ " : "= "}${(i && a[m] < 0 ? bracketed : written)(a[m])} × ${bracketed(b[m])}`;
    });
    const pieces = [...terms, ...(bias === null ? [] : [`+ ${bracketed(bias)}`])];
    pieces.push(`= ${written(skipped ? unswitched : value)}`, ...replaced(skipped, instead));
    return of.name === "dot" ? { name: `${indexed("q", row + 1)} · ${indexed("k", col + 1)}`, pieces } : pieces;
  },
  divide: (computation) => {
    const { a, depth, root } = computation;
    return [`= ${written(a)} ÷ √${depth}`, `= ${written(a)} ÷ ${written(root)}`, result(computation)];
  },
  times: (computation) => {
    const { a, factor, of, scaled, depth } = computation;
    const root = of.name === "embedding" && scaled ? [`= ${written(a)} × √${depth}`] : [];
    return [...root, `= ${written(a)} × ${factorName(factor)}`, result(computation)];
  },
  mask: (computation) => [`= ${written(computation.a)} + ${computation.hidden ? "(−∞)" : "0"}`, result(computation)],
  softmax: (computation) => {
    const { rule, visible, scores, at, top, exps, total, value } = computation;
    if (rule === 1) return [`= ${value ? `1 ÷ ${visible}` : "0"}`, result(computation)];
    if (rule === 2) return [`= ${value}`];
    const sum = written(total);
    return [`= ${powerText(scores[at], top)} ÷ ${sum}`, `= ${written(exps[at])} ÷ ${sum}`, result(computation)];
  },
  add: (computation) => [`= ${written(computation.a)} + ${bracketed(computation.b)}`, result(computation)],
  norm: (computation) => {
    const { x, mean, deviation, gamma, beta } = computation;
    const centred = `= (${written(x)} − ${bracketed(mean)}) ÷ ${written(deviation)}`;
    return [centred, `× ${bracketed(gamma)}`, `+ ${bracketed(beta)}`, result(computation)];
  },
  activation: ({ x, activation, unswitched, silenced }) => {
    const z = written(x);
    const how = { relu: `max(0, ${z})`, gelu: `${z} × Φ(${z})`, swish: `${z} × σ(${z})` }[activation];
    return [`= ${how}`, `= ${written(unswitched)}`, ...replaced(silenced)];
  },
  split: (computation) => {
    const { of, row, col, at, head } = computation;
    const name = `${indexed(of.sign, row + 1, col + 1)}^{(${head + 1})}`;
    return { name, pieces: [`= ${indexed(of.sign, row + 1, at + 1)}`, result(computation)] };
  },
  concat: (computation) => {
    const { row, at } = computation;
    return [`= ${indexed("o", row + 1, at.col + 1)}^{(${at.head + 1})}`, result(computation)];
  },
  probability: (computation) => {
    const { logit, logSum } = computation;
    return [`= ${powerText(logit, logSum)}`, `= ${powerText(logit - logSum)}`, result(computation)];
  },
};
Object.assign(EQUATIONS, { plus: EQUATIONS.add, choose: EQUATIONS.probability, back: EQUATIONS.probability });

export function equationPieces({ computation }) {
  const equation = EQUATIONS[computation.kind](computation);
  const { name = signOf(computation), pieces = equation } = /** @type {any} */ (equation);
  return [`${name} ${pieces[0]}`, ...pieces.slice(1)];
}
