const ARROWS = { __proto__: null, ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// An arrow key as a step [rows, columns]; null for any other key, and with Ctrl, Alt or Command, which belong to the
// browser.
export function arrowStep({ key, ctrlKey, altKey, metaKey }) {
  return ctrlKey || altKey || metaKey ? null : (ARROWS[key] ?? null);
}

// The index that many steps further, limited to the first and the last.
export const stepIndex = (index, by, count) => Math.max(0, Math.min(count - 1, index + by));

// Arrow keys in a grid of buttons, row by row: the Tab key stops at one of them, the arrow keys reach the others. Returns
// the one that has the focus now, undefined if none was moved to.
export function moveFocus(event, cells, columns) {
  const step = arrowStep(event);
  const at = cells.indexOf(event.target);
  if (at < 0 || !step) return undefined;
  event.preventDefault();
  const column = (at % columns) + step[1];
  const to = at + step[0] * columns + step[1];
  if (column < 0 || column >= columns || to < 0 || to >= cells.length) return undefined;
  cells.forEach((cell, i) => cell.setAttribute("tabindex", i === to ? 0 : -1));
  cells[to].focus();
  return cells[to];
}
