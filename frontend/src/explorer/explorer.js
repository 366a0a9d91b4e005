import { el } from "../core/dom.js";
import { makeSaveMenu } from "../core/menu.js";
import { makeTooltip } from "../core/tooltip.js";
import { Picture, tellDrawn } from "../core/picture.js";
import { readPack } from "../core/pack.js";
import { makeTexts } from "../core/texts.js";
import { EXPLORER_TEXTS } from "./texts.js";
import { makeRamp, rampGradient, KINDS } from "../core/colour.js";
import { strongestPair } from "../core/matrix.js";
import { formatWeight } from "../core/format.js";
import { TraceModel } from "../state/trace_model.js";
import { Controls } from "./controls.js";
import { Chips } from "./chips.js";
import { Panel } from "./panel.js";
import { CellLine } from "./cell.js";
import { START_VIEW } from "../state/generated.js";
import { mergeState, stateText, changedKeys } from "../state/state.js";
import { Reader } from "../heads/reader.js";
import { measureRoom } from "./room.js";
import { saveExplorer, saveSight } from "./saving.js";
import { strongestWord } from "./finding.js";
import { kept, keep } from "../core/kept.js";
import { Sight } from "./sight.js";
import { shownModel, takeRecorded } from "./recorded.js";

const [NARROW, NARROW_BIG] = [820, 740]; // pixels; in big text the grid stays small
const SLIDER_PAUSE = 150;
const ECHO_TIME = 10000;
const SIGHT = "data-hs-sight"; // of the page at first sight: its fields are drawn for it

const sentenceOf = ({ checkpoint, sentences }) => JSON.stringify([checkpoint, sentences.source]);

export class Explorer extends Picture {
  // options: {onState(state), onFormation(open), calm: the switches fold behind a button also where there is room}
  /** @param {any} options */
  constructor(root, options) {
    super(root, el("div", { class: "hs", "data-testid": "explorer" }));
    this.options = options;
    this.state = { ...START_VIEW };
    this.reported = [];
    this.panels = [];
    this.focusKind = null;
    this.training = null;
    this.states = new WeakMap();
  }

  destroy() {
    super.destroy();
    clearTimeout(this.timer);
    document.documentElement.removeAttribute(SIGHT);
    this.model = this.live = null;
  }

  show(bytes) {
    const pack = this.read(bytes, EXPLORER_TEXTS);
    if (!pack) {
      this.model = this.live = this.controls = null;
      return undefined;
    }
    const { header } = pack;
    if (!header.kinds) return this.feed(bytes);
    const known = this.live && this.live.id === header.id ? this.live : null;
    const rest = JSON.stringify({ ...header, state: null });
    const same = known && rest === this.rest;
    this.rest = rest;
    const before = stateText(this.state);
    const linkState = header.state ? mergeState(START_VIEW, header.state) : null;
    const text = linkState && stateText(linkState);
    // The server may echo a state that we reported a moment ago: keep what the user has done since then.
    this.reported = this.reported.filter((report) => performance.now() - report.time < ECHO_TIME);
    const echo = this.reported.findIndex((report) => report.text === text);
    // The revision counts the server's own changes. Reports carry it, so that the server recognises old reports.
    const revision = linkState ? header.state.revision : this.revision;
    const ordered = revision !== this.revision;
    this.revision = revision;
    if (linkState && echo >= 0 && !ordered) this.reported.splice(0, echo + 1);
    else if (linkState && (ordered || text !== this.givenText || !known)) {
      this.state = linkState;
      this.reported = [];
    }
    if (linkState) this.givenText = text;
    if (same) {
      // Streamlit passes the same bytes again on every rerun: draw only if the state is new.
      this.settle();
      if (stateText(this.state) !== before) this.draw();
      return undefined;
    }
    const texts = JSON.stringify([header.texts, header.wording]);
    const exact = known ? known.exact : new Map();
    const another = this.live && sentenceOf(this.live.header) !== sentenceOf(header);
    this.live = new TraceModel(pack);
    for (const [key, entry] of exact) if (!this.live.exact.has(key)) this.live.exact.set(key, entry);
    this.states = new WeakMap();
    this.model = shownModel(this);
    if (!this.controls || texts !== this.textsKey) this.build(header);
    this.textsKey = texts;
    if (!this.model.kinds[this.state.kind] && this.state.kind !== "all")
      this.state.kind = /** @type {Kind} */ (Object.keys(this.model.kinds)[0]);
    this.settle();
    if (this.waiting) this.feed(this.waiting);
    if (another && !ordered) this.chooseFinding();
    this.draw();
    if (this.state.sight === "first" && kept("sight") === "all") this.person({ sight: "all" });
  }

  // Another sentence: the cell of the old one means nothing in it.
  chooseFinding() {
    const { state, model, focusKind } = this;
    const view = model.view(focusKind, state.layer, state.head, { ...state, pieces: "words", special: "hidden" });
    const found = strongestWord(view);
    const { keys } = model.kinds[focusKind];
    state.cell = found && strongestPair(view.raw, keys, view.rows[found.row], view.columns[found.column]);
  }

  // The translation so far, while it is being written.
  write(text) {
    this.chips?.write(text);
  }

  weigh(probabilities) {
    this.live.header.probabilities = probabilities;
    this.chips.weigh(this.theme);
  }

  recorded(state) {
    takeRecorded(this, state);
  }

  pick(partial) {
    if (this.model) this.person(partial);
  }

  feed(bytes) {
    let pack;
    try {
      pack = readPack(bytes);
    } catch {
      return;
    }
    // Numbers may arrive before their picture: keep them for it.
    if (!this.live || pack.header.id !== this.live.id) {
      this.waiting = bytes;
      return;
    }
    this.waiting = null;
    const gained = this.live.merge(pack);
    if (this.model.recorded) return;
    const panels = this.panels.filter((panel) => gained.has(panel.kind));
    if (!panels.length || !this.theme) return;
    for (const panel of panels) {
      this.setTexts(panel);
      this.drawHead(panel);
    }
    this.drawCell();
  }

  build({ texts, wording }) {
    this.t = makeTexts(texts, { ...EXPLORER_TEXTS, ...wording });
    this.reader = new Reader(this);
    const hooks = this.hooks();
    this.tooltip = makeTooltip(this.element);
    hooks.tooltip = this.tooltip;
    this.sharedHooks = hooks;
    this.controls = new Controls(hooks);
    this.chips = new Chips(hooks);
    this.cellLine = new CellLine(hooks);
    this.sight = new Sight(hooks);
    this.work = el("div", { class: "hs-work hs-pictured", "data-saved-by": "save" });
    const formats = ["png", "svg", "head", "csv"];
    this.save = makeSaveMenu(this.t, "save", (format) => saveExplorer(this, format), formats);
    this.panels = [];
    this.element.toggleAttribute("data-calm", Boolean(this.options.calm));
    if (this.options.calm && this.controls.differ(this.state)) this.controls.more.click();
    this.element.setAttribute("role", "region");
    this.element.setAttribute("aria-label", this.t("explorer"));
    this.element.replaceChildren(
      this.look.sentinel,
      this.sight.element,
      this.chips.element,
      this.controls.element,
      this.work,
      this.tooltip.box,
      this.spoken,
    );
  }

  hooks() {
    return {
      t: this.t,
      change: (partial, dragging) => this.person(partial, dragging),
      resized: () => this.schedule(),
      formation: (open) => this.options.onFormation?.(open),
      saveSight: (format) => saveSight(this, format),
      title: (kind, layer, head) => this.reader.title(kind, layer, head),
      axis: (side, direction) =>
        this.t(direction === "row" ? "row_axis" : "column_axis", { name: this.t("axis_" + side) }),
      look: (sight) => this.lookAt(sight),
      describe: (view) => this.reader.describe(view),
      hover: (...args) => (args.length === 3 ? this.reader.hoverCell(...args) : this.hoverTile(...args)),
      unhover: () => {
        this.tooltip.hide();
        this.previewHead(null);
      },
      choose: (...args) => (args.length === 2 ? this.chooseCell(...args) : this.chooseHead(...args)),
      light: (side, index) => this.panels.forEach((panel) => panel.light(side, index)),
      step: (index) => this.reader.step(index),
    };
  }

  // A change by the user: drawn at once; reported at once, or after a pause while a slider moves.
  person(partial, dragging) {
    const before = this.state;
    this.setState(partial);
    if (!changedKeys(before, this.state).length) return;
    clearTimeout(this.timer);
    if (dragging) this.timer = setTimeout(() => this.report(), SLIDER_PAUSE);
    else this.report();
  }

  report() {
    this.reported.push({ text: stateText(this.state), time: performance.now() });
    this.options.onState({ ...this.state, revision: this.revision });
  }

  setState(partial) {
    const before = this.state;
    this.state = mergeState(before, partial);
    if (!this.model) return;
    const chosenKind = this.state.kind;
    if (chosenKind !== "all" && !this.model.kinds[chosenKind]) this.state.kind = before.kind;
    // A cell of one kind means nothing in another kind.
    const focus = this.focusOf(this.state);
    if (!("cell" in partial) && this.state.kind !== before.kind && focus !== this.focusOf(before))
      this.state.cell = null;
    this.settle();
    const keys = changedKeys(before, this.state);
    if (!keys.length) return;
    if (keys.every((key) => key === "layer" || key === "head" || key === "cell")) this.drawChoice();
    else this.draw();
  }

  // Limits layer, head and cell to what the kind has.
  settle() {
    const { state, model } = this;
    if (this.atFirst) state.pieces = model.wordy ? "words" : "pieces";
    this.focusKind = this.focusOf(state);
    if (state.kind !== "all") Object.assign(state, model.clampChoice(state.kind, state.layer, state.head));
    const { queries, keys } = model.kinds[this.focusKind];
    if (state.cell && (state.cell[0] >= queries || state.cell[1] >= keys)) state.cell = null;
  }

  // The kind that the chosen cell belongs to.
  focusOf(state) {
    if (state.kind !== "all") return state.kind;
    return this.model.kinds[this.focusKind]
      ? this.focusKind
      : this.model.kinds.cross
        ? "cross"
        : Object.keys(this.model.kinds)[0];
  }

  // Whoever opened the switches keeps them open.
  lookAt(sight) {
    keep("sight", sight);
    this.person({ sight });
  }

  // At first sight the lines and the large picture show a head as long as the pointer is on its small one.
  hoverTile(kind, layer, head, ...rest) {
    this.reader.hoverTile(kind, layer, head, ...rest);
    if (kind === "cross") this.previewHead(layer, head);
  }

  previewHead(layer, head) {
    const preview = this.atFirst && layer !== "all" && head !== "all" && layer !== null ? [layer, head] : null;
    if (String(this.sight.preview ?? "") === String(preview ?? "")) return;
    this.sight.preview = preview;
    if (this.atFirst) this.sight.draw(this.model, this.state, this.theme);
    const panel = this.panels.find(({ kind }) => kind === "cross");
    if (!panel) return;
    this.setTexts(panel);
    this.drawHead(panel);
  }

  // A saved picture has nothing of what shows only while the pointer is on it.
  unpoint() {
    this.sight.point(null);
    for (const { grid, plot } of this.panels) for (const part of [grid, plot]) part.leave();
    this.sharedHooks.light(null, null);
  }

  get atFirst() {
    return this.state.sight !== "all" && Boolean(this.model.kinds.cross);
  }

  chooseHead(kind, layer, head) {
    this.focusKind = kind;
    this.person({ layer, head });
    this.spoken.textContent = this.reader.title(kind, layer, head);
  }

  chooseCell(view, [row, column]) {
    const moved = this.focusKind !== view.kind;
    this.focusKind = view.kind;
    const keys = this.model.kinds[view.kind].keys;
    this.person({ cell: strongestPair(view.raw, keys, view.rows[row], view.columns[column]) });
    if (moved) this.drawChoice();
    this.spoken.textContent = this.t("link_spoken", {
      row: view.rowLabels[row],
      column: view.columnLabels[column],
      weight: formatWeight(view.data[row * view.keys + column], view.exact),
    });
  }

  shownKinds() {
    return this.state.kind === "all" ? KINDS.filter((kind) => this.model.kinds[kind]) : [this.state.kind];
  }

  // The panels of the kinds shown. The line of arithmetic goes below the head, or below all three kinds.
  arrange() {
    const kinds = this.shownKinds();
    if (this.panels.map((panel) => panel.kind).join() === kinds.join()) return;
    this.panels = kinds.map((kind) => new Panel(kind, this.sharedHooks));
    this.tooltip.hide();
    this.work.classList.toggle("hs-three", kinds.length > 1);
    if (kinds.length > 1) {
      this.work.replaceChildren(
        ...this.panels.map((panel) =>
          el("div", { class: "hs-column", "data-kind": panel.kind }, panel.gridBox, panel.headBox),
        ),
        this.cellLine.element,
        this.save,
      );
    } else {
      const [panel] = this.panels;
      panel.headBox.append(this.cellLine.element);
      this.work.replaceChildren(panel.gridBox, panel.headBox, this.save);
    }
  }

  draw() {
    const { state, model, element } = this;
    if (!model) return;
    this.dress(state.big);
    element.dataset.kind = state.kind;
    element.dataset.pieces = state.pieces;
    const width = element.clientWidth;
    if (!width) return;
    element.classList.toggle("hs-narrow", width < (state.big ? NARROW_BIG : NARROW));
    element.dataset.sight = this.atFirst ? state.sight : "all";
    document.documentElement.toggleAttribute(SIGHT, this.atFirst);
    this.arrange();
    this.drawModel(true);
    element.dataset.drawn = `${model.id}:${state.kind}`;
    tellDrawn(element, element.dataset.drawn);
  }

  // Another model in the same layout, nothing else changes; measure: the available space may have changed.
  drawModel(measure) {
    const { state, model } = this;
    this.chips.draw(model.header, this.theme, model.recorded);
    if (this.atFirst) this.sight.draw(model, state, this.theme);
    for (const panel of this.panels) this.setTexts(panel);
    this.drawLegend();
    if (measure) this.sizes = measureRoom(this);
    for (const panel of this.panels) {
      panel.drawGrid(this.theme, this.sizes.gridWidth, this.sizes.gridHeight);
      this.drawHead(panel);
    }
    this.drawCell();
    this.element.dataset.training = model.recorded ? model.recorded.step : "";
  }

  // Another head or cell is chosen: redraws the outlines and one head; the grid's pictures stay.
  drawChoice() {
    if (this.atFirst) this.sight.draw(this.model, this.state, this.theme);
    for (const panel of this.panels) {
      this.setTexts(panel);
      panel.grid.state = this.state;
      panel.grid.paint();
      this.drawHead(panel);
    }
    this.drawLegend();
    this.drawCell();
  }

  setTexts(panel) {
    const preview = this.atFirst && panel.kind === "cross" ? this.sight.preview : null;
    panel.setTexts(this.model, this.state, this.panels.length > 1, preview);
  }

  drawHead(panel) {
    const cell = panel.kind === this.focusKind && !panel.preview ? panel.cellInView(this.state.cell) : null;
    panel.drawHead(this.theme, this.sizes.headWidth, this.sizes.headHeight, cell);
  }

  drawCell() {
    const panel = this.panels.find((panel) => panel.kind === this.focusKind) || this.panels[0];
    this.cellLine.draw({
      model: this.model,
      view: panel.view,
      theme: this.theme,
      state: this.state,
      cell: this.state.cell,
      at: panel.cellInView(this.state.cell),
    });
  }

  legendOf(panel) {
    const top = panel.tops().head;
    const high = top === 1 ? "1" : top.toFixed(2);
    return {
      kind: panel.kind,
      low: "0",
      high,
      top,
      threshold: this.state.threshold,
      gradient: rampGradient(makeRamp(this.theme, panel.kind), top, this.state.threshold),
    };
  }

  drawLegend() {
    this.controls.draw(
      this.state,
      Object.keys(this.model.kinds),
      this.panels.map((panel) => this.legendOf(panel)),
      this.live.header.recorded ? { open: Boolean(this.training) } : null,
      this.model.meaningsKnown(),
    );
  }
}
