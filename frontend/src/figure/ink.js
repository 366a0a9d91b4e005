import { inkOn } from "../core/colour.js";

// plotly writes the numbers in a heatmap's cells in white or grey, depending on a cell's brightness; on middle colours
// both are illegible. Here each number gets black or white, whichever has more contrast (at least 4.5 : 1).

function hexColour(text) {
  const hex = /^#([0-9a-f]{6})$/i.exec(text);
  if (hex) return [0, 2, 4].map((at) => parseInt(hex[1].slice(at, at + 2), 16));
  const numbers = String(text).match(/[\d.]+/g) || [];
  return numbers.length >= 3 ? numbers.slice(0, 3).map(Number) : null;
}

// The colour of a value on a trace's scale: pairs of position and colour, linear between them.
export function scaleColour(trace, value) {
  const share = Math.max(0, Math.min(1, (value - trace.zmin) / (trace.zmax - trace.zmin || 1)));
  const stops = trace.colorscale;
  const after = Math.max(
    1,
    stops.findIndex(([at]) => at >= share),
  );
  const [[low, from], [high, to]] = [stops[after - 1], stops[after]];
  const [a, b] = [hexColour(from), hexColour(to)];
  if (!a || !b) return null;
  const part = (share - low) / (high - low || 1);
  return a.map((channel, i) => Math.round(channel + (b[i] - channel) * part));
}

export function inkLabels(box) {
  const heatmaps = (box._fullData || []).filter((trace) => trace.type === "heatmap" && trace.visible === true);
  if (heatmaps.length !== 1 || heatmaps[0].reversescale) return;
  for (const group of box.querySelectorAll(".heatmap-label")) {
    const { z } = group.__data__ || {};
    const colour = Number.isFinite(z) ? scaleColour(heatmaps[0], z) : null;
    const text = group.querySelector("text");
    if (colour && text) text.style.fill = inkOn(colour);
  }
}
