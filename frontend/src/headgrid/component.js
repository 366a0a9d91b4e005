import { buttonEl, el, printable } from "../core/dom.js";
import { moveFocus } from "../core/keys.js";
import { savable } from "../saving/menu.js";
import { PlainView, plainComponent } from "../host/plain_view.js";
import { HEADGRID_TEXTS } from "./texts.js";

// Grids of buttons: every head of every kind of attention, or every token of every layer. data = {name, region, panels:
// [{kind, title, corner: names of the two axes if they have any, rows: [label], columns: [label], cells: [row][column] of
// {text, note, tone, level, says: [line]} or null}], keys: [{tone, level, text, name, count}], chosen: [panel, row, column]
// or null, saves: whether it can be saved, as saved: {stem, caption, rows}}. tone: a colour of headgrid.css; level: how much of it, 0 to 1; name: what the cells have,
// with which the text begins. Pointing at a key leaves only the cells of its tone. `pick`, the pressed cell, goes to Python.

class View extends PlainView {
  constructor(parent) {
    super(parent, "headgrid", HEADGRID_TEXTS);
  }

  build() {
    this.panels = el("div", { class: "headgrid-panels" });
    this.keys = el("p", { class: "headgrid-keys" });
    this.picture = el("div", { "data-saved-by": "headgrid-save" }, this.keys, this.panels);
    if (!this.data.saves) return [this.picture];
    return [savable(this, "headgrid-save", this.picture, () => this.data.saved)];
  }

  paint() {
    const { panels, keys, region } = this.data;
    this.element.setAttribute("aria-label", region);
    const focused = this.element.getRootNode().activeElement?.dataset.testid;
    this.panels.replaceChildren(...panels.map((panel, index) => this.panel(panel, index)));
    this.keys.replaceChildren(
      ...keys.map(({ tone, level, text, name = "", count }) => {
        const swatch = el("i", { "data-tone": tone });
        swatch.style.setProperty("--level", level);
        const only = (on) => () => {
          for (const cell of this.panels.querySelectorAll(".headgrid-cell")) {
            cell.toggleAttribute("data-faded", on && (cell.dataset.tone ?? "") !== tone);
          }
        };
        return el(
          "span",
          { mouseenter: only(true), mouseleave: only(false) },
          swatch,
          el("span", {}, el("b", {}, name), text.slice(name.length)),
          el("span", {}, String(count)),
        );
      }),
    );
    if (focused) this.element.querySelector(`[data-testid="${focused}"]`)?.focus();
  }

  panel({ kind, title, corner = [], rows, columns, cells }, index) {
    const grid = el("div", { class: "headgrid-table", role: "group", "aria-label": title });
    grid.style.setProperty("--columns", columns.length);
    const label = (text, side) =>
      el(
        "span",
        { class: "headgrid-label", "data-side": side, "aria-hidden": "true", title: text },
        text && printable(text),
      );
    const axes = corner.map((text) => el("span", {}, text));
    grid.append(
      el("span", { class: "headgrid-axes", "aria-hidden": "true" }, ...axes),
      ...columns.map((text) => label(text, "top")),
    );
    const buttons = [];
    cells.forEach((row, y) => {
      grid.append(label(rows[y], "left"));
      row.forEach((cell, x) => {
        const made = cell ? this.cell(cell, [index, y, x]) : el("span");
        if (cell) buttons.push(made);
        grid.append(made);
      });
    });
    const stop = buttons.find((button) => button.getAttribute("aria-pressed") === "true") ?? buttons[0];
    stop?.setAttribute("tabindex", 0);
    grid.addEventListener("keydown", (event) => moveFocus(event, buttons, columns.length));
    const heading = el("h2", { "data-kind": kind }, title);
    return el("div", { class: "headgrid-panel" }, heading, el("div", { class: "headgrid-scroll" }, grid));
  }

  cell({ text, note, tone, level, says }, place) {
    const chosen = JSON.stringify(place) === JSON.stringify(this.data.chosen);
    const button = buttonEl(
      {
        class: "headgrid-cell",
        "aria-pressed": String(chosen),
        "aria-label": says.join(". "),
        tabindex: -1,
        "data-tone": tone,
        "data-testid": `headgrid-${place.join("-")}`,
        click: () => this.component.setTriggerValue("pick", place),
      },
      el("span", {}, text),
      note ? el("small", {}, el("span", {}, note)) : null,
    );
    button.style.setProperty("--level", level);
    return this.hint(button, () => says);
  }
}

export default plainComponent(View);
