// A model's numbers without a model, and what is wrong with a scene: for test_anatomy_boards_ends.py;
// and what is wrong with a board of attention, for test_anatomy_boards_attention.py.

function fakeMatrix(name, rows, cols, scale = 1, make = (value) => value) {
  const data = new Float32Array(rows * cols);
  let state = 7 + rows * 31 + cols * 17 + name.length;
  for (let i = 0; i < data.length; i++) {
    state = (state * 1664525 + 1013904223) % 4294967296;
    data[i] = make(4 * scale * (state / 4294967296 - 0.5), i);
  }
  const range = data.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity],
  );
  const at = (row, col) => data[row * cols + col];
  const more = {
    at,
    range,
    top: 2 * scale,
    exact: true,
    masked: false,
    shape: [1, rows, cols],
    axes: ["batch", "row", "column"],
  };
  return { id: `${name}/${rows}/${cols}`, name, rows, cols, data, ...more };
}

class FakeData {
  constructor(given) {
    const standard = {
      n: 9,
      d: 64,
      ff: 256,
      vocab: 300,
      norm: "post",
      activation: "relu",
      positions: "sinusoidal",
      own: true,
    };
    this.o = {
      ...standard,
      rank: 0,
      plain: false,
      missing: false,
      longest: 6,
      skipped: false,
      shared: ["one", "other"],
      ...given,
    };
    const { n, d, ff, vocab, rank, skipped, shared } = this.o;
    const { norm, activation, positions, own } = this.o;
    const { own_table: apart, unscaled } = this.o; // as a Marian model may have it
    const ends = { embedding_scale: !unscaled, tied_output: !apart, output_bias: Boolean(apart), target_vocab_size: null };
    const sizes = { d_model: d, d_ff: ff, vocab_size: vocab, output_size: vocab };
    this.config = { ...sizes, ...ends, norm, activation, positions };
    const count = (length, make) => Array.from({ length }, (_, i) => make(i));
    const word = (i) => "Donaudampfschiff".slice(0, 1 + ((i * 7) % this.o.longest));
    const target = count(n, (i) => (i ? word(i + 3) : "<s>"));
    this.said = { source: count(n, word), target_in: target, target_out: [...target.slice(1), "</s>"] };
    const ids = count(n, (i) => (i * 37 + 3) % vocab);
    this.numbers = { source: ids, target_in: ids, target_out: [...ids.slice(1), 3] };
    const named = Math.min(10, vocab);
    const lists = count(n, (t) => count(named, (i) => (t * 11 + i * 13) % vocab));
    const each = (make) => Float32Array.from({ length: n * named }, (_, i) => make(i % named));
    this.outputs = {
      ids: lists,
      labels: lists.map((list, t) => list.map((_, i) => (i === rank ? this.said.target_out[t] : word(i + t)))),
      logit: each((i) => 9 - 1.3 * i),
      probability: each((i) => 0.5 ** (i + 1)),
      plain_probability: this.o.plain ? each((i) => 0.4 ** (i + 1)) : null,
      chosen: lists.map((list) => (rank < named ? list[rank] : vocab + 5)),
      chosen_rank: lists.map(() => rank),
      chosen_probability: new Float32Array(n).fill(0.0001),
      chosen_logit: new Float32Array(n).fill(-1),
    };
    const box = { shared_with: shared };
    this.header = { own, boxes: { "source.embedding": box, "target.embedding": box, output: box } };
    this.about = this.o.missing ? null : { position_ids: count(n, (i) => i), factor: Math.sqrt(d), skipped };
    this.made = new Map();
  }

  labels(side) {
    return this.said[side];
  }

  ids(side) {
    return this.numbers[side];
  }

  plain() {
    return null;
  }

  matrix(name, options = {}) {
    const key = name + Boolean(options.transposed) + this.state.place + this.state.t;
    if (!this.made.has(key)) this.made.set(key, this.make(name, options));
    return this.made.get(key);
  }

  make(name, { transposed }) {
    const { n, d, ff, vocab, norm, missing } = this.o;
    const one = name.replace("place.", "");
    if (missing || (one === "normed" && norm !== "pre") || one.includes(".")) return null;
    if (one === "W_1") return fakeMatrix(one, d, ff);
    if (one === "W_2") return fakeMatrix(one, ff, d);
    const output = this.state.place === "output";
    const column = transposed ? [n, 1] : [1, n];
    const shapes = {
      pre: [n, ff],
      activation: [n, ff],
      mean: column,
      deviation: column,
      b_1: [1, ff],
      logits: [1, vocab],
    };
    for (const row of ["gamma", "beta", "b_2"]) shapes[row] = [1, d];
    if (output && one === "rows") shapes.rows = [Math.min(10, vocab), d];
    const [rows, cols] = shapes[one] || [n, d];
    // Of token i the first 3 i + 1 neurons stay.
    if (one === "activation")
      return fakeMatrix(one, rows, cols, 1, (_, at) => (at % ff < 3 * Math.floor(at / ff) + 1 ? 1 : 0));
    return fakeMatrix(one, rows, cols, one === "rows" && !output ? 0.1 : 1);
  }
}

const fakeTexts = (key, values) => {
  if (!(key in ENDS_TEXTS)) throw new Error("no text " + key);
  (window.said ??= new Set()).add(key);
  return ENDS_TEXTS[key].replace(/\{(\w+)\}/g, (_, name) => {
    if (values[name] === undefined) throw new Error(`${key} has no ${name}`);
    return values[name];
  });
};

function sceneOf(data, state, { w, h, unit = 15, narrow = false }) {
  const [board, height] = boardOf(state.place);
  const whole = { zoom: "sub", encoder: 0, decoder: 0, head: 0, t: 0, row: 0, col: -1, ...state };
  data.state = whole;
  const ctx = {
    data,
    state: whole,
    unit,
    narrow,
    big: unit > 15,
    t: fakeTexts,
    theme: {},
    area: { x: 0, y: 0, w, h: h || 0 },
  };
  if (!h) ctx.area.h = height(ctx);
  return { items: board(ctx), area: ctx.area, unit };
}

const boardOf = (place) =>
  place === "output"
    ? [outputBoard, outputBoardHeight]
    : place.endsWith(".ff")
      ? [feedForwardBoard, feedForwardBoardHeight]
      : [embeddingBoard, embeddingBoardHeight];

const measuring = document.createElement("canvas").getContext("2d");

// Where the letters of a text are, as the stage sets it: into its width, cut where it is longer.
function written({ text, x, y, w, h, align, size, weight, kind }, unit) {
  measuring.font = `${weight || 400} ${unit * size}px sans-serif`;
  const wide = Math.min(w, measuring.measureText(kind === "math" ? text.replace(/[_^{}]/g, "") : text).width);
  const left = align === "right" ? x + w - wide : align === "center" ? x + (w - wide) / 2 : x;
  const high = unit * size * 0.95;
  return { x: left, y: y + h / 2 - high / 2, w: wide, h: high };
}

function wrongWith({ items, area, unit }) {
  const found = [];
  const [keys, texts, pictures] = [new Set(), [], []];
  for (const item of items) {
    const { key, kind } = item;
    if (keys.has(key)) found.push(`twice ${key}`);
    keys.add(key);
    if (![item.x, item.y, item.w, item.h].every(Number.isFinite) || item.w < 0 || item.h < 0)
      found.push(`no size ${key}`);
    if (!["box", "arrow"].includes(kind) && (item.w < 1 || item.h < 1)) found.push(`not to be seen ${key}`);
    const letters = kind === "text" || kind === "math";
    if (letters && item.size < 0.85) found.push(`too small ${key}`);
    const rect = letters ? written(item, unit) : item;
    const inside =
      rect.x >= -0.5 && rect.y >= -0.5 && rect.x + rect.w <= area.w + 0.5 && rect.y + rect.h <= area.h + 0.5;
    if (!inside) found.push(`outside ${key}`);
    if (letters || kind === "tokens") texts.push([key, rect]);
    // The rows that a table shows may lie over each other: neighbours in a vocabulary of thousands do.
    else if ((kind === "matrix" || key.endsWith(":wait")) && !/^(row|out:row):/.test(key)) pictures.push([key, rect]);
  }
  const meet = (a, b, by) =>
    a.x + a.w > b.x + by && b.x + b.w > a.x + by && a.y + a.h > b.y + by && b.y + b.h > a.y + by;
  const arrives = (a, b) => a === "tokens:target" && b.startsWith("word:"); // in a place left empty for it
  const pairs = (some, others, by, except = () => false) =>
    some.forEach(([a, one], i) =>
      others.slice(some === others ? i + 1 : 0).forEach(([b, other]) => {
        if (meet(one, other, by) && !except(a, b)) found.push(`${a} meets ${b}`);
      }),
    );
  pairs(texts, texts, 1, arrives);
  pairs(texts, pictures, 1.5);
  pairs(pictures, pictures, 1);
  return found;
}

// Items without their matrices, for comparisons outside the page; the matrices by what they are.
const plainItems = (items) => items.map((item) => ({ ...item, matrix: item.matrix && item.matrix.id }));

// -- attention --------------------------------------------------------------------------------------------------------

const ruler = document.createElement("canvas").getContext("2d");

// Where a text really is.
function writtenAt(item, unit) {
  const size = unit * (item.size || (item.kind === "math" ? 1.05 : 1));
  const measure = (text, share = 1) => {
    ruler.font = `${item.weight || 400} ${size * share}px sans-serif`;
    return ruler.measureText(text).width;
  };
  let wide = 0;
  if (item.kind === "text") wide = measure(item.text);
  else {
    let [stack, last] = [0, ""];
    for (const [, sign = "", small, plain] of item.text.matchAll(/([_^])(\{[^}]*\}|.)|([^_^]+)/gu)) {
      const start = sign && last && sign !== last ? stack : wide;
      [stack, last] = [start, sign];
      const more = measure(plain || small.replace(/[{}]/g, ""), sign ? 0.72 : 1) + (sign ? size * 0.06 : 0);
      wide = Math.max(wide, start + more);
    }
  }
  const shift = { left: 0, center: 0.5, right: 1 }[item.align || "left"];
  return { x: item.x + (item.w - wide) * shift, w: wide, y: item.y + item.h / 2 - size * 0.55, h: size * 1.1, size };
}

const shared = (a, b, at, size) => Math.min(a[at] + a[size], b[at] + b[size]) - Math.max(a[at], b[at]);
const meet = (a, b) => shared(a, b, "x", "w") > 1 && shared(a, b, "y", "h") > 1.5;

// Everything that is wrong with a board.
function wrongs(items, { area, unit }) {
  const found = [];
  const keys = new Set();
  const texts = [];
  for (const item of items) {
    if (keys.has(item.key)) found.push(`twice: ${item.key}`);
    keys.add(item.key);
    const { x, y, w, h } = item;
    if (![x, y, w, h].every(Number.isFinite) || w < 0 || h < 0) found.push(`no rectangle: ${item.key}`);
    if (x < 0 || y < 0 || x + w > area.w + 0.01 || y + h > area.h + 0.01)
      found.push(`outside: ${item.key} ${[x, y, x + w, y + h].map(Math.round)}`);
    if (item.kind === "matrix" && (item.w < 1 || item.h < 1)) found.push(`not to be seen: ${item.key}`);
    if (item.kind === "text" || item.kind === "math") {
      const at = writtenAt(item, unit);
      if (at.w > item.w + 1) found.push(`longer than its room: ${item.key} ${item.text}`);
      if (at.size < 0.85 * unit) found.push(`small: ${item.key}`);
      texts.push({ key: item.key, ...at });
    } else if (item.kind === "tokens") {
      const space = w / item.labels.length;
      const lean = item.orient === "columns" && space < 4 * unit;
      texts.push({ key: item.key, x: item.x + 2, y: item.y + 2, w: item.w - 2, h: item.h - 4 });
      if (!lean) continue;
      ruler.font = `${unit}px sans-serif`; // labels lean to the right by 60 degrees
      const long = Math.min((h - unit * 0.5) / Math.sin(Math.PI / 3), ruler.measureText(item.labels.at(-1)).width);
      if (x + w - space / 2 + long / 2 + 0.55 * unit > area.w + 1) found.push(`leans out: ${item.key}`);
    }
  }
  const under = (item) => item.group === "under"; // the heads' parts of a matrix, hidden by the whole
  const solid = items.filter((item) => (item.kind === "matrix" && !under(item)) || item.key.endsWith(":wait"));
  texts.forEach((one, i) => {
    for (const other of texts.slice(0, i)) if (meet(one, other)) found.push(`texts meet: ${one.key}, ${other.key}`);
    for (const other of solid) if (meet(one, other)) found.push(`a text on numbers: ${one.key}, ${other.key}`);
  });
  solid.forEach((one, i) => {
    for (const other of solid.slice(0, i)) if (meet(one, other)) found.push(`matrices meet: ${one.key}, ${other.key}`);
  });
  return found;
}
