import { el } from "../core/dom.js";
import { moveFocus } from "../core/keys.js";

// A number for every head of a kind, layers down and heads across: a table of buttons, of which the Tab key stops at one.
// t: with short_layer and short_head; values: [layer][head]; button: of a head; moved: called with the button that an
// arrow key moves to.
/** @param {Translate} t @param {any[][]} values @param {(value: any, layer: number, head: number) => HTMLElement} button */
export function headTable(t, label, values, button, moved = (_button) => {}) {
  const heads = values[0].length;
  const title = (n, key) => el("span", { class: "hs-table-title", "aria-hidden": "true" }, t(key, { n: n + 1 }));
  const buttons = values.map((row, layer) => row.map((value, head) => button(value, layer, head)));
  const keydown = (event) => {
    const next = moveFocus(event, buttons.flat(), heads);
    if (next) moved(next);
  };
  const named = { role: "group", "aria-label": label, style: `--heads: ${heads}`, keydown };
  const above = values[0].map((_, head) => title(head, "short_head"));
  const rows = buttons.flatMap((row, layer) => [title(layer, "short_layer"), ...row]);
  return el(
    "div",
    { class: "hs-table-scroll" },
    el("div", { class: "hs-table", ...named }, el("span"), ...above, ...rows),
  );
}
