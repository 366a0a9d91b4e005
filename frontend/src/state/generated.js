// Written by `python -m transformer.view.generate` from transformer/view/: change it there.

// What can be chosen in the explorer, in the order of its bar.
export const CHOICES = /** @type {const} */ ({
  "kind": ["encoder_self", "decoder_self", "cross", "all"],
  "rows": ["predicted", "fed"],
  "pieces": ["pieces", "marked", "words"],
  "special": ["shown", "hidden", "renormalised"],
  "scale": ["one", "common", "head"],
  "summary": ["mean", "max"],
  "view": ["heatmap", "lines"],
  "meanings": ["off", "on"],
});

// The state of the explorer before any choice.
export const START_VIEW = /** @type {State} */ ({
  "kind": "cross",
  "layer": 0,
  "head": 0,
  "rows": "predicted",
  "pieces": "pieces",
  "special": "shown",
  "scale": "one",
  "summary": "mean",
  "threshold": 0.0,
  "view": "heatmap",
  "cell": null,
  "big": false,
  "meanings": "off",
});

// Of the anatomy.
export const ZOOMS = /** @type {const} */ (["model", "layer", "sub", "head", "number"]);

// Of the anatomy: parts of the paper's Figure 1.
export const PLACES = /** @type {const} */ (["source", "encoder.self", "encoder.ff", "target", "decoder.self", "decoder.cross", "decoder.ff", "output"]);

// Those that a place has.
export const ZOOMS_OF = /** @type {Record<string, string[]>} */ ({
  "source": ["model", "sub", "number"],
  "encoder.self": ["model", "layer", "sub", "head", "number"],
  "encoder.ff": ["model", "layer", "sub", "number"],
  "target": ["model", "sub", "number"],
  "decoder.self": ["model", "layer", "sub", "head", "number"],
  "decoder.cross": ["model", "layer", "sub", "head", "number"],
  "decoder.ff": ["model", "layer", "sub", "number"],
  "output": ["model", "sub", "number"],
});

// Without the input, LayerNorm and residual.
export const INNER_STEPS = /** @type {Record<string, string[]>} */ ({
  "source": ["row", "times", "plus"],
  "encoder.self": ["project", "split", "dot", "scale", "mask", "softmax", "values", "concat", "output"],
  "encoder.ff": ["inner", "activation", "outer"],
  "target": ["row", "times", "plus"],
  "decoder.self": ["project", "split", "dot", "scale", "mask", "softmax", "values", "concat", "output"],
  "decoder.cross": ["project", "split", "dot", "scale", "mask", "softmax", "values", "concat", "output"],
  "decoder.ff": ["inner", "activation", "outer"],
  "output": ["hidden", "logits", "probabilities", "choose", "back"],
});

// The state of the anatomy before any choice.
export const START_ANATOMY = /** @type {any} */ ({
  "zoom": "model",
  "place": "encoder.self",
  "encoder": 0,
  "decoder": 0,
  "head": 0,
  "step": "x",
  "matrix": "queries",
  "row": 0,
  "col": -1,
  "t": 0,
  "opened": "",
  "tempo": "normal",
});

// <pad> that the lab puts behind the source.
export const MOST_PADS = /** @type {number} */ (64);

// What makes the weights of a head: the model, or a switch.
export const WEIGHT_RULES = /** @type {const} */ (["softmax", "uniform", "argmax"]);

// What Python does with a run of the Training page.
export const RUN_COMMANDS = /** @type {const} */ (["pause", "go", "stop", "again", "remove"]);

// Bytes of a file that can be uploaded.
export const LARGEST_FILE = /** @type {number} */ (16000000);
