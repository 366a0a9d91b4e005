import { greatest, mean } from "d3-array";

// Shares in words.

// Only 0 is "0%" and only 1 is "100%"; as `percent` of pages/feedforward/activity.py.
export function percent(share) {
  if (share === 0 || share === 1) return `${100 * share}%`;
  if (share < 5e-5) return "<\u00a00.01%";
  if (share > 0.9995) return ">\u00a099.9%";
  return `${(100 * share).toFixed(share < 0.001 ? 2 : 1)}%`;
}

export const percentDigits = (share) => (100 * share).toFixed(1);

// The shares of active neurons at one threshold: [layer][token], and their means over tokens.
export function sharesOf({ active, neurons }, threshold) {
  const shares = active.map((tokens) => tokens.map((counts) => counts[threshold] / neurons));
  return { shares, means: shares.map((tokens) => mean(tokens)) };
}

// Where the largest share of all stacks stands.
export function busiest(numbers, maps) {
  const cells = Object.entries(maps).flatMap(([stack, { shares }]) =>
    shares.flatMap((of, layer) =>
      of.map((share, at) => ({ stack, layer, at, share, token: numbers[stack].tokens[at] })),
    ),
  );
  return greatest(cells, ({ share }) => share);
}
