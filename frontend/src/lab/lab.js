import { el } from "../core/dom.js";
import { makeTooltip } from "../core/tooltip.js";
import { followLook } from "../core/look.js";
import { readPack } from "../core/pack.js";
import { makeTexts } from "../core/texts.js";
import { EXPLORER_TEXTS } from "../explorer/texts.js";
import { LAB_TEXTS } from "./texts.js";
import { readTheme, KINDS } from "../core/colour.js";
import { meanEntropy, largestOf } from "../core/matrix.js";
import { formatWeight, formatSmall } from "../core/format.js";
import { TraceModel } from "../state/trace_model.js";
import { Grid } from "../heads/grid.js";
import { HeadPlot } from "../heads/head.js";
import { Reader } from "../heads/reader.js";
import { DifferenceModel, DifferenceGrid, DifferencePlot } from "./difference.js";
import { START_VIEW } from "../state/generated.js";
import { mergeState } from "../state/state.js";
import { readSwitches, writeSwitches } from "./params.js";
import { SwitchCards } from "./switches.js";
import { labLegend, measureLabRoom } from "./room.js";

const ALL_TEXTS = { ...EXPLORER_TEXTS, ...LAB_TEXTS };
const NARROW = 820;
const PAUSE = 120; // milliseconds a slider must rest before the server is told
const PANES = ["before", "after", "difference"];

// Before, after and difference of one kind of attention: three grids and one head three times, under the switches.
export class Lab {
  constructor(root, report) {
    this.root = root;
    this.report = report;
    this.texts = makeTexts(null, ALL_TEXTS);
    this.t = (name, values) => this.texts(name, values); // a pack may bring others
    this.state = { ...START_VIEW };
    this.forms = {};
    this.lists = {};
    this.models = {};
    this.exact = { before: new Map(), after: new Map() };
    this.knocking = false;
    this.element = el("div", { class: "hs hs-lab", "data-testid": "lab", role: "region", "aria-label": this.t("lab") });
    this.look = followLook(
      this.element,
      () => this.retheme(),
      () => this.schedule(),
      { fitsWindow: true },
    );
    this.build();
    root.append(this.element);
  }

  build() {
    const { t } = this;
    this.tooltip = makeTooltip(this.element);
    this.cards = new SwitchCards({
      t,
      tooltip: this.tooltip,
      switched: (lists, dragging) => this.switched(lists, dragging),
      mode: (on) => this.setMode(on),
      knocking: () => this.knocking,
    });
    this.kindButtons = KINDS.map((kind) =>
      el(
        "button",
        { type: "button", "data-testid": "lab-kind-" + kind, "data-kind": kind, click: () => this.person({ kind }) },
        t("kind_" + kind),
      ),
    );
    this.legend = el("div", { class: "hs-legend" });
    this.reset = el(
      "button",
      { type: "button", class: "hs-reset", "data-testid": "reset", click: () => this.resetAll() },
      t("lab_reset"),
    );
    this.kindBar = el("div", { class: "hs-seg", role: "group", "aria-label": t("kind") }, ...this.kindButtons);
    this.bar = el("div", { class: "hs-bar" }, this.kindBar, this.legend, this.reset);
    this.panes = {};
    this.work = el("div", { class: "hs-lab-work" });
    this.spoken = el("div", { class: "hs-spoken", "aria-live": "polite", role: "status" });
    this.element.append(this.look.sentinel, this.cards.element, this.bar, this.work, this.tooltip.box, this.spoken);
  }

  destroy() {
    this.look.stop();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.element.remove();
  }

  schedule() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  retheme() {
    if (this.theme && readTheme(this.element).key !== this.theme.key) this.draw();
  }

  // What was built in other words is built again.
  translate({ texts, wording }) {
    const key = JSON.stringify([texts, wording]);
    if (key === this.textsKey) return;
    this.textsKey = key;
    this.texts = makeTexts(texts, { ...ALL_TEXTS, ...wording });
    this.element.setAttribute("aria-label", this.t("lab"));
    this.element.replaceChildren();
    this.build();
  }

  // -- data from the server ----------------------------------------------------------------------------------------

  take(bytes, side) {
    const pack = readPack(bytes);
    if (!pack.header.kinds) return this.takeNumbers(pack, side);
    const { state } = pack.header;
    if (side === "before" && state && state.revision !== this.revision) {
      this.revision = state.revision;
      this.state = mergeState(START_VIEW, { ...state, kind: state.kind === "all" ? "cross" : state.kind });
      this.forms = pack.header.forms;
      this.lists = readSwitches(pack.header.switches, this.forms);
    }
    const model = new TraceModel(pack);
    this.models[side] = model;
    this.translate(pack.header);
    const waiting = this.exact[side].get(model.id);
    if (waiting) model.merge(waiting);
    return this.together();
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

  person(partial) {
    this.state = mergeState(this.state, partial);
    this.draw();
    this.tell();
  }

  switched(lists, dragging) {
    this.lists = lists;
    this.drawCards();
    clearTimeout(this.timer);
    if (dragging) this.timer = setTimeout(() => this.tell(), PAUSE);
    else this.tell();
  }

  resetAll() {
    this.setMode(false);
    this.switched(readSwitches({}, this.forms));
  }

  tell() {
    const { kind, layer, head } = this.state;
    this.report({ kind, layer, head, switches: writeSwitches(this.lists, this.forms), revision: this.revision });
  }

  setMode(on) {
    this.knocking = on;
    this.element.toggleAttribute("data-knocking", on);
    this.drawCards();
  }

  choose(kind, layer, head) {
    if (this.knocking) return this.knock(kind, layer, head);
    this.person({ layer, head });
    this.spoken.textContent = this.panes.after.reader.title(kind, layer, head);
    return undefined;
  }

  knock(kind, layer, head) {
    const out = this.cards.toggle(kind, layer, head);
    const title = this.panes.after.reader.title(kind, layer, head);
    this.spoken.textContent = this.t("lab_knock", { title, state: this.t(out ? "lab_state_out" : "lab_state_in") });
  }

  // The key X knocks out the chosen head, whatever clicks do.
  key(event) {
    if (event.key.toLowerCase() !== "x" || event.ctrlKey || event.metaKey || event.altKey) return;
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
      choose: (...args) => (args.length === 3 ? this.choose(...args) : this.chooseCell(args[1])),
    };
    const grid = different ? new DifferenceGrid(kind, hooks) : new Grid(kind, hooks);
    const head = different ? new DifferencePlot(kind, hooks) : new HeadPlot(kind, hooks);
    grid.canvas.dataset.testid = `lab-grid-${name}`;
    head.canvas.dataset.testid = `lab-head-${name}`;
    grid.canvas.addEventListener("keydown", (event) => this.key(event));
    const note = el("small", null);
    const title = el("h3", null);
    const numbers = el("div", { class: "hs-stats", "data-testid": "lab-numbers-" + name });
    const element = el(
      "section",
      { class: "hs-pane", "data-testid": "pane-" + name },
      el("h2", null, el("span", null, t("lab_" + name)), " ", note),
      grid.canvas,
      title,
      head.canvas,
      numbers,
    );
    return { name, kind, reader, grid, head, about: note, title, numbers, element };
  }

  // The chosen cell is shared by all three heads.
  chooseCell(cell) {
    this.cell = cell;
    this.drawHeads();
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
    const signed = (change > 0 ? "+" : "") + formatSmall(change);
    const lines = [
      this.t("link", { row: view.rowLabels[row], column: view.columnLabels[column] }),
      { text: this.t("lab_changed", { value: signed }), class: "hs-tip-number" },
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
    const { lists, forms, knocking } = this;
    const [std, trained] = [header.d_k ** -0.5, header.trained_scale];
    this.cards.draw({ lists, forms, kinds, kind, ...this.chosen(), header, std, trained, knocking });
    this.reset.disabled = !Object.keys(writeSwitches(this.lists, this.forms)).length;
    this.cards.element.hidden = this.reset.hidden = header.cards === false; // the page has its own switches
  }

  draw() {
    if (!this.difference || !this.element.clientWidth) return;
    const { element, state } = this;
    this.width = element.clientWidth;
    element.toggleAttribute("data-big", state.big);
    this.theme = readTheme(element);
    element.dataset.theme = this.theme.dark ? "dark" : "light";
    element.dataset.kind = state.kind;
    element.classList.toggle("hs-narrow", this.width < NARROW * (state.big ? 1.1 : 1));
    this.drawCards();
    for (const button of this.kindButtons) {
      button.setAttribute("aria-pressed", String(button.dataset.kind === state.kind));
      const name = this.t("kind_" + button.dataset.kind);
      if (button.textContent !== name) button.textContent = name;
    }
    if (!this.panes.before || this.panes.before.kind !== state.kind) {
      this.panes = Object.fromEntries(PANES.map((name) => [name, this.pane(name, state.kind)]));
      this.work.replaceChildren(...PANES.map((name) => this.panes[name].element));
      this.cell = null;
    }
    // Without the pictures, the numbers and the leak stand below the switches.
    const { pictures } = this.models.after.header;
    this.kindBar.hidden = this.legend.hidden = this.work.hidden = !pictures;
    if (pictures) this.drawPictures();
    element.dataset.drawn = `${this.models.before.id}:${this.models.after.id}:${state.kind}`;
    element.dispatchEvent(
      new CustomEvent("headscope:drawn", { bubbles: true, composed: true, detail: element.dataset.drawn }),
    );
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

  drawPictures() {
    const { state, t } = this;
    this.legend.replaceChildren(...labLegend(t, this.theme, state.kind));
    this.panes.before.about.textContent = t("lab_before_about");
    this.panes.after.about.textContent = t(this.afterText());
    this.panes.difference.about.textContent = t(this.sameText() ? "lab_difference_none" : "lab_difference_about");
    const sizes = measureLabRoom(this);
    for (const name of PANES) {
      const pane = this.panes[name];
      const model = name === "difference" ? this.difference : this.models[name];
      Object.assign(pane.reader.explorer, { model: name === "difference" ? this.models.after : model, state });
      pane.model = model;
      pane.grid.draw(model, state, this.theme, sizes.width, sizes.grid);
    }
    this.sizes = sizes;
    this.drawHeads();
  }

  drawHeads() {
    const { state, t } = this;
    const { layer, head } = this.chosen();
    for (const name of PANES) {
      const pane = this.panes[name];
      const view = pane.model.view(state.kind, layer, head, state);
      const title = pane.reader.title(state.kind, layer, head);
      pane.title.textContent = title;
      const label = t("lab_pane", { pane: t("lab_" + name), label: title });
      const cell = this.cell && this.cell[0] < view.queries && this.cell[1] < view.keys ? this.cell : null;
      pane.head.draw(view, state, this.theme, {
        top: 1,
        cell,
        width: this.sizes.width,
        height: this.sizes.head,
        label,
      });
      pane.numbers.replaceChildren(...this.numbers(name, view, layer, head));
    }
  }

  numbers(name, view, layer, head) {
    const { t } = this;
    const numberSpan = (label, value, title) =>
      el("span", { title }, t(label) + " ", el("b", null, view.exact ? value : t("approximate", { value })));
    if (name === "difference") {
      const top = view.data.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const parts = [numberSpan("lab_largest_change", view.exact ? formatWeight(top, true) : top.toFixed(2))];
      const why = this.sameText();
      if (why) parts.push(el("span", { class: "hs-note", "data-testid": "lab-same" }, why));
      return parts;
    }
    const kindData = this.models[name].kinds[view.kind];
    const parts = [
      numberSpan("lab_entropy", meanEntropy(view.raw, kindData.queries, kindData.keys).toFixed(3), t("entropy_title")),
      numberSpan("largest", largestOf(view.raw).toFixed(4), t("largest_title")),
    ];
    if (name === "after" && layer !== "all" && head !== "all" && kindData.zero && kindData.zero[layer][head])
      parts.push(el("span", { class: "hs-note" }, t("lab_out")));
    return parts;
  }
}
