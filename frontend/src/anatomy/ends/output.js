import { Sheet, NAME_SIZE, PALE, rowPart, tableRows } from "../stage/sheet.js";
import { clamp, fittingText, mathWidth } from "../stage/measure.js";
import { allLogits, logitScale } from "./logits.js";
import { outputPlan } from "./room.js";
import { formatCell, formatCount, formatNumber } from "../format.js";
import { INNER_STEPS } from "../../state/generated.js";

// Output at the zoom "sub" (section 3.4): row t of the decoder's output times the embedding table, softmax, the chosen
// word, and its way back to the input. The words of the ten largest logits keep their lines over all steps.

export function outputBoard(ctx) {
  const plan = outputPlan(ctx);
  const { data, state } = ctx;
  const pen = new Sheet(ctx, "target");
  const steps = INNER_STEPS.output;
  const later = (step) => steps.indexOf(state.step) >= steps.indexOf(step);
  const get = (name) => data.matrix(`place.${name}`);
  /** @type {any} */
  const board = { ...plan, pen, step: state.step, key: (name) => `m:output.${name}`, get, later };
  drawHidden(board);
  drawTable(board);
  if (board.later("logits")) drawWords(board);
  if (state.step === "logits") allLogits(board);
  if (board.later("choose")) drawChosen(board);
  if (state.step === "back") drawReturn(board);
  return pen.items;
}

// The decoder's output with row t outlined, and that row alone.
function drawHidden(board) {
  const { pen, ctx, key, get, tokens, hidden, strip, labels, m, d, t, unit, step, small, lanes } = board;
  const matrix = get("hidden") || ctx.data.matrix("decoder.output");
  const back = step === "back";
  const next = t + 1;
  // The result is drawn separately: its position is kept free.
  const visibleLabels = back ? labels.map((label, i) => (i === next ? "" : label)) : labels;
  const current = back && next < m ? next : t;
  pen.tokens("tokens:target", visibleLabels, tokens, { axis: "step", current, dimAfter: current });
  const nameWidth = small ? hidden.w : board.table.x - hidden.x - 0.3 * unit;
  const words = ctx.t("ends_hidden");
  const named = pen.wide(`${words} h`, 1, 600) + pen.wide(`[${m}, ${d}]`, 0.9) + unit < nameWidth ? `${words} h` : "h";
  const axes = { rowAxis: "step", colAxis: "d_model", rowLabels: labels, current: t, dimAfter: t };
  const alpha = step === "hidden" ? 1 : 0.55;
  const look = { ...axes, alpha, pick: step === "hidden", room: nameWidth, nameAlpha: 1 };
  pen.full(key("hidden"), matrix, hidden, named, [m, d], look);
  const rowLook = { colAxis: "d_model", top: matrix?.top, parent: key("hidden"), rowLabels: [labels[t]] };
  pen.matrix(key("hidden.row"), matrix && rowPart(matrix, t * matrix.cols), strip, rowLook);
  const y = hidden.y + ((t + 0.5) * hidden.h) / m;
  const lift = { colour: "target", tip: true, weight: 1.5 };
  if (small) {
    const wide = strip.x - board.table.x - 0.3 * unit;
    pen.math("name:h", "h_t", { x: board.table.x, y: strip.y - 0.05 * unit, w: wide }, { align: "right" });
    const over = hidden.y + hidden.h + 1.75 * unit;
    const mid = strip.x + strip.w / 2;
    const way = [lanes.right, y, lanes.right, over, mid, over, mid, strip.y - 2];
    pen.path("out:lift", [hidden.x + hidden.w + 2, y, ...way], { ...lift, round: 4 });
    return;
  }
  pen.titleAbove("h", "h_t", [1, d], strip);
  const turn = strip.x - board.rows.x + board.table.x - 1.4 * unit;
  const middle = strip.y + strip.h / 2;
  const way = [turn, y, turn, middle, strip.x - 4, middle];
  pen.path("out:lift", [hidden.x + hidden.w + 3, y, ...way], { ...lift, round: 6 });
}

// The embedding table again, and the rows of the most likely words.
function drawTable(board) {
  const { pen, ctx, key, get, table, rows, ids, words, vocab, d, many, unit, slot, later, step, small } = board;
  const letter = board.table_name;
  const rowsNamed = [`${letter}[id]`, letter];
  const named = { ...table, w: rows.x - table.x - 0.2 * unit };
  const count = formatCount(vocab);
  if (!later("logits")) {
    pen.coming("out:table", table, letter, [vocab, d], named.w);
    pen.coming(key("rows"), rows, rowsNamed, [many, d], rows.w);
    return;
  }
  const alpha = step === "logits" ? 1 : PALE;
  const parent = "box:output.table";
  const tableTip = [ctx.t(letter === "E" ? "ends_table_tip" : "ends_matrix_tip", { rows: count })];
  pen.box(parent, table, { fill: "panel", stroke: "line", alpha, tip: tableTip, z: -1, parent: "out:table:wait" });
  pen.titleAbove("out:table", letter, [vocab, d], named, { alpha });
  const matrix = get("rows");
  const stripOf = tableRows(table, vocab, unit);
  ids.forEach((id, i) => {
    const rect = stripOf(id);
    const tip = [ctx.t("ends_row_tip", { token: words[i], id: formatCount(id), rows: count })];
    const look = { outline: null, alpha, top: matrix?.top, tip, parent };
    if (matrix) pen.matrix(`out:row:${id}`, rowPart(matrix, i * matrix.cols), rect, look);
    const points = [table.x + table.w, rect.y + rect.h / 2, rows.x - 0.15 * unit, rows.y + (i + 0.5) * slot];
    pen.path(`out:from:${id}`, points, { colour: "target", alpha: alpha * 0.8 });
  });
  const room = rows.w + (small ? 0 : 0.6 * unit);
  const look = { rowAxis: "word", colAxis: "d_model", rowLabels: words, alpha, parent, room };
  pen.full(key("rows"), matrix, rows, rowsNamed, [many, d], look);
  const shared = ctx.data.header.boxes?.output?.shared_with;
  if (step !== "logits" || !(shared?.length > 1)) return;
  pen.note("note:output", ["ends_one_table", "ends_one_table_short"], { rows: count }, noteRect(board));
}

const noteRect = ({ note, unit }) => ({ ...note, y: note.y + 0.1 * unit });
const tensorName = ({ chosen }) => (chosen.at < 0 ? "chosen" : chosen.at);
const probabilityText = (value) => value.toFixed(4);

function drawWords(board) {
  const { pen, ctx, ids, words, t, many, rows, slot, unit, word, bar, number, step, vocab, chosen, small } = board;
  const { outputs } = ctx.data;
  const { toX } = logitScale(board);
  const logits = step === "logits";
  const ofStep = (values) => values?.subarray(t * many, (t + 1) * many);
  const [logit, probability] = [outputs.logit, outputs.probability].map(ofStep);
  const plain = logits ? null : ofStep(outputs.plain_probability);
  drawHeadings(board, Boolean(plain));
  const lines = ids.map((id, i) => ({ id, word: words[i], logit: logit[i], p: probability[i], plain: plain?.[i], i }));
  if (board.later("choose") && chosen.at < 0) {
    const { chosen_logit, chosen_probability } = outputs;
    lines.push({ id: chosen.id, word: chosen.word, logit: chosen_logit[t], p: chosen_probability[t], i: many });
  }
  const zero = toX(0);
  if (!(small && logits))
    pen.path("out:zero", [zero, rows.y, zero, rows.y + slot * (many + 1)], { colour: "line", z: -1 });
  for (const line of lines) drawWord(board, line.i < many ? line.i : "chosen", line, toX);
  if (logits || vocab <= lines.length) return;
  const rest = Math.max(0, 1 - lines.reduce((sum, line) => sum + line.p, 0));
  const y = rows.y + lines.length * slot;
  const left = small ? board.table.x : rows.x;
  const rect = { x: left, y: y + slot / 2 - 0.6 * unit, w: word.x + word.w - left };
  pen.note("out:others", ["ends_others", "ends_others_short"], {}, rect, { align: "right" });
  const share = { x: bar.x, y: y + slot * 0.2, w: bar.w * rest, h: slot * 0.6 };
  pen.box("out:others:bar", share, { fill: "dim", strength: 0.4, radius: 2 });
  const look = { size: 0.9, align: "right", colour: "dim" };
  pen.text("out:others:number", probabilityText(rest), { x: number.x, y: rect.y, w: number.w }, look);
}

function drawHeadings(board, plain) {
  const { pen, ctx, rows, unit, word, bar, number, step, many, small, all } = board;
  const y = rows.y - NAME_SIZE * unit;
  const head = { size: 0.9, colour: "dim", align: "right" };
  const logits = step === "logits";
  const product = `h_t ${board.table_name}^T${board.biased ? " + b" : ""}`;
  const symbol = logits ? product : [`softmax(${product})`, "softmax"];
  const named = ctx.t(logits ? "ends_logit" : "ends_probability");
  const wide = mathWidth(named) * 0.9 * unit;
  const right = number.x + number.w;
  const line = y + 0.1 * unit;
  pen.text("out:head:number", named, { x: right - wide - 0.2 * unit, y: line, w: wide + 0.2 * unit }, head);
  const left = bar.x - (small ? word.w + 0.4 * unit : 0);
  const w = Math.max(0, right - wide - 0.8 * unit - left);
  pen.math("out:head", fittingText(symbol, w, unit), { x: left, y, w }, { size: small ? 0.9 : 1 });
  const likeliest = ctx.t("ends_likeliest", { n: many });
  if (!small && pen.wide(likeliest, 0.9) <= word.w)
    pen.text("out:head:words", likeliest, { x: word.x, y: line, w: word.w }, head);
  const below = { x: all.x, y: all.y + 1.6 * unit, w: all.w + number.w };
  if (plain && all.h) pen.note("out:plain", ["ends_plain", "ends_plain_short"], {}, below);
}

// A word, its bar and its number in its line.
function drawWord(board, name, line, toX) {
  const { pen, ctx, rows, slot, unit, word, bar, number, step, chosen, later } = board;
  const logits = step === "logits";
  const y = rows.y + line.i * slot;
  const picked = later("choose") && line.id === chosen.id;
  const alpha = later("choose") && !picked ? 0.45 : 1;
  const weight = picked ? 600 : 400;
  const [logit, probability] = [formatNumber(line.logit, "logit"), formatNumber(line.p, "probability")];
  const tip = [ctx.t("ends_word_tip", { word: line.word, logit, probability })];
  const size = clamp((slot / unit) * 0.72, 0.9, 1);
  const top = y + slot / 2 - (NAME_SIZE / 2.7) * size * unit;
  const gone = step === "back" && picked;
  const look = { size, align: "right", weight, colour: picked ? "target" : "ink", alpha: gone ? 0.45 : alpha };
  const key = gone ? `word:${name}:stays` : `word:${name}`;
  pen.text(key, line.word, { x: word.x, y: top, w: word.w }, { ...look, parent: "m:output.rows" });
  const [from, to] = logits ? [toX(0), toX(line.logit)].sort((a, b) => a - b) : [bar.x, toX(line.p)];
  const before = line.plain !== undefined; // the probability without the switches
  const rect = { x: from, y: y + slot * 0.19, w: to - from, h: slot * (before ? 0.44 : 0.62) };
  const go = line.i < board.many ? { zoom: "number", row: line.i, col: 0 } : undefined;
  const label = go && ctx.t("ends_word_label", { word: line.word, probability: probabilityText(line.p) });
  const filled = { fill: "target", strength: 0.75, radius: 2, alpha };
  pen.box(`bar:${name}`, rect, { ...filled, tip, go, label, parent: `word:${name}` });
  const parent = `bar:${name}`;
  if (before) {
    const ghost = { x: bar.x, y: y + slot * 0.68, w: Math.max(1, bar.w * line.plain), h: slot * 0.2 };
    const value = formatNumber(line.plain, "probability");
    const lines = [ctx.t("ends_plain_tip", { word: line.word, probability: value })];
    pen.box(`bar:${name}:plain`, ghost, { stroke: "dim", dash: true, radius: 0, alpha, tip: lines, parent });
  }
  const value = logits ? formatCell(line.logit, "logit") : probabilityText(line.p);
  pen.text(`p:${name}`, value, { x: number.x, y: top, w: number.w }, { size, align: "right", alpha, weight, parent });
}

// The line of the word that follows.
function drawChosen(board) {
  const { pen, ctx, chosen, rows, slot, many, word, number, all, vocab, unit } = board;
  const y = rows.y + (chosen.at < 0 ? many : chosen.at) * slot;
  const frame = { x: word.x - 0.2 * unit, y, w: number.x + number.w + 0.4 * unit - word.x, h: slot };
  pen.box("out:chosen", frame, { stroke: "target", weight: 1.5, radius: 4, z: 1, parent: `bar:${tensorName(board)}` });
  const verdict = ctx.data.header.own ? "chosen" : "given";
  const texts = chosen.rank ? [`ends_${verdict}_rank`, `ends_${verdict}_rank_short`] : [`ends_${verdict}`];
  const values = { rank: formatCount(chosen.rank + 1), n: formatCount(vocab) };
  const rect = all.h ? { x: all.x, y: all.y + 0.3 * unit, w: all.w + number.w } : noteRect(board);
  pen.note("out:chosen:text", texts, values, rect, { size: 0.95, colour: "target", parent: "out:chosen" });
}

// The chosen word becomes the token that is fed in next.
function drawReturn(board) {
  const { pen, chosen, rows, slot, many, tokens, hidden, m, t, unit, number, lanes, all, table } = board;
  const space = tokens.h / m;
  const next = t + 1;
  const end = next >= m;
  const y = end ? tokens.y + tokens.h + 0.65 * unit : tokens.y + (next + 0.5) * space;
  const size = clamp((space / unit) * 0.92, 0.9, 1);
  const home = { x: tokens.x, y: y - 0.65 * size * unit, w: tokens.w };
  const look = { size, align: "right", weight: 600, colour: "target", z: 1 };
  pen.text(`word:${tensorName(board)}`, chosen.word, home, look);
  const at = rows.y + ((chosen.at < 0 ? many : chosen.at) + 0.5) * slot;
  const start = number.x + number.w + 0.3 * unit;
  const left = tokens.x + tokens.w - Math.min(tokens.w, pen.wide(chosen.word, size, 600)) - 0.2 * unit;
  const { right, foot, left: lane } = lanes;
  const points = [start, at, right, at, right, foot, lane, foot, lane, y, Math.max(left, lane + 0.7 * unit), y];
  pen.path("out:back", points, { colour: "target", weight: 2, tip: true, round: 8, dash: end, parent: "out:chosen" });
  const beside = { x: hidden.x, y: home.y, w: Math.max(hidden.w, table.x - hidden.x - 0.3 * unit) };
  if (end) pen.note("out:back:text", ["ends_end", "ends_end_short"], {}, beside, { colour: "ink" });
  else if (all.h) pen.note("out:back:text", ["ends_back"], {}, noteRect(board));
}
