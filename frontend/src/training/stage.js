import { buttonEl, el } from "../core/dom.js";
import { KINDS, makeRamp, rampGradient } from "../core/colour.js";
import { strongestInRow } from "../core/matrix.js";
import { listText } from "../core/lists.js";
import { FrameGrid, FrameHead, viewOf } from "./heads.js";
import { runLabel } from "./words.js";
import { runSwatch } from "./status.js";

const START = /** @type {any} */ ({ threshold: 0 });

// The heads of the chosen run, one head enlarged, and the same head in every run.
export class HeadStage {
  /** @type {any} */ index;
  /** @type {any} */ room;
  /** @type {any} */ run;
  /** @type {any} */ store;
  /** @type {Theme} */ theme;
  // hooks: {t, tooltip, memory: {kind, place, rows}, redraw(), report(), say(text)}
  constructor(hooks) {
    this.hooks = hooks;
    const { t } = hooks;
    hooks.memory.rows ??= "predicted";
    this.grid = Object.fromEntries(KINDS.map((kind) => [kind, new FrameGrid(kind, this.gridHooks())]));
    this.names = Object.fromEntries(KINDS.map((kind) => [kind, el("h3", { "data-kind": kind }, t("kind_" + kind))]));
    this.buttons = ["all", ...KINDS].map((kind) => {
      const about = { "data-kind": kind, "data-testid": "training-kind-" + kind };
      return buttonEl({ ...about, click: () => this.showKind(kind) }, t("kind_" + kind));
    });
    this.ramp = el("span", { class: "learn-ramps", role: "img", "aria-label": t("legend"), title: t("legend") });
    this.example = el("p", { class: "learn-example" });
    this.wait = el("p", { class: "hs-empty" }, t("heads_wait"));
    this.boxes = el("div", { class: "learn-kinds" });
    const kinds = el("div", { class: "hs-seg", role: "group", "aria-label": t("kinds") }, ...this.buttons);
    const kindBar = el("div", { class: "learn-kind-bar" }, kinds);
    this.grids = el("section", { class: "learn-grids" }, kindBar, this.example, this.boxes);
    this.title = el("h2");
    const sorts = ["predicted", "fed"].map((name) => el("option", { value: name }, t("rows_" + name)));
    const change = () => this.showRows(this.select.value);
    this.select = el("select", { "data-testid": "training-rows", change }, ...sorts);
    this.heads = Object.fromEntries(KINDS.map((kind) => [kind, this.head(kind, "training-head")]));
    this.plot = el("div", { class: "learn-plot-one" });
    this.cellText = el("p", { class: "learn-cell", "data-testid": "training-cell" });
    const rows = el("label", { class: "learn-rows" }, t("rows"), " ", this.select);
    const bar = el("div", { class: "learn-one-bar" }, rows, this.ramp);
    this.one = el("section", { class: "learn-one" }, this.title, bar, this.plot, this.cellText);
    this.sameTitle = el("h2", null, el("span", null, t("same")), " ", el("small"));
    this.sameBox = el("div", { class: "learn-same-heads" });
    const same = { class: "learn-same", "data-testid": "training-same", hidden: true };
    this.same = el("section", same, this.sameTitle, this.sameBox);
    this.others = [];
    this.cell = null;
    // Below the first screen: drawn while it is visible.
    this.looks = new IntersectionObserver((entries) => {
      this.seen = entries[entries.length - 1].isIntersecting;
      if (this.seen && this.run) this.frame(this.store, this.run, this.index, true);
    });
    this.looks.observe(this.same);
  }

  destroy() {
    this.looks.disconnect();
  }

  // -- actions of the user ---------------------------------------------------------------------------------------

  gridHooks() {
    const { hooks } = this;
    return {
      t: hooks.t,
      name: "learn-",
      title: (_, layer, head) => hooks.t("title_head", { layer: layer + 1, head: head + 1 }),
      chosen: (kind) => (hooks.memory.place.kind === kind ? hooks.memory.place : null),
      choose: (kind, layer, head) => this.choose(kind, layer, head),
      hover: (kind, layer, head, row, column, event) => this.hoverTile(kind, layer, head, row, column, event),
      unhover: () => this.unhover(),
    };
  }

  // named: whether its axes have names.
  head(kind, testid, named = () => true) {
    const { hooks } = this;
    const { t } = hooks;
    const plot = new FrameHead(kind, {
      t,
      axis: (side, direction) =>
        named() ? t(direction === "row" ? "row_axis" : "column_axis", { name: t("axis_" + side) }) : "",
      hover: (view, [row, column], event) => this.tell(() => this.lines(plot.view, row, column), event),
      unhover: () => this.unhover(),
      choose: (view, cell) => this.chooseCell(cell, true),
    });
    plot.canvas.dataset.testid = testid;
    return plot;
  }

  choose(kind, layer, head) {
    const { memory, say, t } = this.hooks;
    memory.place = { kind, layer, head };
    this.cell = null;
    say(t("title_kind", { kind: this.kindName(this.run, kind), layer: layer + 1, head: head + 1 }));
    this.hooks.report();
    this.layoutHead();
    for (const kind of this.shownKinds()) this.grid[kind].paint();
    this.layoutSame();
    this.frame(this.store, this.run, this.index, true);
  }

  chooseCell(cell, spoken) {
    this.cell = cell;
    for (const plot of [this.enlarged, ...this.others.map((same) => same.plot)]) {
      plot.options.cell = cell[0] < plot.view.queries && cell[1] < plot.view.keys ? cell : null;
      plot.paint();
    }
    this.drawCell();
    if (spoken) this.hooks.say(this.cellText.textContent);
  }

  showKind(kind) {
    const { memory, redraw } = this.hooks;
    memory.kind = kind;
    if (kind !== "all" && memory.place.kind !== kind) {
      memory.place = { ...memory.place, kind };
      this.cell = null;
    }
    redraw();
    this.hooks.report();
  }

  showRows(rows) {
    this.hooks.memory.rows = rows;
    this.hooks.redraw();
    this.hooks.report();
  }

  // -- layout ----------------------------------------------------------------------------------------------------

  shownKinds() {
    const { kind } = this.hooks.memory;
    return kind === "all" ? KINDS : [kind];
  }

  kindName(run, kind) {
    const open = kind === "decoder_self" && run && !run.about.causal;
    return this.hooks.t(open ? "kind_decoder_open" : "kind_" + kind);
  }

  // room: of TrainingView. Lays out everything that stays from frame to frame.
  layout(store, run, theme, room) {
    this.unhover();
    Object.assign(this, { store, run, theme, room });
    const { memory } = this.hooks;
    const kinds = this.shownKinds();
    for (const button of this.buttons) button.setAttribute("aria-pressed", String(button.dataset.kind === memory.kind));
    this.buttons[2].textContent = this.kindName(run, "decoder_self");
    const rampOf = (kind) => {
      const gradient = rampGradient(makeRamp(theme, kind), 1, 0);
      return el("span", { class: "hs-ramp", style: `background:${gradient}` });
    };
    this.ramp.replaceChildren(el("span", null, "0"), ...kinds.map(rampOf), el("span", null, "1"));
    const ready = Boolean(run && run.opening);
    this.grids.style.minHeight = this.one.style.minHeight = `${Math.floor(room.high)}px`;
    this.sayExample(ready ? run.opening : null);
    this.one.style.visibility = ready ? "" : "hidden";
    if (!ready) {
      this.boxes.replaceChildren(this.wait);
      this.layoutSame();
      return;
    }
    const nameOf = (kind) => (kinds.length > 1 ? this.names[kind] : null);
    const boxOf = (kind) => el("div", { class: "learn-kind" }, nameOf(kind), this.grid[kind].canvas);
    this.boxes.replaceChildren(...kinds.map(boxOf));
    this.names.decoder_self.textContent = this.kindName(run, "decoder_self");
    const used = room.narrow ? 0 : this.boxes.offsetTop - this.grids.offsetTop;
    const width = Math.floor(this.boxes.clientWidth);
    const each = (room.high - used) / kinds.length - (kinds.length > 1 ? 25 * room.unit : 4);
    const { layers, heads } = run.opening;
    const least = room.narrow ? Math.min(220 * room.unit, (width / heads) * layers) : 60 * room.unit;
    for (const kind of kinds) this.grid[kind].lay(run, theme, width, Math.floor(Math.max(least, each)));
    this.layoutHead();
    this.layoutSame();
  }

  sayExample(opening) {
    const { t } = this.hooks;
    this.example.textContent = opening ? t("example", opening) : "";
    this.example.title = opening ? t("example_title", opening) : "";
  }

  // Limits the chosen head to what the run has.
  headShown(run) {
    const { kind, layer, head } = this.hooks.memory.place;
    const { layers, heads } = run.opening;
    return { kind, layer: Math.min(layer, layers - 1), head: Math.min(head, heads - 1) };
  }

  layoutHead() {
    const { run, theme, room } = this;
    const { t, memory } = this.hooks;
    const { kind, layer, head } = this.headShown(run);
    memory.place = { kind, layer, head };
    this.enlarged = this.heads[kind];
    if (this.plot.firstChild !== this.enlarged.canvas) this.plot.replaceChildren(this.enlarged.canvas);
    const name = el("small", { "data-kind": kind }, this.kindName(run, kind));
    this.title.replaceChildren(t("title_head", { layer: layer + 1, head: head + 1 }), " ", name);
    this.select.value = memory.rows;
    this.select.parentElement.style.visibility = kind === "encoder_self" ? "hidden" : "";
    const width = Math.floor(this.plot.clientWidth);
    const above = this.plot.offsetTop - this.one.offsetTop;
    const height = room.narrow ? Math.min(460 * room.unit, width * 1.1) : room.high - above - 28 * room.unit;
    const view = viewOf(run, kind, layer, head, memory.rows);
    const cell = this.cell && this.cell[0] < view.queries && this.cell[1] < view.keys ? this.cell : null;
    this.enlarged.lay(view, START, theme, { width, height: Math.max(150 * room.unit, height), cell });
  }

  layoutSame() {
    const runs = this.store.runs.filter((run) => run.opening);
    this.same.hidden = this.store.runs.length < 2 || !this.run || !this.run.opening;
    if (this.same.hidden) {
      this.others = [];
      return;
    }
    const { t, memory } = this.hooks;
    const { unit, narrow } = this.room;
    const known = this.others;
    this.others = runs.map((run) => {
      const { kind, layer, head } = this.headShown(run);
      const before = known.find((same) => same.run === run && same.plot.kind === kind);
      const plot = before?.plot ?? this.head(kind, "training-same-head", () => !this.room.narrow);
      const name = before?.name ?? el("span");
      const view = viewOf(run, kind, layer, head, memory.rows);
      const box = { class: "learn-same-one", "data-run": run.id };
      const made = () => el("div", box, el("h3", null, runSwatch(run.slot), name), plot.canvas);
      return { run, plot, name, view, element: before?.element ?? made() };
    });
    this.sameBox.style.setProperty("--runs", this.others.length);
    this.sameBox.replaceChildren(...this.others.map((same) => same.element));
    this.sameTitle.lastChild.textContent = "";
    for (const { plot, view, element } of this.others) {
      const width = Math.floor(element.clientWidth);
      const height = narrow ? width : Math.min(340 * unit, width * 0.95);
      plot.lay(view, START, this.theme, { width, height, cell: null });
    }
    this.sameName = t("title_kind", this.spokenPlace(this.run));
  }

  spokenPlace(run) {
    const { kind, layer, head } = this.headShown(run);
    return { kind: this.kindName(run, kind), layer: layer + 1, head: head + 1 };
  }

  // -- a frame -----------------------------------------------------------------------------------------------------

  // index: of the frame of the chosen run, -1 without one; speak: with descriptions for screen readers.
  frame(store, run, index, speak) {
    Object.assign(this, { store, index });
    if (!run || !run.opening || index < 0) return;
    for (const kind of this.shownKinds()) {
      this.grid[kind].frame(index);
      if (speak) this.grid[kind].canvas.setAttribute("aria-label", this.gridLabel(kind));
    }
    const { kind, layer, head } = this.enlarged.view;
    this.enlarged.frame(run.matrix(index, kind, layer, head));
    if (speak) {
      const label = this.describe(this.enlarged.view, this.spokenPlace(run), this.step(run, index));
      this.enlarged.canvas.setAttribute("aria-label", label);
    }
    this.drawCell();
    this.drawOthers(run, index, speak);
    if (this.told) this.told();
  }

  drawOthers(run, index, speak) {
    if (!this.others.length || !(this.seen || speak)) return;
    const { t } = this.hooks;
    const { step } = run.frames[index];
    const hint = t("same_hint", { title: this.sameName, step: this.step(run, index) });
    if (this.sameTitle.lastChild.textContent !== hint) this.sameTitle.lastChild.textContent = hint;
    for (const same of this.others) this.frameSame(same, step, speak);
  }

  frameSame({ run, plot, name }, step, speak) {
    const { t } = this.hooks;
    const label = runLabel(t, run);
    if (!run.frames.length) {
      name.textContent = t("same_none", { label });
      return;
    }
    const at = run.frameAt(step);
    const text = this.step(run, at);
    name.textContent = t("same_run", { label, step: text });
    plot.frame(run.matrix(at, plot.view.kind, plot.view.layer, plot.view.head));
    if (!speak) return;
    plot.canvas.setAttribute("aria-label", `${label}: ${this.describe(plot.view, this.spokenPlace(run), text)}`);
  }

  step(run, index) {
    return this.hooks.t("step", { step: run.frames[index].step.toLocaleString("en") });
  }

  // -- in words ----------------------------------------------------------------------------------------------------

  weight(byte) {
    return this.hooks.t("approximate", { value: (byte / 255).toFixed(2) });
  }

  lines(view, row, column) {
    const { t } = this.hooks;
    const at = row * view.keys + column;
    const masked = view.mask && view.mask[at];
    return [
      t("link", { row: view.rowLabels[row], column: view.columnLabels[column] }),
      { text: this.weight(view.bytes[at]), class: "hs-tip-number" },
      masked ? { text: t("masked_cell"), class: "hs-tip-dim" } : null,
    ];
  }

  hoverTile(kind, layer, head, row, column, event) {
    const { run, hooks } = this;
    if (this.index < 0) return;
    const view = viewOf(run, kind, layer, head, hooks.memory.rows);
    const title = hooks.t("title_kind", { kind: this.kindName(run, kind), layer: layer + 1, head: head + 1 });
    this.tell(() => {
      view.bytes = run.matrix(this.index, kind, layer, head);
      return [title, ...this.lines(view, row, column)];
    }, event);
  }

  // The tooltip at the pointer, updated with every frame while the pointer stays.
  tell(lines, { clientX, clientY }) {
    this.told = () => this.hooks.tooltip.show(lines(), clientX, clientY);
    this.told();
  }

  unhover() {
    this.told = null;
    this.hooks.tooltip.hide();
  }

  drawCell() {
    const { t } = this.hooks;
    const { view } = this.enlarged;
    const { cell } = this.enlarged.options;
    let text = t("cell_none");
    if (cell && view.bytes) {
      const value = this.weight(view.bytes[cell[0] * view.keys + cell[1]]);
      const [row, column] = [view.rowLabels[cell[0]], view.columnLabels[cell[1]]];
      text = t("cell", { row, column, value, step: this.step(this.run, this.index) });
    }
    if (this.cellText.textContent !== text) this.cellText.textContent = text;
  }

  gridLabel(kind) {
    const { layers, heads } = this.run.opening;
    const step = this.step(this.run, this.index);
    return this.hooks.t("grid_label", { kind: this.kindName(this.run, kind), step, layers, heads });
  }

  // The picture in words: the strongest link of up to 20 rows.
  describe(view, place, step) {
    const { t } = this.hooks;
    const links = [];
    for (let r = 0; r < Math.min(20, view.queries); r++) {
      const k = strongestInRow(view.bytes, view.keys, r);
      const weight = (view.bytes[r * view.keys + k] / 255).toFixed(2);
      links.push(t("head_label_link", { row: view.rowLabels[r], column: view.columnLabels[k], weight }));
    }
    const title = t("title_kind", place);
    return t("head_label", { title, step, rows: view.queries, columns: view.keys, links: listText(t, links) });
  }
}
