// The texts of a grid of heads. What it shows comes with the data.
export const HEADGRID_TEXTS = { region: "A number for every head" };
