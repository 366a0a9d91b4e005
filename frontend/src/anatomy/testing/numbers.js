// Computes numbers of the zoom "number" from packs of the server, in Node, for tests/view/test_anatomy_number.py.
//
// Reads [{trace, places, weights, cells, asks}]: packs in base64, those of places by name, of weights by name and step;
// cells: steps whose cells are all compared; asks: states. Writes for each: every number of every stop, how many of the
// cells there are and which do not agree, and for each ask its number and the texts of its board.
import { readFileSync } from "node:fs";
import { makeTexts } from "../../core/texts.js";
import { readPack } from "../../core/pack.js";
import { AnatomyData } from "../data.js";
import { equationPieces } from "../number/equation.js";
import { cellOf, numberBoard, numberOf } from "../number/number.js";
import { NUMBER_TEXTS } from "../number/texts.js";
import { mainMatrix } from "../stage/scene.js";
import { isAttention, stopsOf, traceName } from "../walk.js";
import { numberStates } from "./made_up.js";

const START = { zoom: "number", encoder: 0, decoder: 0, matrix: "queries", head: 0, t: 0, row: 0, col: 0 };
const packOf = (text) => readPack(Uint8Array.from(Buffer.from(text, "base64")));

// Without its operands.
const plainOf = (number) => Object.fromEntries(Object.entries(number).filter(([, value]) => typeof value !== "object"));

function compare({ trace, places, weights, cells, asks }) {
  const dataOf = (state) => {
    const [data, at] = [new AnatomyData(), traceName(state)];
    data.take(packOf(trace));
    data.state = state;
    data.take(packOf(places[at === "output" ? `output.${state.t}` : at]));
    const pack = weights[`${at}/${state.step}`];
    if (pack) data.take(packOf(pack));
    return data;
  };
  const boardOf = (state, data) => {
    const area = { x: 7, y: 11, w: 990, h: 780 };
    const ctx = { state, data, area, unit: 15, big: false, narrow: false, theme: {}, t: makeTexts({}, NUMBER_TEXTS) };
    return Object.fromEntries(numberBoard(ctx).map(({ key, text }) => [key, text]));
  };
  const { config, labels } = packOf(trace).header;

  // Of every stop the default cell, both corners and one between.
  const stops = numberStates(config, (i) => ({ row: i % 3, t: (i + 1) % labels.target_in.length }));
  const numbers = stops.flatMap((stop) => {
    const data = dataOf(stop);
    const texts = boardOf({ ...stop, ...cellOf(stop, data) }, data);
    const chosen = [cellOf(stop, data), { row: 0, col: 0 }, { row: 999, col: 999 }, { row: 2, col: 7 }];
    return chosen.map((cell) => {
      const state = { ...stop, ...cell };
      const computation = numberOf({ state, data });
      const number = plainOf(computation);
      const panel = stop.place !== "output" || stop.step === "hidden" ? mainMatrix({ state, data }) : null;
      const shown = panel ? panel.at(computation.row, computation.col) : number.stored;
      const equation = equationPieces({ computation }).join(" ");
      return {
        place: traceName(stop),
        ...number,
        step: stop.step,
        shown,
        equation,
        texts: Object.values(texts).join("\n"),
      };
    });
  });

  const every = { count: 0, differ: [] };
  for (const stop of stopsOf(config, "number").filter(({ place, step }) => isAttention(place) && cells.includes(step)))
    for (let head = 0; head < config.heads; head++) {
      const state = { ...START, ...stop, head };
      const data = dataOf(state);
      const { rows, cols } = numberOf({ state, data }).matrix;
      for (let cell = 0; cell < rows * cols; cell++) {
        const { agrees, value, stored } = numberOf({
          state: { ...state, row: Math.floor(cell / cols), col: cell % cols },
          data,
        });
        every.count++;
        if (!agrees) every.differ.push([traceName(state), state.step, head, cell, value, stored]);
      }
    }

  const answers = asks.map((asked) => {
    const state = { ...START, ...asked };
    const data = dataOf(state);
    const computation = numberOf({ state, data });
    const back = computation.from?.(computation.col);
    return { ...plainOf(computation), back, cell: cellOf(state, data), texts: boardOf(state, data) };
  });
  return { numbers, every, answers };
}

// JSON has no infinite numbers.
const plain = (_key, value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(compare), plain));
