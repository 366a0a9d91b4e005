// A model of one layer with two heads of width 1, and a pass over two source and two target tokens, small enough to be
// solved by hand.

const tensor = (shape, ...data) => ({ data: Float32Array.from(data), shape });

function attention(name, weights) {
  return {
    enters: tensor([1, 2, 2], 1, 3, 2, 2),
    queries: tensor([1, 2, 2, 1], 1, 2, 3, 4),
    keys: tensor([1, 2, 2, 1], 5, 6, 7, 8),
    values: tensor([1, 2, 2, 1], 1, 2, 3, 4),
    mask: { data: Uint8Array.from([1, 0, 1, 1, 1, 0, 1, 1]), shape: [1, 2, 2, 2] },
    scores: tensor([1, 2, 2, 2], 5, -Infinity, 10, 12, 21, -Infinity, 28, 32),
    weights: tensor([1, 2, 2, 2], ...weights),
    head_outputs: tensor([1, 2, 2, 1], 10, 20, 30, 40),
    update: tensor([1, 2, 2], 1, -1, 0, 2),
    sum: tensor([1, 2, 2], 2, 2, 2, 4),
    leaves: tensor([1, 2, 2], 0, 0, -1, 1),
    scale: [[1, 2]],
    rule: [[0, 0]],
    zero: [[false, name === "cross"]],
    replaced: [[false, false]],
  };
}

const feedForward = () => ({
  enters: tensor([1, 2, 2], 1, 3, 2, 2),
  pre_activation: tensor([1, 2, 3], 1, -1, 0, 2, 3, -4),
  activation: tensor([1, 2, 3], 1, 0, 0, 2, 3, 0),
  update: tensor([1, 2, 2], 1, 1, 1, 1),
  sum: tensor([1, 2, 2], 2, 4, 3, 3),
  leaves: tensor([1, 2, 2], -1, 1, 0, 0),
});

// changes: other fields, as of a pass with switches.
export function tinyTrace(changes = {}) {
  const even = [1, 0, 0.5, 0.5, 1, 0, 0.5, 0.5];
  return {
    checkpoint: "tiny",
    source_text: "a b",
    target_text: "x",
    own: true,
    complete: true,
    switches: {},
    source_ids: [4, 3],
    target_in_ids: [2, 1],
    target_out_ids: [1, 3],
    source_tokens: ["▁a", "</s>"],
    target_in: ["<s>", "▁x"],
    target_out: ["▁x", "</s>"],
    source_labels: ["a", "</s>"],
    target_in_labels: ["<s>", "x"],
    target_out_labels: ["x", "</s>"],
    source_position_ids: [0, 1],
    target_position_ids: [0, 1],
    source_embedding: tensor([2, 2], -2, 1, 0, 0.5),
    source_positions: tensor([2, 2], 0, 1, 0.8, 0.6),
    target_embedding: tensor([2, 2], 1, 1, 1, 1),
    target_positions: tensor([2, 2], 0, 1, 0.8, 0.6),
    encoder_output: tensor([2, 2], 3, 4, 0, 0),
    decoder_output: tensor([2, 2], 1, 0, 0, 1),
    logits: tensor([2, 5], 0, Math.log(3), 0, Math.log(3), 0, 0, 0, 0, 0, 1),
    encoder_self: attention("encoder_self", even),
    decoder_self: attention("decoder_self", even),
    cross: attention("cross", even),
    encoder_ff: feedForward(),
    decoder_ff: feedForward(),
    ...changes,
  };
}

const box = (prefix, shapes) => ({
  tensors: Object.entries(shapes).map(([symbol, shape]) => ({ name: `${prefix}.${symbol}`, symbol, shape })),
});
const ATTENTION = {
  ...{ "W^Q": [2, 2], "b^Q": [2], "W^K": [2, 2], "b^K": [2], "W^V": [2, 2], "b^V": [2], "W^O": [2, 2], "b^O": [2] },
};
const places = ["encoder.0.self", "encoder.0.ff", "decoder.0.self", "decoder.0.cross", "decoder.0.ff"];

// What a pack says of the model. changes: of its configuration.
export const tinyFacts = (changes = {}) => ({
  config: {
    ...{ d_model: 2, d_ff: 3, heads: 2, encoder_layers: 1, decoder_layers: 1, embedding_scale: true, residual: true },
    ...{ norm: "post", layer_norm_eps: 0, d_k: 1, output_size: 5, scaling: true },
    ...changes,
  },
  forms: { zero: { bare: true }, skip: { bare: false } },
  boxes: {
    "source.embedding": box("E", { E: [5, 2] }),
    "target.embedding": box("E", { E: [5, 2] }),
    output: box("out", { W: [5, 2], b: [5] }),
    ...Object.fromEntries(
      places.flatMap((place) => [
        [place, box(place, place.endsWith("ff") ? { W_1: [3, 2], b_1: [3], W_2: [2, 3], b_2: [2] } : ATTENTION)],
        [`${place}.norm`, box(`${place}.norm`, { γ: [2], β: [2] })],
      ]),
    ),
  },
});

// Numbers for every tensor that the boxes name: 1, 2, 3, ...; γ is [2, 3] and β [1, 0].
export function tinyParameters(names) {
  const tensors = Object.values(tinyFacts().boxes).flatMap((one) => one.tensors);
  const made = names.map((asked) => {
    const [name, rows] = typeof asked === "string" ? [asked] : asked;
    const { symbol, shape } = tensors.find((one) => one.name === name);
    const given = { γ: [2, 3], β: [1, 0] }[symbol];
    const count = shape.reduce((product, size) => product * size, 1);
    const all = given || Array.from({ length: count }, (_, i) => i + 1);
    const data = rows ? rows.flatMap((row) => all.slice(row * shape[1], (row + 1) * shape[1])) : all;
    return [name, tensor(rows ? [rows.length, shape[1]] : shape, ...data)];
  });
  return Object.fromEntries(made);
}
