import { el } from "../core/dom.js";
import { arrowStep } from "../core/keys.js";
import { listText } from "../core/lists.js";
import { makeTooltip } from "../core/tooltip.js";
import { followLook } from "../core/look.js";
import { readPack } from "../core/pack.js";
import { readTheme } from "../core/colour.js";
import { makeTexts } from "../core/texts.js";
import { KINDS } from "../engine/switches.js";
import { sharedTexts, switchNotes } from "../lab/words.js";
import { AnatomyData } from "./data.js";
import { START_ANATOMY } from "../state/generated.js";
import { MOVE, Stage } from "./stage/stage.js";
import { fillOf, waveOf } from "./stage/wave.js";
import { AnatomySwitches } from "./switches.js";
import { ALL_ANATOMY_TEXTS, hoverLines } from "./words/hover.js";
import { makeCrumbs, makeHeadTabs, makeLayerTabs, makeStepBar, makeStepSlider } from "./bars.js";
import { ExplanationPanel } from "./panel/panel.js";
import { anatomyScene, anatomySceneHeight, mainMatrix } from "./stage/scene.js";
import { cellOf, moveCell, pickCell } from "./number/number.js";
import { saveDrawing } from "./saving.js";
import { isNear, textKeys } from "./panel/facts.js";
import { modelPanel } from "./flow/flow.js";
import { fitState, isAttention, isEmbedding, isOpen, stackOf } from "./walk.js";
import { stepsOf, stopIndex, stopsOf, walk, withFold, zoomsOf } from "./walk.js";

const NARROW = 900;
const TIGHT = 1330; // pixels of width below which layers and heads are lists
const TABLE = 29; // units of height that the arithmetic of a number needs
const SMALL = 13; // pixels of its text, at least
const LEAST = 20; // units of height: with less, rows are too thin to see
const PAUSE = 650; // milliseconds until the server is told a step: it answers after the movement
const GATHER = 20; // milliseconds in which packs are collected
const PATIENCE = 260; // milliseconds that a zoom waits for its numbers before it shows their outlines
const [READ, GLANCE] = [5000, 1000]; // milliseconds of a step with a new text, and of any other, at normal tempo
const TEMPO = { slow: 1.75, normal: 1, fast: 0.28 };

const TAKES_KEYS =
  "input, select, textarea, [contenteditable], .hs-cards, .hs-save, [role=slider], [role=menu], [role=listbox]";
const ONE_CELL = ["dot", "scale", "mask", "softmax"]; // steps that compute the same cell, one after the other

const START_STATE = { ...START_ANATOMY, big: false };

// The position of an element in the page, independent of scrolling.
function topInPage(element) {
  let top = element.getBoundingClientRect().top;
  for (let at = element; at; at = at.parentElement || at.getRootNode().host) top += at.scrollTop || 0;
  return top;
}

// One sentence through the whole model: the stage, its bars, and the way from stop to stop.
export class AnatomyView {
  constructor(root, report) {
    this.root = root;
    this.report = report;
    this.data = new AnatomyData();
    this.state = { ...START_STATE };
    this.heard = new Set(); // the texts that were shown since playing began
    this.t = makeTexts(null, ALL_ANATOMY_TEXTS);
    this.textsKey = "{}";
    const about = { class: "hs hs-an hs-pictured", "data-testid": "anatomy", "aria-label": this.t("an_region") };
    this.element = el("section", about);
    this.element.anatomy = this; // for tests: what is drawn where
    const redraw = () => this.draw("cut");
    this.look = followLook(this.element, () => this.retheme(), redraw, { fitsWindow: true });
    this.broken = el("p", { class: "hs-an-broken", role: "alert", hidden: true });
    // Who makes packs in the page (live.js): {order(header), moved(), switched()} tell it of a pack of the server, of a
    // place and of switches, and answer whether it makes the numbers.
    this.source = null;
    this.build();
    // Keys work at once on a page just opened: they are heard everywhere, except where they belong to something else.
    this.listening = new AbortController();
    const { signal } = this.listening;
    window.addEventListener("keydown", (event) => this.onKey(event), { signal });
    root.append(this.element);
    // Texts measured in another font are in the wrong position once the page's font has loaded.
    document.fonts.addEventListener("loadingdone", redraw, { signal });
  }

  build() {
    const { t } = this;
    if (this.stage) this.stage.destroy();
    const hooks = {
      go: (partial) => this.go(partial),
      move: (delta) => this.move(delta),
      play: () => this.play(),
      speed: (name) => this.remember({ tempo: name }),
      save: (format) => saveDrawing(this, format),
      fold: (name, open) => this.fold(name, open),
    };
    this.tooltip = makeTooltip(this.element);
    const parts = { t, hooks, tooltip: this.tooltip };
    this.bars = [makeCrumbs, makeLayerTabs, makeHeadTabs, makeStepSlider].map((make) => make(parts));
    this.steps = makeStepBar(parts);
    this.tell = new ExplanationPanel(parts);
    this.stage = new Stage({
      go: (partial) => this.go(partial),
      pick: (item, row, col) => this.pick(item, row, col),
      hover: (item, row, col, event) => this.hover(item, row, col, event),
      theme: () => this.inked || this.theme,
    });
    this.stage.element.tabIndex = 0;
    this.stage.element.setAttribute("role", "application");
    this.stage.element.setAttribute("aria-label", this.t("an_stage"));
    this.element.setAttribute("aria-label", this.t("an_region"));
    const changed = (pause) => this.told(this.source?.switched() ? PAUSE : pause);
    this.switches = new AnatomySwitches({ t, tooltip: this.tooltip, changed, hooks });
    this.notes = el("div", { class: "hs-an-notes", role: "status", "data-testid": "anatomy-notes" });
    this.surprises = el("div", { class: "hs-an-notes" });
    this.noted = "";
    const spoken = { class: "hs-spoken", "aria-live": "polite", role: "status" };
    this.spoken = el("div", { ...spoken, "data-testid": "anatomy-spoken" });
    const [crumbs, layers, heads, slider] = this.bars.map((bar) => bar.element);
    this.work = el("div", { class: "hs-an-work" }, this.stage.element, this.tell.element);
    this.element.replaceChildren(
      this.look.sentinel,
      el("p", { class: "hs-point" }, t("start_lead")),
      el("div", { class: "hs-an-top" }, crumbs, el("div", { class: "hs-an-choices" }, layers, heads), slider),
      this.broken,
      this.notes,
      this.work,
      this.steps.element,
      this.switches.element,
      this.surprises,
      this.tooltip.box,
      this.spoken,
    );
  }

  destroy() {
    this.look.stop();
    this.listening.abort();
    this.stop();
    for (const timer of [this.reporting, this.patience, this.soon]) clearTimeout(timer);
    this.stage.destroy();
    this.element.remove();
  }

  retheme() {
    if (this.theme && readTheme(this.element).key !== this.theme.key) this.draw("cut");
  }

  // -- data ----------------------------------------------------------------------------------------------------------

  // A pack of the server.
  take(bytes) {
    try {
      const pack = readPack(bytes);
      if (this.source?.order(pack.header) || !this.accept(pack) || !this.data.trace) return;
      // The packs of one answer come one after the other: draw once.
      clearTimeout(this.soon);
      this.soon = setTimeout(() => this.draw(this.shown ? "step" : "cut"), GATHER);
    } catch (error) {
      this.fail(error);
    }
  }

  // Packs that were made in the page, drawn at once.
  show(packs, how = "step") {
    try {
      for (const pack of packs) this.accept(pack);
      clearTimeout(this.soon);
      this.source?.moved();
      this.draw(this.shown ? how : "cut");
    } catch (error) {
      this.fail(error);
    }
  }

  // Data that cannot be read or drawn shows an error instead of a blank stage; the error is also reported.
  fail(error) {
    this.broken.textContent = this.t("an_broken", { reason: error.message });
    this.broken.hidden = false;
    setTimeout(() => {
      throw error;
    });
  }

  // Stores a pack. Returns whether it changes the picture.
  accept(pack) {
    const { header } = pack;
    if (header.texts) this.speak(header.texts);
    if (header.sort === "long") {
      this.long = header;
      this.drawNotes();
    }
    const waited = !this.data.state || this.data.waiting;
    if (!this.data.take(pack)) return false;
    // Every answer repeats numbers that were here already: they would restart the movement.
    if ((header.sort === "place" || header.sort === "weights") && this.shown && !waited) return false;
    if (header.sort === "trace") {
      this.long = null;
      this.adopt(header);
    }
    this.data.state = this.state;
    return true;
  }

  // Takes over translations. Returns whether they are new.
  speak(texts) {
    if (JSON.stringify(texts) === this.textsKey) return false;
    this.textsKey = JSON.stringify(texts);
    this.t = makeTexts(texts, ALL_ANATOMY_TEXTS);
    const { switches } = this;
    this.build();
    this.switches.take(switches.params(), switches.forms);
    return true;
  }

  // Takes over a state and switches that are new. header: {state, switches, forms}
  adopt({ state, switches, forms }) {
    if (state.revision !== this.revision) {
      this.revision = state.revision;
      this.state = { ...START_STATE, ...state };
      this.switches.take(switches, forms);
    }
    this.state = this.data.state = this.fit(this.state);
  }

  // -- actions of the user -------------------------------------------------------------------------------------------

  fit(state) {
    const { config, steps } = this.data;
    const fitted = fitState(config, state);
    fitted.t = Math.max(0, Math.min(steps - 1, Number.isInteger(state.t) ? state.t : 0));
    return fitted;
  }

  // Goes to another state; playing continues after a step of the player and stops after an action of the user.
  go(partial, playing = false) {
    if (!this.data.trace) return;
    if (!playing) this.stop();
    const before = this.state;
    const moved = { ...before, ...partial };
    // From afar a head opens on its result; before its first step there are only outlines.
    if (moved.zoom === "head" && !isNear(before) && !partial.step && moved.step === "x") moved.step = "softmax";
    // A cell belongs to one matrix: in another matrix no cell is chosen yet.
    const same = ["place", "encoder", "decoder", "head"].every((key) => moved[key] === before[key]);
    const cell =
      same && (moved.step === before.step || [moved.step, before.step].every((step) => ONE_CELL.includes(step)));
    const row = stackOf(moved.place) === "decoder" ? moved.t : 0;
    if (!cell && partial.row === undefined) Object.assign(moved, { row, col: -1 });
    if (partial.t !== undefined && partial.row === undefined && row === moved.t) moved.row = row;
    this.state = this.fit(moved);
    this.data.state = this.state;
    const made = this.source?.moved();
    this.draw(before.zoom === this.state.zoom ? "step" : "move");
    const { encoder, decoder } = this.state;
    const opened = before.encoder !== encoder || before.decoder !== decoder;
    this.told(!made && (this.data.waiting || opened) ? 0 : PAUSE);
  }

  // What is seen but not drawn: it goes into the link.
  remember(partial) {
    if (!this.data.trace) return;
    this.state = this.data.state = { ...this.state, ...partial };
    this.told(PAUSE);
  }

  fold(name, open) {
    if (isOpen(this.state, name) !== open) this.remember(withFold(this.state, name, open));
  }

  // Python is told a state after a pause, or at once if the numbers of a place are needed.
  told(pause) {
    clearTimeout(this.reporting);
    this.reporting = setTimeout(() => this.sendState(), pause);
  }

  sendState() {
    const { big, ...state } = this.state;
    this.report({ ...state, switches: this.switches.params(), revision: this.revision });
  }

  move(delta, playing = false) {
    this.reveal();
    this.go(walk(this.data.config, this.state, delta, this.data.steps), playing);
  }

  // A key to the next step does not wait for the clock, and playing goes on; a key back stops it.
  step(delta) {
    const playing = this.playing && delta > 0;
    this.move(delta, playing);
    if (playing) this.ahead();
  }

  // On a low screen the drawing begins below the visible part: scroll so that the user sees all of it.
  reveal() {
    const bottom = this.work.getBoundingClientRect().bottom + this.steps.element.offsetHeight; // the bar itself sticks
    const behavior = this.stage.still ? "auto" : "smooth";
    if (bottom > window.innerHeight + 4 && !this.element.classList.contains("hs-an-narrow"))
      this.element.scrollIntoView({ block: "start", behavior });
  }

  play() {
    if (this.playing) return this.stop();
    const { state, data } = this;
    const stops = stopsOf(data.config, state.zoom);
    const at = stopIndex(state, stops);
    const last = at === stops.length - 1 && state.t + 1 >= data.steps;
    this.playing = true;
    this.heard = new Set();
    if (last) this.go({ ...stops[0], t: 0 }, true);
    if (at === 0) this.move(1, true); // from the first view it moves at once
    return this.ahead();
  }

  get textKey() {
    return textKeys(this.state, this.data, null).text;
  }

  // How long a step stays while playing.
  get stay() {
    return TEMPO[this.state.tempo] * (this.heard.has(this.textKey) ? GLANCE : READ);
  }

  ahead() {
    this.drawBars();
    clearTimeout(this.clock);
    const wait = this.stay;
    this.heard.add(this.textKey);
    this.clock = setTimeout(() => {
      if (!this.playing) return;
      if (this.data.waiting) return void this.ahead();
      const before = JSON.stringify(this.state);
      this.move(1, true);
      if (JSON.stringify(this.state) === before) this.stop();
      else this.ahead();
    }, wait);
  }

  stop() {
    clearTimeout(this.clock);
    if (!this.playing) return;
    this.playing = false;
    this.drawBars();
  }

  zoom(delta) {
    const zooms = zoomsOf(this.state.place);
    const at = zooms.indexOf(this.state.zoom) + delta;
    if (at < 0 || at >= zooms.length) return;
    this.reveal();
    this.go({ zoom: zooms[at] });
  }

  pick(item, row, col) {
    this.go(pickCell(item, row, col));
  }

  onKey(event) {
    const { key } = event;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || !this.data.trace) return;
    const way = event.composedPath().filter((node) => node instanceof Element);
    const inside = way.includes(this.element);
    // Outside the drawing the keys belong to what has the focus: on a page just opened to nothing, or to the link that
    // led here, which needs only Enter.
    const link = way[0].matches("a");
    if (!inside && !link && !way[0].matches("body, html")) return;
    if (way.some((node) => node.matches(TAKES_KEYS))) return;
    const onButton = inside ? way.some((node) => node.matches("button, summary, a")) : link && key === "Enter";
    const { zoom, place, t } = this.state;
    const number = zoom === "number";
    const arrow = arrowStep(event);
    const steps = stepsOf(place, this.data.config);
    const act = () => {
      if (arrow && number && (arrow[0] || event.shiftKey)) return this.go(moveCell(this.state, this.data, ...arrow));
      if (arrow) return arrow[1] ? this.step(arrow[1]) : this.go({ t: t + arrow[0] });
      if (key === "Home" || key === "End") {
        const stops =
          zoom === "model" || zoom === "layer" ? stopsOf(this.data.config, zoom) : steps.map((step) => ({ step }));
        const { step, ...stop } = stops.at(key === "Home" ? 0 : -1);
        return this.go(step ? { ...stop, step } : stop);
      }
      if (key === "Escape" || key === "Backspace") return this.zoom(-1);
      if (key === "Enter" && !onButton) return this.zoom(1);
      if (key === " " && !onButton) return this.play();
      if ((key === "[" || key === "]") && isAttention(place))
        return this.go({ head: this.state.head + (key === "]" ? 1 : -1) });
      return null;
    };
    if (act() !== null) event.preventDefault();
  }

  hover(item, row, col, event) {
    if (!item || !event) return this.tooltip.hide();
    const says = item.says || ((...at) => (item.kind === "matrix" ? hoverLines(this, item, ...at) : []));
    const lines = item.tip || says(row, col);
    if (!lines.length) return this.tooltip.hide();
    return this.tooltip.show(lines, event.clientX, event.clientY);
  }

  // -- drawing -------------------------------------------------------------------------------------------------------

  measure() {
    const { element } = this;
    const unit = this.theme.size;
    const width = Math.floor(this.stage.element.clientWidth);
    const narrow = element.classList.contains("hs-an-narrow");
    if (narrow) return { width, height: 0, unit, narrow };
    const host = this.root.host || this.root;
    const above = Math.min(topInPage(host), window.innerHeight * 0.42) + this.work.offsetTop;
    const below = this.steps.element.offsetHeight + 14;
    const height = Math.max(LEAST * unit, window.innerHeight - above - below);
    return { width, height: Math.round(height), unit, narrow };
  }

  draw(how) {
    const { element, data, state } = this;
    if (!data.trace || !element.clientWidth) return;
    element.toggleAttribute("data-big", Boolean(state.big));
    this.theme = readTheme(element);
    element.dataset.theme = this.theme.dark ? "dark" : "light";
    element.dataset.zoom = state.zoom;
    element.classList.toggle("hs-an-tight", Boolean(state.big) || element.clientWidth < TIGHT);
    element.classList.toggle("hs-an-narrow", element.clientWidth < NARROW);
    this.drawNotes();
    this.drawBars();
    clearTimeout(this.patience);
    if (data.waiting && this.shown && !this.late) {
      this.patience = setTimeout(() => {
        this.late = true;
        this.drawStage(how);
      }, PATIENCE);
      this.waitingFor = how === "cut" ? this.waitingFor : how;
      return;
    }
    this.late = false;
    this.drawStage(this.waitingFor || how);
    this.waitingFor = null;
  }

  context(size) {
    const { state, data, t, theme } = this;
    const fitted = state.zoom === "number" && !data.waiting ? { ...state, ...cellOf(state, data) } : state;
    // The panel covers the right of the canvas; only the whole model continues above it.
    const column = size.narrow || state.zoom === "model" ? 0 : this.tell.element.offsetWidth + 24;
    const area = { x: 0, y: 0, w: size.width - column, h: size.height };
    // The arithmetic of a number is a table: on a low screen large text gets smaller before a row goes.
    const low = state.zoom === "number" && !size.narrow;
    const unit = low ? Math.max(Math.min(size.unit, SMALL), Math.min(size.unit, size.height / TABLE)) : size.unit;
    this.inked = { ...theme, size: unit };
    return { state: fitted, data, area, unit, big: state.big, t, theme: this.inked, narrow: size.narrow };
  }

  drawStage(how) {
    try {
      this.drawScene(how);
      this.broken.hidden = true;
    } catch (error) {
      this.fail(error);
    }
  }

  drawScene(how) {
    const size = this.measure();
    const ctx = this.context(size);
    if (size.narrow) ctx.area.h = size.height = Math.round(anatomySceneHeight(ctx));
    const { style } = this.tell.element;
    const corner = this.state.zoom === "model" && !size.narrow ? modelPanel(ctx) : null;
    style.left = corner ? corner.left + "px" : "";
    style.top = corner ? corner.top + "px" : "";
    const key = this.state.zoom;
    const items = anatomyScene(ctx);
    this.stage.show(items, size, this.shown && this.shown !== key ? "move" : how);
    this.shown = key;
    const matrix = mainMatrix(ctx);
    this.matrix = matrix;
    const item = matrix && items.find((item) => item.kind === "matrix" && item.matrix.id === matrix.id);
    const info = { matrix, item, waiting: this.data.waiting };
    this.tell.draw(ctx.state, this.data, info);
    this.showFlow(matrix);
    const sentence = this.tell.spoken(ctx.state, this.data, info);
    this.stage.canvas.setAttribute("aria-label", sentence);
    if (this.spoken.textContent !== sentence) this.spoken.textContent = sentence;
    this.element.dataset.state = JSON.stringify(ctx.state);
    this.element.dataset.drawn = this.data.id;
    this.element.dispatchEvent(new CustomEvent("headscope:drawn", { bubbles: true, composed: true }));
  }

  // A part that is reached shows once where its numbers go; while playing, what is computed appears only then.
  showFlow(matrix) {
    const { place, encoder, decoder, zoom, t, step, head } = this.state;
    const far = !isNear(this.state);
    const key = [this.data.id, zoom, place, encoder, decoder, t, ...(far ? [] : [step, head])].join("/");
    if (key === this.flowed) return;
    if (far || this.playing) {
      const { items, moving } = this.stage;
      const span = this.playing ? this.stay - MOVE : Infinity;
      const fill = () => (matrix && !this.data.waiting ? fillOf(moving, matrix.name, span) : null);
      const flow = far ? waveOf(items, place, this.playing, span) : fill();
      if (!flow) return; // nothing, or it is on its way
      if ((this.flowed || this.playing) && span > 0) this.stage.flow(flow); // not where the page opens
    }
    this.flowed = key;
  }

  // What holds for the whole drawing: texts that are too long for it, switches, and below it what these do.
  drawNotes() {
    const { t, long, data } = this;
    this.element.toggleAttribute("data-long", Boolean(long));
    const [above, below] = long ? [[t("an_too_long", long)], []] : this.notesOf(data);
    const text = JSON.stringify([above, below]);
    if (text === this.noted) return;
    this.noted = text;
    const paragraphs = (notes) => notes.map((note) => el("p", { dir: "auto" }, note));
    this.notes.replaceChildren(...paragraphs(above));
    this.surprises.replaceChildren(...paragraphs(below));
  }

  notesOf({ header, config, phrases, steps }) {
    const { t } = this;
    const above = [];
    if (header.whole) above.push(t("an_cut", { target: header.whole, limit: steps }));
    const left = Object.entries(header.unapplied ?? {}).map((pair) => pair.join("="));
    if (left.length) above.push(t("an_unapplied", { switches: left.join(" ") }));
    if (phrases.length) above.push(t("an_switches_on", { switches: listText(t, phrases) }));
    const kinds = Object.fromEntries(KINDS.map((kind) => [kind, { zero: [] }]));
    for (const [name, { zero }] of Object.entries(header.attention)) {
      const [stack, , part] = name.split(".");
      kinds[part === "cross" ? part : `${stack}_${part}`].zero.push(zero);
    }
    return [above, switchNotes(sharedTexts(header.texts), { ...config, kinds })];
  }

  drawBars() {
    const { state, data } = this;
    const info = { playing: Boolean(this.playing), tempo: state.tempo };
    for (const bar of this.bars) bar.draw(state, data);
    this.steps.draw(state, data, info);
    this.switches.draw(state, data);
    this.element.toggleAttribute("data-playing", info.playing);
    this.element.toggleAttribute("data-ends", isEmbedding(state.place) || state.place === "output");
  }

  get scene() {
    return this.stage.items;
  }
}
