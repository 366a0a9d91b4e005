import assert from "node:assert/strict";
import { test } from "node:test";
import { KINDS } from "../core/colour.js";
import { differencePalette } from "./difference.js";

// The difference of two pictures runs from full loss to full gain. Both ends must be told apart in both themes, also
// without colour vision: by hue, and by lightness alone.

const THEMES = {
  light: {
    dark: false,
    background: [252, 252, 251],
    hues: { encoder_self: [11, 99, 176], decoder_self: [181, 73, 10], cross: [122, 47, 143] },
  },
  dark: {
    dark: true,
    background: [16, 18, 22],
    hues: { encoder_self: [109, 183, 255], decoder_self: [255, 158, 94], cross: [215, 149, 234] },
  },
};

const linear = (v) => (v / 255 <= 0.04045 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4);

// Machado, Oliveira and Fernandes 2009, severity 1.0: what a reader without one kind of cone sees, in linear RGB.
const SIGHT = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

// CIE L*a*b* of a colour (sRGB, D65) as this reader sees it.
function lab(rgb, sight) {
  const from = rgb.map(linear);
  const [r, g, b] = sight.map((row) =>
    Math.max(
      0,
      Math.min(
        1,
        row.reduce((sum, w, i) => sum + w * from[i], 0),
      ),
    ),
  );
  const f = (t) => (t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 / 116) * t + 16 / 116);
  const x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047);
  const y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
  const z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const apart = (a, b) => Math.hypot(...a.map((value, i) => value - b[i]));

for (const [name, theme] of Object.entries(THEMES)) {
  for (const kind of KINDS) {
    const palette = differencePalette(theme, kind);
    test(`loss and gain differ in the ${name} theme, ${kind}`, () => {
      assert.equal(palette.length, 511);
      assert.deepEqual(palette[255], theme.background);
      for (const [reader, sight] of Object.entries(SIGHT)) {
        for (const change of [0.25, 0.5, 0.75, 1]) {
          const step = Math.round(255 * change);
          const [loss, gain] = [lab(palette[255 - step], sight), lab(palette[255 + step], sight)];
          assert.ok(apart(loss, gain) > 12 + 30 * change, `${reader}, ${change}: ${apart(loss, gain).toFixed(1)}`);
        }
        // The further from 0, the further from the page in lightness: readable in print.
        const page = lab(theme.background, sight);
        for (const side of [-1, 1]) {
          const far = [0.05, 0.25, 0.5, 0.75, 1].map((change) =>
            Math.abs(page[0] - lab(palette[255 + side * Math.round(255 * change)], sight)[0]),
          );
          assert.ok(
            far.every((value, i) => !i || value > far[i - 1]),
            `${reader}, ${side}: ${far.map((value) => value.toFixed(0))}`,
          );
        }
      }
      const [loss, gain] = [palette[0], palette[510]].map((rgb) => lab(rgb, SIGHT.normal)[0]);
      assert.ok(Math.abs(loss - gain) > 20, `lightness ${loss.toFixed(0)} and ${gain.toFixed(0)}`);
    });
  }
}
