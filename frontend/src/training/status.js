import { buttonEl, el, svgEl } from "../core/dom.js";
import { pointMark } from "../core/plot.js";
import { runLabel, numberTexts, stageText } from "./words.js";

// The status of each run and its buttons: one card per run.

const STATUS_TEXTS = 250; // milliseconds between two changes of a card's numbers: faster changes are illegible

/** @type {Parameters<typeof pointMark>[0][]} */
const SHAPES = ["circle", "square", "diamond", "triangle"];

// Each run has its own mark, dash and colour.
export const runMark = (slot, x, y, r) =>
  pointMark(SHAPES[slot] ?? "square", x, y, r, { class: "learn-mark", "data-slot": slot });

export function runSwatch(slot) {
  const line = svgEl("path", { class: "learn-line", "data-slot": slot, d: "M0 7H34" });
  const look = { class: "learn-swatch", viewBox: "0 0 34 14", "aria-hidden": "true", "data-slot": slot };
  return svgEl("svg", look, line, runMark(slot, 17, 7, 4.5));
}

// The possible actions on a run, in this order.
/** @returns {((typeof import("../state/generated.js").RUN_COMMANDS)[number] | "open")[]} */
export function commandsFor(about) {
  const active = ["training", "paused", "waiting", "starting"].includes(about.stage);
  if (about.watched && active) return ["remove"]; // somebody else in the room steers it
  if (about.stage === "training") return ["pause", "stop"];
  if (about.stage === "paused") return ["go", "stop"];
  if (about.stage === "waiting" || about.stage === "starting") return ["stop"];
  if (about.recording) return [];
  return about.openable ? ["open", "again", "remove"] : ["again", "remove"];
}

class RunCard {
  constructor(run, hooks) {
    this.run = run;
    this.hooks = hooks;
    this.said = 0;
    this.label = el("span", { class: "learn-card-label" });
    this.name = buttonEl(
      { class: "learn-card-name", "aria-pressed": "false", click: () => hooks.chooseRun(run.id) },
      runSwatch(run.slot),
      this.label,
    );
    this.buttons = el("div", { class: "learn-card-buttons" });
    this.stage = el("span", { class: "learn-card-stage" });
    this.numbers = el("span", { class: "learn-card-numbers" });
    this.bar = el("span", { class: "learn-bar-done" });
    const attributes = { "data-slot": run.slot, "data-run": run.id, "data-testid": "training-run" };
    this.element = el(
      "div",
      { class: "learn-card", role: "listitem", ...attributes },
      el("div", { class: "learn-card-top" }, this.name, this.buttons),
      el("div", { class: "learn-bar", "aria-hidden": "true" }, this.bar),
      el("div", { class: "learn-card-says" }, this.stage, this.numbers),
    );
  }

  draw(chosen, waiting, now) {
    const { t } = this.hooks;
    const { about } = this.run;
    const label = runLabel(t, this.run);
    this.label.textContent = label;
    this.name.setAttribute("aria-label", t("run_choose", { label }));
    this.name.title = label;
    this.name.setAttribute("aria-pressed", String(chosen));
    this.element.toggleAttribute("data-chosen", chosen);
    this.bar.style.width = `${(100 * Math.min(1, about.step / Math.max(1, about.steps))).toFixed(2)}%`;
    const moved = about.stage !== this.element.dataset.stage;
    if (moved || now - this.said >= STATUS_TEXTS) {
      this.said = now;
      this.stage.textContent = stageText(t, this.run, waiting);
      this.numbers.textContent = numberTexts(t, this.run);
    }
    this.element.dataset.stage = about.stage;
    this.drawButtons(label);
  }

  drawButtons(label) {
    const { t } = this.hooks;
    const { about } = this.run;
    const names = commandsFor(about);
    const key = names.join() + about.seed + label;
    if (key === this.key) return;
    this.key = key;
    const hasFocus = this.buttons.contains(this.element.getRootNode().activeElement);
    const values = { label, seed: about.seed + 1 };
    const button = (name) =>
      buttonEl(
        {
          "data-do": name,
          "aria-label": t("label_" + name, values),
          title: t("label_" + name, values),
          click: (event) => this.command(name, event.currentTarget),
        },
        t(name, values),
      );
    this.buttons.replaceChildren(...names.map(button));
    if (hasFocus) this.buttons.firstChild.focus(); // the focused button is gone: its neighbour gets the focus
  }

  // The button shows that it was pressed until the run has changed; after a while it can be pressed again.
  command(name, button) {
    if (button.getAttribute("aria-disabled") === "true") return;
    button.setAttribute("aria-disabled", "true");
    setTimeout(() => button.removeAttribute("aria-disabled"), 1500);
    if (name === "open") this.hooks.open(this.run.id);
    else this.hooks.command(this.run.id, name);
  }
}

export class StatusCards {
  constructor(hooks) {
    this.hooks = hooks;
    this.cards = [];
    this.element = el("div", { class: "learn-runs", role: "list", "aria-label": hooks.t("runs") });
  }

  draw(store, chosen, now) {
    const ids = store.runs.map((run) => run.id).join();
    if (ids !== this.ids) {
      this.ids = ids;
      this.cards = store.runs.map((run) => this.cards.find((card) => card.run === run) || new RunCard(run, this.hooks));
      this.element.replaceChildren(...this.cards.map((card) => card.element));
      this.element.dataset.runs = this.cards.length;
    }
    this.element.toggleAttribute(
      "data-recorded",
      store.runs.every((run) => run.about.recording),
    );
    for (const card of this.cards) card.draw(card.run === chosen, store.more.waiting, now);
  }
}
