// For tests/browser/test_anatomy_number.py: `data` (anatomy_data.js) of the packs that a server sends; every stop of the
// way; everything that may be wrong with a scene.

// given: {name, trace, places, weights}: packs in base64, those of places by their name, of weights by name and step.
window.hold = (given) => {
  const read = (text) => readPack(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
  const all = (packs) => Object.fromEntries(Object.entries(packs).map(([name, text]) => [name, read(text)]));
  window.given = { ...given, trace: read(given.trace), places: all(given.places), weights: all(given.weights) };
};
// A number in a pack of a place becomes another.
window.breakOne = (place, name, index, by) => {
  const { places } = window.given;
  const { header, array } = places[place];
  const broken = (ref) => {
    const numbers = array(ref);
    if (ref === header.matrices[name]) numbers[index] += by;
    return numbers;
  };
  places[place] = { header, array: broken };
};
const without = ({ header, array }, missing) => {
  const left = Object.entries(header.matrices).filter(([name]) => !missing.includes(`place.${name}`));
  return { header: { ...header, matrices: Object.fromEntries(left) }, array };
};
// missing: "W_q", "place.queries": what has not arrived.
window.dataOf = (state, missing = []) => {
  const { trace, places, weights } = window.given;
  const data = new AnatomyData();
  data.take(trace);
  data.state = state;
  const at = traceName(state);
  data.take(without(places[at === "output" ? `output.${state.t}` : at], missing));
  const pack = weights[`${at}/${state.step}`];
  if (pack && !Object.keys(pack.header.matrices).some((name) => missing.includes(name))) data.take(pack);
  return data;
};
window.said = (key, values) => {
  if (!(key in NUMBER_TEXTS)) throw new Error("no text " + key);
  return NUMBER_TEXTS[key].replace(/\{(\w+)\}/g, (whole, name) =>
    values && name in values ? String(values[name]) : whole,
  );
};
window.contextOf = (data, state, [w, h, unit, narrow]) => {
  const ctx = { state, data, area: { x: 7, y: 11, w, h }, unit, big: unit > 15, t: window.said, theme: {}, narrow };
  if (narrow) ctx.area.h = Math.max(h, numberBoardHeight(ctx));
  return ctx;
};
window.boardOf = (state, area = [990, 780, 15, false]) =>
  numberBoard(window.contextOf(window.dataOf(state), state, area));

const pen = document.createElement("canvas").getContext("2d");
// Where the ink of a text is; what is too wide for its room is shortened to it.
const inked = (item, unit) => {
  pen.font = `${item.weight || 400} ${item.size * unit * (item.kind === "math" ? 0.94 : 1)}px sans-serif`;
  const w = Math.min(item.w || Infinity, pen.measureText(item.text.replace(/[_^{}]/g, "")).width);
  const x = item.align === "center" ? item.x + (item.w - w) / 2 : item.align === "right" ? item.x + item.w - w : item.x;
  const h = item.size * unit;
  return { key: item.key, x, y: item.y + (item.h - h) / 2, w, h };
};
const meet = (a, b) => Math.min(a.x + a.w - b.x, b.x + b.w - a.x, a.y + a.h - b.y, b.y + b.h - a.y) > 0.75;
// Everything that is wrong with a scene, in words.
window.faults = (ctx) => {
  const [items, again] = [numberBoard(ctx), numberBoard(ctx)];
  const found = [];
  if (JSON.stringify(items) !== JSON.stringify(again)) found.push("drawn again it is another scene");
  const keys = items.map((item) => item.key);
  for (const key of keys) if (keys.indexOf(key) !== keys.lastIndexOf(key)) found.push("twice: " + key);
  const { area, unit } = ctx;
  const outside = ({ x, y, w, h }) =>
    x < area.x - 0.1 || y < area.y - 0.1 || x + w > area.x + area.w + 0.1 || y + h > area.y + area.h + 0.1;
  for (const item of items) {
    for (const name of ["x", "y", "w", "h"])
      if (!Number.isFinite(item[name])) found.push(`${item.key}: ${name} is ${item[name]}`);
    if (outside(item)) found.push(`${item.key} leaves the area: ${[item.x, item.y, item.w, item.h].map(Math.round)}`);
    if (
      (item.kind === "text" || item.kind === "math") &&
      /undefined|NaN|null|\{\w*\}(?<!_\{\w*\})(?<!\^\{\w*\})/.test(item.text) &&
      !item.text.includes("{token}")
    )
      found.push(`${item.key} says ${item.text}`);
    if (item.size !== undefined && item.kind === "text" && item.size < 0.75)
      found.push(`${item.key} is small: ${item.size}`);
    if (item.go && !item.label) found.push(`${item.key} has no spoken name`);
  }
  const texts = items.filter((item) => item.kind === "text" || item.kind === "math").map((item) => inked(item, unit));
  const blocks = items.filter((item) => item.kind === "matrix" || item.kind === "tokens");
  texts.forEach((a, i) => {
    for (const b of texts.slice(i + 1)) if (meet(a, b)) found.push(`texts meet: ${a.key} and ${b.key}`);
    for (const b of blocks) if (meet(a, b)) found.push(`${a.key} lies on ${b.key}`);
  });
  blocks.forEach((a, i) => {
    for (const b of blocks.slice(i + 1)) if (meet(a, b)) found.push(`${a.key} and ${b.key} meet`);
  });
  return found;
};

// Every stop of the way at the zoom "number": both ends of the heads, the three matrices of a projection, both of
// cross.
window.stopsOfAll = () => {
  const { config, labels } = window.given.trace.header;
  const several = {
    project: ["queries", "keys", "values", "dot"],
    split: ["queries", "keys", "values", "memory"],
    x: ["queries", "memory"],
  };
  return stopsOf(config, "number").flatMap((stop, i) =>
    (several[stop.step] || ["queries"]).map((matrix) => ({
      ...{ zoom: "number", encoder: 0, decoder: 0, matrix, head: i % config.heads, row: i % 3, col: -1 },
      ...{ t: (i + 1) % labels.target_in.length },
      ...stop,
    })),
  );
};

// Every number of every stop: the default cell, both corners and one between.
window.numbersOfAll = () =>
  window.stopsOfAll().flatMap((stop) => {
    const data = window.dataOf(stop);
    return [cellOf(stop, data), { row: 0, col: 0 }, { row: 999, col: 999 }, { row: 2, col: 7 }].map((cell) => {
      const state = { ...stop, ...cell };
      const found = numberOf({ state, data });
      const { value, stored, made, checked, agrees, tolerance, row, col } = found;
      const panel = mainMatrix({ state, data }); // what is said of it beside the board
      const where = `${traceName(stop)} ${stop.step} of ${stop.matrix} [${row}, ${col}]`;
      if (stop.place !== "output" || stop.step === "hidden")
        if (!Object.is(panel.at(row, col), stored)) throw new Error(`the panel is about another number: ${where}`);
      const equation = equationPieces({ found }).join(" ");
      if (/\de[-−]\d|\{[^}]*\{/.test(equation)) throw new Error(`${where}: ${equation}`);
      return [traceName(stop), stop.step, made, value, stored, checked, agrees, tolerance, row, col];
    });
  });

// Every cell of some steps of attention in all heads of all layers: how many, and those that do not agree.
window.cellsOf = (steps) => {
  const { config } = window.given.trace.header;
  const found = { count: 0, differ: [] };
  for (const stop of stopsOf(config, "number").filter((one) => isAttention(one.place) && steps.includes(one.step)))
    for (let head = 0; head < config.heads; head++) {
      const state = { zoom: "number", encoder: 0, decoder: 0, matrix: "queries", t: 0, ...stop, head };
      const data = window.dataOf(state);
      const { matrix } = numberOf({ state: { ...state, row: 0, col: 0 }, data });
      for (let row = 0; row < matrix.rows; row++)
        for (let col = 0; col < matrix.cols; col++) {
          const { agrees, value, stored } = numberOf({ state: { ...state, row, col }, data });
          found.count++;
          if (!agrees) found.differ.push([traceName(state), state.step, head, row, col, value, stored]);
        }
    }
  return found;
};

// What is wrong with every stop in every area.
window.faultsOfAll = (areas, wanted = () => true) =>
  window
    .stopsOfAll()
    .filter(wanted)
    .flatMap((stop) => {
      const data = window.dataOf(stop);
      const state = { ...stop, ...cellOf(stop, data) };
      return areas.flatMap((area) =>
        window
          .faults(window.contextOf(data, state, area))
          .map((fault) => `${state.place} ${state.step} ${state.matrix} in ${area}: ${fault}`),
      );
    });

// Sequences and sizes far from those of the tiny model, with numbers that are made when they are asked for.
window.madeUp = (n, m, config) => {
  const { d_model, d_ff, d_k, d_head, heads } = config;
  const words = Array.from({ length: 10 }, (_, i) => "Gesellschaft" + i);
  const labels = (side) =>
    Array.from({ length: side === "source" ? m : n }, (_, i) =>
      i % 3 ? "Wort" + i : "Donaudampfschifffahrtsgesellschaft",
    );
  const shape = (name, state) => {
    const last = {
      queries: d_k,
      keys: d_k,
      values: d_head,
      head_outputs: d_head,
      pre: d_ff,
      activation: d_ff,
      logits: 37000,
    }[name];
    const rows = ["keys", "values", "memory"].includes(name) ? m : name === "rows" && state.place === "output" ? 10 : n;
    if (["dot", "scaled", "scores", "weights"].includes(name)) return [n, m, heads];
    if (name.startsWith("W_")) return [name === "W_2" ? d_ff : d_model, name === "W_1" ? d_ff : d_model, 1];
    if (/^b_|gamma|beta|logits/.test(name)) return [1, name === "b_1" ? d_ff : last || d_model, 1];
    return [rows, last || d_model, last === d_k ? heads : 1];
  };
  const outputs = {
    ids: Array(n).fill(words.map((_, i) => i)),
    labels: Array(n).fill(words),
    chosen: Array(n).fill(3),
    chosen_rank: Array(n).fill(12345),
    probability: new Float32Array(n * 10).fill(0.07),
    logit: new Float32Array(n * 10).fill(-12.3456),
    chosen_probability: new Float32Array(n).fill(0.0001),
  };
  const about = {
    scale: Array(heads).fill(d_k ** -0.5),
    rule: Array(heads).fill(0),
    zero: Array(heads).fill(false),
    position_ids: Array.from({ length: n }, (_, i) => i),
    factor: d_model ** 0.5,
  };
  return (state) => ({
    id: "made up",
    ...{ config, state, steps: n, header: {}, about, labels, outputs },
    ids: (side) => labels(side).map((_, i) => 36000 + (i % 900)),
    matrix: (name, { head, transposed } = {}) => {
      const short = name.replace("place.", "");
      let [rows, cols, parts] = shape(short, state);
      if (head === undefined) cols *= parts;
      if (transposed) [rows, cols] = [cols, rows];
      const at = (i, j) => (short === "weights" ? 1 / m : 40 * Math.sin(i * 12.9898 + j * 78.233 + short.length));
      const data = short === "logits" ? Float32Array.from({ length: cols }, (_, j) => at(0, j)) : [];
      return { id: name, name: short, rows, cols, at, data, top: 40, masked: false, exact: true };
    },
  });
};

window.faultsOfMadeUp = ([n, m, config, areas]) => {
  const made = window.madeUp(n, m, config);
  const start = { zoom: "number", encoder: 0, decoder: 0, matrix: "queries", head: 11, t: n - 1, row: n - 1, col: -1 };
  return stopsOf(config, "number")
    .filter((stop) => ["decoder.cross", "decoder.ff", "target", "output"].includes(stop.place))
    .flatMap((stop) => {
      const data = made({ ...start, ...stop });
      const state = { ...data.state, ...cellOf(data.state, data) };
      return areas.flatMap((area) =>
        window
          .faults(window.contextOf(data, state, area))
          .map((fault) => `${state.place} ${state.step} in ${area}: ${fault}`),
      );
    });
};
