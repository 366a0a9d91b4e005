// Numbers of measures for people: shares from 0 to 1, and standard deviations of up to a million.

export function cellText(value, none) {
  if (typeof value !== "number") return none;
  if (value < 99.95) return value.toFixed(value < 9.995 ? 2 : 1);
  return value < 9999.5 ? value.toFixed(0) : (value / 1000).toFixed(0) + "k";
}

// A mean far below 0.01 is the effect of some switches: show two digits of it.
export function meanText(value) {
  if (value >= 0.00995 || value < 0.00005) return cellText(value);
  return value.toFixed(value < 0.00095 ? 5 : 4).replace(/0$/, "");
}

export function exactText(value, none) {
  if (typeof value !== "number") return none;
  return value < 1000 ? value.toFixed(4) : value.toLocaleString("en", { maximumFractionDigits: 1 });
}

export function tickText(value) {
  return value.toLocaleString("en", { maximumFractionDigits: 6 });
}
