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
  "sight": ["all", "first", "how"],
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
  "sight": "all",
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

// Its values that are one of several.
export const ANATOMY_CHOICES = /** @type {Record<string, string[]>} */ ({
  "matrix": ["queries", "keys", "values", "x", "memory", "normed", "dot", "scaled", "scores", "weights", "head_outputs", "concat", "update", "sum", "leaves", "pre", "activation", "rows", "embedding", "positions", "hidden", "logits"],
  "opened": ["", "more", "parameters", "switches", "more.parameters", "more.switches", "parameters.switches", "more.parameters.switches"],
  "tempo": ["normal", "slow", "fast"],
});

// Tokens of each side that the anatomy draws.
export const LONGEST_DRAWN = /** @type {number} */ (64);

// <pad> that the lab puts behind the source.
export const MOST_PADS = /** @type {number} */ (64);

// What makes the weights of a head: the model, or a switch.
export const WEIGHT_RULES = /** @type {const} */ (["softmax", "uniform", "argmax"]);

// Parameters of a link that are switches.
export const SWITCHES = /** @type {readonly string[]} */ (["scaling", "bias", "causal", "padding", "pad", "hide", "mean", "resample", "zero", "weights", "paint", "positions", "skip", "neurons"]);

// How links write a switch of the Lab: the kinds of attention allowed, whether heads are the whole value, and all settings if they are few.
export const SWITCH_FORMS = /** @type {Record<string, {kinds: string[], bare: boolean, settings: string[]}>} */ ({
  "scaling": {"kinds": ["encoder_self", "decoder_self", "cross"], "bare": false, "settings": []},
  "bias": {"kinds": ["encoder_self", "decoder_self"], "bare": false, "settings": ["off"]},
  "causal": {"kinds": ["decoder_self"], "bare": false, "settings": ["off"]},
  "padding": {"kinds": ["encoder_self", "cross"], "bare": false, "settings": ["off"]},
  "pad": {"kinds": [], "bare": false, "settings": []},
  "hide": {"kinds": ["encoder_self", "decoder_self", "cross"], "bare": false, "settings": []},
  "mean": {"kinds": ["encoder_self", "decoder_self", "cross"], "bare": true, "settings": []},
  "resample": {"kinds": ["encoder_self", "decoder_self", "cross"], "bare": false, "settings": []},
  "zero": {"kinds": ["encoder_self", "decoder_self", "cross"], "bare": true, "settings": []},
  "weights": {"kinds": ["encoder_self", "decoder_self", "cross"], "bare": false, "settings": ["uniform", "argmax"]},
});

// Of small models, as docs/table3.md.
export const TRAINED_EXACT = /** @type {Record<string, number>} */ ({
  "scaled": 97.98466666666667,
  "unscaled": 93.07066666666667,
  "seeds": 3,
});

// The same of each seed.
export const EXACT_OF_SEEDS = /** @type {Record<string, number[]>} */ ({
  "scaled": [97.70299999999999, 98.251, 98.0],
  "unscaled": [90.434, 97.18900000000001, 91.589],
});

// Draws of the random experiment that a site has.
export const DRAWS = /** @type {number} */ (3);

// The pages of the site without a server.
export const SITE_PAGES = /** @type {Record<string, {parts: string[], styles: string[], own: string[]}>} */ ({
  "heads": {"parts": [], "styles": ["explorer", "formation"], "own": []},
  "lessons": {"parts": [], "styles": [], "own": []},
  "anatomy": {"parts": ["flow"], "styles": ["anatomy"], "own": ["head"]},
  "decoding": {"parts": ["step"], "styles": ["decoding"], "own": []},
  "positions": {"parts": ["encoding", "distance"], "styles": ["positions"], "own": []},
  "feedforward": {"parts": ["activity"], "styles": ["feedforward"], "own": ["layer", "threshold"]},
  "lab": {"parts": ["compare", "measures", "scaling", "softmax"], "styles": ["lab", "measures", "softmax", "why"], "own": []},
  "training": {"parts": [], "styles": ["training"], "own": ["kind", "layer", "head", "rows"]},
});

// Of neurons: thresholds, the first one of every non-linearity, a published share, bins of a histogram.
export const ACTIVITY = /** @type {{thresholds: number[], first: Record<string, number>, published: number, bins: number}} */ ({
  "thresholds": [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.45, 1.5, 1.55, 1.6, 1.65, 1.7, 1.75, 1.8, 1.85, 1.9, 1.95, 2.0],
  "first": {"relu": 0.0, "gelu": 0.2, "swish": 0.3},
  "published": 0.03,
  "bins": 60,
});

// Of the encodings: the ends of the sliders, where they start, and how many curves can be told apart.
export const POSITIONS = /** @type {{d_model: number[], length: number[], lengths: Record<string, number>, start: Record<string, number>, curves: number}} */ ({
  "d_model": [2, 512],
  "length": [2, 512],
  "lengths": {"encoding": 8, "distance": 64},
  "start": {"k": 5, "q": 10},
  "curves": 6,
});

// What Python does with a run of the Training page.
export const RUN_COMMANDS = /** @type {const} */ (["pause", "go", "stop", "again", "remove"]);

// Bytes of a file that can be uploaded.
export const LARGEST_FILE = /** @type {number} */ (16000000);
