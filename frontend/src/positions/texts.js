// The texts of this picture.
export const POSITION_TEXTS = {
  region: "The encodings of positions, drawn again as you move a slider",
  d_model: "<i>d</i><sub>model</sub>",
  length: "length: positions 0 to {last}",
  k: "shift <i>k</i>",
  q: "position <i>q</i>",
  number: "{name}, as a number",
  d_model_term: "Numbers in one encoding: even, from {low} to {high}. The loaded model has {own}.",
  length_term: "Positions shown, from {low} to {high}. The source has {tokens} tokens, </s> among them.",
  k_term: "PE(p + k) is M_k times PE(p), for every p alike. From 0 to one less than the length.",
  q_term: "The column of the matrix that is drawn against p − q. From 0 to one less than the length.",
  dims: "dimensions drawn",
  number_wrong: "A whole number from {low} to {high} is needed here; {shown} is shown.",
  number_even: "An even number from {low} to {high} is needed here; {shown} is shown.",
  dims_term:
    "Up to {most} dimensions from 0 to {last}, with commas between them; a click on a column of the first picture " +
    "adds its dimension or takes it away.",
  dims_wrong: "Not a dimension from 0 to {last}: {wrong}",
  dims_many: "{most} curves can be told apart; these are left out: {wrong}",
  dims_reset: "back to four sines",
  encoding_says:
    "At <i>d</i><sub>model</sub> = {d_model} the wavelengths run from {first} to {last} positions. Pairs that " +
    "come round at least once within the {length} positions shown: {whole} of {pairs}.",
  encoding_says_one:
    "At <i>d</i><sub>model</sub> = {d_model} there is one pair, with a wavelength of {first} positions. Pairs that " +
    "come round at least once within the {length} positions shown: {whole} of {pairs}.",
  distance_says:
    "PE(<i>p</i>)·PE(<i>p</i>) = <i>d</i><sub>model</sub> / 2 = {half}; between neighbours the product is {next}.",
  shift_holds:
    "largest |PE(<i>p</i> + {k}) − <i>M</i><sub>k</sub> PE(<i>p</i>)| = {error} over {count} positions and {d_model} " +
    "dimensions, below {limit}",
  shift_fails:
    "largest |PE(<i>p</i> + {k}) − <i>M</i><sub>k</sub> PE(<i>p</i>)| = {error} over {count} positions and {d_model} " +
    "dimensions, not below {limit}",
  shift_holds_one:
    "largest |PE(<i>p</i> + {k}) − <i>M</i><sub>k</sub> PE(<i>p</i>)| = {error} at <i>p</i> = 0, the only one, over " +
    "{d_model} dimensions, below {limit}",
  shift_fails_one:
    "largest |PE(<i>p</i> + {k}) − <i>M</i><sub>k</sub> PE(<i>p</i>)| = {error} at <i>p</i> = 0, the only one, over " +
    "{d_model} dimensions, not below {limit}",
  spread_holds:
    "the products depend on <i>p</i> − <i>q</i> only: for equal <i>p</i> − <i>q</i> they differ by at most {spread}",
  spread_fails: "for equal <i>p</i> − <i>q</i> the products differ by up to {spread}",
  spread_waiting: "every product is being summed …",
};
