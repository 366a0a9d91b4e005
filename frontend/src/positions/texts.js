// The texts of this picture.
export const POSITION_TEXTS = {
  region: "Position encodings, redrawn as you move a slider",
  d_model: "<i>d</i><sub>model</sub>",
  length: "length: positions 0 to {last}",
  k: "shift <i>k</i>",
  q: "position <i>q</i>",
  number: "{name}, as a number",
  d_model_term: "Numbers in each encoding: an even number from {low} to {high}. The loaded model has {own}.",
  length_term: "Number of positions shown, from {low} to {high}. The source has {tokens} tokens, including </s>.",
  k_term: "PE(p + k) is M_k times PE(p), with the same M_k for every p. From 0 to length − 1.",
  q_term: "This column of the matrix is drawn against p − q. From 0 to length − 1.",
  dims: "dimensions drawn",
  number_wrong: "Enter a whole number from {low} to {high}; {shown} is shown.",
  number_even: "Enter an even number from {low} to {high}; {shown} is shown.",
  dims_term:
    "Up to {most} dimensions from 0 to {last}, separated by commas. Click a column of the first picture to add or " +
    "remove its dimension.",
  dims_wrong: "Not a dimension from 0 to {last}: {wrong}",
  dims_many: "At most {most} curves can be drawn; these are left out: {wrong}",
  dims_reset: "reset to four sines",
  encoding_says:
    "Attention does not see word order. So each place has a row of numbers of its own, added to the token there.",
  distance_says:
    "The product of two encodings depends only on how far apart they are, so every diagonal has one colour: {half} at " +
    "distance 0, {next} at distance 1, {far} at distance {most}.",
  shift_holds:
    "largest |PE(<i>p</i> + {k}) − <i>M</i><sub>k</sub> PE(<i>p</i>)| = {error} over {count} positions and {d_model} " +
    "dimensions, below {limit}",
  shift_fails:
    "largest |PE(<i>p</i> + {k}) − <i>M</i><sub>k</sub> PE(<i>p</i>)| = {error} over {count} positions and {d_model} " +
    "dimensions, not below {limit}",
  shift_holds_one:
    "largest |PE(<i>p</i> + {k}) − <i>M</i><sub>k</sub> PE(<i>p</i>)| = {error} at <i>p</i> = 0, the only position, " +
    "over {d_model} dimensions, below {limit}",
  shift_fails_one:
    "largest |PE(<i>p</i> + {k}) − <i>M</i><sub>k</sub> PE(<i>p</i>)| = {error} at <i>p</i> = 0, the only position, " +
    "over {d_model} dimensions, not below {limit}",
  spread_holds:
    "the products depend only on <i>p</i> − <i>q</i>: for equal <i>p</i> − <i>q</i> they differ by at most {spread}",
  spread_fails: "for equal <i>p</i> − <i>q</i> the products differ by up to {spread}",
  spread_waiting: "computing every product …",
  encoding_about:
    "Section 3.5. As in a counter, the left columns change at every position, " + "the right columns hardly at all.",
  distance_about:
    "Click a column of the first picture to draw it against p − q. Section 3.5 wants PE(p + k) to be “a linear " +
    "function” of PE(p): the map turns every pair of dimensions by an angle that depends only on k.",
  halves:
    "{name} stores these numbers in another order, as Marian's models do: all sines come before all cosines, " +
    "PE(p, i) = sin(p / 10000^(2i/d_model)), and PE(p, {half} + i) is the cosine of the same angle. Here they are drawn " +
    "in the paper's order. Wavelengths, lengths and dot products are the same in both orders, and so are the map’s " +
    "blocks, for dimensions i and {half} + i instead of 2i and 2i + 1.",
  fairseq:
    "{name} adds other sines and cosines, as fairseq made them for M2M-100: all sines come before all cosines, the first " +
    "token stands at position 2, and the angle is (p + 2) / 10000^(i / ({half} − 1)). The paper's are drawn here; the " +
    "model's wavelengths differ from them a little.",
};
