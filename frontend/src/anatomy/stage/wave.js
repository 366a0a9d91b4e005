import { cssColour } from "../../core/colour.js";

// How the numbers of a part or a step come about. In the flow a dot for every row runs through the strips and along the
// bands of a part, from left to right, and while playing a strip appears behind them. Near, a matrix appears row by row.

const SPAN = 1500; // milliseconds, at most
const TAIL = [0, 10, 20]; // pixels that a dot and its fading traces lie behind the front
const ENDS = { encoder: "source", decoder: "target" }; // bands into the first layer belong to the embedding

// The place that a band, an arrow or a strip belongs to, from its key: "fan:encoder.0.self.queries" is "encoder.self".
export function placeOfKey(key) {
  const [stack, part] = (key.split(":")[1] || "").split(".").filter((name) => !/^\d+$/.test(name));
  if (part) return `${stack}.${part}`;
  return key.startsWith("in:") ? ENDS[stack] : stack;
}

// What runs when a part is reached; null if nothing of it is drawn, or some of it has not arrived. fills: whether what
// the part computes appears only now: its strips but its input, and those in which its bands end.
export function waveOf(items, place, fills = false, span = SPAN) {
  const own = items.filter((item) => placeOfKey(item.key) === place);
  const bands = own.filter((item) => item.kind === "bands");
  const strips = own.filter((item) => item.kind === "matrix" && /^m:/.test(item.key));
  if (!bands.length || own.some((item) => item.key.endsWith(":wait"))) return null;
  const ends = ({ x, y }) => bands.some(({ to }) => to.x === x && to.y === y);
  const isMade = (item) => (strips.includes(item) ? !item.key.endsWith(".x") : item.kind === "matrix" && ends(item));
  const made = fills ? items.filter(isMade) : [];
  const from = Math.min(...bands.map((item) => item.from.x), ...strips.map((item) => item.x));
  const to = Math.max(...bands.map((item) => item.to.x), ...made.map(({ x, w }) => x + w));
  return { bands, strips, made, from, to, span: Math.min(SPAN, span), since: null };
}

// What appears row by row when a step is reached: the matrices of that name that were not there before. moves: of the
// stage.
export function fillOf(moves, name, span) {
  const isNew = ({ item, leaves, fresh, old }) => item.matrix?.name === name && !leaves && (fresh || old);
  const made = moves.filter(isNew).map(({ item }) => item);
  return made.length ? { bands: [], strips: [], made, span: Math.min(SPAN, span), since: null } : null;
}

const frontOf = ({ from, to, span }, elapsed) => from + ((to + TAIL.at(-1) - from) * elapsed) / span;

// How many rows of a matrix are whole at a time, and up to which x the others are. Rows of earlier steps of decoding
// are whole from the start.
export function shownPart(flow, item, elapsed) {
  if (flow.bands.length) return { rows: item.current ?? 0, front: frontOf(flow, elapsed) };
  return { rows: Math.floor((item.matrix.rows * elapsed) / flow.span), front: -Infinity };
}

// The points of the dots of a band when the front is `share` of its way; the band's own curve.
export function bandPoints({ from, to, rows }, share) {
  const [start, end] = [(1 - share) ** 2 * (1 + 2 * share), share ** 2 * (3 - 2 * share)];
  const middle = (from.x + to.x) / 2;
  const x = (1 - share) ** 3 * from.x + 3 * share * (1 - share) * middle + share ** 3 * to.x;
  return Array.from({ length: rows }, (_, row) => {
    const [first, last] = [from.y + ((row + 0.5) * from.h) / rows, to.y + ((row + 0.5) * to.h) / rows];
    return { x, y: start * first + end * last, high: Math.min(from.h, to.h) / rows };
  });
}

// Paints the dots at a time; false when they have arrived.
export function paintWave(context, wave, elapsed, theme) {
  const front = frontOf(wave, elapsed);
  TAIL.forEach((behind, i) => {
    const x = front - behind;
    context.globalAlpha = 1 - i / TAIL.length;
    context.fillStyle = cssColour(theme.ink);
    context.strokeStyle = cssColour(theme.background);
    context.lineWidth = 1;
    const dot = (x, y, high) => {
      context.beginPath();
      context.arc(x, y, Math.max(1.4, Math.min(3.6, high * 0.24)) - i * 0.5, 0, 2 * Math.PI);
      context.fill();
      if (!i) context.stroke();
    };
    for (const band of wave.bands) {
      const share = (x - band.from.x) / (band.to.x - band.from.x);
      if (share < 0 || share > 1) continue;
      for (const point of bandPoints(band, share)) dot(point.x, point.y, point.high);
    }
    for (const strip of wave.strips) {
      if (x < strip.x || x > strip.x + strip.w) continue;
      const high = strip.h / strip.matrix.rows;
      for (let row = 0; row < strip.matrix.rows; row++) dot(x, strip.y + (row + 0.5) * high, high);
    }
  });
  context.globalAlpha = 1;
  return elapsed < wave.span;
}
