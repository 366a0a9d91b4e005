import { formatCount, formatNumber } from "../format.js";
import { clamp, fittingText, lettersWidth, mathWidth } from "../stage/measure.js";
import { lastStep, stackOf } from "../walk.js";
import { Lane, laneColumns, parametersOf } from "./lane.js";

// The model and a layer as a flow. The encoder's lane is below, the decoder's above it: the sentence goes in at the
// bottom left and the next word comes out at the top right. One layer is open, that of the stack one is in; the other
// stack is a closed box between what goes in and what comes out.

const CLOSED = { encoder: 0.37, decoder: 0.27 }; // of the height; the closed encoder has the panel beside it
const LARGE = 1.5; // units, the text of the translation
const LINE = 1.4 * LARGE; // units of its height
const WORD = 1.2; // units of height for a predicted word, at least
const SMALL = { size: 0.85, colour: "dim", align: "center" }; // a name above a strip

const centerOf = ({ x, w }) => x + w / 2;

// The output of a layer: the next layer's x, or the output of the stack.
function afterLane({ stack, layer, layers }) {
  return layer + 1 < layers ? `${stack}.${layer + 1}.self.enters` : `${stack}.output`;
}

// From the tokens to the first sub-layer.
function startLane(ctx, stack, rect, single) {
  const lane = new Lane(ctx, stack, rect, single);
  const { columns } = lane;
  const first = lane.drawStart();
  lane.frame(columns["self.x"].x, columns["ff.back"].x + columns["ff.back"].w);
  const self = lane.attention("self");
  return { lane, first, self };
}

// Feed-forward, the name of the output, and the way into self-attention and from there to `next`.
function endLane(lane, { first, self, next, leaves }, name) {
  const { ctx, stack, columns } = lane;
  const ff = lane.feedForward(leaves);
  if (first) lane.flow(`in:${stack}`, first, self.x);
  if (!ctx.narrow)
    lane.text(`name:${name}`, ctx.t("flow_leaves"), centerOf(columns.last), lane.top - ctx.unit * 1.2, 0, SMALL);
  const { weights, values } = self.made;
  const to = next ?? ff.x;
  lane.flow(`mix:${stack}.self`, weights, to);
  if (values) lane.flow(`values:${stack}.self`, values, to, { strength: 0.08 });
  return ff;
}

const afterFeedForward = ({ ctx, stack }) => {
  const place = `${stack}.ff`;
  return { zoom: "sub", place, step: lastStep(place, ctx.data.config) };
};

function encoderFlow(ctx, rect, single) {
  const { lane, first, self } = startLane(ctx, "encoder", rect, single);
  const key = single ? `m:encoder.${lane.layer}.ff.leaves` : "m:encoder.output";
  const look = { go: afterFeedForward(lane), title: ctx.t("flow_memory_title") };
  const leaves = lane.strip(key, single ? afterLane(lane) : "encoder.output", lane.columns.last, look);
  const ff = endLane(lane, { first, self, leaves, next: null }, "memory");
  lane.around("encoder.self", self.x, ff.x);
  lane.around("encoder.ff", ff.x, leaves);
  return { lane, leaves };
}

// K and V of cross-attention, computed from the encoder's output, in its lane: their rows are source tokens.
function memoryParts(ctx, decoder, memory, column, rect) {
  const gap = ctx.unit * 0.4;
  const high = (rect.h - gap) / 2;
  const look = { ramp: "cross", rowAxis: "source", late: false };
  const bands = { rows: ctx.data.labels("source").length, colour: "source", axis: "source", strength: 0.14 };
  const [keys, values] = ["keys", "values"].map((name, i) => {
    const room = { y: rect.y + i * (high + gap), h: high };
    return decoder.part("cross", name, column, memory, { title: ctx.t("flow_cross"), room, look, ...bands });
  });
  return { keys, values };
}

function decoderFlow(ctx, rect, single, memory, lower) {
  const { data, state, unit } = ctx;
  const { lane, first, self } = startLane(ctx, "decoder", rect, single);
  const { columns, layer } = lane;
  const heads = columns["cross.heads"];
  // The column of K and V: right of the encoder's output and left of where the values are read.
  const right = memory ? memory.x + memory.w + unit * 2.4 : 0;
  const wide = memory ? columns["cross.parts"].w : 0;
  const last = columns["ff.x"].x - wide - unit * 3;
  const under = { x: Math.min(Math.max(right, heads.x + heads.w * 0.12), Math.max(last, right)), w: wide };
  const parts = memory && lower ? memoryParts(ctx, lane, memory, under, lower) : null;
  // K goes up into the columns.
  const middle = under.x + wide / 2;
  const bent = clamp(middle, heads.x + unit, heads.x + heads.w - unit);
  const into = Math.abs(bent - middle) < unit * 0.8 ? middle : bent;
  const cross = lane.attention("cross", parts, into);
  const leaves = single
    ? lane.strip(`m:decoder.${layer}.ff.leaves`, afterLane(lane), columns.last, { go: afterFeedForward(lane) })
    : lane.strip("m:output.hidden", "decoder.output", columns.last, {
        go: { zoom: "sub", place: "output", step: "hidden" },
      });
  const ff = endLane(lane, { first, self, leaves, next: cross.x }, "out");
  lane.flow("mix:decoder.cross", cross.made.weights, ff.x, { colour: "cross" });
  lane.around("decoder.self", self.x, cross.x);
  lane.around("decoder.cross", cross.x, ff.x);
  lane.around("decoder.ff", ff.x, leaves);
  if (!parts) return { lane, leaves, cross };
  // The values of every source token go to the row that is being decoded, as strongly as this head attends to them.
  const { keys, values } = parts;
  const turn = keys.y - unit * 0.8;
  const end = [into, lane.top + lane.high + 3];
  const points = [middle, keys.y - 2, ...(middle === into ? [] : [middle, turn, into, turn]), ...end];
  lane.path("under:decoder.cross", points, { colour: "cross", weight: 2 });
  const weights = data.matrix(`decoder.${layer}.cross.weights`, { head: state.head });
  const row = lane.high / lane.rows;
  const target = { x: ff.x.x, y: lane.top + state.t * row, w: 0, h: row };
  const source = data.labels("source");
  const strengths = weights ? source.map((_, i) => 0.05 + 0.85 * weights.at(state.t, i)) : undefined;
  const bands = { rows: source.length, colour: "cross", axis: "source", strengths };
  lane.flow("values:decoder.cross", values, target, bands);
  return { lane, leaves, cross };
}

// The most likely next words at the top right, with their probabilities.
function drawWords(ctx, lane, leaves, rect, closed = false) {
  const { data, state, unit, t, narrow } = ctx;
  const { outputs } = data;
  const labels = outputs.labels[state.t];
  const count = labels.length;
  const go = { zoom: "sub", place: "output", step: "logits" };
  const pad = unit * 0.35;
  // In a closed stack there is height for the first few words only.
  const shown = Math.max(1, Math.min(count, Math.floor(rect.h / (WORD * unit))));
  const below = unit * (narrow || closed ? 2.1 : 3.3);
  const frame = { x: rect.x - pad, y: rect.y - unit * 1.75, w: rect.w + 2 * pad, h: rect.h + below };
  const current = state.place === "output" ? { fill: "target", strength: 0.09, stroke: "target" } : {};
  lane.box("box:output", frame, { weight: 2, radius: 8, ...current, go, label: t("flow_go_output") });
  const heading = { weight: 600, colour: "target", size: 0.95, align: "center" };
  lane.text("name:output", t("flow_output"), rect.x, rect.y - unit * 0.95, rect.w, heading);
  const high = Math.min(rect.h / shown, 2 * unit);
  const [names, numbers] = [rect.w * 0.44, unit * 3.3];
  const barWidth = rect.w - names - numbers - unit * 0.4;
  const size = Math.min(1, (high * 0.9) / unit);
  const small = Math.min(0.88, (high * 0.85) / unit);
  const widest = Math.max(...labels.slice(0, shown).map(lettersWidth)) * size * unit;
  labels.slice(0, shown).forEach((label, i) => {
    const p = outputs.probability[state.t * count + i];
    const number = formatNumber(p, "weights");
    const y = rect.y + i * high;
    const middle = y + high / 2;
    const chosen = outputs.ids[state.t][i] === outputs.chosen[state.t];
    const weight = chosen ? 700 : 400;
    const look = { align: "right", weight, colour: chosen ? "target" : "ink", size };
    lane.text(`word:${i}`, label, rect.x, middle, names - unit * 0.3, look);
    const bar = { x: rect.x + names, y: y + high * 0.16, w: Math.max(1, barWidth * p), h: high * 0.68 };
    const strength = chosen ? 0.95 : 0.5;
    lane.box(`bar:${i}`, bar, { fill: "target", strength, radius: 2, tip: [label, number] });
    const x = bar.x + bar.w + unit * 0.3;
    lane.text(`p:${i}`, number, x, middle, 0, { size: small, colour: chosen ? "ink" : "dim", weight });
  });
  const own = data.config.tied_output ? null : formatCount(data.header.boxes.output.count);
  const note = own ? t("flow_own", { n: own }) : t("flow_shared");
  const look = { colour: "dim", align: "center", size: 0.82 };
  if (!narrow && !closed) lane.text("count:output", note, rect.x, rect.y + rect.h + unit * 0.85, rect.w, look);
  if (!leaves) return;
  // Only the row of this step becomes a word: its band leads to the words.
  const row = lane.high / lane.rows;
  const from = { x: leaves.x, w: leaves.w, y: lane.top + state.t * row, h: row };
  const to = { x: rect.x + Math.max(0, names - widest - unit * 0.6), y: rect.y, h: rect.h };
  lane.flow("say:output", from, to, { rows: 1, colour: "target", axis: undefined });
}

// Where the lanes of the whole model lie, and the free corner at the bottom right for the panel.
function modelPlan({ area, unit, state }) {
  const opened = stackOf(state.place);
  const gap = unit * 0.9;
  const share = CLOSED[opened === "encoder" ? "decoder" : "encoder"];
  const closed = Math.max((area.h - gap) * share, unit * 6.5);
  const upper = opened === "decoder" ? area.h - gap - closed : closed;
  const rim = unit * 0.5; // for the frames around the first part
  const sky = opened === "decoder" ? unit * LARGE : 0; // for the translation and the name of the open layer
  const top = area.y + upper + gap;
  const above = { x: area.x + rim, y: area.y + sky, w: area.w - unit - rim, h: upper - sky };
  const below = { x: area.x + rim, y: top, w: area.w - rim, h: area.h - upper - gap };
  return { opened, above, below };
}

// The left and the top edge of the panel over the canvas of the whole model.
export function modelPanel(ctx) {
  const { area, unit } = ctx;
  const { opened, above, below } = modelPlan(ctx);
  if (opened === "encoder") return { left: area.x + area.w - Math.max(24 * unit, area.w * 0.31), top: below.y };
  const columns = laneColumns(ctx, "decoder", above.x, above.w, false);
  return { left: columns["ff.x"].x + columns["ff.x"].w + unit * 1.2, top: below.y };
}

const wordsRect = ({ columns, top, high }, unit) => ({
  ...{ x: columns.words.x, y: top },
  ...{ w: columns.words.w - unit * 0.4, h: high },
});

const upArrow = (lane, x, from, to) =>
  lane.path("under:decoder.cross", [x, from, x, to], { colour: "cross", weight: 2 });

export function modelFlow(ctx) {
  const { area, unit, narrow } = ctx;
  if (narrow) return narrowFlow(ctx);
  const { opened, above, below } = modelPlan(ctx);
  const columns = laneColumns(ctx, "decoder", above.x, above.w, false);
  if (opened === "encoder") {
    const rect = { ...below, w: modelPanel(ctx).left - area.x - unit * 1.6 };
    const encoder = encoderFlow(ctx, rect, false);
    const { box, lane } = closedLane(ctx, "decoder", above, columns);
    const { leaves } = encoder;
    upArrow(lane, centerOf(leaves), leaves.y - unit * 1.8, box.y + box.h + 3);
    return [...encoder.lane.items, ...lane.items, totalText(ctx, { ...box, y: lane.top - unit * 1.15 }, "center")];
  }
  // The encoder ends where its values can still go over to the decoder.
  const freeWidth = columns["ff.x"].x - columns["cross.parts"].w - unit * 5.4 - area.x;
  const encoder = closedLane(ctx, "encoder", { ...below, w: Math.min(area.w * 0.5, freeWidth) });
  const { top, high } = encoder.lane;
  const { lane, leaves } = decoderFlow(ctx, above, false, encoder.leaves, { y: top, h: high });
  drawWords(ctx, lane, leaves, wordsRect(lane, unit));
  const corner = { x: area.x + area.w * 0.48, y: area.y, w: area.w * 0.52 };
  const heading = translationText(ctx, corner) ?? totalText(ctx, corner, "right");
  return [...encoder.lane.items, ...lane.items, heading];
}

// The translation up to the word that has just been chosen, or its end where it is long; null before the first word.
function translationText({ state, data, unit }, { x, y, w }) {
  const words = data.translation(state.t + (state.place === "output" ? 1 : 0));
  if (!words.length) return null;
  const wordings = words.map((_, i) => (i ? "… " : "") + words.slice(i).join(" "));
  const text = fittingText(wordings, w, LARGE * unit);
  const look = { size: LARGE, weight: 600, colour: "target" };
  return { key: "translation", kind: "text", text, x, y: y + 0.5 * LINE * unit, w, h: 0, ...look };
}

// The name of a stack with its layers and parameters.
function closedName({ data, t }, stack) {
  const layers = data.config[stack + "_layers"];
  const n = formatCount(layers * parametersOf(data.header.boxes, `${stack}.0`));
  return t("flow_closed", { stack: t(`an_${stack}`), layers, n });
}

// A stack as one box: the vectors that go in, all layers in one, the vectors that come out, and behind the decoder the
// next word. columns: those of the open decoder, so that its words stay where they are.
function closedLane(ctx, stack, rect, columns = null) {
  const { unit, t } = ctx;
  const encoder = stack === "encoder";
  const lane = new Lane(ctx, stack, rect, false);
  lane.top = rect.y + unit * 2.1;
  lane.high = rect.h - unit * 2.7;
  const { side, layers, top, high } = lane;
  const end = columns ? columns.words.x - unit * 2.4 : rect.x + rect.w;
  const strip = 42;
  const room = unit * 2.4;
  const go = { zoom: "sub", place: side, step: "plus" };
  // The source tokens are named: cross-attention reads their rows.
  const named = encoder ? unit * 5 : 0;
  const tokens = { x: rect.x, y: top, w: named, h: high };
  if (named) lane.tokens(`tokens:${side}`, lane.labels, tokens, { colour: side, axis: side });
  const start = { x: rect.x + named + unit * 0.5, w: strip };
  const said = { title: t("flow_x_first"), label: t("flow_go_embedding") };
  const first = lane.strip(`m:${side}.x`, `${stack}.0.self.enters`, start, { go, ...said });
  const into = first.x + strip + room;
  const out = end - strip;
  const label = closedName(ctx, stack);
  const middle = top + high / 2;
  const thick = Math.min(high, unit * 2.4); // a bar, because nothing is drawn in it
  const box = { x: into, y: middle - thick / 2, w: out - room - into, h: thick };
  const frame = { stroke: "line", radius: 10 };
  for (let i = Math.min(3, layers - 1); i > 0; i--)
    lane.box(
      `behind:${stack}.${i}`,
      { ...box, x: box.x + i * 3, y: box.y - i * 3 },
      { fill: "ground", ...frame, z: -3 },
    );
  const open = { place: `${stack}.self` };
  lane.box(`layer:${stack}`, box, { fill: "panel", ...frame, z: -2, go: open, label });
  const wide = box.w - unit * 0.6;
  const size = clamp(wide / (unit * mathWidth(label, true)), 0.64, 0.9); // small rather than cut off
  const look = { colour: side, align: "center", weight: 600, size };
  lane.text(`layername:${stack}`, label, box.x + unit * 0.3, middle, wide, look);
  const above = top - unit * 0.8;
  const title = t(encoder ? "flow_source" : "flow_target");
  lane.text(`name:${side}`, title, first.x, above, 0, { weight: 600, colour: side, size: 0.95 });
  const [key, about] = encoder
    ? ["m:encoder.output", { go: open, title: t("flow_memory_title") }]
    : ["m:output.hidden", { go: { zoom: "sub", place: "output", step: "hidden" } }];
  const leaves = lane.strip(key, `${stack}.output`, { x: out, w: strip }, about);
  lane.text(`name:${encoder ? "memory" : "out"}`, t("flow_leaves"), out + strip / 2, above, 0, SMALL);
  const edge = (x) => ({ x, y: box.y, w: 0, h: box.h });
  lane.flow(`in:${stack}`, first, edge(box.x));
  lane.flow(`out:${stack}`, edge(box.x + box.w), leaves);
  if (columns) drawWords(ctx, lane, leaves, wordsRect({ columns, top, high }, unit), true);
  return { lane, leaves, box };
}

// How the counts on the boxes add up to the total of the model.
function totalText({ data, area, unit, t }, { x, y, w }, align) {
  const { boxes, config } = data.header;
  const { parameters: total, encoder_layers, decoder_layers } = config;
  const [encoder, decoder] = ["encoder", "decoder"].map((stack) => parametersOf(boxes, `${stack}.0`));
  const rest = total - encoder_layers * encoder - decoder_layers * decoder;
  const counts = { total, rest, encoder_layers, encoder, decoder_layers, decoder };
  const written = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, formatCount(count)]));
  const look = { size: area.w < 75 * unit ? 0.82 : 0.9, align, colour: "dim" };
  return { key: "total", kind: "text", text: t("flow_total", written), x, y: y + unit * 0.35, w, h: 0, ...look };
}

// One below the other: the encoder, the decoder, the words. The stack that is closed is a line.
function narrowFlow(ctx) {
  const { area, unit, state } = ctx;
  const opened = stackOf(state.place);
  const line = unit * 2.6;
  const written = opened === "decoder" ? LINE * unit : 0;
  const words = unit * (opened === "decoder" ? 17 : 6.4) + written;
  const high = area.h - words - line - unit * 2.6;
  const width = area.w - 12;
  const at = (y, h) => ({ x: 4, y, w: width, h });
  if (opened === "encoder") {
    const { lane, leaves } = encoderFlow(ctx, at(unit, high), false);
    const box = closedLine(lane, "decoder", at(area.h - words - line, line));
    const x = centerOf(leaves);
    upArrow(lane, x, leaves.y + leaves.h + 4, box.y - 3);
    lane.text("rows", ctx.t("flow_rows"), box.x, box.y - unit, x - box.x - unit, { size: 0.88 });
    drawWords(ctx, lane, null, { x: 8, y: area.h - words + unit * 2.2, w: width - 12, h: words - unit * 2.6 }, true);
    return lane.items;
  }
  const { lane } = decoderFlow(ctx, at(line + unit * 1.6, high), false, null, null);
  const box = closedLine(lane, "encoder", at(4, line));
  upArrow(lane, centerOf(lane.columns["cross.heads"]), box.y + box.h + 2, lane.top - 3);
  const y = area.h - words + written;
  drawWords(ctx, lane, null, { x: 8, y: y + unit * 2, w: width - 12, h: words - written - unit * 3 });
  const text = translationText(ctx, { x: 8, y: area.h - words, w: width - 12 });
  return text ? [...lane.items, text] : lane.items;
}

function closedLine(lane, stack, rect) {
  const label = closedName(lane.ctx, stack);
  const go = { place: `${stack}.self` };
  lane.box(`layer:${stack}`, rect, { fill: "panel", stroke: "line", radius: 8, z: -2, go, label });
  const look = { weight: 600, colour: stack === "encoder" ? "source" : "target", align: "center" };
  lane.text(`layername:${stack}`, label, rect.x, rect.y + rect.h / 2, rect.w, look);
  return rect;
}

export function layerFlow(ctx) {
  const { area, state, unit, narrow } = ctx;
  const pad = unit * 0.9;
  const whole = { x: area.x, y: area.y, w: area.w - pad, h: area.h };
  if (state.place.startsWith("encoder")) return encoderFlow(ctx, whole, true).lane.items;
  const upper = narrow ? area.h : area.h * (area.h < 32 * unit ? 0.72 : 0.64);
  const rect = { ...whole, h: upper };
  if (narrow) return decoderFlow(ctx, rect, true, null, null).lane.items;
  // The encoder's output comes in from below, as in the whole model.
  const heads = laneColumns(ctx, "decoder", rect.x, rect.w, true)["self.heads"];
  const lower = { y: area.y + upper + unit * 1.2, h: area.h - upper - unit * 3 };
  const memory = new Lane(ctx, "encoder", rect, true);
  const column = { x: heads.x + heads.w * 0.4, w: 42 };
  const strip = memory.strip("m:encoder.output", "encoder.output", column, { room: lower });
  const tokens = { x: strip.x - unit * 6.6, w: unit * 6.1, ...lower };
  memory.tokens("tokens:source", memory.labels, tokens, { colour: "source", axis: "source" });
  const name = { size: 0.9, weight: 600, align: "center", colour: "source" };
  memory.text("name:memory", ctx.t("flow_memory_title"), centerOf(strip), lower.y - unit * 0.8, 0, name);
  const decoder = decoderFlow(ctx, rect, true, strip, lower);
  return [...memory.items, ...decoder.lane.items];
}

export function height(ctx) {
  const { unit, data, state } = ctx;
  const rows = Math.max(data.labels("source").length, data.steps);
  const lane = Math.max(unit * 17, Math.min(unit * 30, rows * unit * 1.15 + unit * 6));
  if (state.zoom === "layer") return lane * 1.25;
  return lane + unit * (stackOf(state.place) === "decoder" ? 22.2 + LINE : 11.6);
}
