import { documentTop } from "../core/dom.js";

// Width and height of the canvases: they fit into one screen without scrolling where the window allows it.
export function measureRoom(explorer) {
  const { element, panels, theme, state, model } = explorer;
  const unit = theme.size / 15;
  const narrow = element.classList.contains("hs-narrow");
  const host = explorer.root.host || explorer.root;
  const above = Math.min(documentTop(host), window.innerHeight * 0.4);
  // A page can reserve space below the explorer with the variable --hs-below (pixels).
  const below = parseFloat(getComputedStyle(element).getPropertyValue("--hs-below")) || 10;
  const height = Math.max((state.big ? 380 : 480) * unit, window.innerHeight - above - below);
  const outer = (node) => {
    const style = getComputedStyle(node);
    return node.offsetHeight + parseFloat(style.marginTop) + parseFloat(style.marginBottom);
  };
  const bars =
    outer(explorer.sight.element) +
    explorer.chips.element.offsetHeight +
    explorer.controls.element.offsetHeight +
    26 * unit;
  const work = height - bars;
  // With big text the first line of the numbers below a head counts, and no arithmetic: those are a scroll away.
  const numbers = (panel) => (state.big ? Math.min(outer(panel.stats), 28 * unit) : outer(panel.stats));
  const titles = Math.max(...panels.map((panel) => outer(panel.title) + numbers(panel)));
  const gridTitle = outer(panels[0].gridTitle);
  const cell =
    state.big || state.sight === "first" ? 0 : (panels.length > 1 ? 44 : state.pieces === "words" ? 108 : 88) * unit;
  const columnWidth = (node) => Math.floor(node.clientWidth);
  const most = Math.max(...panels.map((panel) => panel.view.queries), 1);
  // Every token of an ordinary sentence keeps a label that the back row can read, even where the page has to scroll.
  const meanings = state.meanings === "on" && model.header.meanings; // under or beside the labels
  // Of three heads side by side none is wide enough for a meaning beside its label: they stand under it.
  const [each, top] = !meanings ? [12, 80] : panels.length > 1 ? [29, 110] : [15, 110];
  const labelled = state.big || meanings ? Math.min(most, 40) * each * unit + top * unit : 0;
  const sizes = { gridWidth: columnWidth(panels[0].gridBox), headWidth: columnWidth(panels[0].headBox) };
  if (narrow) {
    const { layers, heads } = model.kinds[panels[0].kind];
    sizes.gridHeight = Math.min(520, (sizes.gridWidth / heads) * layers * 1.25 + 60);
    sizes.headHeight = Math.max(
      260 * unit,
      Math.min(most * (meanings ? 36 : 24) * unit + 100 * unit, window.innerHeight * 0.75),
    );
  } else if (panels.length > 1) {
    const left = work - titles - gridTitle - cell - 14;
    sizes.gridHeight = Math.max(120, left * 0.45);
    sizes.headHeight = Math.max(200, left * 0.55, labelled);
  } else {
    sizes.gridHeight = Math.max(200, work - gridTitle);
    sizes.headHeight = Math.max(240, work - titles - cell, labelled);
  }
  return sizes;
}
