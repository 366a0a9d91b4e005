import { el, documentTop } from "../core/dom.js";
import { makeTooltip } from "../core/tooltip.js";
import { followPageLink, memoryOf } from "../host/streamlit.js";
import { Picture, tellDrawn } from "../core/picture.js";
import { makeTexts } from "../core/texts.js";
import { makeSaveMenu } from "../core/menu.js";
import { TRAINING_TEXTS } from "./texts.js";
import { RunStore } from "./store.js";
import { Player } from "./player.js";
import { Poller } from "./poll.js";
import { StatusCards } from "./status.js";
import { Curves } from "./curves.js";
import { HeadStage } from "./stage.js";
import { Timeline } from "./timeline.js";
import { saveTraining } from "./saving.js";
import { PredictionTable, FindingTable } from "./tables.js";
import { runLabel, percentText, stageText } from "./words.js";

// Runs during training. All recorded frames are kept here, so the browser controls the time: the slider, the heads, the
// curves' cursor and the predictions need no server, which is asked only for new frames.

const NARROW = 820;
const BESIDE = 1200; // pixels with ordinary text from which both tables of predictions fit beside each other
const SAVED = ["png", "svg", "csv", "head"];
const SCROLL_MARGIN = { kind: "cross", layer: Infinity, head: 0 }; // of the last layer, where alignment shows first
const LOWEST = 240;
const HIGHEST = 620; // pixels with ordinary text: in a higher window the predictions become visible
const SPOKEN = 5000; // milliseconds between two spoken messages
const SETTLES = 250; // milliseconds
const LABELS = 1000; // milliseconds between two descriptions of the pictures while they move

export class TrainingView extends Picture {
  // send(name, value): a trigger of the component
  constructor(parent, send) {
    super(parent, el("section", { class: "hs learn hs-pictured", "data-testid": "training" }));
    this.element.training = this; // for tests
    this.memory = memoryOf("training", { store: new RunStore(), kind: "all", place: SCROLL_MARGIN, step: -1 });
    // A page that is drawn anew goes on at the step that was held; the old view may be destroyed after that.
    this.asked = this.memory.step >= 0 ? { step: this.memory.step } : null;
    this.store = this.memory.store;
    this.calm = window.matchMedia("(prefers-reduced-motion: reduce)");
    this.player = new Player(() => this.calm.matches);
    this.shown = 0;
    this.spokenAt = this.labelledAt = -Infinity;
    const { store } = this;
    this.asker = new Poller({
      send: (name, value) => send(name, value),
      wanted: () => store.active || store.lacks || this.untold,
      have: () => store.have(),
      more: () => this.told(),
    });
  }

  destroy() {
    this.asker.stop();
    if (this.stage) this.stage.destroy();
    clearTimeout(this.speaking);
    clearTimeout(this.settling);
    cancelAnimationFrame(this.ticking);
    super.destroy();
  }

  // -- data from the page -----------------------------------------------------------------------------------------

  take(bytes) {
    const pack = this.read(bytes, TRAINING_TEXTS);
    if (!pack) {
      this.t = null;
      return;
    }
    const now = performance.now();
    const ids = this.store.runs.map((run) => run.id).join();
    const counts = this.store.have();
    const { grown, number } = this.store.take(pack, now);
    this.build();
    this.adopt();
    const moved = this.settle(grown.filter((id) => !counts[id]));
    const changed = moved || ids !== this.store.runs.map((run) => run.id).join();
    const { run } = this;
    if (run && grown.includes(run.id)) this.player.arrived(run.last, now);
    this.begin(now);
    this.asker.answered(number, this.store.lacks && (grown.length > 0 || number === 0));
    const grew = this.store.runs.filter((run) => grown.includes(run.id));
    const outgrown = grew.some((run) => this.curves.outgrown(run, counts[run.id] ?? 0));
    const big = Boolean(this.store.more.big);
    const begins = this.store.runs.some((run) => run.opening && !this.laidOut?.has(run.id));
    if (changed || outgrown || begins || big !== this.big || !this.theme) this.draw();
    else this.drawFrame(now);
    this.follow();
  }

  // Creates the elements: once, and when the texts change.
  build() {
    const texts = JSON.stringify(this.store.more.texts || {});
    if (this.t && texts === this.textsKey) return;
    if (this.stage) this.stage.destroy();
    this.textsKey = texts;
    const t = (this.t = makeTexts(this.store.more.texts, TRAINING_TEXTS));
    this.tooltip = makeTooltip(this.element);
    const hooks = {
      t,
      tooltip: this.tooltip,
      memory: this.memory,
      chooseRun: (id) => this.chooseRun(id),
      command: (id, what) => this.asker.command(id, what),
      open: (id) => followPageLink(`hs-after-${id}`),
      goToStep: (step) => this.run && this.run.frames.length && this.goTo(this.run.frameAt(step)),
      goTo: (index) => this.goTo(index),
      play: () => this.play(),
      live: () => this.goLive(),
      redraw: () => this.draw(),
      report: () => this.report(),
      say: (text) => (this.spoken.textContent = text),
    };
    this.status = new StatusCards(hooks);
    this.saving = makeSaveMenu(t, "training-save", (format) => saveTraining(this, format), SAVED);
    this.time = new Timeline(hooks, this.saving);
    this.curves = new Curves(hooks);
    this.stage = new HeadStage(hooks);
    this.predictions = new PredictionTable(t);
    this.findings = new FindingTable(t);
    this.nothing = el("p", { class: "hs-empty" }, t("nothing"));
    this.bar = el("div", { class: "learn-top" }, this.status.element, this.time.element);
    this.work = el("div", { class: "learn-work" }, this.curves.element, this.stage.grids, this.stage.one);
    this.under = el("div", { class: "learn-under" }, this.stage.same, this.predictions.element, this.findings.element);
    this.element.setAttribute("aria-label", t("region"));
    this.element.replaceChildren(
      this.look.sentinel,
      this.nothing,
      this.bar,
      this.work,
      this.findings.strip,
      this.under,
      this.tooltip.box,
      this.spoken,
    );
    this.theme = null;
  }

  // What Python wants to be looked at, once for each scene: a preset with its recorded run, or the live runs.
  adopt() {
    const { memory, store } = this;
    const { scene, place } = store.more;
    if (!scene || scene === memory.scene) return;
    memory.scene = scene;
    memory.kind = place.kinds;
    memory.place = { kind: place.kind, layer: place.layer - 1, head: place.head - 1 };
    memory.rows = place.rows;
    this.curves.log.checked = place.log === "on";
    const run = store.runs[place.run - 1];
    memory.run = run ? run.id : null;
    this.run = null;
    this.asked = { step: place.step };
    memory.step = place.step;
    this.theme = null;
  }

  // Holds a new scene at the step of its link, or plays it if it is recorded, as soon as the frames are here.
  begin(now) {
    const { run, asked } = this;
    if (!asked || !run || !run.frames.length || (run.lacks && asked.step >= 0)) return;
    this.asked = null;
    if (asked.step >= 0) {
      this.player.hold();
      this.shown = run.frameAt(asked.step);
    } else if (run.about.recording && !this.calm.matches) {
      this.shown = 0;
      this.player.play(now, 0, run.opening.recorded.length);
    }
  }

  // The training step of the frame that is held; -1: none is.
  heldStep() {
    const { run, asked, player } = this;
    if (asked) return asked.step;
    return player.mode === "held" && run?.frames.length ? run.frames[Math.min(this.shown, run.last)].step : -1;
  }

  // Tells Python what is looked at, for the link.
  report() {
    if (!this.store.more.scene) return;
    this.untold = true;
    this.asker.nudge();
  }

  told() {
    const { run, store, memory } = this;
    this.untold = false;
    if (!store.more.scene || !run || this.asked) return {};
    const { kind, layer, head } = memory.place;
    const place = {
      run: store.runs.indexOf(run) + 1,
      step: this.heldStep(),
      kinds: memory.kind,
      kind,
      layer: Math.min(layer, 63) + 1,
      head: Math.min(head, 63) + 1,
      rows: memory.rows,
      log: this.curves.log.checked ? "on" : "off",
    };
    return { place, scene: store.more.scene };
  }

  // The chosen run. A run that starts to train replaces a chosen run that has ended, or no run; begun: ids of the runs
  // whose first frames have come.
  settle(begun) {
    const { store, memory } = this;
    const before = this.run;
    const current = store.run(memory.run);
    const next = store.runs.find((run) => begun.includes(run.id) && run.active);
    const leave = !current || !current.frames.length || (!current.active && this.player.mode === "live");
    this.run = (leave && next) || current || store.runs.find((run) => run.frames.length) || store.runs[0] || null;
    memory.run = this.run && this.run.id;
    if (this.run === before) return false;
    this.player.reset(this.run && this.run !== next ? Math.max(0, this.run.last) : 0);
    this.shown = this.player.until;
    return true;
  }

  // -- time --------------------------------------------------------------------------------------------------------

  follow() {
    cancelAnimationFrame(this.ticking);
    this.ticking = requestAnimationFrame((now) => this.tick(now));
  }

  tick(now) {
    const { run, player } = this;
    if (!run || !run.frames.length) return;
    const index = Math.min(player.at(now, this.shown), run.last);
    if (index !== this.shown) {
      this.shown = index;
      this.drawFrame(now);
    }
    if (player.moving(this.shown)) this.follow();
    else this.drawFrame(now, true);
  }

  goTo(index) {
    const { run } = this;
    if (!run || !run.frames.length) return;
    // After the last frame there is nothing yet.
    if (index > run.last && run.active) return this.goLive();
    this.player.hold();
    this.shown = Math.max(0, Math.min(run.last, index));
    this.drawFrame(performance.now());
    clearTimeout(this.settling); // descriptions wait until the user stops dragging
    this.settling = setTimeout(() => {
      this.drawFrame(performance.now(), true);
      this.report();
    }, SETTLES);
  }

  goLive() {
    this.player.goLive(performance.now());
    this.follow();
    if (this.run && this.run.frames.length) this.shown = this.player.until;
    this.drawFrame(performance.now(), true);
    this.report();
  }

  // Plays from the start; pressed again, it holds at the current frame.
  play() {
    if (!this.run || !this.run.frames.length) return;
    if (this.player.mode === "play") this.player.hold();
    else {
      this.shown = 0;
      this.player.play(performance.now(), 0, this.run.opening.recorded.length);
    }
    this.drawFrame(performance.now(), true);
    this.follow();
    this.report();
  }

  chooseRun(id) {
    const run = this.store.run(id);
    if (!run || run === this.run) return;
    const step = this.run && this.run.frames.length ? this.run.frames[this.shown].step : 0;
    const { mode } = this.player;
    this.run = run;
    this.memory.run = id;
    this.player.reset(Math.max(0, run.last));
    this.shown = this.player.until;
    if (mode !== "live" && run.frames.length) {
      this.player.hold();
      this.shown = run.frameAt(step);
    }
    this.draw();
    this.follow();
    this.report();
  }

  // -- drawing ---------------------------------------------------------------------------------------------------

  stepText(run, index) {
    if (!run || !run.frames.length) return this.t("step_none");
    return this.t("step", { step: run.frames[Math.min(index, run.last)].step.toLocaleString("en") });
  }

  // Redraws everything: another size, theme, text or set of runs.
  draw() {
    const { element, store } = this;
    if (!this.t || !element.clientWidth) return;
    const { runs } = store;
    this.big = Boolean(store.more.big);
    this.dress(this.big);
    element.dataset.kind = this.memory.kind;
    this.narrow = element.clientWidth < NARROW * (this.big ? 1.1 : 1);
    element.classList.toggle("learn-narrow", this.narrow);
    element.classList.toggle("learn-beside", element.clientWidth >= (BESIDE * this.theme.size) / 15);
    this.nothing.hidden = runs.length > 0;
    for (const part of [this.bar, this.work, this.under]) part.hidden = !runs.length;
    this.laidOut = new Set(runs.filter((run) => run.opening).map((run) => run.id));
    this.findings.draw(store);
    const home = this.narrow ? this.element : this.time.element; // on a phone it leaves its space to the slider
    if (this.saving.parentElement !== home) home.append(this.saving);
    if (!runs.length) return;
    this.status.draw(store, this.run, performance.now());
    const sizes = this.room();
    this.curves.layout(store, this.theme, { width: Math.floor(this.curves.element.clientWidth), height: sizes.plot });
    this.stage.layout(store, this.run, this.theme, sizes);
    this.drawFrame(performance.now(), true);
    tellDrawn(element, "training");
  }

  // The pictures fill the space of the window below their upper edge.
  room() {
    const unit = this.theme.size / 15;
    const { host } = this.element.getRootNode();
    const above = Math.min(documentTop(host || this.element), window.innerHeight * 0.4) + this.work.offsetTop;
    const left = Math.min(HIGHEST * unit, window.innerHeight - above - 14 - this.findings.strip.offsetHeight);
    const high = this.narrow ? 270 * unit : Math.max(LOWEST * unit, left);
    const head = 46 * unit; // of a plot: its title, its unit and its values
    return { high, unit, narrow: this.narrow, plot: this.narrow ? 150 * unit : Math.max(80 * unit, high / 2 - head) };
  }

  // Draws one frame: cells, cursor, numbers and letters. settled: nothing moves, so descriptions are worth computing.
  drawFrame(now, settled) {
    const { run, store, shown } = this;
    if (!this.theme || !store.runs.length) return;
    this.memory.step = this.heldStep();
    const index = run && run.frames.length ? Math.min(shown, run.last) : -1;
    const speak = settled || now - this.labelledAt > LABELS;
    if (speak) this.labelledAt = now;
    this.status.draw(store, run, now);
    this.time.draw(run, index, this.player.mode);
    this.curves.update(run, Math.max(0, index), this.player.mode !== "held", speak);
    this.stage.frame(store, run, index, speak);
    this.predictions.draw(store, run, index, this.stepText(run, index));
    this.findings.draw(store);
    this.element.dataset.frame = `${run ? run.id : ""}:${index}`;
    this.speakUp(now, index);
  }

  // Speaks the status, every few seconds at most; what was held back is spoken later, above all the end of a run.
  speakUp(now, index) {
    const { run, t } = this;
    if (index < 0 || this.player.mode !== "live") return;
    const wait = this.spokenAt + SPOKEN - now;
    if (wait > 0) {
      this.speaking ??= setTimeout(() => {
        this.speaking = null;
        this.speakUp(performance.now(), this.run && this.run.frames.length ? Math.min(this.shown, this.run.last) : -1);
      }, wait);
      return;
    }
    const values = {
      label: runLabel(t, run),
      stage: stageText(t, run, this.store.more.waiting),
      exact: percentText(t, run.latest("exact", index)),
      forced: percentText(t, run.latest("forced", index)),
    };
    const text = t("spoken", values);
    if (text === this.spoken.textContent) return;
    this.spokenAt = now;
    this.spoken.textContent = text;
  }
}
