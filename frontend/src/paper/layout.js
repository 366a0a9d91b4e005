// Where the parts of Figures 1 and 2 stand, in units of their view boxes. Arrows go up, as in the paper.

const ENCODER = 82;
const DECODER = 292;
const WIDTH = 166;
const MIDDLE = WIDTH / 2;
const LOW = 26; // height of a box with one line
const HIGH = 42; // with the sizes below its name

const box = (name, text, x, y, look, size, link) => ({
  ...{ name, text, x, y, look, size, link },
  ...{ width: WIDTH, height: size ? HIGH : LOW },
});

// The corners of a line.
const points = (...numbers) => Array.from({ length: numbers.length / 2 }, (_, at) => numbers.slice(2 * at, 2 * at + 2));
const up = (x, from, to) => points(x, from, x, to);

// A residual connection: from below a sub-layer around it into Add & Norm.
const around = (x, from, to, side) => {
  const edge = x + (side < 0 ? -14 : WIDTH + 14);
  return points(x + MIDDLE, from, edge, from, edge, to, x + (side < 0 ? 0 : WIDTH), to);
};

const [E, D] = [ENCODER + MIDDLE, DECODER + MIDDLE];
const BETWEEN = (ENCODER + WIDTH + DECODER) / 2;
const positions = (name, x) => ({ ...box(name, "positions", x, 523, "positions", null, "positions"), width: 128 });

export const START = "encoder_attention"; // the box to press first; its words stand left of the frame
export const FIGURE_1 = {
  left: -30,
  width: 570,
  height: 645,
  frames: [
    { x: 56, y: 286, width: 204, height: 224, size: "layers", stack: "encoder", name: 60, at: [172, 278] },
    { x: 280, y: 148, width: 204, height: 362, size: "layers", stack: "decoder", name: 280, at: [392, 140] },
  ],
  boxes: [
    box("source", "source", ENCODER, 568, "embedding", "d_model"),
    box("encoder_attention", "attention", ENCODER, 436, "encoder_self", "heads"),
    box("encoder_add_1", "add", ENCODER, 394, "norm", null, "add"),
    box("encoder_feedforward", "feedforward", ENCODER, 336, "feedforward", "d_ff"),
    box("encoder_add_2", "add", ENCODER, 296, "norm", null, "add"),
    box("target", "target", DECODER, 568, "embedding", "d_model"),
    box("masked", "masked", DECODER, 436, "decoder_self", "heads"),
    box("decoder_add_1", "add", DECODER, 394, "norm", null, "add"),
    box("cross", "cross", DECODER, 322, "cross", "heads"),
    box("decoder_add_2", "add", DECODER, 282, "norm", null, "add"),
    box("decoder_feedforward", "feedforward", DECODER, 206, "feedforward", "d_ff"),
    box("decoder_add_3", "add", DECODER, 166, "norm", null, "add"),
    box("linear", "linear", DECODER, 92, "output"),
    box("softmax", "softmax", DECODER, 50, "output"),
    positions("source_positions", 2),
    positions("target_positions", 410),
  ],
  sums: points(E, 536, D, 536),
  arrows: [
    up(E, 628, 612),
    up(E, 568, 546),
    up(E, 527, 480),
    up(E, 436, 422),
    up(E, 394, 380),
    up(E, 336, 324),
    around(ENCODER, 502, 407, -1),
    around(ENCODER, 387, 309, -1),
    up(D, 628, 612),
    up(D, 568, 546),
    up(D, 527, 480),
    up(D, 436, 422),
    up(D, 394, 366),
    up(D, 322, 310),
    up(D, 282, 250),
    up(D, 206, 194),
    up(D, 166, 120),
    up(D, 92, 78),
    up(D, 50, 34),
    around(DECODER, 502, 407, 1),
    around(DECODER, 387, 295, 1),
    around(DECODER, 273, 179, 1),
    points(130, 536, E - 10, 536),
    points(410, 536, D + 10, 536),
    points(E, 296, E, 262, BETWEEN, 262, BETWEEN, 343, DECODER, 343),
  ],
  words: [
    { x: E, y: 642, text: "inputs" },
    { x: D, y: 642, text: "outputs" },
    { x: D, y: 26, text: "probabilities" },
  ],
};

const SMALL = { width: 112, height: LOW };
const LEFT = 16;
const RIGHT = 196;
const small = (name, text, x, y, look, link) => ({ name, text, x, y, look, link, ...SMALL });
const high = (name, text, x, y, look, size, link) => ({ name, text, x, y, look, size, link, width: 110, height: HIGH });
const widths = (size) => [[size], ["here", size]];
const [L, R] = [LEFT + 55, RIGHT + 98];

export const FIGURE_2 = {
  width: 400,
  height: 372,
  frames: [],
  boxes: [
    small("values", "matmul", LEFT + 14, 44, "cross", "values"),
    small("weights", "softmax", LEFT, 106, "output", "softmax_by_hand"),
    small("mask", "mask", LEFT, 154, "decoder_self", "mask"),
    { ...high("scale", "scale", LEFT, 204, "positions"), lines: [["scaled", "d_k"]] },
    small("scores", "matmul", LEFT, 276, "cross", "scores"),
    { ...small("output_linear", "linear", RIGHT, 44, "output", "concat"), width: 196 },
    { ...small("concat", "concat", RIGHT, 102, "norm", "concat"), width: 196 },
    { ...high("dot_product", "dot_product", RIGHT, 166, "encoder_self", "heads", "heads"), width: 196, height: 60 },
    ...["V", "K", "Q"].map((letter, i) => ({
      ...small(`linear_${letter}`, "linear", RIGHT + i * 66, 260, "output", "projections"),
      ...{ width: 64, height: 58, lines: widths(letter === "V" ? "d_v" : "d_k") },
    })),
  ],
  sums: [],
  arrows: [
    up(L + 14, 44, 16),
    up(L, 106, 70),
    up(L, 154, 132),
    up(L, 204, 180),
    up(L, 276, 246),
    up(L - 24, 336, 302),
    up(L + 24, 336, 302),
    up(LEFT + 118, 336, 70),
    up(R, 44, 16),
    up(R, 102, 70),
    up(R, 166, 128),
    ...[0, 1, 2].flatMap((i) => [up(RIGHT + i * 66 + 32, 260, 226), up(RIGHT + i * 66 + 32, 336, 318)]),
  ],
  words: [
    { x: L - 24, y: 354, letter: "Q" },
    { x: L + 24, y: 354, letter: "K" },
    { x: LEFT + 118, y: 354, letter: "V" },
    ...["V", "K", "Q"].map((letter, i) => ({ x: RIGHT + i * 66 + 32, y: 354, letter })),
  ],
};
