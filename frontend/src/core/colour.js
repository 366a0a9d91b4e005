// One hue per kind, each ramp monotonic in lightness: readable without colour vision and in print.

export const KINDS = ["encoder_self", "decoder_self", "cross"];

const HUES = {
  light: { encoder_self: "#0b63b0", decoder_self: "#b5490a", cross: "#7a2f8f" },
  dark: { encoder_self: "#6db7ff", decoder_self: "#ff9e5e", cross: "#d795ea" },
};

let colourReader = null;

// Any CSS colour -> [r, g, b, alpha] of 255 each, by letting a canvas paint it.
export function readColour(text, fallback = "#000") {
  if (!colourReader) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    colourReader = canvas.getContext("2d", { willReadFrequently: true });
  }
  colourReader.fillStyle = fallback;
  colourReader.fillStyle = (text || "").trim() || fallback;
  colourReader.clearRect(0, 0, 1, 1);
  colourReader.fillRect(0, 0, 1, 1);
  return colourReader.getImageData(0, 0, 1, 1).data;
}

function parseColour(text, fallback) {
  const [r, g, b, alpha] = readColour(text, fallback);
  return alpha === 0 ? parseColour(fallback, "#ffffff") : [r, g, b];
}

export function cssColour(rgb, alpha) {
  return alpha === undefined ? `rgb(${rgb.join(",")})` : `rgba(${rgb.join(",")},${alpha})`;
}

export function mixColours(a, b, share) {
  return a.map((value, i) => Math.round(value + (b[i] - value) * share));
}

function luminance(rgb) {
  const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// The theme of the page: Streamlit's CSS variables, or the fallbacks of theme.css.
export function readTheme(element) {
  const style = getComputedStyle(element);
  const background = parseColour(style.getPropertyValue("--hs-bg"), "#ffffff");
  const dark = luminance(background) < 0.2;
  const ink = parseColour(style.getPropertyValue("--hs-ink"), dark ? "#e8eaee" : "#16181d");
  const hues = {};
  for (const kind of KINDS) hues[kind] = parseColour(HUES[dark ? "dark" : "light"][kind], "#000000");
  return {
    dark,
    background,
    ink,
    hues,
    dim: mixColours(ink, background, dark ? 0.32 : 0.3),
    line: mixColours(ink, background, 0.84),
    masked: mixColours(ink, background, dark ? 0.88 : 0.93),
    hatch: mixColours(ink, background, dark ? 0.74 : 0.82),
    panel: mixColours(ink, background, dark ? 0.95 : 0.965),
    font: style.fontFamily || "sans-serif",
    size: parseFloat(style.fontSize) || 15,
    key: style.getPropertyValue("--hs-bg") + style.getPropertyValue("--hs-ink") + style.fontFamily + style.fontSize,
  };
}

// 256 colours from weight 0 (the page) to weight 1 (the furthest from the page).
export function makeRamp(theme, kind) {
  const hue = theme.hues[kind];
  const end = mixColours(hue, theme.dark ? [255, 255, 255] : hue.map((v) => v * 0.14 + 6), 0.62);
  return Array.from({ length: 256 }, (_, i) => {
    // There are many small weights and they matter: the exponent makes them visible.
    const at = (i / 255) ** 0.72;
    return at < 0.75 ? mixColours(theme.background, hue, at / 0.75) : mixColours(hue, end, (at - 0.75) / 0.25);
  });
}

// The other end of a difference: a contrary hue of middle lightness in both themes, while makeRamp ends near black or
// near white. So the two ends differ in hue and in lightness, also for readers without colour vision.
const NEGATIVE_HUES = { encoder_self: "#e07b1a", decoder_self: "#3f8fe0", cross: "#e07b1a" };

export function makeNegativeRamp(theme, kind) {
  const end = [1, 3, 5].map((at) => parseInt(NEGATIVE_HUES[kind].slice(at, at + 2), 16));
  return Array.from({ length: 256 }, (_, i) => mixColours(theme.background, end, (i / 255) ** 0.72));
}

// Weight -> index into the ramp, under a scale that ends at `top`; below the threshold nothing is drawn.
export function rampIndex(weight, top, threshold) {
  if (!(weight > 0) || weight < threshold) return 0;
  return Math.min(255, Math.round((255 * weight) / (top > 0 ? top : 1)));
}

// The same for pictures: 256 byte values -> packed pixels, little-endian as in ImageData.
export function pixelTable(ramp, top, threshold) {
  const table = new Uint32Array(256);
  for (let value = 0; value < 256; value++) {
    // Half a step of tolerance: a weight exactly at the threshold may have been rounded down.
    const weight = value / 255;
    table[value] = packPixel(ramp[rampIndex(weight, top, Math.max(0, threshold - 0.5 / 255))]);
  }
  return table;
}

export function packPixel(rgb) {
  return (255 << 24) | (rgb[2] << 16) | (rgb[1] << 8) | rgb[0];
}

// Text on a coloured cell: black or white, whichever has more contrast.
export function inkOn(rgb) {
  return luminance(rgb) > 0.179 ? "#000" : "#fff";
}

export function rampGradient(ramp, top, threshold) {
  const stops = [];
  const share = top > 0 ? Math.min(1, threshold / top) : 0;
  for (let i = 0; i <= 32; i++) {
    const at = share + ((1 - share) * i) / 32;
    stops.push(`${cssColour(ramp[Math.round(at * 255)])} ${(at * 100).toFixed(1)}%`);
  }
  if (share > 0) stops.unshift(`${cssColour(ramp[0])} 0%`, `${cssColour(ramp[0])} ${(share * 100).toFixed(1)}%`);
  return `linear-gradient(to right, ${stops.join(", ")})`;
}
