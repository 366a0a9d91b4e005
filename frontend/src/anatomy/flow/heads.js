// The heads of an attention sub-layer in the flow: what they compute from queries and keys.

// A head as a tile. A knocked-out head is pale, with "off" across it.
function drawTile(lane, part, head, box, parent) {
  const { ctx, stack, layer, side } = lane;
  const { data, state, t } = ctx;
  const at = `${stack}.${layer}.${part}`;
  const key = `m:${at}.weights.h${head}`;
  const matrix = data.matrix(`${at}.weights`, { head });
  if (!matrix) return lane.outline(key, box);
  const out = data.header.attention[at].zero[head];
  const cross = part === "cross";
  const axes = { rowAxis: side, colAxis: cross ? "source" : side + ":key", ramp: cross ? "cross" : side };
  const title = t("flow_weights", { head: head + 1 });
  const go = { zoom: "head", place: `${stack}.${part}`, step: "softmax", head };
  const label = t("flow_go_head", { head: head + 1, name: t(cross ? "flow_cross" : `flow_self_${stack}`) });
  const look = { top: 1, alpha: out ? 0.3 : 1, outline: head === state.head ? "strong" : "thin" };
  const said = { title, go, label, parent };
  const tile = lane.add({ key, kind: "matrix", matrix, ...axes, ...box, ...lane.late, ...look, ...said });
  const off = { align: "center", weight: 600, colour: "changed" };
  if (out) lane.text(`out:${key}`, t("flow_out_head"), box.x, box.y + box.h / 2, box.w, off);
  return tile;
}

// In a single layer: all heads, each under its number.
function drawTiles(lane, part, area) {
  const { ctx, stack, layer } = lane;
  const { data, state, t, unit } = ctx;
  const { heads } = data.config;
  const across = area.w > area.h * 0.7 ? Math.ceil(Math.sqrt(heads)) : Math.min(2, heads);
  const down = Math.ceil(heads / across);
  const gap = unit * 0.35;
  const each = area.h / down;
  const name = each > unit * 3 ? unit * 1.05 : each > unit * 1.6 ? unit * 0.75 : 0;
  const [w, h] = [(area.w - gap * (across - 1)) / across, (area.h - gap * (down - 1)) / down - name];
  for (let head = 0; head < heads; head++) {
    const [row, col] = [Math.floor(head / across), head % across];
    const box = { x: area.x + col * (w + gap), y: area.y + row * (h + name + gap) + name, w, h };
    drawTile(lane, part, head, box, `m:${stack}.${layer}.${part}.weights.h${state.head}`);
    if (!name) continue;
    const words = t(w > unit * 3.4 ? "flow_head_name" : "short_head", { head: head + 1, n: head + 1 });
    const chosen = head === state.head ? { colour: "ink", weight: 600 } : { colour: "dim", weight: 400 };
    const look = { size: Math.min(0.82, name / unit), align: "center", ...chosen };
    lane.text(`headname:${part}.${head}`, words, box.x, box.y - name / 2, w, look);
  }
  return area;
}

// One head with the others behind it.
function drawOpenHead(lane, part, area) {
  const { ctx, stack, layer } = lane;
  const { data, state } = ctx;
  const { heads } = data.config;
  const look = { fill: "ground", stroke: "line", radius: 1 };
  for (let i = Math.min(3, heads - 1); i > 0; i--)
    lane.box(`more:${stack}.${layer}.${part}.${i}`, { ...area, x: area.x + i * 3, y: area.y - i * 3 }, look);
  return drawTile(lane, part, state.head, area);
}

// The heads of a part in a column. strips: what it is computed from, by name; `weights` is added to them.
export function headTiles(lane, part, column, strips, x) {
  const { ctx, single, stack, layer, top, high } = lane;
  const { data, unit } = ctx;
  const at = `${stack}.${layer}.${part}`;
  const selfAttention = part !== "cross";
  const alone = single && data.config.heads > 1;
  // As high as the rows of its tokens.
  const area = { x: column.x, y: top, w: column.w, h: high };
  const weights = alone ? drawTiles(lane, part, area) : drawOpenHead(lane, part, area);
  strips.weights = weights;
  lane.flow(`meet:${at}`, strips.queries || x, weights, { strength: 0.13 });
  if (!strips.keys || !selfAttention) return;
  if (single) return void lane.flow(`under:${at}`, strips.keys, weights, { strength: 0.08 });
  // K comes from below: its tokens are the columns.
  const { keys } = strips;
  const below = weights.y + weights.h + unit * 0.5;
  const from = keys.y + keys.h * 0.8;
  const [out, turn, end] = [keys.x + keys.w, weights.x - unit * 0.4, weights.x + weights.w / 2]; // right of the letter V
  const points = [out, from, turn, from, turn, below, end, below, end, weights.y + weights.h + 2];
  lane.path(`under:${at}`, points, { colour: "dim", weight: 1.5 });
}
