import { formatCount, formatNumber } from "../format.js";
import { factorName } from "./equation.js";
import { rowOf } from "./operands.js";
import { sideOf } from "../panel/facts.js";
import { cellsPart } from "./cells.js";
import { cardsPart, curvePart, rowPart, stackedParts } from "./cards.js";
import { LINE_HEIGHT } from "./sheet.js";

// The drawing below a number that is computed from a few others: a card for each, and their rows. tools: see
// numberParts.

export const FEW = {
  given: givenParts,
  lookup: lookupParts,
  divide: scaleParts,
  times: (tools) => (tools.found.of.name === "embedding" ? timesParts(tools) : scaleParts(tools)),
  mask: maskParts,
  add: addParts,
  plus: plusParts,
  norm: normParts,
  activation: activationParts,
  split: splitParts,
  concat: concatParts,
};

// Cards, with a sentence above them if there is one, and pictures below as far as there is space.
function cardVariants({ sheet, w }, cards, pictures = [], said = null) {
  const gap = 1.1 * sheet.unit;
  const say = said ? [sentencePart(sheet, said, w)] : [];
  const found = [];
  for (const noted of [true, false]) {
    const first = [...say, cardsPart(sheet, cards, w, noted)];
    for (let kept = pictures.length; kept >= 0; kept--)
      found.push(stackedParts([...first, ...pictures.slice(0, kept)], gap));
  }
  return found;
}

export function sentencePart(sheet, text, w) {
  const high = sheet.paragraphHeight(text, w);
  return { least: high, best: high, draw: (x, y, wide) => sheet.paragraph("said", text, x, y, wide) };
}

// The row of a matrix with the number, as a strip; the number itself is outlined, or the one at `mark`.
function rowIn(tools, name, { mark = tools.found.col, pick, options, heads } = /** @type {any} */ ({})) {
  const { sheet, w, t, read, token, found, state } = tools;
  const matrix = read(name, options);
  const numbers = rowOf(matrix, found.row);
  const title = t("number_strip", { name: t(`number_name_${name}`), token, count: formatCount(matrix.cols) });
  const origin = `${matrix.id}|row|${found.row}`;
  const ramp = sideOf(state.place, name);
  return rowPart(sheet, `row.${name}`, numbers, { title, at: mark, origin, pick, ramp, heads, w });
}

// -- a few numbers ---------------------------------------------------------------------------------------------------

// A card that leads to the origin of its number.
export function linkedCard({ found, t }, card, go = found.from(0)) {
  return go ? { ...card, go, label: t("number_from", { name: card.name }) } : card;
}

function givenParts(tools) {
  const { found, t } = tools;
  const { before } = found;
  const layer = (before.place.startsWith("encoder") ? before.encoder : before.decoder) + 1;
  const place = t(`number_from_${before.place.replace(".", "_")}`, { layer });
  const cards = [
    linkedCard(tools, {
      name: t("number_card_arrives"),
      value: place,
      note: found.normed ? t("number_card_normed") : "",
    }),
  ];
  const from = (m) => ({ ...found.from(0), row: found.row, col: m });
  const name = found.of.name;
  return cardVariants(tools, cards, [rowIn(tools, name, { pick: from })]);
}

function lookupParts(tools) {
  const { found, t, token } = tools;
  const cards = [
    { name: t("number_card_id", { token }), value: formatCount(found.id) },
    {
      name: t("number_card_lookup", { id: formatCount(found.id), n: formatCount(found.col + 1) }),
      value: formatNumber(found.stored),
      sign: "→",
    },
  ];
  return cardVariants(tools, cards, [rowIn(tools, "rows")]);
}

function scaleParts(tools) {
  const { sheet, found, t } = tools;
  const cards = [linkedCard(tools, { name: t("number_card_dot"), value: formatNumber(found.a) })];
  if (found.made === "divide")
    cards.push({
      name: t("number_card_root", { depth: found.depth }),
      kind: "math",
      value: `√${found.depth} = ${formatNumber(found.root)}`,
      sign: "÷",
    });
  else
    cards.push({
      name: t(found.plain ? "number_card_unscaled" : "number_card_factor"),
      value: factorName(found.factor),
      sign: "×",
    });
  cards.push({ name: t("number_card_scaled"), value: formatNumber(found.value), sign: "=", hue: sheet.ramp });
  return cardVariants(tools, cards, keyRows(tools, ["dot", "scaled"]));
}

// Rows of scores, key by key: as numbers if there is space for them, otherwise as strips.
function keyRows(tools, names) {
  const { sheet, found, own, t, w, token, labels } = tools;
  const step = { dot: "dot", scaled: "scale", scores: "mask" };
  const picks = names.map((name) => (m) => ({ step: step[name], row: found.row, col: m }));
  const rows = names.map((name, i) => {
    const matrix = tools.read(name, own);
    const text = t(`number_name_${name}`);
    const numbers = rowOf(matrix, found.row);
    const says = (m) => [text, labels("key")[m], formatNumber(numbers[m])];
    const more = { origin: `${matrix.id}|row|${found.row}`, label: text, pick: picks[i], says, outline: "thin" };
    return { numbers, text, more };
  });
  const cells = cellsPart(sheet, rows, labels("key"), w, found.col);
  if (cells) return [titledPart(tools, cells, t("number_row_of", { token }))];
  return names.map((name, i) => rowIn(tools, name, { options: own, pick: picks[i], heads: labels("key") }));
}

function titledPart({ sheet, w }, part, text) {
  const head = LINE_HEIGHT * sheet.unit + 0.3 * sheet.unit;
  const draw = (x, y, wide, h) => {
    sheet.text("titled", text, x, y, w, { weight: 600 });
    part.draw(x, y + head, wide, h - head);
  };
  return { least: part.least + head, best: part.best + head, draw };
}

function maskParts(tools) {
  const { sheet, found, t } = tools;
  const mask = {
    name: t(found.hidden ? "number_card_hidden" : "number_card_visible"),
    value: found.hidden ? "−∞" : "0",
    note: t(`number_why_${found.why}`),
    sign: "+",
  };
  const cards = [
    linkedCard(tools, { name: t("number_card_scaled"), value: formatNumber(found.a) }),
    mask,
    { name: t("number_card_masked"), value: formatNumber(found.value), sign: "=", hue: sheet.ramp },
  ];
  return cardVariants(tools, cards, keyRows(tools, ["scaled", "scores"]));
}

function addParts(tools) {
  const { sheet, found, t } = tools;
  const cards = [
    linkedCard(tools, { name: t("number_card_x"), value: formatNumber(found.a) }),
    linkedCard(
      tools,
      { name: t("number_card_update"), value: formatNumber(found.b), note: t("number_card_update_note"), sign: "+" },
      found.from(1),
    ),
    { name: t("number_card_sum"), value: formatNumber(found.value), sign: "=", hue: sheet.ramp },
  ];
  const rows = ["x", "update", "sum"].map((name, i) => {
    const pick = i < 2 ? (m) => ({ ...found.from(i), col: m }) : (m) => ({ row: found.row, col: m });
    return rowIn(tools, name, { pick });
  });
  return cardVariants(tools, cards, rows);
}

function normParts(tools) {
  const { sheet, found, t } = tools;
  const card = (name, value, sign, more) => ({
    name: t(`number_card_${name}`),
    value: formatNumber(value),
    sign,
    ...more,
  });
  const cards = [
    linkedCard(tools, card(found.input === "sum" ? "input_sum" : found.input, found.x, ""), found.from(found.col)),
    card("mean", found.mean, "−"),
    card("deviation", found.deviation, "÷"),
    card("normal", found.normal, "="),
    card("gamma", found.gamma, "×"),
    card("beta", found.beta, "+"),
    card("result", found.value, "=", { hue: sheet.ramp }),
  ];
  const pictures = [
    rowIn(tools, found.input, { pick: (m) => found.from(m) }),
    rowIn(tools, found.of.name, { pick: (m) => ({ row: found.row, col: m }) }),
  ];
  return cardVariants(tools, cards, pictures);
}

function activationParts(tools) {
  const { sheet, found, t } = tools;
  const share = formatNumber(found.x ? found.free / found.x : 0.5); // Φ(x) or σ(x)
  const note = t(`number_card_${found.sort}_note`, { share });
  const cards = [
    linkedCard(tools, { name: t("number_card_input"), value: formatNumber(found.x) }),
    {
      name: t(`number_card_${found.sort}`),
      value: formatNumber(found.free),
      note,
      sign: "→",
      ...(found.silenced ? {} : { hue: sheet.ramp }),
    },
  ];
  const said = found.silenced ? t("number_silenced", { value: formatNumber(found.free) }) : null;
  const pick = (m) => ({ row: found.row, col: m });
  const strip = rowIn(tools, "activation", { pick });
  return cardVariants(tools, cards, [curvePart(sheet), strip], said);
}

function splitParts(tools) {
  const { sheet, found, t, state, data } = tools;
  const { of, at, width } = found;
  const count = data.config.heads * width;
  const head = { n: found.col + 1, head: state.head + 1 };
  const cards = [
    linkedCard(tools, {
      name: t("number_card_whole", { n: formatCount(at + 1), count: formatCount(count) }),
      value: formatNumber(found.value),
    }),
    { name: t("number_card_in_head", head), value: formatNumber(found.value), sign: "→", hue: sheet.ramp },
  ];
  const pick = (m) => ({ ...found.from(0), col: m });
  return cardVariants(tools, cards, [rowIn(tools, of.name, { mark: at, pick })]);
}

function concatParts(tools) {
  const { sheet, found, t, config } = tools;
  const { at } = found;
  const cards = [
    linkedCard(tools, {
      name: t("number_card_in_head", { n: at.col + 1, head: at.head + 1 }),
      value: formatNumber(found.value),
    }),
    {
      name: t("number_card_together", { n: formatCount(found.col + 1), count: formatCount(config.d_model) }),
      value: formatNumber(found.value),
      sign: "→",
      hue: sheet.ramp,
    },
  ];
  const pick = (m) => ({ row: found.row, col: m });
  return cardVariants(tools, cards, [rowIn(tools, "concat", { pick })]);
}

function timesParts(tools) {
  const { sheet, found, t } = tools;
  const cards = [
    linkedCard(tools, { name: t("number_card_row"), value: formatNumber(found.a) }),
    {
      name: found.scaled ? t("number_card_model_root", { depth: found.depth }) : t("number_card_as_it_is"),
      kind: "math",
      value: factorName(found.factor),
      sign: "×",
    },
    { name: t("number_card_embedding"), value: formatNumber(found.value), sign: "=", hue: sheet.ramp },
  ];
  const rows = ["rows", "embedding"].map((name, i) => {
    const pick = (m) => ({ step: i ? "times" : "row", row: found.row, col: m });
    return rowIn(tools, name, { pick });
  });
  return cardVariants(tools, cards, rows);
}

function plusParts(tools) {
  const { sheet, found, t, config } = tools;
  const { wave, position, switched } = found;
  const angle = wave && `${position} ÷ 10000^(${wave.even}/${config.d_model})`;
  const learned = config.positions === "learned" ? t("number_card_learned") : "";
  const switches = switched ? t("number_card_switched") : null;
  const note = switches || (wave ? t("number_card_wave", { wave: wave.sort, angle }) : learned);
  const cards = [
    linkedCard(tools, { name: t("number_card_embedding"), value: formatNumber(found.a) }),
    {
      name: t("number_card_position", { position: formatCount(position) }),
      value: formatNumber(found.b),
      note: config.positions === "none" ? "" : note,
      sign: "+",
    },
    { name: t("number_card_x"), value: formatNumber(found.value), sign: "=", hue: sheet.ramp },
  ];
  const rows = ["embedding", "positions", "x"].map((name, i) => {
    const pick = [(m) => ({ ...found.from(0), col: m }), null, (m) => ({ row: found.row, col: m })][i];
    return rowIn(tools, name, { pick });
  });
  return cardVariants(tools, cards, rows);
}
