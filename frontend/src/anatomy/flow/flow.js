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

// The output of a layer: the next layer's x, or the output of the stack.
function afterLane(stack, layer, layers) {
  return layer + 1 < layers ? `${stack}.${layer + 1}.self.enters` : `${stack}.output`;
}

function encoderFlow(ctx, rect, single) {
  const lane = new Lane(ctx, "encoder", rect, single);
  const { columns, layer, layers } = lane;
  const first = lane.drawStart();
  const { last } = columns;
  lane.frame(columns["self.x"].x, columns["ff.back"].x + columns["ff.back"].w);
  const self = lane.attention("self");
  const name = single ? afterLane("encoder", layer, layers) : "encoder.output";
  const leaves = lane.strip(single ? `m:encoder.${layer}.ff.leaves` : "m:encoder.output", name, last, "encoder", {
    go: { zoom: "sub", place: "encoder.ff", step: lastStep("encoder.ff", ctx.data.config) },
    title: ctx.t("flow_memory_title"),
  });
  const ff = lane.feedForward(leaves);
  if (first) lane.flow("in:encoder", first, self.x);
  if (!ctx.narrow)
    lane.text(
      "name:memory",
      ctx.t(single ? "flow_leaves" : "flow_memory"),
      last.x + last.w / 2,
      lane.top - ctx.unit * 1.2,
      0,
      { size: 0.85, colour: "dim", align: "center" },
    );
  lane.flow("mix:encoder.self", self.made.weights, ff.x);
  if (self.made.values) lane.flow("values:encoder.self", self.made.values, ff.x, { strength: 0.08 });
  lane.around("encoder.self", self.x, ff.x);
  lane.around("encoder.ff", ff.x, leaves);
  return { lane, leaves };
}

// K and V of cross-attention, computed from the encoder's output, in its lane: their rows are source tokens.
function memoryParts(ctx, decoder, memory, column, rect) {
  const { unit, t } = ctx;
  const at = `decoder.${decoder.layer}.cross`;
  const gap = unit * 0.4;
  const high = (rect.h - gap) / 2;
  const strips = {};
  ["keys", "values"].forEach((name, i) => {
    strips[name] = decoder.strip(decoder.key("cross", name), `${at}.${name}`, column, "decoder.cross", {
      go: { zoom: "sub", place: "decoder.cross", step: "project", matrix: name },
      title: t("flow_" + name),
      label: t("flow_go_parts", { name: t("flow_cross") }),
      ramp: "cross",
      rowAxis: "source",
      late: false,
      parent: memory.key,
      room: { y: rect.y + i * (high + gap), h: high },
    });
    decoder.flow(`fan:${at}.${name}`, memory, strips[name], {
      rows: ctx.data.labels("source").length,
      colour: "source",
      axis: "source",
      strength: 0.14,
    });
    decoder.letter(`letter:${at}.${name}`, name[0].toUpperCase(), strips[name]);
  });
  return strips;
}

function decoderFlow(ctx, rect, single, memory, lower) {
  const lane = new Lane(ctx, "decoder", rect, single);
  const { columns, layer, layers } = lane;
  const { data, state, unit } = ctx;
  const first = lane.drawStart();
  lane.frame(columns["self.x"].x, columns["ff.back"].x + columns["ff.back"].w);
  const self = lane.attention("self");
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
  const name = single ? afterLane("decoder", layer, layers) : "decoder.output";
  const leaves = lane.strip(
    single ? `m:decoder.${layer}.ff.leaves` : "m:output.hidden",
    name,
    columns.last,
    "decoder",
    {
      go: single
        ? { zoom: "sub", place: "decoder.ff", step: lastStep("decoder.ff", data.config) }
        : { zoom: "sub", place: "output", step: "hidden" },
    },
  );
  const ff = lane.feedForward(leaves);
  if (first) lane.flow("in:decoder", first, self.x);
  if (!ctx.narrow)
    lane.text(
      "name:out",
      ctx.t(single ? "flow_leaves" : "flow_out"),
      columns.last.x + columns.last.w / 2,
      lane.top - unit * 1.2,
      0,
      { size: 0.85, colour: "dim", align: "center" },
    );
  lane.flow("mix:decoder.self", self.made.weights, cross.x);
  if (self.made.values) lane.flow("values:decoder.self", self.made.values, cross.x, { strength: 0.08 });
  lane.flow("mix:decoder.cross", cross.made.weights, ff.x, { colour: "cross" });
  lane.around("decoder.self", self.x, cross.x);
  lane.around("decoder.cross", cross.x, ff.x);
  lane.around("decoder.ff", ff.x, leaves);
  if (parts) {
    // The values of every source token go to the row that is being decoded, as strongly as this head attends to them.
    const { keys, values } = parts;
    const turn = keys.y - unit * 0.8;
    const points = [middle, keys.y - 2, middle, turn, into, turn, into, lane.top + lane.high + 3];
    lane.add({
      key: "under:decoder.cross",
      kind: "arrow",
      points: middle === into ? [...points.slice(0, 2), ...points.slice(6)] : points,
      x: 0,
      y: 0,
      w: 0,
      h: 0,
      colour: "cross",
      weight: 2,
    });
    const weights = data.matrix(`decoder.${layer}.cross.weights`, { head: state.head });
    const row = lane.high / lane.rows;
    const target = { x: ff.x.x, y: lane.top + state.t * row, w: 0, h: row };
    const source = data.labels("source");
    lane.flow("values:decoder.cross", values, target, {
      rows: source.length,
      colour: "cross",
      axis: "source",
      strengths: weights ? source.map((_, i) => 0.05 + 0.85 * weights.at(state.t, i)) : undefined,
    });
  }
  return { lane, leaves, cross };
}

// The most likely next words at the top right, with their probabilities.
function drawWords(ctx, lane, leaves, rect, closed = false) {
  const { data, state, unit, t, narrow } = ctx;
  const { outputs } = data;
  const labels = outputs.labels[state.t];
  const isCurrent = state.place === "output";
  const count = labels.length;
  const go = { zoom: "sub", place: "output", step: "logits" };
  const pad = unit * 0.35;
  // In a closed stack there is height for the first few words only.
  const shown = Math.max(1, Math.min(count, Math.floor(rect.h / (WORD * unit))));
  lane.add({
    key: "box:output",
    kind: "box",
    x: rect.x - pad,
    y: rect.y - unit * 1.75,
    w: rect.w + 2 * pad,
    h: rect.h + unit * (narrow || closed ? 2.1 : 3.3),
    fill: isCurrent ? "target" : null,
    strength: isCurrent ? 0.09 : undefined,
    stroke: isCurrent ? "target" : null,
    weight: 2,
    radius: 8,
    go,
    label: t("flow_go_output"),
  });
  lane.text("name:output", t("flow_output"), rect.x, rect.y - unit * 0.95, rect.w, {
    weight: 600,
    colour: "target",
    size: 0.95,
    align: "center",
  });
  const high = Math.min(rect.h / shown, 2 * unit);
  const [names, numbers] = [rect.w * 0.44, unit * 3.3];
  const barWidth = rect.w - names - numbers - unit * 0.4;
  const size = Math.min(1, (high * 0.9) / unit);
  const widest = Math.max(...labels.slice(0, shown).map(lettersWidth)) * size * unit;
  labels.slice(0, shown).forEach((label, i) => {
    const p = outputs.probability[state.t * count + i];
    const y = rect.y + i * high;
    const chosen = outputs.ids[state.t][i] === outputs.chosen[state.t];
    const weight = chosen ? 700 : 400;
    lane.add({
      key: `word:${i}`,
      kind: "text",
      text: label,
      x: rect.x,
      y: y + high / 2,
      w: names - unit * 0.3,
      h: 0,
      align: "right",
      weight,
      colour: chosen ? "target" : "ink",
      size,
    });
    lane.add({
      key: `bar:${i}`,
      kind: "box",
      x: rect.x + names,
      y: y + high * 0.16,
      w: Math.max(1, barWidth * p),
      h: high * 0.68,
      fill: "target",
      strength: chosen ? 0.95 : 0.5,
      radius: 2,
      tip: [label, formatNumber(p, "weights")],
    });
    lane.add({
      key: `p:${i}`,
      kind: "text",
      text: formatNumber(p, "weights"),
      x: rect.x + names + Math.max(1, barWidth * p) + unit * 0.3,
      y: y + high / 2,
      w: 0,
      h: 0,
      size: Math.min(0.88, (high * 0.85) / unit),
      colour: chosen ? "ink" : "dim",
      weight,
    });
  });
  const outputCount = data.config.tied_output ? null : formatCount(data.header.boxes.output.count);
  const note = outputCount ? t("flow_own", { n: outputCount }) : t("flow_shared");
  if (!narrow && !closed)
    lane.text("count:output", note, rect.x, rect.y + rect.h + unit * 0.85, rect.w, {
      colour: "dim",
      align: "center",
      size: 0.82,
    });
  if (leaves) {
    // Only the row of this step becomes a word: its band leads to the words.
    const row = lane.high / lane.rows;
    const from = { x: leaves.x, w: leaves.w, y: lane.top + state.t * row, h: row };
    lane.add({
      key: "say:output",
      kind: "bands",
      x: 0,
      y: 0,
      w: 0,
      h: 0,
      from: { x: from.x + from.w, y: from.y, h: from.h },
      to: { x: rect.x + Math.max(0, names - widest - unit * 0.6), y: rect.y, h: rect.h },
      rows: 1,
      colour: "target",
      strength: 0.16,
    });
  }
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

export function modelFlow(ctx) {
  const { area, unit, narrow } = ctx;
  if (narrow) return narrowFlow(ctx);
  const { opened, above, below } = modelPlan(ctx);
  const columns = laneColumns(ctx, "decoder", above.x, above.w, false);
  if (opened === "encoder") {
    const rect = { ...below, w: modelPanel(ctx).left - area.x - unit * 1.6 };
    const encoder = encoderFlow(ctx, rect, false);
    const decoder = closedLane(ctx, "decoder", above, columns);
    const { leaves } = encoder;
    const { box, lane } = decoder;
    const x = leaves.x + leaves.w / 2;
    lane.add(upArrow("under:decoder.cross", x, leaves.y - unit * 1.8, box.y + box.h + 3));
    return [...encoder.lane.items, ...lane.items, totalText(ctx, { ...box, y: lane.top - unit * 1.15 }, "center")];
  }
  // The encoder ends where its values can still go over to the decoder.
  const freeWidth = columns["ff.x"].x - columns["cross.parts"].w - unit * 5.4 - area.x;
  const encoder = closedLane(ctx, "encoder", { ...below, w: Math.min(area.w * 0.5, freeWidth) });
  const { top, high } = encoder.lane;
  const decoder = decoderFlow(ctx, above, false, encoder.leaves, { y: top, h: high });
  const { words } = decoder.lane.columns;
  drawWords(ctx, decoder.lane, decoder.leaves, {
    x: words.x,
    y: decoder.lane.top,
    w: words.w - unit * 0.4,
    h: decoder.lane.high,
  });
  const corner = { x: area.x + area.w * 0.48, y: area.y, w: area.w * 0.52 };
  const heading = translationText(ctx, corner) ?? totalText(ctx, corner, "right");
  return [...encoder.lane.items, ...decoder.lane.items, heading];
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

const upArrow = (key, x, from, to) => ({
  key,
  kind: "arrow",
  points: [x, from, x, to],
  ...{ x: 0, y: 0, w: 0, h: 0 },
  colour: "cross",
  weight: 2,
});

// A stack as one box: the vectors that go in, all layers in one, the vectors that come out, and behind the decoder the
// next word. columns: those of the open decoder, so that its words stay where they are.
function closedLane(ctx, stack, rect, columns = null) {
  const { unit, data, t } = ctx;
  const lane = new Lane(ctx, stack, rect, false);
  lane.top = rect.y + unit * 2.1;
  lane.high = rect.h - unit * 2.7;
  const { side, layers, top, high } = lane;
  const count = formatCount(layers * parametersOf(data.header.boxes, `${stack}.0`));
  const words = columns && columns.words;
  const end = words ? words.x - unit * 2.4 : rect.x + rect.w;
  const strip = 42;
  const room = unit * 2.4;
  const go = { zoom: "sub", place: side, step: "plus" };
  // The source tokens are named: cross-attention reads their rows.
  const named = stack === "encoder" ? unit * 5 : 0;
  const start = rect.x + named + unit * 0.5;
  if (named)
    lane.add({
      key: `tokens:${side}`,
      kind: "tokens",
      orient: "rows",
      align: "right",
      labels: lane.labels,
      colour: side,
      axis: side,
      x: rect.x,
      y: top,
      w: named,
      h: high,
    });
  const first = lane.strip(`m:${side}.x`, `${stack}.0.self.enters`, { x: start, w: strip }, side, {
    go,
    title: t("flow_x_first"),
    label: t("flow_go_embedding"),
  });
  const into = first.x + strip + room;
  const out = end - strip;
  const name = t(stack === "encoder" ? "an_encoder" : "an_decoder");
  const label = t("flow_closed", { stack: name, layers, n: count });
  const middle = top + high / 2;
  const thick = Math.min(high, unit * 2.4); // a bar, because nothing is drawn in it
  const box = { x: into, y: middle - thick / 2, w: out - room - into, h: thick };
  for (let i = Math.min(3, layers - 1); i > 0; i--)
    lane.add({
      key: `behind:${stack}.${i}`,
      kind: "box",
      ...{ ...box, x: box.x + i * 3, y: box.y - i * 3 },
      fill: "ground",
      stroke: "line",
      radius: 10,
      z: -3,
    });
  const open = { place: `${stack}.self` };
  lane.add({
    key: `layer:${stack}`,
    kind: "box",
    ...box,
    fill: "panel",
    stroke: "line",
    radius: 10,
    z: -2,
    go: open,
    label,
  });
  const wide = box.w - unit * 0.6;
  const size = clamp(wide / (unit * mathWidth(label, true)), 0.64, 0.9); // small rather than cut off
  const look = { colour: side, align: "center", weight: 600, size };
  lane.text(`layername:${stack}`, label, box.x + unit * 0.3, middle, wide, look);
  const title = t(stack === "encoder" ? "flow_source" : "flow_target");
  lane.text(`name:${side}`, title, first.x, top - unit * 0.8, 0, { weight: 600, colour: side, size: 0.95 });
  const key = stack === "encoder" ? "m:encoder.output" : "m:output.hidden";
  const leaves = lane.strip(key, `${stack}.output`, { x: out, w: strip }, side, {
    go: stack === "encoder" ? open : { zoom: "sub", place: "output", step: "hidden" },
    title: stack === "encoder" ? t("flow_memory_title") : undefined,
  });
  lane.text(`name:${stack === "encoder" ? "memory" : "out"}`, t("flow_memory"), out + strip / 2, top - unit * 0.8, 0, {
    size: 0.85,
    colour: "dim",
    align: "center",
  });
  const edge = (x, w) => ({ x, y: box.y, w, h: box.h });
  lane.flow(`in:${stack}`, first, edge(box.x, 0));
  lane.flow(`out:${stack}`, edge(box.x + box.w, 0), leaves);
  if (words) drawWords(ctx, lane, leaves, { x: words.x, y: top, w: words.w - unit * 0.4, h: high }, true);
  return { lane, leaves, box };
}

// How the counts on the boxes add up to the total of the model.
function totalText({ data, area, unit, t }, rect, align) {
  const { boxes, config } = data.header;
  const layer = (stack) => parametersOf(boxes, `${stack}.0`);
  const table = config.parameters - config.encoder_layers * layer("encoder") - config.decoder_layers * layer("decoder");
  const counts = {
    total: config.parameters,
    rest: table,
    encoder_layers: config.encoder_layers,
    encoder: layer("encoder"),
    decoder_layers: config.decoder_layers,
    decoder: layer("decoder"),
  };
  for (const [name, count] of Object.entries(counts)) counts[name] = formatCount(count);
  const size = area.w < 75 * unit ? 0.82 : 0.9;
  const y = rect.y + unit * 0.35;
  const text = t("flow_total", counts);
  return { key: "total", kind: "text", text, x: rect.x, y, w: rect.w, h: 0, size, align, colour: "dim" };
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
    const x = leaves.x + leaves.w / 2;
    lane.add(upArrow("under:decoder.cross", x, leaves.y + leaves.h + 4, box.y - 3));
    lane.text("rows", ctx.t("flow_rows"), box.x, box.y - unit, x - box.x - unit, { size: 0.88 });
    drawWords(ctx, lane, null, { x: 8, y: area.h - words + unit * 2.2, w: width - 12, h: words - unit * 2.6 }, true);
    return lane.items;
  }
  const { lane } = decoderFlow(ctx, at(line + unit * 1.6, high), false, null, null);
  const box = closedLine(lane, "encoder", at(4, line));
  const { x, w } = lane.columns["cross.heads"];
  lane.add(upArrow("under:decoder.cross", x + w / 2, box.y + box.h + 2, lane.top - 3));
  const y = area.h - words + written;
  drawWords(ctx, lane, null, { x: 8, y: y + unit * 2, w: width - 12, h: words - written - unit * 3 });
  const text = translationText(ctx, { x: 8, y: area.h - words, w: width - 12 });
  return text ? [...lane.items, text] : lane.items;
}

function closedLine(lane, stack, rect) {
  const { ctx } = lane;
  const { data, t } = ctx;
  const layers = data.config[stack + "_layers"];
  const name = t(stack === "encoder" ? "an_encoder" : "an_decoder");
  const n = formatCount(layers * parametersOf(data.header.boxes, `${stack}.0`));
  const label = t("flow_closed", { stack: name, layers, n });
  const go = { place: `${stack}.self` };
  lane.add({ key: `layer:${stack}`, kind: "box", ...rect, fill: "panel", stroke: "line", radius: 8, z: -2, go, label });
  lane.text(`layername:${stack}`, label, rect.x, rect.y + rect.h / 2, rect.w, {
    weight: 600,
    colour: stack === "encoder" ? "source" : "target",
    align: "center",
  });
  return rect;
}

export function layerFlow(ctx) {
  const { area, state, unit, narrow, data } = ctx;
  const pad = unit * 0.9;
  if (state.place.startsWith("encoder")) {
    const rect = { x: area.x, y: area.y, w: area.w - pad, h: area.h };
    return encoderFlow(ctx, rect, true).lane.items;
  }
  const upper = narrow ? area.h : area.h * (area.h < 32 * unit ? 0.72 : 0.64);
  const rect = { x: area.x, y: area.y, w: area.w - pad, h: upper };
  if (narrow) return decoderFlow(ctx, rect, true, null, null).lane.items;
  // The encoder's output comes in from below, as in the whole model.
  const columns = laneColumns(ctx, "decoder", rect.x, rect.w, true);
  const lower = { y: area.y + upper + unit * 1.2, h: area.h - upper - unit * 3 };
  const x = columns["self.heads"].x;
  const strip = {
    key: "m:encoder.output",
    kind: "matrix",
    matrix: data.matrix("encoder.output"),
    ramp: "source",
    sampling: "some",
    rowAxis: "source",
    colAxis: "",
    x: x + columns["self.heads"].w * 0.4,
    w: 42,
    ...lower,
  };
  const tokens = {
    key: "tokens:source",
    kind: "tokens",
    orient: "rows",
    align: "right",
    labels: data.labels("source"),
    colour: "source",
    axis: "source",
    x: strip.x - unit * 6.6,
    w: unit * 6.1,
    ...lower,
  };
  const decoder = decoderFlow(ctx, rect, true, strip, lower);
  const title = ctx.t("flow_memory_title");
  const name = {
    key: "name:memory",
    kind: "text",
    text: title,
    x: strip.x + strip.w / 2,
    y: lower.y - unit * 0.8,
    w: 0,
    h: 0,
    size: 0.9,
    weight: 600,
    align: "center",
    colour: "source",
  };
  return [tokens, strip, name, ...decoder.lane.items];
}

export function height(ctx) {
  const { unit, data, state } = ctx;
  const rows = Math.max(data.labels("source").length, data.steps);
  const lane = Math.max(unit * 17, Math.min(unit * 30, rows * unit * 1.15 + unit * 6));
  if (state.zoom === "layer") return lane * 1.25;
  return lane + unit * (stackOf(state.place) === "decoder" ? 22.2 + LINE : 11.6);
}
