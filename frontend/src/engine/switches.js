// The switches of a link (transformer/interventions/) as inputs of the graphs (transformer/web/graphs.py).
import { covers, readSwitches } from "../lab/params.js";
import { WEIGHT_RULES } from "../state/generated.js";

export const KINDS = /** @type {const} */ (["encoder_self", "decoder_self", "cross"]);
const OUTPUTS = ["own", "zero", "mean"]; // of the graphs' inputs KIND.output
const PARTS = { encoder: ["self", "ff"], decoder: ["self", "cross", "ff"] };
const SIDE_OF_KEYS = { encoder_self: "source", decoder_self: "target", cross: "source" };
const MASKS = { causal: ["decoder_self"], padding: KINDS };
const BARE = { bare: true };
const FORMS = {
  ...{ scaling: {}, bias: {}, causal: {}, padding: {}, pad: {}, hide: {}, zero: BARE, mean: BARE, weights: {} },
  ...{ positions: {}, skip: {}, neurons: {} },
};

export const layersOf = (config, kind) => (kind.startsWith("encoder") ? config.encoder_layers : config.decoder_layers);

// The switches of `params` that a page cannot compute: they need other sentences, or random numbers of torch.
export function needsServer(params, about) {
  const needs = (name, value) =>
    !(name in FORMS) || value.includes("shuffle") || (name === "mean" && !about.mean) || undefined;
  return Object.entries(params || {}).filter(([name, value]) => needs(name, value));
}

// What the switches of a link do: how many <pad> follow the source, whether each step of decoding needs a pass over all
// tokens, and what every head has, by kind [layer][head]: scale, rule, zero, replaced. about: the model's web.json.
export class Switches {
  constructor(params, about) {
    this.params = params || {};
    this.config = about.config;
    this.lists = readSwitches(this.params, FORMS);
    this.pads = Number(this.lists.pad.at(-1)?.value || 0);
    const moves = this.lists.positions;
    this.shift = (side) =>
      moves.reduce((sum, { value, where }) => sum + (reaches(where, side) ? amountOf(value, "shift") : 0), 0);
    this.replays =
      this.lists.causal.length > 0 || moves.some(({ value, where }) => value === "reverse" && reaches(where, "target"));
    this.heads = Object.fromEntries(KINDS.map((kind) => [kind, this.ofHeads(kind)]));
  }

  // A value for every head of a kind: that of the last switch in the list that reaches it.
  each(kind, list, start, read) {
    return Array.from({ length: layersOf(this.config, kind) }, (_, layer) =>
      Array.from({ length: this.config.heads }, (_, head) => {
        const last = list.findLast(({ where }) => covers(where, kind, layer, head));
        return last === undefined ? start : read(last.value);
      }),
    );
  }

  ofHeads(kind) {
    const { scaling, weights, zero, mean } = this.lists;
    const usual = scaleOf(this.config);
    const zeros = this.each(kind, zero, false, () => true);
    const means = this.each(kind, mean, false, () => true);
    return {
      scale: this.each(kind, scaling, usual, (value) => (value === "off" ? 1 : Number(value))),
      rule: this.each(kind, weights, 0, (value) => /** @type {readonly string[]} */ (WEIGHT_RULES).indexOf(value)),
      zero: zeros,
      replaced: means.map((row, layer) => row.map((replaced, head) => replaced && !zeros[layer][head])),
    };
  }

  // Inputs of the graph of a stack that differ from those of the model as trained, as name -> numbers. tokens: of each
  // side; start: position of the first token that is fed.
  inputs(stack, tokens, start = 0) {
    const found = {};
    const usual = scaleOf(this.config);
    for (const kind of KINDS.filter((kind) => (kind === "encoder_self") === (stack === "encoder"))) {
      const { scale, rule, zero, replaced } = this.heads[kind];
      found[`${kind}.factor`] = scale.flat().map((factor) => factor / usual);
      found[`${kind}.rule`] = rule.flat();
      const chosen = zero.flat().map((off, at) => (off ? "zero" : replaced.flat()[at] ? "mean" : "own"));
      found[`${kind}.output`] = chosen.map((name) => OUTPUTS.indexOf(name));
      for (const [name, kinds] of Object.entries(MASKS))
        if (kinds.includes(kind) && (name === "padding" || kind === "decoder_self"))
          found[`${kind}.${name}`] = this.each(kind, this.lists[name], false, () => true).flat();
      found[`${kind}.unbiased`] = this.each(kind, this.lists.bias, false, () => true).flat();
      found[`${kind}.hidden`] = this.hidden(kind, tokens[SIDE_OF_KEYS[kind]]);
    }
    found[`${stack}.skipped`] = Array.from({ length: layersOf(this.config, stack) }, (_, layer) =>
      PARTS[stack].map((part) => this.lists.skip.some(({ value }) => value === `${stack}.${layer + 1}.${part}`)),
    ).flat();
    if (this.lists.neurons.length) found[`${stack}.silenced`] = this.silenced(stack);
    const side = stack === "encoder" ? "source" : "target";
    Object.assign(found, this.positions(side, tokens[side], start));
    return found;
  }

  hidden(kind, keys) {
    const { heads } = this.config;
    const found = new Uint8Array(layersOf(this.config, kind) * heads * keys);
    for (const { value, where } of this.lists.hide) {
      const [side, token] = value.split(".");
      const reached = this.each(kind, [{ value, where }], false, () => side === SIDE_OF_KEYS[kind]).flat();
      if (token <= keys) reached.forEach((hidden, at) => hidden && (found[at * keys + Number(token) - 1] = 1));
    }
    return found;
  }

  silenced(stack) {
    const found = new Uint8Array(layersOf(this.config, stack) * this.config.d_ff);
    for (const { value } of this.lists.neurons) {
      const [of, layer, neuron] = value.split(".");
      if (of === stack) found[(Number(layer) - 1) * this.config.d_ff + Number(neuron) - 1] = 1;
    }
    return found;
  }

  positions(side, count, start) {
    let ids = Array.from({ length: count }, (_, index) => start + index);
    let factor = 1;
    for (const { value, where } of this.lists.positions) {
      if (!reaches(where, side)) continue;
      if (value === "reverse") ids.reverse();
      if (value === "remove") factor = 0;
      if (value.startsWith("scale.")) factor *= amountOf(value, "scale");
      ids = ids.map((id) => id + amountOf(value, "shift"));
    }
    return { [`${side}.position_ids`]: ids, [`${side}.position_factor`]: [factor] };
  }
}

const scaleOf = (config) => (config.scaling ? (config.d_k || config.d_v || config.d_model / config.heads) ** -0.5 : 1);

// "shift.5" -> 5 for "shift".
const amountOf = (value, name) => (value.startsWith(`${name}.`) ? Number(value.slice(name.length + 1)) : 0);

// Whether a switch of positions, "remove@source", changes this side; without a side it changes both.
const reaches = (where, side) => where === "all" || where === side;
