import assert from "node:assert/strict";
import { test } from "node:test";
import { runsByColour, SvgContext } from "../core/svg_context.js";

// A page with canvases that draw nothing; letters are 6 wide, and their baseline is 4 below the middle of a line.
const measure = {
  textBaseline: "alphabetic",
  measureText: (text) => ({
    width: 6 * text.length,
    fontBoundingBoxAscent: measure.textBaseline === "middle" ? 8 : 12,
  }),
};
const context = new Proxy(measure, { get: (target, name) => target[name] ?? (() => {}) });
const canvas = () => ({
  dataset: {},
  style: {},
  getContext: () => context,
  setAttribute() {},
  addEventListener() {},
  append() {},
});
Object.assign(globalThis, { window: { devicePixelRatio: 1 }, document: { createElement: canvas } });
const { HeadPlot } = await import("./head.js");
const { Grid } = await import("./grid.js");

const theme = /** @type {any} */ ({
  ...{ ink: [0, 0, 0], dim: [90, 90, 90], line: [200, 200, 200], masked: [240, 240, 240], hatch: [220, 220, 220] },
  ...{ background: [255, 255, 255], dark: false, font: "sans-serif", size: 15 },
  hues: { cross: [120, 40, 140], encoder_self: [10, 100, 180], decoder_self: [180, 70, 10] },
});
const view = {
  ...{ queries: 2, keys: 3, data: Float32Array.of(0, 0.25, 1, 0.5, 0.75, 0.1), mask: null },
  ...{ rowLabels: ["<b>", 'a & "b"'], columnLabels: ["x", "y", "z"], sides: { rows: "target", columns: "source" } },
};

function svgOf(changes = {}, height = 200) {
  const head = new HeadPlot("cross", { axis: (side) => side });
  const options = { top: 1, cell: [1, 2], width: 300, height, label: "" };
  const svg = new SvgContext(measure);
  head.draw(/** @type {any} */ ({ ...view, ...changes }), /** @type {any} */ ({ threshold: 0 }), theme, options);
  head.drawOn(svg);
  return { head, markup: svg.markup };
}

const fills = (markup) => [...markup.matchAll(/<rect [^>]*fill="(rgb[^"]+)"/g)].map((match) => match[1]);

test("the SVG of a head has a rectangle of the right colour for every cell, and no bitmap", () => {
  const { head, markup } = svgOf();
  const expected = Array.from(view.data, (value) => `rgb(${head.palette()[Math.round(255 * value)].join(",")})`);
  assert.deepEqual(fills(markup), expected);
  assert.equal(new Set(expected).size, 6);
  assert.doesNotMatch(markup, /<image/);
});

test("labels are escaped text in the SVG", () => {
  const { markup } = svgOf();
  const texts = [...markup.matchAll(/<text [^>]*>(.*?)<\/text>/g)].map((match) => match[1]);
  // The lit row and column are written last, over the others.
  assert.deepEqual(texts.toSorted(), ["&lt;b&gt;", "a &amp; &quot;b&quot;", "source", "target", "x", "y", "z"]);
});

const written = (markup) =>
  [...markup.matchAll(/<text ([^>]*)>(.*?)<\/text>/g)].map(([, attributes, text]) => ({
    text,
    size: Number(/font-size="([^"]+)"/.exec(attributes)[1]),
    x: Number(/(?:^| )x="([^"]+)"/.exec(attributes)[1]),
    y: Number(/(?:^| )y="([^"]+)"/.exec(attributes)[1]),
  }));

test("meanings are escaped text under their labels, smaller, and beside them where rows are low", () => {
  const meanings = { rowMeanings: ["<i>", ""], columnMeanings: ["", "ja", ""] };
  const find = (texts, text) => texts.find((one) => one.text === text);
  const high = written(svgOf(meanings).markup);
  assert.deepEqual(
    high
      .map((one) => one.text)
      .filter((text) => ["&lt;i&gt;", "ja"].includes(text))
      .toSorted(),
    ["&lt;i&gt;", "ja"],
  );
  const [label, meaning] = [find(high, "&lt;b&gt;"), find(high, "&lt;i&gt;")];
  assert.ok(meaning.size < label.size && meaning.x === label.x && meaning.y - label.y >= meaning.size);
  const low = written(svgOf(meanings, 90).markup);
  const [beside, after] = [find(low, "&lt;b&gt;"), find(low, "&lt;i&gt;")];
  assert.ok(after.x < beside.x - 6 * 3); // right-aligned, left of a label of three letters
});

test("narrow columns are drawn without meanings, and as if there were none", () => {
  const words = { keys: 24, data: new Float32Array(48), columnLabels: Array(24).fill("word") };
  const columnMeanings = Array(24).fill("ja");
  assert.equal(svgOf({ ...words, columnMeanings }).markup, svgOf({ ...words, columnMeanings: null }).markup);
  const wide = { ...words, keys: 6, columnMeanings };
  assert.equal(written(svgOf(wide).markup).filter((one) => one.text === "ja").length, 6);
});

test("a head without meanings is drawn as one with none", () => {
  const none = { rowMeanings: null, columnMeanings: null };
  assert.equal(svgOf(none).markup, svgOf().markup);
});

test("a masked cell is hatched in the SVG, inside its own rectangle", () => {
  const { markup } = svgOf({ mask: Uint8Array.of(0, 0, 1, 0, 0, 0) });
  assert.equal(fills(markup)[2], "rgb(240,240,240)");
  const [, x, y, w, h] = [...markup.matchAll(/<rect x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)" fill/g)][2].map(
    Number,
  );
  const [, path] = /<path d="([^"]+)" fill="none" stroke="rgb\(220,220,220\)"/.exec(markup);
  const points = [...path.matchAll(/[ML](\S+?) ([\d.]+)/g)].map(([, left, top]) => [Number(left) - x, Number(top) - y]);
  assert.ok(points.length > 4 && points.every(([left, top]) => left >= 0 && left <= w && top >= 0 && top <= h));
});

test("text in the SVG keeps its position with any baseline and rotation", () => {
  const svg = new SvgContext(measure);
  Object.assign(svg, {
    font: "700 12px sans-serif",
    textBaseline: "middle",
    textAlign: "right",
    fillStyle: "rgba(1,2,3,0.5)",
  });
  svg.save();
  svg.translate(10, 20);
  svg.rotate(-Math.PI / 2);
  svg.fillText("abc", 0, 0, 9);
  svg.restore();
  const inside =
    '<text x="0" y="4" font-size="12" font-weight="700" text-anchor="end" textLength="9" ' +
    'lengthAdjust="spacingAndGlyphs" fill="rgb(1,2,3)" fill-opacity="0.5">abc</text>';
  assert.equal(svg.markup, `<g transform="translate(10 20)rotate(-90)">${inside}</g>`);
});

test("the pixels of a picture become one path per colour", () => {
  // red red blue / blue blue blue
  const [red, blue] = [
    [200, 0, 10, 255],
    [0, 20, 255, 255],
  ];
  const data = Uint8ClampedArray.from([red, red, blue, blue, blue, blue].flat());
  assert.deepEqual(
    [...runsByColour({ data, width: 3, height: 2 })],
    [
      ["rgb(200,0,10)", "M0 0h2v1h-2z"],
      ["rgb(0,20,255)", "M2 0h1v1h-1zM0 1h3v1h-3z"],
    ],
  );
});

test("a token that is lit is outlined in every tile, as the row and the column that it is", () => {
  const grid = new Grid("cross", { t: (name) => name });
  const tile = { y: 0, w: 60, h: 40, layer: 0 };
  const rects = [
    { ...tile, x: 0, head: 0 },
    { ...tile, x: 100, head: 1 },
  ];
  const model = { clampChoice: () => ({ layer: null, head: null }) };
  const place = { left: 0, top: 20, size: 10 };
  Object.assign(grid, { rects, model, place, theme, state: {}, tiles: { rows: 2, columns: 3 } });
  const outlines = (lit) => {
    const svg = new SvgContext(measure);
    grid.light(lit);
    grid.drawOver(svg);
    return [...svg.markup.matchAll(/<rect x="(\d+)" y="(\d+)" width="(\d+)" height="(\d+)"/g)].map((found) =>
      found.slice(1).map(Number),
    );
  };
  assert.deepEqual(outlines(null), []);
  const row = (x) => [x, 20, 60, 20];
  const column = (x) => [x + 40, 0, 20, 40];
  assert.deepEqual(outlines({ row: 1, column: null }), [row(0), row(100)]);
  assert.deepEqual(outlines({ row: 1, column: 2 }), [row(0), column(0), row(100), column(100)]);
});
