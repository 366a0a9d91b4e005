// Where one stands in the drawing as a link says it, with numbers from 1; pages/anatomy/drawing.py reads and writes the same.
import { ANATOMY_CHOICES, PLACES, START_ANATOMY } from "../state/generated.js";
import { fitState, stepsOf } from "./walk.js";

const NUMBERS = ["encoder", "decoder", "head", "row", "col", "t"];
const ALWAYS = ["place", "step", "head", "t"]; // what a page without a link does not begin with everywhere
const LINKED = Object.keys(START_ANATOMY);

// get(name): the text of a link, or undefined. head: of the view, for a link that names none.
export function stateOfLink(get, config, head = 0) {
  const asked = LINKED.filter((name) => get(name) !== undefined);
  const state = { ...START_ANATOMY, head };
  for (const name of asked) {
    const text = String(get(name));
    const choices = ANATOMY_CHOICES[name];
    if (NUMBERS.includes(name)) {
      if (/^\d{1,9}$/.test(text)) state[name] = Number(text) - 1;
    } else if (!choices || choices.includes(text)) state[name] = text;
  }
  if (!asked.length) state.place = PLACES[0]; // the sentence is about to enter
  const fitted = fitState(config, state);
  // A link to a head that names no step shows the head's result.
  if (!asked.includes("step")) fitted.step = fitted.zoom === "head" ? "softmax" : stepsOf(fitted.place, config)[0];
  return fitted;
}

// Name -> text of what a link says; null: nothing.
export function linkOfState(state) {
  const texts = LINKED.map((name) => {
    const usual = !ALWAYS.includes(name) && state[name] === START_ANATOMY[name];
    return [name, usual ? null : String(NUMBERS.includes(name) ? state[name] + 1 : state[name])];
  });
  return Object.fromEntries(texts);
}
