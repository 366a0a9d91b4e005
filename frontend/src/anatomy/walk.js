import { INNER_STEPS, PLACES, START_ANATOMY, ZOOMS, ZOOMS_OF } from "../state/generated.js";

// The places in the anatomy of a model and the way through them. Pure functions of a state:
//   zoom     one of ZOOMS
//   place    one of PLACES, a part of the paper's Figure 1
//   encoder, decoder   the layer that is open in each stack, from 0
//   head     from 0
//   step     one of the steps of the place
//   row, col the cell that is chosen in the matrix a step makes, from 0; col -1: none yet
//   t        the step of decoding, a row of the decoder, from 0
export const isAttention = (place) => place.endsWith(".self") || place.endsWith(".cross");
export const isFeedForward = (place) => place.endsWith(".ff");
export const isEmbedding = (place) => place === "source" || place === "target";
export const stackOf = (place) => (place === "source" || place.startsWith("encoder") ? "encoder" : "decoder");

// As keys of texts have it.
export const placeName = (place) => place.replace(".", "_");

// The kind of attention whose colours a place has.
export const kindOf = (place) => (place.endsWith(".cross") ? "cross" : `${stackOf(place)}_self`);

// Whether a folded text is open, and the state with it open or not.
export const isOpen = ({ opened }, name) => opened.split(".").includes(name);
export function withFold(state, name, open) {
  const names = state.opened.split(".").filter((one) => one && one !== name);
  return { ...state, opened: (open ? [...names, name] : names).join(".") };
}

// The steps of a place, in the order they are computed: a model without residual connections has no "add", one without
// LayerNorm no "norm". config: the model's.
export function stepsOf(place, { norm, residual }) {
  const inner = INNER_STEPS[place];
  if (!place.includes(".")) return inner;
  const normed = (position) => (norm === position ? ["norm"] : []);
  return ["x", ...normed("pre"), ...inner, ...(residual === false ? [] : ["add"]), ...normed("post")];
}

// The step that computes the output of a sub-layer, and the step that computes Sublayer(x).
export const lastStep = (place, config) => stepsOf(place, config).at(-1);
export const updateStep = (place) => INNER_STEPS[place].at(-1);

// The ending of the key of a step's name: some steps are called otherwise in some models.
export function stepSuffix(step, { activation, embedding_scale, scaling, positions }) {
  const sorts = { times: !embedding_scale && "_off", scale: !scaling && "_off", plus: positions === "none" && "_none" };
  return step === "activation" ? `_${activation}` : sorts[step] || "";
}

// The name of the sub-layer in the trace: "encoder.0.self"; "source", "target" and "output" stay.
export function traceName(state, place = state.place) {
  const [stack, part] = place.split(".");
  return part ? `${stack}.${state[stack]}.${part}` : place;
}

// The zooms of a place: only attention has heads, and the ends of the model are not layers.
export const zoomsOf = (place) => ZOOMS_OF[place];

// Every stop of the walk at a zoom: in the model and a layer every place of every layer; closer, every step of the
// place.
export function stopsOf(config, zoom) {
  const near = zoom === "sub" || zoom === "head" || zoom === "number";
  const end = (place) => (zoom === "layer" ? [] : [{ place }]);
  const layers = (stack) => {
    const parts = PLACES.filter((place) => place.startsWith(stack + "."));
    const ofLayer = (_, layer) => parts.map((place) => ({ place, [stack]: layer }));
    return Array.from({ length: config[stack + "_layers"] }, ofLayer).flat();
  };
  const stops = [...end("source"), ...layers("encoder"), ...end("target"), ...layers("decoder"), ...end("output")];
  return stops.flatMap(({ place, ...more }) =>
    (near ? stepsOf(place, config) : [null]).map((step) => ({ place, step, ...more })),
  );
}

// Index of the state among the stops of its zoom; in a layer the ends of the model count as the nearest stop.
export function stopIndex(state, stops) {
  const index = stops.findIndex(
    (stop) =>
      stop.place === state.place &&
      (stop.step === null || stop.step === state.step) &&
      (stop.encoder === undefined || stop.encoder === state.encoder) &&
      (stop.decoder === undefined || stop.decoder === state.decoder),
  );
  return Math.max(0, index);
}

// The state `delta` stops further on; after the output comes the next decoding step, if there is one.
export function walk(config, state, delta, steps) {
  const stops = stopsOf(config, state.zoom);
  const index = stopIndex(state, stops) + delta;
  const again = stops.findIndex((stop) => stop.place === "target");
  if (index >= stops.length && again >= 0 && state.t + 1 < steps)
    return fitState(config, { ...state, ...stops[again], decoder: 0, t: state.t + 1, row: state.t + 1, col: -1 });
  const stop = stops[Math.max(0, Math.min(stops.length - 1, index))];
  return fitState(config, { ...state, ...stop, step: stop.step || state.step });
}

// The state with every value valid for the model; an invalid value becomes the nearest valid one.
export function fitState(config, state) {
  const bound = (value, high) => Math.max(0, Math.min(high, Number.isInteger(value) ? value : 0));
  const place = PLACES.includes(state.place) ? state.place : START_ANATOMY.place;
  const steps = stepsOf(place, config);
  const zooms = zoomsOf(place);
  let zoom = ZOOMS.includes(state.zoom) ? state.zoom : START_ANATOMY.zoom;
  if (!zooms.includes(zoom)) zoom = zoom === "head" ? "sub" : "model";
  return {
    ...state,
    zoom,
    place,
    encoder: bound(state.encoder, config.encoder_layers - 1),
    decoder: bound(state.decoder, config.decoder_layers - 1),
    head: bound(state.head, config.heads - 1),
    step: steps.includes(state.step) ? state.step : steps[0],
  };
}
