// Numbers as people read them.

export const countText = (value) => value.toLocaleString("en").replace("-", "−");

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

// "9.5 × 10⁻⁷" with no-break spaces, as `deviation` in pages/components/sentences.py writes it.
export function formatDeviation(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const [digits, power] = value.toExponential(1).replace("+", "").split("e");
  const raised = [...power].map((sign) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[sign] ?? "⁻").join("");
  return digits.replace(/^-/, "−") + (power === "0" ? "" : `\u00a0×\u00a010${raised}`);
}
