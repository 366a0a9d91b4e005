// Widths of texts, for the layouts of the anatomy. They have no canvas to measure with: widths are estimated, rather
// too wide than too narrow, because the font may be as wide as DejaVu Sans.

export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

// The end of a colour scale, as written beside a shape: two significant digits.
export const sheetScale = (top) => `±${top >= 100 ? top.toFixed(0) : top.toPrecision(2)}`;

const SMALL = 0.72; // size of an index or power, relative to its text
const APART = 0.06; // space after it, relative to the same text
const BOLD = 1.1; // how much wider a bold text is

const SMALLEST = 9; // pixels of a label that is still read

// Pixels of the labels of tokens in rows of that height: they shrink before some are left out.
export const tokenSize = (unit, size, space) => Math.min(unit * (size || 1), Math.max(SMALLEST, space * 0.92));

// Width of a text relative to its size, every character as it is.
export function lettersWidth(text) {
  let width = 0;
  for (const sign of String(text)) {
    if (/[\u1100-\u115f]/.test(sign) || sign > "\u2e7f")
      width += 1.05; // Chinese, Japanese, Korean, emoji
    else if (/[ .,:;|!'·()[\]ijlftr]/.test(sign)) width += 0.4;
    else width += /[MWmw@%…<>+±=−→√÷×]/.test(sign) ? 1 : /[A-ZÀ-Þ]/.test(sign) ? 0.8 : 0.63;
  }
  return width;
}

// Width of a text as the stage sets "W_3^Q", in its sizes: what follows _ and ^ is small, one above the other where
// both follow a letter. bold: its weight is 600; letters(text, size): the width of a piece of it.
export function mathWidth(text, bold = false, letters = (piece, size) => lettersWidth(piece) * size) {
  let width = 0;
  let stack = 0;
  let last = "";
  for (const [, sign = "", small, plain] of String(text).matchAll(/([_^])(\{[^}]*\}|.)|([^_^]+)/gu)) {
    const start = sign && last && sign !== last ? stack : width;
    const wide = plain ? letters(plain, 1) : letters(small.replace(/[{}]/g, ""), SMALL) + APART;
    [stack, last, width] = [start, sign, Math.max(width, start + wide)];
  }
  return width * (bold ? BOLD : 1);
}

let textRuler = null;

// The same in pixels, where the font is known.
export function paintedWidth(text, font, size, weight) {
  textRuler ??= document.createElement("canvas").getContext("2d");
  const letters = (piece, share) => {
    textRuler.font = `${weight} ${size * share}px ${font}`;
    return textRuler.measureText(piece).width / size;
  };
  return mathWidth(text, false, letters) * size;
}

// The first of several wordings that fits into a width, or the last; size: of the text, in pixels.
export function fittingText(texts, width, size) {
  const wordings = [texts].flat();
  return wordings.find((text) => mathWidth(text) * size <= width) ?? wordings[wordings.length - 1];
}
