// For tests/browser/test_anatomy_number.py: `data` (anatomy_data.js) of the packs that a server sends; every stop of the
// way.

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
window.boardOf = (state, [w, h, unit, narrow] = [990, 780, 15, false], missing = []) => {
  const data = window.dataOf(state, missing);
  const area = { x: 7, y: 11, w, h };
  return numberBoard({ state, data, area, unit, big: unit > 15, t: window.said, theme: {}, narrow });
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
    for (const { key, text } of window.boardOf({ ...stop, ...cellOf(stop, data) }))
      if (/undefined|NaN|null/.test(text ?? "")) throw new Error(`${key} of ${traceName(stop)} ${stop.step} says ${text}`);
    return [cellOf(stop, data), { row: 0, col: 0 }, { row: 999, col: 999 }, { row: 2, col: 7 }].map((cell) => {
      const state = { ...stop, ...cell };
      const computation = numberOf({ state, data });
      const { value, stored, made, checked, agrees, tolerance, row, col } = computation;
      const panel = mainMatrix({ state, data }); // what is said of it beside the board
      const where = `${traceName(stop)} ${stop.step} of ${stop.matrix} [${row}, ${col}]`;
      if (stop.place !== "output" || stop.step === "hidden")
        if (!Object.is(panel.at(row, col), stored)) throw new Error(`the panel is about another number: ${where}`);
      const equation = equationPieces({ computation }).join(" ");
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
