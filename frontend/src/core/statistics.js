// Of lists of numbers and typed arrays, in double precision; NaN for empty ones.

export function meanOf(numbers) {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum / numbers.length;
}

// The mean square distance from the mean.
export function varianceOf(numbers) {
  const mean = meanOf(numbers);
  let sum = 0;
  for (const number of numbers) sum += (number - mean) ** 2;
  return sum / numbers.length;
}

// Nested lists of numbers with so many decimals; null where there is none, as for NaN. JSON has no NaN either.
export function rounded(value, decimals) {
  if (typeof value === "number") return Number.isFinite(value) ? Number(value.toFixed(decimals)) : null;
  return value.map((one) => rounded(one, decimals));
}
