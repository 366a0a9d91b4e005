import { formatWeight } from "../core/format.js";

// Numbers in and beside the cells of the anatomy.

// With a real minus; a number that rounds to 0 has no sign.
const signed = (text) => (Number(text) === 0 ? text.replace("-", "") : text.replace("-", "−"));

// In a cell: two decimals, weights as in the explorer, masked cells as minus infinity.
export function formatCell(value, name) {
  if (value === -Infinity) return "−∞";
  if (!Number.isFinite(value)) return "";
  if (name === "weights") return value === 0 ? "0" : value < 0.005 ? "0.00" : value.toFixed(2);
  return signed(
    Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2),
  );
}

// In a tooltip and a sentence: four decimals, or as many as a small number needs.
export function formatNumber(value, name) {
  if (value === -Infinity) return "−∞";
  if (value === Infinity) return "∞";
  if (!Number.isFinite(value)) return String(value);
  if (name === "weights") return signed(formatWeight(value, true));
  if (value === 0) return "0";
  const size = Math.abs(value);
  return signed(size < 0.001 ? value.toExponential(2) : size >= 1000 ? value.toFixed(1) : value.toFixed(4));
}

export function formatCount(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}
