import { buttonEl, el } from "../core/dom.js";
import { makeTooltip } from "../core/tooltip.js";
import { Picture, tellDrawn } from "../core/picture.js";
import { readPack } from "../core/pack.js";
import { makeTexts } from "../core/texts.js";
import { EXPLORER_TEXTS } from "../explorer/texts.js";
import { LAB_TEXTS } from "./texts.js";
import { KINDS } from "../core/colour.js";
import { recomputeRow } from "../core/matrix.js";
import { formatWeight, formatSmall } from "../core/format.js";
import { markup } from "../core/markup.js";
import { makeSaveMenu } from "../core/menu.js";
import { TraceModel } from "../state/trace_model.js";
import { Grid } from "../heads/grid.js";
import { HeadPlot } from "../heads/head.js";
import { Reader } from "../heads/reader.js";
import { DifferenceModel, DifferenceGrid, DifferencePlot } from "./difference.js";
import { START_VIEW, SWITCH_FORMS, TRAINED_EXACT } from "../state/generated.js";
import { mergeState } from "../state/state.js";
import { readSwitches, writeSwitches } from "./params.js";
import { SwitchCards } from "./switches.js";
import { labLegend, measureLabRoom } from "./room.js";
import { RowPlot, rowOfInterest } from "./row.js";
import { saveLab } from "./saving.js";
import { labSentence } from "./sentence.js";
import { TRIES, TryRow, switchesOf, tryOf } from "./tries.js";
import { sharedTexts, switchNotes } from "./words.js";

const ALL_TEXTS = { ...EXPLORER_TEXTS, ...LAB_TEXTS };
const NARROW = 820;
const PAUSE = 120; // milliseconds a slider must rest before the server is told, and a picture of the engine has to itself
const PANES = ["before", "after", "difference"];
const TRAINED = {
  seeds: TRAINED_EXACT.seeds,
  scaled: TRAINED_EXACT.scaled.toFixed(1),
  unscaled: TRAINED_EXACT.unscaled.toFixed(1),
};
const NO_SWITCHES = readSwitches({}, SWITCH_FORMS);

// Before, after and difference of one kind of attention: one head, one of its rows as bars, and the grids of all heads,
// below buttons that switch parts of attention off. A narrow screen shows one of the three, a wide one "before" and one
// of the others.
export class Lab extends Picture {
  constructor(root, report) {
    super(root, el("div", { class: "hs hs-lab", "data-testid": "lab", role: "region" }));
    this.report = report;
    this.texts = makeTexts(null, ALL_TEXTS);
    this.t = (name, values) => this.texts(name, values); // a pack may bring others
    this.onSwitches = () => false; // called when a person has changed a switch; whether the engine computes it
    this.state = { ...START_VIEW };
    this.lists = NO_SWITCHES;
    this.shownPane = "after";
    this.shownRow = null; // of the bars; null: the row that changes most
    this.column = null;
    this.opened = false;
    this.says = null; // translations: {id, before, after}
    this.models = {};
    this.exact = { before: new Map(), after: new Map() };
    this.knocking = false;
    this.drawn = new WeakMap(); // part of the page -> what it shows
    this.element.inert = true; // until the first picture
    this.element.setAttribute("aria-label", this.t("lab"));
    this.build();
  }

  build() {
    const { t } = this;
    this.tooltip = makeTooltip(this.element);
    this.cards = new SwitchCards({
      t,
      tooltip: this.tooltip,
      switched: (lists, dragging) => this.switched(lists, dragging),
      setKnocking: (on) => this.setKnocking(on),
      knocking: () => this.knocking,
    });
    this.kindButtons = KINDS.map((kind) => {
      const click = () => this.person({ kind });
      return buttonEl({ "data-testid": "lab-kind-" + kind, "data-kind": kind, click }, t("kind_" + kind));
    });
    this.tries = new TryRow({
      t,
      press: (name) => this.press(name),
      back: () => this.resetAll(),
      cards: () => this.change({ opened: !this.opened }),
    });
    this.sentence = el("p", { class: "hs-lab-says", "data-testid": "lab-says" });
    this.notes = el("div", { class: "hs-lab-notes", role: "status" });
    this.noted = "";
    this.kindBar = el("div", { class: "hs-seg", role: "group", "aria-label": t("kind") }, ...this.kindButtons);
    this.paneButtons = PANES.map((pane) => {
      const click = () => this.change({ shownPane: pane });
      return buttonEl({ "data-testid": "lab-show-" + pane, "data-pane": pane, click }, t("lab_" + pane));
    });
    const panes = { class: "hs-seg", "data-panes": "", role: "group", "aria-label": t("lab_shown") };
    this.paneBar = el("div", panes, ...this.paneButtons);
    this.save = makeSaveMenu(t, "lab-save", (format) => saveLab(this, format), ["png", "svg", "head", "csv"]);
    this.legend = el("span", { class: "hs-legend" });
    this.bar = el("div", { class: "hs-bar" }, this.kindBar, this.paneBar, this.legend);
    this.panes = {};
    this.work = el("div", { class: "hs-lab-work hs-pictured" });
    this.translations = el("div", { class: "hs-lab-translations" });
    this.grids = el("div", { class: "hs-lab-grids" });
    this.element.append(
      ...[this.look.sentinel, this.tries.element, this.cards.element, this.notes, this.translations, this.bar],
      ...[this.work, this.sentence, this.grids, this.tooltip.box, this.spoken],
    );
    this.cards.element.hidden = true;
  }

  destroy() {
    clearTimeout(this.timer);
    super.destroy();
  }

  resized() {
    this.drawn = new WeakMap();
    this.schedule();
  }

  drawNow() {
    cancelAnimationFrame(this.scheduled);
    this.draw();
  }

  // Another language is built anew. The wording of one trace only is drawn: a person may be typing into a field.
  translate({ texts, wording }) {
    this.texts = makeTexts(texts, { ...ALL_TEXTS, ...wording });
    const key = JSON.stringify(texts);
    if (key === this.textsKey) return;
    this.textsKey = key;
    this.element.setAttribute("aria-label", this.t("lab"));
    this.element.replaceChildren();
    this.build();
  }

  // -- data from the server, or from the engine (live.js) ----------------------------------------------------------

  take(bytes, side) {
    const pack = readPack(bytes);
    if (pack.header.says) {
      this.says = { id: pack.header.id, ...pack.header.says };
      if (this.models.after) this.drawTranslations();
      return;
    }
    if (!pack.header.kinds) {
      this.takeNumbers(pack, side);
      return;
    }
    if (side === "before") this.order(pack.header);
    const model = new TraceModel(pack);
    this.models[side] = model;
    // The masks of the switched side name its kinds of attention.
    if (side === "after" || !this.models.after) this.translate(pack.header);
    const waiting = this.exact[side].get(model.id);
    if (waiting) model.merge(waiting);
    this.together();
  }

  // Takes over what the page chose, and not a person, if it is new.
  order({ state, pane, opened, row, switches }) {
    if (!state || state.revision === this.revision) return;
    this.revision = state.revision;
    this.state = mergeState(START_VIEW, { ...state, kind: state.kind === "all" ? "cross" : state.kind });
    this.shownPane = pane;
    this.opened = opened;
    this.shownRow = row ? row - 1 : null;
    this.lists = readSwitches(switches, SWITCH_FORMS);
  }

  // The switches that the cards show, as in a link.
  params() {
    return writeSwitches(this.lists, SWITCH_FORMS);
  }

  // Those that the buttons of the row "Try" would set; none before the first picture.
  nextParams() {
    if (!this.models.after) return [];
    const lists = TRIES.map((name) => switchesOf(name, NO_SWITCHES, this.chosenHead()));
    return [NO_SWITCHES, ...lists].map((next) => writeSwitches(next, SWITCH_FORMS));
  }

  // Exact numbers of one head; they may arrive before their picture.
  takeNumbers(pack, side) {
    const { id } = pack.header;
    this.exact[side] = new Map([[id, pack]]);
    const model = this.models[side];
    if (!model || model.id !== id) return;
    model.merge(pack);
    this.together();
  }

  // Draws when both sides have the same tokens: in between, one side may already show the next sentence.
  together() {
    const { before, after } = this.models;
    if (!before || !after || before.header.base !== after.header.base) return;
    this.difference = new DifferenceModel(before, after);
    this.schedule();
  }

  // -- actions of the user -----------------------------------------------------------------------------------------

  // Shows something else: fields of this class.
  change(fields) {
    Object.assign(this, fields);
    this.draw();
    this.tell();
  }

  person(partial) {
    if (partial.kind) this.showKind(partial.kind); // another kind has other rows
    this.change({ state: mergeState(this.state, partial) });
  }

  switched(lists, dragging) {
    this.lists = lists;
    const computed = this.onSwitches();
    this.drawCards();
    clearTimeout(this.timer);
    if (dragging || computed) this.timer = setTimeout(() => this.tell(), PAUSE);
    else this.tell();
  }

  resetAll() {
    this.setKnocking(false);
    this.switched(NO_SWITCHES);
  }

  // A button of the row "Try": this switch alone; pressed again, none.
  press(name) {
    const chosen = this.chosenHead();
    const back = tryOf(this.lists, NO_SWITCHES, chosen) === name;
    const { kind } = this.state;
    if (name === "causal" && !back) this.showKind("decoder_self");
    if (name === "padding" && kind === "decoder_self" && !back) this.showKind("cross");
    this.setKnocking(false);
    this.switched(back ? NO_SWITCHES : switchesOf(name, NO_SWITCHES, chosen));
    if (kind !== this.state.kind) this.schedule();
  }

  showKind(kind) {
    if (kind !== this.state.kind) this.shownRow = null;
    this.state = mergeState(this.state, { kind });
  }

  /** @returns {[string, any, any]} */
  chosenHead() {
    const { layer, head } = this.chosen();
    return [this.state.kind, layer, head];
  }

  tell() {
    const { kind, layer, head } = this.state;
    this.report({
      ...{ kind, layer, head },
      row: this.shownRow === null ? 0 : this.shownRow + 1,
      switches: this.params(),
      cards: this.opened ? "open" : "folded",
      pane: this.shownPane,
      revision: this.revision,
    });
  }

  setKnocking(on) {
    this.knocking = on;
    this.element.toggleAttribute("data-knocking", on);
    this.drawCards();
  }

  choose(kind, layer, head) {
    if (this.knocking) return this.knock(kind, layer, head);
    this.person({ layer, head });
    this.spoken.textContent = this.panes.after.reader.title(kind, layer, head);
  }

  knock(kind, layer, head) {
    const out = this.cards.toggle(kind, layer, head);
    const title = this.panes.after.reader.title(kind, layer, head);
    this.spoken.textContent = this.t("lab_knock", { title, state: this.t(out ? "lab_state_out" : "lab_state_in") });
  }

  // The key X knocks out the chosen head, whatever clicks do.
  key(event) {
    if (!this.models.after || event.key.toLowerCase() !== "x" || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { layer, head } = this.chosen();
    this.knock(this.state.kind, layer, head);
  }

  // -- drawing -----------------------------------------------------------------------------------------------------

  chosen() {
    return this.models.after.clampChoice(this.state.kind, this.state.layer, this.state.head);
  }

  pane(name, kind) {
    const { t } = this;
    const different = name === "difference";
    const reader = new Reader({ t, tooltip: this.tooltip, state: this.state, model: null });
    const hooks = {
      t,
      name: name + "-",
      named: (label) => t("lab_pane", { pane: t("lab_" + name), label }),
      title: (...at) => reader.title(...at),
      axis: (side, direction) => t(direction === "row" ? "row_axis" : "column_axis", { name: t("axis_" + side) }),
      hover: (...args) => this.hover(name, reader, args),
      unhover: () => this.tooltip.hide(),
      choose: (...args) => (args.length === 3 ? this.choose(...args) : this.chooseCell(...args)),
    };
    const grid = different ? new DifferenceGrid(kind, hooks) : new Grid(kind, hooks);
    const head = different ? new DifferencePlot(kind, hooks) : new HeadPlot(kind, hooks);
    grid.canvas.dataset.testid = `lab-grid-${name}`;
    head.canvas.dataset.testid = `lab-head-${name}`;
    grid.canvas.addEventListener("keydown", (event) => this.key(event));
    const note = el("small", null);
    const title = el("h3", null);
    const numbers = el("div", { class: "hs-stats", "data-testid": "lab-numbers-" + name });
    const legend = el("span", { class: "hs-legend" });
    const heading = el("h2", null, el("span", null, t("lab_" + name)), " ", note);
    const headBar = el("div", { class: "hs-pane-head" }, heading, title);
    const pane = (id, ...children) => el("section", { class: "hs-pane", "data-testid": id + name }, ...children);
    const element = pane("pane-", headBar, head.canvas, numbers);
    const allHeading = el("h2", null, t("lab_all_heads", { side: t("lab_" + name) }));
    const all = pane("all-", el("div", { class: "hs-pane-head" }, allHeading, legend), grid.canvas);
    return { name, kind, reader, grid, head, about: note, title, numbers, legend, element, all };
  }

  rowPane(kind) {
    const { t } = this;
    const hooks = {
      t,
      show: (lines, event) => this.tooltip.show(lines, event.clientX, event.clientY),
      unhover: () => this.tooltip.hide(),
    };
    const plot = new RowPlot(kind, hooks);
    const [title, note] = [el("span", null), el("small", null)];
    const empty = el("p", { class: "hs-empty" }, t("lab_row_none"));
    const how = el("div", { class: "hs-stats" }, el("span", { "data-testid": "lab-row-how" }));
    const heading = el("h2", { "data-testid": "lab-row" }, title, " ", note);
    const head = el("div", { class: "hs-pane-head" }, heading);
    const element = el("section", { class: "hs-pane", "data-testid": "pane-row" }, head, plot.canvas, how, empty);
    return { plot, title, note, how, empty, element };
  }

  // A click on a cell of a head: the bars show its row.
  chooseCell(view, [row, column]) {
    this.change({ column: view.columns[column][0], shownRow: view.rows[row][0] });
  }

  // The row of the bars, as the index of a token: the chosen one, or the one that changes most.
  rowShown() {
    const { queries, keys } = this.models.after.kinds[this.state.kind];
    if (this.shownRow !== null && this.shownRow < queries) return this.shownRow;
    const [before, after] = ["before", "after"].map((side) => this.chosenView(side).raw);
    return rowOfInterest(before, after, queries, keys);
  }

  hover(name, reader, args) {
    if (name !== "difference") return args.length === 3 ? reader.hoverCell(...args) : reader.hoverTile(...args);
    const tile = args.length !== 3;
    const [kind, layer, head, row, column, event] = tile ? args : [null, null, null, ...args[1], args[2]];
    const view = tile ? this.difference.view(kind, layer, head, this.state) : args[0];
    const at = row * view.keys + column;
    const value = (number, exact) =>
      exact ? formatWeight(number, true) : this.t("approximate", { value: number.toFixed(2) });
    const change = view.data[at];
    const key = change > 0 ? "lab_changed_gained" : change < 0 ? "lab_changed_lost" : "lab_changed_none";
    const lines = [
      this.t("link", { row: view.rowLabels[row], column: view.columnLabels[column] }),
      { text: this.t(key, { value: formatSmall(Math.abs(change)) }), class: "hs-tip-number" },
      this.t("lab_was", { value: value(view.before.data[at], view.before.exact) }),
      this.t("lab_is", { value: value(view.after.data[at], view.after.exact) }),
    ];
    if (tile) lines.unshift(reader.title(kind, layer, head));
    return this.tooltip.show(lines, event.clientX, event.clientY);
  }

  drawCards() {
    if (!this.models.after) return;
    const { kinds, header } = this.models.after;
    const { kind } = this.state;
    const { lists, knocking } = this;
    const [standard, trained] = [header.d_k ** -0.5, header.trained_scale];
    this.cards.draw({ lists, forms: SWITCH_FORMS, kinds, kind, ...this.chosen(), header, standard, trained, knocking });
    const { tries, causal, biased } = header;
    const pressed = tryOf(lists, NO_SWITCHES, this.chosenHead());
    const switched = Object.keys(this.params()).length > 0;
    this.tries.draw({ tries, opened: this.opened, pressed, switched, causal, scaling: trained !== 1, biased });
    this.tries.element.hidden = !header.cards; // the page has its own switches
    this.cards.element.hidden = !header.cards || !(this.opened || !header.tries);
    const notes = header.cards ? switchNotes(sharedTexts(header.texts), header) : [];
    if (notes.join() === this.noted) return;
    this.noted = notes.join();
    this.notes.replaceChildren(...notes.map((note) => el("p", { class: "hs-note" }, note)));
  }

  draw() {
    if (!this.difference || !this.element.clientWidth) return;
    const { element, state } = this;
    this.width = element.clientWidth;
    element.inert = false;
    this.dress(state.big);
    element.dataset.kind = state.kind;
    element.classList.toggle("hs-narrow", this.width < NARROW * (state.big ? 1.1 : 1));
    for (const button of this.kindButtons) {
      button.setAttribute("aria-pressed", String(button.dataset.kind === state.kind));
      const name = this.t("kind_" + button.dataset.kind);
      if (button.textContent !== name) button.textContent = name;
    }
    if (!this.panes.before || this.panes.before.kind !== state.kind) {
      this.panes = Object.fromEntries(PANES.map((name) => [name, this.pane(name, state.kind)]));
      this.row = this.rowPane(state.kind);
      this.work.replaceChildren(...PANES.map((name) => this.panes[name].element), this.row.element, this.save);
      this.grids.replaceChildren(...PANES.map((name) => this.panes[name].all));
    }
    // Without the pictures, the numbers stand below the switches.
    const { pictures } = this.models.after.header;
    for (const part of [this.bar, this.work, this.translations, this.grids, this.sentence]) part.hidden = !pictures;
    if (pictures) this.drawPictures();
    else this.drawCards();
    element.dataset.drawn = `${this.models.before.id}:${this.models.after.id}:${state.kind}`;
    tellDrawn(element, element.dataset.drawn);
  }

  // The note beside "After": what the switches did, if no difference is visible.
  afterText() {
    const switches = Object.keys(this.models.after.header.switches || {});
    if (switches.length === 1 && switches[0] === "pad") return "lab_masked_pads";
    return switches.length ? "lab_after_about" : "lab_after_none";
  }

  // Why the difference is empty; "" if it is not.
  sameText() {
    const switches = this.models.after.header.switches || {};
    if (!Object.keys(switches).some((name) => name !== "pad")) return "";
    const tiles = this.difference.tiles(this.state.kind, this.state).grid.flat();
    if (tiles.some((tile) => tile.bytes.some((byte) => byte !== 128))) return "";
    return this.t(switches.padding && !switches.pad ? "lab_same_padding" : "lab_same");
  }

  // Which panes stand on the screen.
  visible() {
    const second = this.shownPane === "difference" ? "difference" : "after";
    return this.element.classList.contains("hs-narrow") ? [this.shownPane] : ["before", second];
  }

  // What the switches do to the translation, in one sentence above both.
  drawTranslations() {
    const { says, t } = this;
    const { id, in_words, switches, tries, checkpoint, sentences } = this.models.after.header;
    // The engine's ids are not the server's: what is written stays as long as it is of the same sentence and switches.
    const about = JSON.stringify([checkpoint, sentences.source, Object.entries(switches ?? {}).sort()]);
    if (says?.id === id) says.about = about;
    const old = says?.about !== about;
    this.translations.toggleAttribute("data-old", old);
    if (old && this.translations.childElementCount) return; // they keep their room
    this.translations.hidden = !tries || (!old && !says.before); // the page has its own, or the model cannot write
    if (old || !says.before) return;
    const differs = PANES.some((name) => says[name]?.some(([, marked]) => marked));
    const said = !Object.keys(switches ?? {}).length ? "trained" : differs ? "changed" : "same";
    const side = (name) => {
      const words = el("span", { dir: "auto" }, ...says[name].flatMap(markedWord));
      return el("p", { "data-testid": "lab-translation-" + name }, el("small", null, t("lab_" + name)), words);
    };
    const pressed = said === "trained" || !this.measures?.after.rows ? null : this.pressed();
    const did = () => `${t("lab_did_" + pressed, this.values)} ${t("lab_writes_" + said)}`;
    const text = pressed ? did() : t("lab_wrote_" + said, { switches: in_words });
    const point = el("p", { class: "hs-point" }, ...markup(text));
    this.translations.replaceChildren(point, ...["before", "after"].map(side));
  }

  // A text that is written makes the browser lay out the page before the next canvas: canvases come first where their
  // room is known.
  drawPictures() {
    const { state, theme, width, opened } = this;
    for (const name of PANES) {
      const pane = this.panes[name];
      pane.model = name === "difference" ? this.difference : this.models[name];
      Object.assign(pane.reader.explorer, { model: name === "difference" ? this.models.after : pane.model, state });
    }
    const { queries } = this.models.after.kinds[state.kind];
    const known = this.isDrawn(this.work, width, window.innerHeight, theme.key, state, queries, opened, !this.says);
    if (!known) {
      this.drawWords();
      this.sizes = measureLabRoom(this);
    }
    const { gridWidth, grid } = this.sizes;
    for (const name of PANES) {
      const pane = this.panes[name];
      if (!this.isDrawn(pane.grid, pane.model, state, theme.key, gridWidth, grid))
        pane.grid.draw(pane.model, state, theme, gridWidth, grid);
    }
    this.drawHeads();
    if (known) this.drawWords();
  }

  // Whether a part of the page shows all this already, as "before" does after a switch; else it is drawn now.
  isDrawn(part, ...shown) {
    const last = this.drawn.get(part);
    this.drawn.set(part, shown);
    return Boolean(last?.every((one, i) => one === shown[i]));
  }

  drawWords() {
    const { state, t } = this;
    this.drawCards();
    const visible = this.visible();
    const narrow = this.element.classList.contains("hs-narrow");
    for (const button of this.paneButtons) {
      button.setAttribute("aria-pressed", String(visible.includes(button.dataset.pane)));
      button.hidden = !narrow && button.dataset.pane === "before";
    }
    for (const name of PANES) {
      this.panes[name].element.hidden = !visible.includes(name);
      this.panes[name].all.hidden = narrow && !visible.includes(name);
    }
    this.drawSentence();
    this.drawTranslations();
    this.sentence.hidden = !this.models.after.header.tries;
    const [weights, change] = labLegend(t, this.theme, state.kind);
    const difference = this.shownPane === "difference";
    this.legend.replaceChildren(...(!difference ? [weights] : narrow ? [change] : [weights, change]));
    this.panes.difference.legend.replaceChildren(...(narrow ? [] : [change.cloneNode(true)]));
    this.panes.before.about.textContent = t("lab_before_about");
    this.panes.after.about.parentElement.title = this.models.after.header.in_words;
    this.panes.after.about.textContent = t(this.afterText());
    this.panes.difference.about.textContent = t(this.sameText() ? "lab_difference_none" : "lab_difference_about");
    for (const name of PANES) {
      const pane = this.panes[name];
      pane.title.textContent = pane.reader.title(...this.chosenHead());
      pane.numbers.replaceChildren(...this.numbers(name, this.chosenView(name)));
    }
    this.drawRowWords();
  }

  chosenView(name) {
    const { layer, head } = this.chosen();
    return this.panes[name].model.view(this.state.kind, layer, head, this.state);
  }

  drawSentence() {
    const { t, lists } = this;
    const side = (name) => ({ model: this.models[name], view: this.chosenView(name) });
    const [before, after] = ["before", "after"].map(side);
    const { header } = this.models.after;
    const pressed = this.pressed();
    const { sentence, measures, values } = labSentence({
      ...{ t, before, after, pressed, lists },
      root: Number((1 / header.trained_scale).toPrecision(2)),
      switched: this.isSwitchedAtAll(),
      pads: header.pads,
      title: this.panes.after.reader.title(...this.chosenHead()),
      out: this.isSwitched("zero"),
      replaced: this.isSwitched("replaced"),
    });
    this.measures = measures;
    this.values = values;
    const same = this.isSwitched("zero") || this.isSwitched("replaced") ? "" : this.sameText(); // nothing to measure
    const training = pressed === "scaling" && !same ? t("lab_says_training", TRAINED) : "";
    this.sentence.replaceChildren(...markup(`${same || sentence} ${training}`));
  }

  // The button of the row "Try" whose switches are on; null if none is.
  pressed() {
    return tryOf(readSwitches(this.models.after.header.switches, SWITCH_FORMS), NO_SWITCHES, this.chosenHead());
  }

  isSwitchedAtAll() {
    return Object.keys(this.models.after.header.switches).length > 0;
  }

  // Whether the chosen head is knocked out ("zero"), or has outputs from elsewhere ("replaced").
  isSwitched(name) {
    const { layer, head } = this.chosen();
    const heads = this.models.after.kinds[this.state.kind][name];
    return Boolean(heads && layer !== "all" && head !== "all" && heads[layer][head]);
  }

  drawHeads() {
    const { state, theme, t } = this;
    const q = this.rowShown();
    const { width, head: height } = this.sizes;
    for (const name of PANES) {
      const { head, reader } = this.panes[name];
      const view = this.chosenView(name);
      const label = t("lab_pane", { pane: t("lab_" + name), label: reader.title(...this.chosenHead()) });
      const at = (groups, token) => groups.findIndex((group) => group.includes(token));
      const [row, column] = [at(view.rows, q), at(view.columns, this.column)];
      const cell = this.shownRow === q && row >= 0 && column >= 0 ? [row, column] : null;
      if (this.isDrawn(head, view, theme.key, width, height, row, String(cell))) continue;
      head.lit = row < 0 ? null : row;
      head.draw(view, state, theme, { top: 1, cell, width, height, label });
    }
    this.drawRow(q);
  }

  // Whether one head is chosen, which has rows; of layers or heads together there are none.
  isOneHead() {
    return !this.chosenHead().includes("all");
  }

  // One row of the chosen head as bars.
  drawRow(q) {
    if (!this.isOneHead()) return;
    const { row, state, t } = this;
    const { layer, head } = this.chosen();
    const { keys } = this.models.after.kinds[state.kind];
    const sides = this.models.after.sides(state.kind, state);
    const rowOf = (side) => {
      const exact = this.models[side].exactOf(state.kind, layer, head, state.summary);
      return exact ? recomputeRow(exact, q, this.models[side].hidden(state.kind, layer, head)) : null;
    };
    const labels = Array.from({ length: keys }, (_, k) => this.models.after.pieceLabel(sides.columns, k));
    const data = { labels, before: rowOf("before"), after: this.isSwitchedAtAll() ? rowOf("after") : null };
    const label = t("lab_row_label", {
      row: this.models.after.pieceLabel(sides.rows, q),
      title: this.panes.after.reader.title(...this.chosenHead()),
      n: keys,
    });
    row.plot.draw(data, this.theme, this.sizes.rowWidth, this.sizes.rowHeight, label);
  }

  drawRowWords() {
    const { row, state, t } = this;
    const one = this.isOneHead();
    row.empty.hidden = one;
    row.plot.canvas.hidden = row.note.hidden = row.how.hidden = !one;
    if (!one) return row.title.replaceChildren();
    const sides = this.models.after.sides(state.kind, state);
    row.title.textContent = t("lab_row", { token: this.models.after.pieceLabel(sides.rows, this.rowShown()) });
    const changed = this.chosenView("difference").raw.some((change) => Math.abs(change) > 1e-6);
    row.note.textContent = this.shownRow === null && changed ? t("lab_row_most") : "";
    // Queries and keys of a later layer are made from vectors that the switch has changed in the layers before.
    const later = state.kind === "cross" || this.chosen().layer > 0;
    row.how.firstChild.textContent = t(this.pressed() === "scaling" && later ? "lab_row_earlier" : "lab_row_hint");
  }

  numbers(name, view) {
    const { t } = this;
    const numberSpan = (label, value, title) =>
      el("span", { title }, t(label) + " ", el("b", null, view.exact ? value : t("approximate", { value })));
    if (name === "difference") {
      const top = view.data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      return [numberSpan("lab_largest_change", view.exact ? formatWeight(top, true) : top.toFixed(2))];
    }
    const { saturated } = this.measures[name];
    const share = Number.isFinite(saturated) ? `${Math.round(100 * saturated)}%` : "–";
    const parts = [numberSpan("lab_saturated", share, t("lab_saturated_title"))];
    if (name === "after" && this.isSwitched("zero")) parts.push(el("span", { class: "hs-note" }, t("lab_out")));
    if (name === "after" && this.isSwitched("replaced"))
      parts.push(el("span", { class: "hs-note" }, t("lab_replaced")));
    return parts;
  }
}

// A word of a translation, [text, whether the other one lacks it]; the blank before it is not underlined.
function markedWord([text, marked]) {
  const word = text.trimStart();
  return marked ? [text.slice(0, text.length - word.length), el("b", null, word)] : [text];
}
