import { cssColour } from "../../core/colour.js";

// Where numbers go: a dot for every row runs through the strips and along the bands of a part, from left to right.

const SPAN = 1500; // milliseconds
const TAIL = [0, 10, 20]; // pixels that a dot and its fading traces lie behind the front
const ENDS = { encoder: "source", decoder: "target" }; // bands into the first layer belong to the embedding

// The place that a band, an arrow or a strip belongs to, from its key: "fan:encoder.0.self.queries" is "encoder.self".
export function placeOfKey(key) {
  const [stack, part] = (key.split(":")[1] || "").split(".").filter((name) => !/^\d+$/.test(name));
  if (part) return `${stack}.${part}`;
  return key.startsWith("in:") ? ENDS[stack] : stack;
}

// What runs when a part is reached; null if nothing of it is drawn.
export function waveOf(items, place) {
  const own = items.filter((item) => placeOfKey(item.key) === place);
  const bands = own.filter((item) => item.kind === "bands");
  const strips = own.filter((item) => item.kind === "matrix" && /^m:/.test(item.key));
  if (!bands.length) return null;
  const from = Math.min(...bands.map((item) => item.from.x), ...strips.map((item) => item.x));
  const to = Math.max(...bands.map((item) => item.to.x));
  return { bands, strips, from, to, since: null };
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
  const reach = wave.to + TAIL.at(-1) - wave.from;
  const front = wave.from + (reach * elapsed) / SPAN;
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
  return elapsed < SPAN;
}
