// Numbers as people read them.

export function formatWeight(weight, exact) {
  if (!exact) return weight.toFixed(2);
  if (weight === 0) return "0";
  return weight < 0.00005 ? weight.toExponential(1) : weight.toFixed(4);
}

export function formatScore(value) {
  if (value === -Infinity) return "−∞";
  return value.toFixed(2).replace("-", "−");
}

export function formatSmall(value) {
  return value.toFixed(3).replace("-", "−");
}

export function formatFactor(value) {
  return Number(value.toPrecision(3)).toString();
}

export function formatDeviation(value) {
  if (value === 0) return "0";
  return Number.isFinite(value) ? value.toExponential(1).replace("-", "−") : String(value);
}
