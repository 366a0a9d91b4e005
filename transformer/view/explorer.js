import { el, makeTooltip, printable, documentTop } from "./dom.js";
import { readPack } from "./pack.js";
import { makeTexts } from "./texts.js";
import { readTheme, makeRamp, rampGradient, KINDS } from "./colour.js";
import { strongestPair } from "./matrix.js";
import { formatWeight } from "./format.js";
import { TraceModel } from "./model.js";
import { Controls } from "./controls.js";
import { Chips } from "./chips.js";
import { Panel } from "./panel.js";
import { CellLine } from "./cell.js";
import { STATE_DEFAULTS, mergeState, stateText, changedKeys } from "./state.js";
import { pictureSvg, svgToPng, viewCsv, saveFile, fileStem } from "./save.js";

const NARROW = 820;
const SLIDER_PAUSE = 150;

export function mountExplorer(root, options) {
  const explorer = new Explorer(root, options || {});
  return {
    show: (bytes) => explorer.show(bytes),
    feed: (bytes) => explorer.feed(bytes),
    setState: (partial) => explorer.setState(partial),
    state: () => ({ ...explorer.state }),
    destroy: () => explorer.destroy(),
  };
}

class Explorer {
  constructor(root, options) {
    this.root = root;
    this.options = options;
    this.state = { ...STATE_DEFAULTS };
    this.reported = [];
    this.panels = [];
    this.focusKind = null;
    this.element = el("div", { class: "hs", "data-testid": "explorer" });
    const css = options.assets && options.assets.css;
    this.style = css ? el("style", null, css) : null;
    root.append(...(this.style ? [this.style, this.element] : [this.element]));
    this.watch();
  }

  // Sizes, theme and clicks outside. A 1 ms transition of this element's colours tells of every change of theme,
  // whoever makes it, without polling.
  watch() {
    this.onResize = () => this.schedule();
    this.resizes = new ResizeObserver(() => {
      const width = this.element.clientWidth;
      if (width !== this.lastWidth) this.schedule();
      this.lastWidth = width;
    });
    this.resizes.observe(this.element);
    this.sentinel = el("span", { class: "hs-sentinel", "aria-hidden": "true", transitionend: () => this.retheme() });
    this.onScheme = () => this.retheme();
    this.schemes = window.matchMedia("(prefers-color-scheme: dark)");
    this.schemes.addEventListener("change", this.onScheme);
    this.onClick = (event) => this.controls && this.controls.closeMenu(event.composedPath());
    window.addEventListener("resize", this.onResize);
    document.addEventListener("click", this.onClick);
  }

  destroy() {
    this.resizes.disconnect();
    this.schemes.removeEventListener("change", this.onScheme);
    window.removeEventListener("resize", this.onResize);
    document.removeEventListener("click", this.onClick);
    cancelAnimationFrame(this.frame);
    clearTimeout(this.timer);
    this.element.remove();
    if (this.style) this.style.remove();
    this.model = null;
  }

  schedule() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.model && this.draw());
  }

  retheme() {
    if (!this.model) return;
    const before = this.theme && this.theme.key;
    if (readTheme(this.element).key !== before) this.draw();
  }

  show(bytes) {
    let pack;
    try {
      pack = readPack(bytes);
    } catch (error) {
      this.element.replaceChildren(el("p", { class: "hs-empty", role: "alert" },
        makeTexts()("unreadable", { reason: error.message })));
      this.model = null;
      return;
    }
    const { header } = pack;
    if (!header.kinds) return this.feed(bytes);
    const known = this.model && this.model.id === header.id ? this.model : null;
    const given = header.state ? mergeState(STATE_DEFAULTS, header.state) : null;
    const text = given && stateText(given);
    // A state that we reported ourselves comes back late: what the person did since then stays.
    const echo = this.reported.indexOf(text);
    if (given && echo >= 0) this.reported.splice(0, echo + 1);
    else if (given && (!this.model || text !== this.givenText || !known)) this.state = given;
    this.givenText = text;
    const texts = JSON.stringify(header.texts || {});
    const exact = known ? known.exact : new Map();
    this.model = new TraceModel(pack);
    for (const [key, entry] of exact) if (!this.model.exact.has(key)) this.model.exact.set(key, entry);
    if (!this.controls || texts !== this.textsKey) this.build(header.texts);
    this.textsKey = texts;
    if (!this.model.kinds[this.state.kind] && this.state.kind !== "all") this.state.kind = Object.keys(this.model.kinds)[0];
    this.settle();
    if (this.waiting) this.feed(this.waiting);
    this.draw();
    return undefined;
  }

  feed(bytes) {
    let pack;
    try {
      pack = readPack(bytes);
    } catch {
      return;
    }
    // Numbers may arrive before the picture they belong to: keep them for it.
    if (!this.model || pack.header.id !== this.model.id) {
      this.waiting = bytes;
      return;
    }
    this.waiting = null;
    const gained = this.model.merge(pack);
    const shown = this.panels.filter((panel) => gained.has(panel.kind));
    if (!shown.length || !this.theme) return;
    for (const panel of shown) {
      panel.setTexts(this.model, this.state, this.panels.length > 1);
      this.drawHead(panel);
    }
    this.drawCell();
  }

  build(translations) {
    this.t = makeTexts(translations);
    const hooks = this.hooks();
    this.tooltip = makeTooltip(this.element);
    hooks.tooltip = this.tooltip;
    this.sharedHooks = hooks;
    this.controls = new Controls(hooks);
    this.chips = new Chips(hooks);
    this.cellLine = new CellLine(hooks);
    this.work = el("div", { class: "hs-work" });
    this.spoken = el("div", { class: "hs-spoken", "aria-live": "polite", role: "status" });
    this.panels = [];
    this.element.setAttribute("role", "region");
    this.element.setAttribute("aria-label", this.t("explorer"));
    this.element.replaceChildren(this.sentinel, this.chips.element, this.controls.element, this.work, this.tooltip.box,
      this.spoken);
  }

  hooks() {
    return {
      t: this.t,
      change: (partial, dragging) => this.person(partial, dragging),
      save: (format) => this.save(format),
      title: (kind, layer, head) => this.title(kind, layer, head),
      axis: (side, direction) => this.t(direction === "row" ? "row_axis" : "column_axis", { name: this.t("axis_" + side) }),
      hover: (...args) => (args.length === 3 ? this.hoverCell(...args) : this.hoverTile(...args)),
      unhover: () => this.tooltip.hide(),
      choose: (...args) => (args.length === 2 ? this.chooseCell(...args) : this.chooseHead(...args)),
      light: (index) => this.lightStep(index),
      step: (index) => this.step(index),
    };
  }

  title(kind, layer, head) {
    const { layers, heads } = this.model.kinds[kind];
    const how = this.state.summary;
    if (layer === "all" && head === "all") return this.t(`title_${how}_all`, { n: layers * heads });
    if (head === "all") return this.t(`title_${how}_heads`, { layer: layer + 1, n: heads });
    if (layer === "all") return this.t(`title_${how}_layers`, { head: head + 1, n: layers });
    return this.t("title_head", { layer: layer + 1, head: head + 1 });
  }

  // A change a person made: drawn at once, reported at once, or after a pause while a slider moves.
  person(partial, dragging) {
    const before = this.state;
    this.setState(partial);
    const keys = changedKeys(before, this.state);
    if (!keys.length) return;
    this.pending = new Set([...(this.pending || []), ...keys]);
    clearTimeout(this.timer);
    if (dragging) this.timer = setTimeout(() => this.report(), SLIDER_PAUSE);
    else this.report();
  }

  report() {
    const keys = [...this.pending];
    this.pending = null;
    this.reported.push(stateText(this.state));
    if (this.reported.length > 50) this.reported.shift();
    if (this.options.onState) this.options.onState({ ...this.state }, keys);
  }

  setState(partial) {
    const before = this.state;
    this.state = mergeState(before, partial);
    if (!this.model) return;
    const asked = this.state.kind;
    if (asked !== "all" && !this.model.kinds[asked]) this.state.kind = before.kind;
    // A cell of one kind means nothing in another.
    const focus = this.focusOf(this.state);
    if (!("cell" in partial) && this.state.kind !== before.kind && focus !== this.focusOf(before)) this.state.cell = null;
    this.settle();
    const keys = changedKeys(before, this.state);
    if (!keys.length) return;
    if (keys.every((key) => key === "layer" || key === "head" || key === "cell")) this.drawChoice();
    else this.draw();
  }

  // Layer, head and cell within what the kind has.
  settle() {
    const { state, model } = this;
    this.focusKind = this.focusOf(state);
    if (state.kind !== "all") Object.assign(state, model.clampChoice(state.kind, state.layer, state.head));
    const { queries, keys } = model.kinds[this.focusKind];
    if (state.cell && (state.cell[0] >= queries || state.cell[1] >= keys)) state.cell = null;
  }

  // The kind that the chosen cell belongs to.
  focusOf(state) {
    if (state.kind !== "all") return state.kind;
    return this.model.kinds[this.focusKind] ? this.focusKind : this.model.kinds.cross ? "cross" : Object.keys(this.model.kinds)[0];
  }

  chooseHead(kind, layer, head) {
    this.focusKind = kind;
    this.person({ layer, head });
    this.spoken.textContent = this.title(kind, layer, head);
  }

  chooseCell(view, [row, column]) {
    const moved = this.focusKind !== view.kind;
    this.focusKind = view.kind;
    const keys = this.model.kinds[view.kind].keys;
    this.person({ cell: strongestPair(view.raw, keys, view.rows[row], view.columns[column]) });
    if (moved) this.drawChoice();
    this.spoken.textContent = this.t("link_spoken", { row: view.rowLabels[row], column: view.columnLabels[column],
      weight: formatWeight(view.data[row * view.keys + column], view.exact) });
  }

  linkLines(view, row, column) {
    const at = row * view.keys + column;
    const value = formatWeight(view.data[at], view.exact);
    const lines = [{ text: this.t("link", { row: view.rowLabels[row], column: view.columnLabels[column] }) },
      { text: view.exact ? value : this.t("approximate", { value }), class: "hs-tip-number" }];
    if (view.mask && view.mask[at]) lines.push({ text: this.t("masked_cell"), class: "hs-tip-dim" });
    if (view.sides.rows !== "source") lines.push({ text: this.step(view.rows[row][0]), class: "hs-tip-dim" });
    return lines;
  }

  step(index) {
    const { labels } = this.model.header;
    return this.t("step", { n: index + 1, fed: printable(labels.target_in[index]), predicts: printable(labels.target_out[index]) });
  }

  hoverTile(kind, layer, head, row, column, event) {
    const view = this.model.view(kind, layer, head, this.state);
    if (!view.queries || !view.keys) return this.tooltip.hide();
    return this.tooltip.show([this.title(kind, layer, head), ...this.linkLines(view, row, column)], event.clientX, event.clientY);
  }

  hoverCell(view, [row, column], event) {
    this.tooltip.show(this.linkLines(view, row, column).map((one, i) => (i ? one : one.text)), event.clientX, event.clientY);
  }

  // A step lit from the chips: its row in every head whose rows are steps.
  lightStep(index) {
    for (const panel of this.panels) {
      const row = index === null || !panel.view ? -1 : panel.view.rows.findIndex((group) => group.includes(index));
      panel.light(row < 0 ? null : row);
    }
  }

  shownKinds() {
    return this.state.kind === "all" ? KINDS.filter((kind) => this.model.kinds[kind]) : [this.state.kind];
  }

  // The panels for the kinds shown, and where the line of arithmetic goes: below the head, or below all three.
  arrange() {
    const kinds = this.shownKinds();
    if (this.panels.map((panel) => panel.kind).join() === kinds.join()) return;
    this.panels = kinds.map((kind) => new Panel(kind, this.sharedHooks));
    this.work.classList.toggle("hs-three", kinds.length > 1);
    if (kinds.length > 1) {
      this.work.replaceChildren(...this.panels.map((panel) => el("div", { class: "hs-column", "data-kind": panel.kind },
        panel.gridBox, panel.headBox)), this.cellLine.element);
    } else {
      const [panel] = this.panels;
      panel.headBox.append(this.cellLine.element);
      this.work.replaceChildren(panel.gridBox, panel.headBox);
    }
  }

  draw() {
    const { state, model, element } = this;
    element.toggleAttribute("data-big", state.big);
    this.theme = readTheme(element);
    element.dataset.theme = this.theme.dark ? "dark" : "light";
    element.dataset.kind = state.kind;
    const width = element.clientWidth;
    if (!width) return;
    element.classList.toggle("hs-narrow", width < NARROW * (state.big ? 1.1 : 1));
    this.arrange();
    this.chips.draw(model.header, this.theme);
    for (const panel of this.panels) panel.setTexts(model, state, this.panels.length > 1);
    this.drawLegend();
    this.measure();
    for (const panel of this.panels) {
      panel.drawGrid(this.theme, this.sizes.gridWidth, this.sizes.gridHeight);
      this.drawHead(panel);
    }
    this.drawCell();
    element.dataset.drawn = `${model.id}:${state.kind}`;
    element.dispatchEvent(new CustomEvent("headscope:drawn", { bubbles: true, composed: true, detail: element.dataset.drawn }));
  }

  // A new choice of head or cell: outlines and one head, the grid's pictures stay.
  drawChoice() {
    for (const panel of this.panels) {
      panel.setTexts(this.model, this.state, this.panels.length > 1);
      panel.grid.state = this.state;
      panel.grid.paint();
      this.drawHead(panel);
    }
    this.drawLegend();
    this.drawCell();
  }

  drawHead(panel) {
    const cell = panel.kind === this.focusKind ? panel.place(this.state.cell) : null;
    panel.drawHead(this.theme, this.sizes.headWidth, this.sizes.headHeight, cell);
  }

  drawCell() {
    const panel = this.panels.find((one) => one.kind === this.focusKind) || this.panels[0];
    this.cellLine.draw({ model: this.model, view: panel.view, theme: this.theme, state: this.state, cell: this.state.cell,
      at: panel.place(this.state.cell) });
  }

  legendOf(panel) {
    const top = panel.tops().head;
    const high = top === 1 ? "1" : top.toFixed(2);
    return { kind: panel.kind, low: "0", high, top, threshold: this.state.threshold,
      gradient: rampGradient(makeRamp(this.theme, panel.kind), top, this.state.threshold) };
  }

  drawLegend() {
    this.controls.draw(this.state, Object.keys(this.model.kinds), this.panels.map((panel) => this.legendOf(panel)));
  }

  // How wide and high the canvases may be: one screen without scrolling where the window allows it.
  measure() {
    const { element, panels, theme } = this;
    const unit = theme.size / 15;
    const narrow = element.classList.contains("hs-narrow");
    const width = element.clientWidth;
    const host = this.root.host || this.root;
    const above = Math.min(documentTop(host), window.innerHeight * 0.4);
    const room = Math.max(480 * unit, window.innerHeight - above - 10);
    const outer = (node) => {
      const style = getComputedStyle(node);
      return node.offsetHeight + parseFloat(style.marginTop) + parseFloat(style.marginBottom);
    };
    const bars = this.chips.element.offsetHeight + this.controls.element.offsetHeight + 26 * unit;
    const work = room - bars;
    const titles = Math.max(...panels.map((panel) => outer(panel.title) + outer(panel.stats)));
    const gridTitle = outer(panels[0].gridTitle);
    const cell = (panels.length > 1 ? 66 : 88) * unit;
    const columnWidth = (node) => Math.floor(node.clientWidth);
    const most = Math.max(...panels.map((panel) => panel.view.queries), 1);
    this.sizes = { gridWidth: columnWidth(panels[0].gridBox), headWidth: columnWidth(panels[0].headBox) };
    if (narrow) {
      const { layers, heads } = this.model.kinds[panels[0].kind];
      this.sizes.gridHeight = Math.min(520, (this.sizes.gridWidth / heads) * layers * 1.25 + 60);
      this.sizes.headHeight = Math.max(260 * unit, Math.min(most * 24 * unit + 100 * unit, window.innerHeight * 0.75));
    } else if (panels.length > 1) {
      const left = work - titles - gridTitle - cell - 14;
      this.sizes.gridHeight = Math.max(120, left * 0.45);
      this.sizes.headHeight = Math.max(200, left * 0.55);
    } else {
      this.sizes.gridHeight = Math.max(200, work - gridTitle);
      this.sizes.headHeight = Math.max(240, work - titles - cell);
    }
    this.sizes.total = width;
  }

  caption() {
    const { special, words, word_labels: wordLabels } = this.model.header;
    const sentence = (side) => [...new Set(words[side])].filter((word) => !special[side][words[side].indexOf(word)])
      .map((word) => printable(wordLabels[side][word])).join(" ");
    return `${sentence("source")}  →  ${sentence("target_out")}`;
  }

  picture() {
    return pictureSvg({
      theme: this.theme,
      caption: this.caption(),
      panels: this.panels.filter((panel) => panel.view.queries && panel.view.keys).map((panel) => ({
        grid: panel.grid, plot: panel.plot, legend: this.legendOf(panel), gridTitle: this.t("kind_" + panel.kind),
        title: panel.title.firstChild.textContent, subtitle: panel.about,
      })),
    });
  }

  save(format) {
    const panel = this.panels.find((one) => one.kind === this.focusKind) || this.panels[0];
    const { view } = panel;
    const name = (value, word) => (value === "all" ? `${this.state.summary}-${word}s` : `${word}${value + 1}`);
    const stem = fileStem(["headscope", this.model.header.checkpoint, panel.kind, name(view.layer, "layer"), name(view.head, "head")]);
    if (format === "csv") {
      const corner = this.t(view.exact ? "csv_corner" : "csv_corner_approximate",
        { rows: this.t("axis_" + view.sides.rows), columns: this.t("axis_" + view.sides.columns) });
      saveFile(stem + ".csv", viewCsv(view, corner), "text/csv;charset=utf-8");
      return;
    }
    const svg = this.picture();
    if (format === "svg") saveFile(stem + ".svg", svg.text, "image/svg+xml");
    else svgToPng(svg).then((blob) => saveFile(stem + ".png", blob));
  }
}
