const ARROWS = { __proto__: null, ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// An arrow key as a step [rows, columns]; null for any other key, and with Ctrl, Alt or Command, which belong to the
// browser.
export function arrowStep({ key, ctrlKey, altKey, metaKey }) {
  return ctrlKey || altKey || metaKey ? null : (ARROWS[key] ?? null);
}

// The index that many steps further, limited to the first and the last.
export const stepIndex = (index, by, count) => Math.max(0, Math.min(count - 1, index + by));
