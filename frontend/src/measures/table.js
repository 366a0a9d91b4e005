import { buttonEl, el, svgEl } from "../core/dom.js";
import { cssColour, inkOn, rampIndex } from "../core/colour.js";
import { hint } from "../core/tooltip.js";
import { headTable } from "../heads/table.js";
import { cellText } from "./numbers.js";
import { crossMark, swatch } from "./plot.js";

// One kind of attention on one side. view: the View.

export function measureTable(view, kind, side, axis) {
  const values = view.data[side][kind][view.measure];
  const counts = { layers: values.length, heads: values[0].length };
  const names = { kind: view.t("kind_" + kind), name: view.t("full_" + view.measure) };
  const label = view.t("table_" + side, { ...names, ...counts });
  const cell = (value, layer, head) => headCell(view, { kind, layer, head }, side, value, axis);
  const name = el("h3", { "data-kind": kind }, swatch(kind), view.t("kind_" + kind), " ");
  name.append(el("small", {}, view.t("side_" + side)));
  return el("div", { class: "measures-part" }, name, headTable(view.t, label, values, cell));
}

function headCell(view, address, side, value, axis) {
  const { kind, layer, head } = address;
  const zero = side === "after" && view.data.zero[kind][layer][head];
  const known = typeof value === "number";
  const colour = known ? view.ramps[kind][rampIndex(axis.share(value), 1, 0)] : view.theme.masked;
  const stop = view.chosen && view.chosen.kind === kind ? view.isChosen(address) : layer === 0 && head === 0;
  const text = cellText(value, view.t("none"));
  const spoken = { layer: layer + 1, head: head + 1, value: known ? text : view.t("nothing") };
  const button = buttonEl(
    {
      "aria-pressed": String(view.isChosen(address)),
      "aria-label": view.t(zero ? "cell_zero" : "cell_" + side, spoken),
      tabindex: stop ? 0 : -1,
      "data-testid": `measures-${side}-${kind}-${layer + 1}-${head + 1}`,
      "data-place": `${kind}.${layer + 1}.${head + 1}`,
      "data-value": known ? String(value) : "",
      "data-zero": zero || null,
      click: () => view.choose(address),
    },
    zero ? svgEl("svg", { viewBox: "0 0 20 20", preserveAspectRatio: "none" }, crossMark(10, 10, 10)) : null,
    el("span", {}, text),
  );
  button.style.background = cssColour(colour);
  button.style.color = known ? inkOn(colour) : cssColour(view.theme.dim);
  return hint(button, view.tooltip, () => view.lines(address));
}
