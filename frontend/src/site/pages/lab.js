// The Lab on the site: the parts that need no more than one sentence. Options of its link are those of pages/lab/page.py.
import { el } from "../../core/dom.js";
import { listText } from "../../core/lists.js";
import { markup } from "../../core/markup.js";
import { Effect } from "../../effect/component.js";
import { liveEffect } from "../../effect/live.js";
import { needsServer } from "../../engine/switches.js";
import { refusedSwitches } from "../../lab/check.js";
import { comparisonOf } from "../../lab/comparison.js";
import { Lab } from "../../lab/lab.js";
import { liveLab } from "../../lab/live.js";
import { phrases, sharedTexts } from "../../lab/words.js";
import { MEASURES, Measures } from "../../measures/component.js";
import { liveMeasures } from "../../measures/live.js";
import { Softmax } from "../../softmax/component.js";
import { DRAWS, SWITCH_FORMS } from "../../state/generated.js";
import { SHARED_TEXTS } from "../../state/texts.js";
import { Why } from "../../why/component.js";
import { liveWhy } from "../../why/live.js";
import { aboutFold, equation } from "./about.js";
import { PAGE_TEXTS } from "./texts.js";

const PANES = ["after", "before", "difference"];
const QUANTITIES = ["product", "query", "key"];
const SCORES = [2, 1, 0, -1, 0.5]; // of the softmax by hand
const SCORE = /^-?\d{1,2}(\.\d{1,4})?$/;
const MOST_SCORE = 10;
const TEMPERATURES = [0.1, 10];

export const page = {
  name: "lab",
  alone: ["softmax"], // reads no sentence
  parts: () => Object.keys(PARTS).map((name) => [name, SHARED_TEXTS[`part_${name}`]]),
  // Its other parts show what the switches do.
  waiting: (part, switches) =>
    SWITCHED.includes(part) || !Object.keys(switches).some((name) => name in SWITCH_FORMS) ? null : "waiting",

  mount(root, frame) {
    const handle = PARTS[frame.part](root, frame);
    const [of, on] = ["about_lab", "about_lab_switches"].map((name) => markup(frame.t(name)));
    root.append(aboutFold(frame, of, ...EQUATIONS.map(equation), on)); // as `about` of pages/lab/page.py
    return handle;
  },
};

const EQUATIONS = [
  "Attention(*Q*, *K*, *V*) = softmax(*QK*^T / √*d*_k + *M*) *V*",
  "MultiHead = Concat(head_1, …, head_{*h*}) *W*^O",
];

const PARTS = { compare: mountSwitches, measures: mountSwitches, scaling: mountWhy, softmax: mountSoftmax };
const SWITCHED = ["compare", "measures"];

// -- options of the link -----------------------------------------------------------------------------------------------

// What the link asks for, if it is allowed; the first otherwise.
const choice = ({ options }, name, allowed) => allowed.find((one) => String(one) === options.get(name)) ?? allowed[0];

// The first choice is not written.
const choose = ({ options }, name, value, first) => options.set(name, value === first ? null : value);

// The chosen head as the pictures know it; null for a mean of heads.
function chosenHead({ kind, layer, head }) {
  return kind === "all" || layer === "all" || head === "all" ? null : { kind, layer, head };
}

// A child of its own for every component, with its style.
function place(root, frame, style) {
  const box = el("div");
  root.append(box);
  return frame.shadow(box, style);
}

// -- before and after, every head in numbers ---------------------------------------------------------------------------

function mountSwitches(root, frame) {
  const { live, about, texts, options } = frame;
  const t = sharedTexts(texts);
  const note = (kind) => el("p", { class: `hs-message ${kind}`, role: "status", hidden: true });
  const notes = { unapplied: note("hs-warning"), others: note("hs-note") };
  root.append(...Object.values(notes));
  const lab = new Lab(place(root, frame, "lab"), (state) => report(state));
  const follow = liveLab(lab, live);
  const below = { compare: mountEffect, measures: mountMeasures }[frame.part](root, frame);
  let revision = 0;

  const split = (wanted) => {
    const of = (test) => Object.fromEntries(Object.entries(live.switches).filter(([name]) => test(name) === wanted));
    return of((name) => name in SWITCH_FORMS);
  };

  // What is off while the link has no switches, so that the page opens on a result; a person who puts it back sees the model
  // as trained.
  const { positions, scaling } = about.config;
  const opening = positions === "relative" ? { bias: "off" } : scaling ? { scaling: "off" } : {};
  const asked = () => {
    const chosen = split(true);
    const none = !Object.keys(chosen).length;
    return none && options.get("try") !== "nothing" ? opening : chosen;
  };

  // Those that can be computed here.
  const usable = () => {
    const refused = [...refusedSwitches(asked(), about.config), ...needsServer(asked(), about).map(([name]) => name)];
    return Object.fromEntries(Object.entries(asked()).filter(([name]) => !refused.includes(name)));
  };

  const show = () => {
    const { view, part } = frame;
    revision++;
    follow.order({
      ...{ state: { ...view, revision }, texts, checkpoint: about.name, switches: usable() },
      row: /^[1-9]\d*$/.test(options.get("row")) ? Number(options.get("row")) : 0,
      ...{ pane: choice(frame, "pane", PANES), opened: options.get("cards") === "open", pictures: part === "compare" },
      ...{ tries: true, cards: true, offered: about.mean ? ["own", "mean"] : ["own"] },
    });
    below.show();
    tell();
  };

  // What the person did.
  const report = ({ kind, layer, head, row, switches, cards, pane }) => {
    frame.setView({ kind, layer, head });
    choose(frame, "row", row, 0);
    choose(frame, "cards", cards, "folded");
    choose(frame, "pane", pane, PANES[0]);
    if (JSON.stringify(switches) === JSON.stringify(usable())) return;
    const back = !Object.keys(switches).length && Object.keys(opening).length;
    choose(frame, "try", back ? "nothing" : "scaling", "scaling");
    frame.setSwitches({ ...split(false), ...switches });
  };

  // Says which switches of the link have no effect: in words, or as the link writes it what this model cannot have.
  const tell = () => {
    const { switches } = comparison.passes ?? { switches: usable() };
    const unapplied = Object.entries(asked()).filter(([name]) => !(name in switches));
    for (const [name, entries] of Object.entries({ unapplied, others: Object.entries(split(false)) })) {
      const refused = refusedSwitches(Object.fromEntries(entries), about.config);
      const known = entries.filter(([name]) => !refused.includes(name));
      const raw = entries.filter(([name]) => refused.includes(name)).map((pair) => pair.join("="));
      const said = [...phrases(t, Object.fromEntries(known), about.config), ...raw];
      notes[name].hidden = !said.length;
      notes[name].textContent = frame.t(name, { switches: listText(t, said) });
    }
  };

  const comparison = comparisonOf(live);
  const stop = comparison.onChange(tell);
  show();
  return {
    show,
    destroy() {
      stop();
      follow.stop();
      lab.destroy();
      below.destroy();
    },
  };
}

// What the model writes without the switches and with them.
function mountEffect(root, frame) {
  const view = new Effect(place(root, frame, "lab"), PAGE_TEXTS);
  const driver = (view.driver = liveEffect(view, frame.live));
  return { show: () => driver.show({ texts: frame.texts, big: frame.view.big }), destroy: () => view.destroy() };
}

function mountMeasures(root, frame) {
  const view = new Measures(place(root, frame, "measures"));
  const driver = (view.driver = liveMeasures(view, frame.live));
  view.component = {
    setStateValue: (_, measure) => choose(frame, "measure", measure, MEASURES[0]),
    setTriggerValue(_, [kind, layer, head]) {
      frame.setView({ kind, layer, head, cell: null });
      frame.openPart("compare");
    },
  };
  return {
    show() {
      const { texts, view: chosen } = frame;
      const measure = choice(frame, "measure", MEASURES);
      driver.show({ texts, measure, chosen: chosenHead(chosen), big: chosen.big });
    },
    destroy: () => view.destroy(),
  };
}

// -- why √d_k ----------------------------------------------------------------------------------------------------------

function mountWhy(root, frame) {
  const { live, about, texts } = frame;
  const { config } = about;
  const view = new Why(place(root, frame, "why"));
  const driver = (view.driver = liveWhy(view, live));
  const saved = { model: about.name };

  const show = async (seed) => {
    const experiment = await (await frame.open(`experiment/${seed}.json`)).json();
    const { depths, draws } = experiment;
    const own = config.d_k ?? config.d_model / config.heads;
    const far = (depth) => Math.abs(Math.log(depth / own));
    const start = depths.reduce((best, depth) => (far(depth) < far(best) ? depth : best));
    const depth = choice(frame, "d_k", [start, ...depths]);
    const shown = { depth, quantity: choice(frame, "quantity", QUANTITIES) };
    const kind = frame.view.kind === "all" ? "cross" : frame.view.kind;
    const chosen = chosenHead({ ...frame.view, kind });
    view.component = { setStateValue: (_, state) => report(state, start, experiment.seed) };
    driver.show({ ...experiment, draws, saved, shown, chosen, big: frame.view.big, texts });
  };

  const report = ({ depth, quantity, chosen, draw }, start, seed) => {
    choose(frame, "d_k", depth, start);
    choose(frame, "quantity", quantity, QUANTITIES[0]);
    choose(frame, "draw", draw, 0);
    frame.setView(chosen);
    if (draw !== seed) show(draw);
  };

  show(choice(frame, "draw", [...Array(DRAWS).keys()]));
  return { destroy: () => view.destroy() };
}

// -- softmax by hand ---------------------------------------------------------------------------------------------------

function mountSoftmax(root, frame) {
  const { options, texts } = frame;
  root.style.setProperty("--hs-stale", "1"); // it has no sentence
  const view = new Softmax(place(root, frame, "softmax"));
  const written = (scores) => scores.map((score) => Number(score.toPrecision(6))).join();
  view.component = {
    setStateValue(_, { scores, temperature }) {
      choose(frame, "scores", written(scores), written(SCORES));
      choose(frame, "temperature", Number(temperature.toFixed(4)), 1);
    },
  };
  const asked = (options.get("scores") ?? written(SCORES)).split(",");
  const sound = asked.length === SCORES.length && asked.every((score) => SCORE.test(score));
  const scores = sound ? asked.map((score) => Math.max(-MOST_SCORE, Math.min(MOST_SCORE, Number(score)))) : SCORES;
  const [low, high] = TEMPERATURES;
  const temperature = Number(options.get("temperature") ?? 1);
  const known = temperature >= low && temperature <= high;
  view.show({ big: frame.view.big, shown: { scores, temperature: known ? temperature : 1 }, texts });
  return { destroy: () => view.destroy() };
}
