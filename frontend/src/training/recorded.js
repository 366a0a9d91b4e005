// The recorded runs of the presets without a server (transformer/web/training.py): the menu of presets, what to look for,
// and the picture of the one that is chosen.
import { buttonEl, el } from "../core/dom.js";
import { readPack } from "../core/pack.js";
import { makeTexts } from "../core/texts.js";
import { TRAINING_TEXTS } from "./texts.js";
import { TrainingView } from "./view.js";

const PLACE = ["run", "step", "layer", "head"]; // whole numbers in a link
let scenes = 0; // the number of the last one: a link to this page begins another one

// Several packs of one run each as one. runs: [{name, pack}]
export function joinRuns(runs, more) {
  const headers = runs.map(({ name, pack: { header, array } }) => {
    const [run] = header.runs;
    return { ...run, label: name, weights: { ...run.weights, data: array(run.weights) } };
  });
  const header = { format: 1, number: 0, runs: headers, more };
  return { header, array: (reference) => reference.data };
}

/** Where a picture is: what the preset begins with, and what a link says. get(name): its text, or undefined. */
export function placeOf(usual, get) {
  const asked = Object.keys(usual).filter((name) => get(name) !== undefined);
  const values = asked.map((name) => [name, PLACE.includes(name) ? Number(get(name)) : get(name)]);
  const valid = values.filter(([name, value]) => !PLACE.includes(name) || Number.isInteger(value));
  return { ...usual, ...Object.fromEntries(valid) };
}

export class RecordedTrainings {
  /** @type {any[]} */ presets = []; // of the file of the reader's language
  packs = new Map();
  buttons = new Map();
  scene = "";

  /** open(name): the response of a file of the recorded trainings; pack(id): the pack of a run; link: {get(name), set(name, text)}; about(): texts and
   * big, as in `training_pack`; shown(): called when all of a preset is there. */
  constructor(root, { open, pack, language, link, about, shown = () => {} }) {
    this.open = open;
    this.pack = pack;
    this.shown = shown;
    this.link = link;
    this.about = about;
    this.menu = el("div", { class: "hs-seg", role: "group" });
    this.headline = el("p", { class: "hs-point" });
    this.look = el("p", { class: "learn-look", "data-testid": "training-look" });
    this.more = el("select", { "data-testid": "preset-more", change: () => this.choose(this.more.value) });
    this.element = el("div", { class: "hs learn-presets" }, this.menu, this.more, this.headline, this.look);
    root.append(this.element);
    this.view = new TrainingView(root, (_, { place, scene }) => place && scene === this.scene && this.report(place));
    this.read(language);
  }

  async read(language) {
    this.presets = await (await this.open(`${language}.json`)).json();
    for (const { name, label } of this.presets) {
      const choose = { "data-testid": `preset-${name}`, click: () => this.choose(name) };
      this.buttons.set(name, buttonEl(choose, label));
    }
    this.menu.replaceChildren(...this.buttons.values());
    const t = makeTexts(this.about().texts, TRAINING_TEXTS);
    for (const choice of [this.menu, this.more]) choice.setAttribute("aria-label", t("presets"));
    const others = this.presets.filter(({ telling }) => !telling);
    const options = others.map(({ name, label }) => el("option", { value: name }, label));
    this.more.replaceChildren(el("option", { value: "", disabled: true }, t("more")), ...options);
    this.show();
  }

  destroy() {
    this.view.destroy();
    this.element.remove();
  }

  get preset() {
    return this.presets.find(({ name }) => name === this.link.get("preset")) || this.presets[0];
  }

  // Another preset begins where it shows most.
  choose(name) {
    for (const key of Object.keys(this.preset.place)) this.link.set(key, null);
    this.link.set("preset", name === this.presets[0].name ? null : name);
    this.show();
  }

  report(place) {
    for (const [name, value] of Object.entries(place))
      this.link.set(name, value === this.preset.place[name] ? null : String(value));
  }

  async show() {
    const { preset } = this;
    if (!preset) return; // it is shown as soon as the presets are here
    for (const [name, button] of this.buttons) button.setAttribute("aria-pressed", String(name === preset.name));
    for (const one of this.presets) this.buttons.get(one.name).hidden = !one.telling && one !== preset;
    this.more.value = "";
    this.headline.textContent = preset.headline;
    this.look.textContent = preset.look_for;
    this.element.toggleAttribute("data-big", Boolean(this.about().big));
    const packs = await Promise.all(preset.runs.map((id) => this.load(id)));
    if (preset !== this.preset) return;
    this.scene = `${preset.name} recorded ${++scenes}`;
    const { findings, label, labels } = preset;
    const place = placeOf(preset.place, this.link.get);
    const more = { findings, place, scene: this.scene, preset: label, ...this.about() };
    const runs = packs.map((pack, i) => ({ name: labels[i], pack }));
    this.view.take(joinRuns(runs, more));
    this.shown();
  }

  // What could not be loaded is asked for again the next time.
  async load(id) {
    if (!this.packs.has(id)) this.packs.set(id, readPack(await this.pack(id)));
    return this.packs.get(id);
  }
}
