import { formatCount, formatNumber } from "../format.js";
import { lastStep } from "../walk.js";
import { Lane, laneColumns, parametersOf } from "./lane.js";

// The model and a layer as a flow. The encoder's lane is below, the decoder's above it: the sentence goes in at the
// bottom left and the next word comes out at the top right.

const GAP = 26; // pixels between the lanes

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
      lane.top - ctx.unit * 0.95,
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
  const cross = lane.attention("cross", parts);
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
      lane.top - unit * 0.95,
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
    // K goes up into the columns; the values of every source token go to the row that is being decoded, as strongly as
    // this head attends to them.
    const { keys, values } = parts;
    const middle = keys.x + keys.w / 2;
    const into = Math.max(heads.x + unit, Math.min(heads.x + heads.w - unit, middle));
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
function drawWords(ctx, lane, leaves, rect) {
  const { data, state, unit, t, narrow } = ctx;
  const { outputs } = data;
  const labels = outputs.labels[state.t];
  const isCurrent = state.place === "output";
  const count = labels.length;
  const go = { zoom: "sub", place: "output", step: "logits" };
  const pad = unit * 0.35;
  lane.add({
    key: "box:output",
    kind: "box",
    x: rect.x - pad,
    y: rect.y - unit * 1.75,
    w: rect.w + 2 * pad,
    h: rect.h + unit * (narrow ? 2.1 : 3.3),
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
  const high = rect.h / count;
  const [names, numbers] = [rect.w * 0.44, unit * 3.3];
  const barWidth = rect.w - names - numbers - unit * 0.4;
  labels.forEach((label, i) => {
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
      size: Math.min(1, (high * 0.9) / unit),
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
  if (!narrow)
    lane.text("count:output", note, rect.x, rect.y + rect.h + unit * 0.85, rect.w, {
      colour: "dim",
      align: "center",
      size: 0.82,
    });
  if (leaves) {
    // Only the row of this step becomes a word.
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
      to: { x: rect.x, y: rect.y, h: rect.h },
      rows: 1,
      colour: "target",
      strength: 0.16,
    });
  }
}

export function modelFlow(ctx) {
  const { area, unit, narrow } = ctx;
  if (narrow) return narrowFlow(ctx);
  const lanes = (area.h - GAP) / 2;
  const above = { x: area.x + area.w * 0.06, y: area.y + unit * 0.6, w: area.w * 0.94 - unit, h: lanes };
  // The encoder ends where its values can still go over to the decoder.
  const columns = laneColumns(ctx, "decoder", above.x, above.w, false);
  const freeWidth = columns["ff.x"].x - columns["cross.parts"].w - unit * 5.4 - area.x;
  const below = {
    x: area.x,
    y: area.y + lanes + GAP + unit * 0.4,
    w: Math.min(area.w * 0.5, freeWidth),
    h: lanes - unit * 0.4,
  };
  const encoder = encoderFlow(ctx, below, false);
  const { top, high } = encoder.lane;
  const decoder = decoderFlow(ctx, above, false, encoder.leaves, { y: top, h: high });
  const { words } = decoder.lane.columns;
  drawWords(ctx, decoder.lane, decoder.leaves, {
    x: words.x,
    y: decoder.lane.top,
    w: words.w - unit * 0.4,
    h: decoder.lane.high,
  });
  const total = totalHeight(ctx, decoder.lane);
  return [...encoder.lane.items, ...decoder.lane.items, total];
}

// How the counts on the boxes add up to the total of the model.
function totalHeight({ data, area, unit, t }, lane) {
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
  const w = area.w * 0.52;
  const size = area.w < 75 * unit ? 0.82 : 0.9;
  const y = lane.rect.y + unit * 0.35;
  const text = t("flow_total", counts);
  return { key: "total", kind: "text", text, x: area.x + area.w - w, y, w, h: 0, size, align: "right", colour: "dim" };
}

// One below the other: the encoder, the decoder, the words.
function narrowFlow(ctx) {
  const { area, unit } = ctx;
  const words = unit * 17;
  const high = (area.h - words - unit * 4) / 2;
  const encoder = encoderFlow(ctx, { x: 4, y: unit, w: area.w - 12, h: high }, false);
  const decoder = decoderFlow(ctx, { x: 4, y: high + unit * 2.2, w: area.w - 12, h: high }, false, null, null);
  const { lane } = decoder;
  const { x, w } = lane.columns["cross.heads"];
  const from = encoder.leaves;
  const y = encoder.lane.top + encoder.lane.high + unit * 1.1;
  lane.add({
    key: "under:decoder.cross",
    kind: "arrow",
    points: [from.x + from.w / 2, from.y + from.h, from.x + from.w / 2, y, x + w / 2, y, x + w / 2, lane.top - 3],
    x: 0,
    y: 0,
    w: 0,
    h: 0,
    colour: "cross",
    weight: 2,
  });
  drawWords(ctx, lane, null, { x: 8, y: area.h - words + unit * 2, w: area.w - 24, h: words - unit * 3 });
  return [...encoder.lane.items, ...lane.items];
}

export function layerFlow(ctx) {
  const { area, state, unit, narrow, data } = ctx;
  const pad = unit * 0.9;
  if (state.place.startsWith("encoder")) {
    const rect = { x: area.x, y: area.y, w: area.w - pad, h: area.h };
    return encoderFlow(ctx, rect, true).lane.items;
  }
  const upper = narrow ? area.h : area.h * 0.64;
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
  return state.zoom === "layer" ? lane * 1.25 : lane * 2 + unit * 21;
}
