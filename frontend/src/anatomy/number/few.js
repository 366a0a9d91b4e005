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
function rowIn(tools, name, { mark = tools.computation.col, pick, options, heads } = /** @type {any} */ ({})) {
  const { sheet, w, t, read, token, computation, state } = tools;
  const matrix = read(name, options);
  const numbers = rowOf(matrix, computation.row);
  const title = t("number_strip", { name: t(`number_name_${name}`), token, count: formatCount(matrix.cols) });
  const origin = `${matrix.id}|row|${computation.row}`;
  const ramp = sideOf(state.place, name);
  return rowPart(sheet, `row.${name}`, numbers, { title, at: mark, origin, pick, ramp, heads, w });
}

// -- a few numbers ---------------------------------------------------------------------------------------------------

// A card that leads to the origin of its number.
export function linkedCard({ computation, t }, card, go = computation.from(0)) {
  return go ? { ...card, go, label: t("number_from", { name: card.name }) } : card;
}

function givenParts(tools) {
  const { computation, t } = tools;
  const { before } = computation;
  const layer = (before.place.startsWith("encoder") ? before.encoder : before.decoder) + 1;
  const placeText = t(`number_from_${before.place.replace(".", "_")}`, { layer });
  const cards = [
    linkedCard(tools, {
      name: t("number_card_arrives"),
      value: placeText,
      note: computation.normed ? t("number_card_normed") : "",
    }),
  ];
  const from = (m) => ({ ...computation.from(0), row: computation.row, col: m });
  const name = computation.of.name;
  return cardVariants(tools, cards, [rowIn(tools, name, { pick: from })]);
}

function lookupParts(tools) {
  const { computation, t, token } = tools;
  const cards = [
    { name: t("number_card_id", { token }), value: formatCount(computation.id) },
    {
      name: t("number_card_lookup", { id: formatCount(computation.id), n: formatCount(computation.col + 1) }),
      value: formatNumber(computation.stored),
      sign: "→",
    },
  ];
  return cardVariants(tools, cards, [rowIn(tools, "rows")]);
}

function scaleParts(tools) {
  const { sheet, computation, t } = tools;
  const cards = [linkedCard(tools, { name: t("number_card_dot"), value: formatNumber(computation.a) })];
  if (computation.made === "divide")
    cards.push({
      name: t("number_card_root", { depth: computation.depth }),
      kind: "math",
      value: `√${computation.depth} = ${formatNumber(computation.root)}`,
      sign: "÷",
    });
  else
    cards.push({
      name: t(computation.plain ? "number_card_unscaled" : "number_card_factor"),
      value: factorName(computation.factor),
      sign: "×",
    });
  cards.push({ name: t("number_card_scaled"), value: formatNumber(computation.value), sign: "=", hue: sheet.ramp });
  return cardVariants(tools, cards, keyRows(tools, ["dot", "scaled"]));
}

// Rows of scores, key by key: as numbers if there is space for them, otherwise as strips.
function keyRows(tools, names) {
  const { sheet, computation, own, t, w, token, labels } = tools;
  const step = { dot: "dot", scaled: "scale", scores: "mask" };
  const picks = names.map((name) => (m) => ({ step: step[name], row: computation.row, col: m }));
  const rows = names.map((name, i) => {
    const matrix = tools.read(name, own);
    const text = t(`number_name_${name}`);
    const numbers = rowOf(matrix, computation.row);
    const says = (m) => [text, labels("key")[m], formatNumber(numbers[m])];
    const more = { origin: `${matrix.id}|row|${computation.row}`, label: text, pick: picks[i], says, outline: "thin" };
    return { numbers, text, more };
  });
  const cells = cellsPart(sheet, rows, labels("key"), w, computation.col);
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
  const { sheet, computation, t } = tools;
  const mask = {
    name: t(computation.hidden ? "number_card_hidden" : "number_card_visible"),
    value: computation.hidden ? "−∞" : "0",
    note: t(`number_why_${computation.why}`),
    sign: "+",
  };
  const cards = [
    linkedCard(tools, { name: t("number_card_scaled"), value: formatNumber(computation.a) }),
    mask,
    { name: t("number_card_masked"), value: formatNumber(computation.value), sign: "=", hue: sheet.ramp },
  ];
  return cardVariants(tools, cards, keyRows(tools, ["scaled", "scores"]));
}

function addParts(tools) {
  const { sheet, computation, t } = tools;
  const cards = [
    linkedCard(tools, { name: t("number_card_x"), value: formatNumber(computation.a) }),
    linkedCard(
      tools,
      {
        name: t("number_card_update"),
        value: formatNumber(computation.b),
        note: t("number_card_update_note"),
        sign: "+",
      },
      computation.from(1),
    ),
    { name: t("number_card_sum"), value: formatNumber(computation.value), sign: "=", hue: sheet.ramp },
  ];
  const rows = ["x", "update", "sum"].map((name, i) => {
    const pick = i < 2 ? (m) => ({ ...computation.from(i), col: m }) : (m) => ({ row: computation.row, col: m });
    return rowIn(tools, name, { pick });
  });
  return cardVariants(tools, cards, rows);
}

function normParts(tools) {
  const { sheet, computation, t } = tools;
  const card = (name, value, sign, more) => ({
    name: t(`number_card_${name}`),
    value: formatNumber(value),
    sign,
    ...more,
  });
  const cards = [
    linkedCard(
      tools,
      card(computation.input === "sum" ? "input_sum" : computation.input, computation.x, ""),
      computation.from(computation.col),
    ),
    card("mean", computation.mean, "−"),
    card("deviation", computation.deviation, "÷"),
    card("normal", computation.normal, "="),
    card("gamma", computation.gamma, "×"),
    card("beta", computation.beta, "+"),
    card("result", computation.value, "=", { hue: sheet.ramp }),
  ];
  const pictures = [
    rowIn(tools, computation.input, { pick: (m) => computation.from(m) }),
    rowIn(tools, computation.of.name, { pick: (m) => ({ row: computation.row, col: m }) }),
  ];
  return cardVariants(tools, cards, pictures);
}

function activationParts(tools) {
  const { sheet, computation, t } = tools;
  const share = formatNumber(computation.x ? computation.free / computation.x : 0.5); // Φ(x) or σ(x)
  const note = t(`number_card_${computation.sort}_note`, { share });
  const cards = [
    linkedCard(tools, { name: t("number_card_input"), value: formatNumber(computation.x) }),
    {
      name: t(`number_card_${computation.sort}`),
      value: formatNumber(computation.free),
      note,
      sign: "→",
      ...(computation.silenced ? {} : { hue: sheet.ramp }),
    },
  ];
  const sentence = computation.silenced ? t("number_silenced", { value: formatNumber(computation.free) }) : null;
  const pick = (m) => ({ row: computation.row, col: m });
  const strip = rowIn(tools, "activation", { pick });
  return cardVariants(tools, cards, [curvePart(sheet), strip], sentence);
}

function splitParts(tools) {
  const { sheet, computation, t, state, data } = tools;
  const { of, at, width } = computation;
  const count = data.config.heads * width;
  const head = { n: computation.col + 1, head: state.head + 1 };
  const cards = [
    linkedCard(tools, {
      name: t("number_card_whole", { n: formatCount(at + 1), count: formatCount(count) }),
      value: formatNumber(computation.value),
    }),
    { name: t("number_card_in_head", head), value: formatNumber(computation.value), sign: "→", hue: sheet.ramp },
  ];
  const pick = (m) => ({ ...computation.from(0), col: m });
  return cardVariants(tools, cards, [rowIn(tools, of.name, { mark: at, pick })]);
}

function concatParts(tools) {
  const { sheet, computation, t, config } = tools;
  const { at } = computation;
  const cards = [
    linkedCard(tools, {
      name: t("number_card_in_head", { n: at.col + 1, head: at.head + 1 }),
      value: formatNumber(computation.value),
    }),
    {
      name: t("number_card_together", { n: formatCount(computation.col + 1), count: formatCount(config.d_model) }),
      value: formatNumber(computation.value),
      sign: "→",
      hue: sheet.ramp,
    },
  ];
  const pick = (m) => ({ row: computation.row, col: m });
  return cardVariants(tools, cards, [rowIn(tools, "concat", { pick })]);
}

function timesParts(tools) {
  const { sheet, computation, t } = tools;
  const cards = [
    linkedCard(tools, { name: t("number_card_row"), value: formatNumber(computation.a) }),
    {
      name: computation.scaled ? t("number_card_model_root", { depth: computation.depth }) : t("number_card_as_it_is"),
      kind: "math",
      value: factorName(computation.factor),
      sign: "×",
    },
    { name: t("number_card_embedding"), value: formatNumber(computation.value), sign: "=", hue: sheet.ramp },
  ];
  const rows = ["rows", "embedding"].map((name, i) => {
    const pick = (m) => ({ step: i ? "times" : "row", row: computation.row, col: m });
    return rowIn(tools, name, { pick });
  });
  return cardVariants(tools, cards, rows);
}

function plusParts(tools) {
  const { sheet, computation, t, config } = tools;
  const { wave, position, switched } = computation;
  const angle = wave && `${position} ÷ 10000^(${wave.even}/${config.d_model})`;
  const learned = config.positions === "learned" ? t("number_card_learned") : "";
  const switches = switched ? t("number_card_switched") : null;
  const note = switches || (wave ? t("number_card_wave", { wave: wave.sort, angle }) : learned);
  const cards = [
    linkedCard(tools, { name: t("number_card_embedding"), value: formatNumber(computation.a) }),
    {
      name: t("number_card_position", { position: formatCount(position) }),
      value: formatNumber(computation.b),
      note: config.positions === "none" ? "" : note,
      sign: "+",
    },
    { name: t("number_card_x"), value: formatNumber(computation.value), sign: "=", hue: sheet.ramp },
  ];
  const rows = ["embedding", "positions", "x"].map((name, i) => {
    const pick = [(m) => ({ ...computation.from(0), col: m }), null, (m) => ({ row: computation.row, col: m })][i];
    return rowIn(tools, name, { pick });
  });
  return cardVariants(tools, cards, rows);
}
