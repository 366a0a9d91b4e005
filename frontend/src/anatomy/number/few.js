import { formatCount, formatNumber } from "../format.js";
import { factorName } from "./equation.js";
import { rowOf } from "./operands.js";
import { sideOf } from "../panel/facts.js";
import { placeName } from "../walk.js";
import { cellsPart } from "./cells.js";
import { cardsPart, curvePart, rowPart, stackedParts, titledPart } from "./cards.js";

// The drawing below a number that is computed from a few others: a card for each, and their rows. tools: see
// numberParts.

export const FEW = {
  given: givenParts,
  lookup: lookupParts,
  divide: scaleParts,
  times: (tools) => (tools.computation.of.name === "embedding" ? timesParts(tools) : scaleParts(tools)),
  mask: maskParts,
  add: addParts,
  plus: plusParts,
  norm: normParts,
  activation: activationParts,
  split: splitParts,
  concat: concatParts,
};

// Cards, with a sentence above them if there is one, and pictures below as far as there is space.
function cardVariants({ sheet, w }, cards, pictures = [], sentence = null) {
  const gap = 1.1 * sheet.unit;
  const firstParts = sentence ? [sentencePart(sheet, sentence, w)] : [];
  const variants = [];
  for (const noted of [true, false]) {
    const first = [...firstParts, cardsPart(sheet, cards, w, noted)];
    for (let count = pictures.length; count >= 0; count--)
      variants.push(stackedParts([...first, ...pictures.slice(0, count)], gap));
  }
  return variants;
}

export function sentencePart(sheet, text, w) {
  const high = sheet.paragraphHeight(text, w);
  return { least: high, best: high, draw: (x, y, wide) => sheet.paragraph("said", text, x, y, wide) };
}

// The row of a matrix with the number, as a strip; the number itself is outlined, or the one at `mark`.
function rowIn(tools, name, { mark = tools.computation.col, pick, options, columns } = /** @type {any} */ ({})) {
  const { sheet, w, t, read, token, computation, state } = tools;
  const matrix = read(name, options);
  const numbers = rowOf(matrix, computation.row);
  const title = t("number_strip", { name: t(`number_name_${name}`), token, count: formatCount(matrix.cols) });
  const origin = `${matrix.id}|row|${computation.row}`;
  const ramp = sideOf(state.place, name);
  return rowPart(sheet, `row.${name}`, numbers, { title, at: mark, origin, pick, ramp, columns, w });
}

// -- a few numbers ---------------------------------------------------------------------------------------------------

// A card: its name by the end of its key, values: for the name; value: a number or a text.
export function card({ t }, key, value, { values, ...more } = /** @type {any} */ ({})) {
  const text = typeof value === "number" ? formatNumber(value) : value;
  return { name: t(`number_card_${key}`, values), value: text, ...more };
}

// A card that leads to the origin of its number.
export function linkedCard(tools, key, value, { go = tools.computation.from(0), ...more } = /** @type {any} */ ({})) {
  const made = card(tools, key, value, more);
  return go ? { ...made, go, label: tools.t("number_from", { name: made.name }) } : made;
}

// The card of the result.
const resultCard = (tools, key, more = {}) =>
  card(tools, key, tools.computation.value, { sign: "=", hue: tools.sheet.ramp, ...more });

// Leads to another number of the same row.
const alongRow =
  ({ computation }, more = {}) =>
  (m) => ({ ...more, row: computation.row, col: m });

function givenParts(tools) {
  const { computation, t } = tools;
  const { before, normed, of } = computation;
  const layer = (before.place.startsWith("encoder") ? before.encoder : before.decoder) + 1;
  const placeText = t(`number_from_${placeName(before.place)}`, { layer });
  const cards = [linkedCard(tools, "arrives", placeText, { note: normed ? t("number_card_normed") : "" })];
  return cardVariants(tools, cards, [rowIn(tools, of.name, { pick: alongRow(tools, computation.from(0)) })]);
}

function lookupParts(tools) {
  const { computation, token } = tools;
  const id = formatCount(computation.id);
  const values = { id, n: formatCount(computation.col + 1) };
  const cards = [
    card(tools, "id", id, { values: { token } }),
    card(tools, "lookup", computation.stored, { values, sign: "→" }),
  ];
  return cardVariants(tools, cards, [rowIn(tools, "rows")]);
}

function scaleParts(tools) {
  const { a, kind, depth, root, plain, factor } = tools.computation;
  const text = `√${depth} = ${formatNumber(root)}`;
  const by =
    kind === "divide"
      ? card(tools, "root", text, { values: { depth }, kind: "math", sign: "÷" })
      : card(tools, plain ? "unscaled" : "factor", factorName(factor), { sign: "×" });
  const cards = [linkedCard(tools, "dot", a), by, resultCard(tools, "scaled")];
  return cardVariants(tools, cards, keyRows(tools, ["dot", "scaled"]));
}

// Rows of scores, key by key: as numbers if there is space for them, otherwise as strips.
function keyRows(tools, names) {
  const { sheet, computation, own, t, w, token, labels } = tools;
  const step = { dot: "dot", scaled: "scale", scores: "mask" };
  const picks = names.map((name) => alongRow(tools, { step: step[name] }));
  const rows = names.map((name, i) => {
    const matrix = tools.read(name, own);
    const text = t(`number_name_${name}`);
    const numbers = rowOf(matrix, computation.row);
    const says = (m) => [text, labels("key")[m], formatNumber(numbers[m])];
    const more = { origin: `${matrix.id}|row|${computation.row}`, label: text, pick: picks[i], says };
    return { numbers, text, more };
  });
  const cells = cellsPart(sheet, rows, labels("key"), w, computation.col);
  const look = { weight: 600, gap: 0.3 * sheet.unit };
  if (cells) return [titledPart(sheet, "titled", t("number_row_of", { token }), cells, look)];
  return names.map((name, i) => rowIn(tools, name, { options: own, pick: picks[i], columns: labels("key") }));
}

function maskParts(tools) {
  const { computation, t } = tools;
  const { hidden, why, a } = computation;
  const note = t(`number_why_${why}`);
  const mask = card(tools, hidden ? "hidden" : "visible", hidden ? "−∞" : "0", { note, sign: "+" });
  const cards = [linkedCard(tools, "scaled", a), mask, resultCard(tools, "masked")];
  return cardVariants(tools, cards, keyRows(tools, ["scaled", "scores"]));
}

function addParts(tools) {
  const { computation, t } = tools;
  const { a, b, from } = computation;
  const update = { go: from(1), note: t("number_card_update_note"), sign: "+" };
  const cards = [linkedCard(tools, "x", a), linkedCard(tools, "update", b, update), resultCard(tools, "sum")];
  const picks = [alongRow(tools, from(0)), alongRow(tools, from(1)), alongRow(tools)];
  const rows = ["x", "update", "sum"].map((name, i) => rowIn(tools, name, { pick: picks[i] }));
  return cardVariants(tools, cards, rows);
}

function normParts(tools) {
  const { computation } = tools;
  const { input, x, from, col, of } = computation;
  const steps = { mean: "−", deviation: "÷", normal: "=", gamma: "×", beta: "+" };
  const cards = [
    linkedCard(tools, input === "sum" ? "input_sum" : input, x, { sign: "", go: from(col) }),
    ...Object.entries(steps).map(([name, sign]) => card(tools, name, computation[name], { sign })),
    resultCard(tools, "result"),
  ];
  const pictures = [rowIn(tools, input, { pick: (m) => from(m) }), rowIn(tools, of.name, { pick: alongRow(tools) })];
  return cardVariants(tools, cards, pictures);
}

function activationParts(tools) {
  const { sheet, computation, t } = tools;
  const { x, unswitched, activation, silenced } = computation;
  const note = t(`number_card_${activation}_note`, { share: formatNumber(x ? unswitched / x : 0.5) }); // Φ(x) or σ(x)
  const hue = silenced ? {} : { hue: sheet.ramp };
  const cards = [linkedCard(tools, "input", x), card(tools, activation, unswitched, { note, sign: "→", ...hue })];
  const sentence = silenced ? t("number_silenced", { value: formatNumber(unswitched) }) : null;
  const strip = rowIn(tools, "activation", { pick: alongRow(tools) });
  return cardVariants(tools, cards, [curvePart(sheet), strip], sentence);
}

function splitParts(tools) {
  const { computation, state, config } = tools;
  const { of, at, width, col, value } = computation;
  const whole = { n: formatCount(at + 1), count: formatCount(config.heads * width) };
  const head = { n: col + 1, head: state.head + 1 };
  const cards = [
    linkedCard(tools, "whole", value, { values: whole }),
    resultCard(tools, "in_head", { values: head, sign: "→" }),
  ];
  const pick = (m) => ({ ...computation.from(0), col: m });
  return cardVariants(tools, cards, [rowIn(tools, of.name, { mark: at, pick })]);
}

function concatParts(tools) {
  const { computation, config } = tools;
  const { at, col, value } = computation;
  const head = { n: at.col + 1, head: at.head + 1 };
  const together = { n: formatCount(col + 1), count: formatCount(config.d_model) };
  const cards = [
    linkedCard(tools, "in_head", value, { values: head }),
    resultCard(tools, "together", { values: together, sign: "→" }),
  ];
  return cardVariants(tools, cards, [rowIn(tools, "concat", { pick: alongRow(tools) })]);
}

function timesParts(tools) {
  const { a, scaled, depth, factor } = tools.computation;
  const root = { values: { depth }, kind: "math", sign: "×" };
  const by = card(tools, scaled ? "model_root" : "as_it_is", factorName(factor), root);
  const cards = [linkedCard(tools, "row", a), by, resultCard(tools, "embedding")];
  const steps = { rows: "row", embedding: "times" };
  const rows = Object.keys(steps).map((name) => rowIn(tools, name, { pick: alongRow(tools, { step: steps[name] }) }));
  return cardVariants(tools, cards, rows);
}

function plusParts(tools) {
  const { computation, t, config } = tools;
  const { a, b, wave, position, switched } = computation;
  const angle = wave && `${position} ÷ 10000^(${wave.even}/${config.d_model})`;
  const learned = config.positions === "learned" ? t("number_card_learned") : "";
  const switches = switched ? t("number_card_switched") : null;
  const note = switches || (wave ? t("number_card_wave", { wave: wave.name, angle }) : learned);
  const about = { note: config.positions === "none" ? "" : note, values: { position: formatCount(position) } };
  const cards = [
    linkedCard(tools, "embedding", a),
    card(tools, "position", b, { ...about, sign: "+" }),
    resultCard(tools, "x"),
  ];
  const picks = [(m) => ({ ...computation.from(0), col: m }), null, alongRow(tools)];
  const rows = ["embedding", "positions", "x"].map((name, i) => rowIn(tools, name, { pick: picks[i] }));
  return cardVariants(tools, cards, rows);
}
