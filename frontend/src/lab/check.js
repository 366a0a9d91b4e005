// Which switches of a link a model can have.
import { layersOf } from "../engine/switches.js";
import { MOST_PADS, SWITCH_FORMS } from "../state/generated.js";
import { sentenceOf } from "./params.js";

const NUMBER = /^\+?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const between = (low, high) => (value) => NUMBER.test(value) && Number(value) >= low && Number(value) <= high;
const whole = (low, high) => (value) => /^\d{1,6}$/.test(value) && Number(value) >= low && Number(value) <= high;
// What may stand before "@", where it is not one of a few settings: the limits of transformer/interventions/.
const VALUES = {
  scaling: (value) => value === "off" || between(1e-4, 1e3)(value),
  pad: whole(1, MOST_PADS),
  hide: (value) => /^(source|target)\.[1-9]\d{0,4}$/.test(value),
  resample: (value) => whole(0, 9999)(value) || sentenceOf(value).trim() !== "",
  positions: (value) => {
    const [rule, amount = ""] = [value.split(".")[0], value.slice(value.indexOf(".") + 1 || value.length)];
    if (rule === "scale") return between(0, 100)(amount);
    if (rule === "shift") return whole(1, 99_999)(amount);
    return rule === "shuffle" ? whole(0, 9999)(amount) : ["remove", "reverse"].includes(value);
  },
};
const PLACE = /^(all|encoder_self|decoder_self|cross)(?:\.([1-9]\d{0,2}|\*))?(?:\.([1-9]\d{0,2}|\*))?$/;
const PART = /^(encoder|decoder)\.([1-9]\d{0,2})\.(self|cross|ff|[1-9]\d{0,5})$/;

/** Names of the switches of a link that the model cannot have: as Python refuses them. config: of the model. */
export function refusedSwitches(params, config) {
  const isPlace = (name, where) => {
    const [found, kind, layer, head] = PLACE.exec(where) ?? [];
    const kinds = SWITCH_FORMS[name].kinds.filter((one) => kind === "all" || kind === one);
    const most = { layer: Math.max(...kinds.map((kind) => layersOf(config, kind))), head: config.heads };
    const fits = (text, count) => !text || text === "*" || Number(text) <= count;
    return Boolean(found) && kinds.length > 0 && fits(layer, most.layer) && fits(head, most.head);
  };
  const isPart = (name, text) => {
    const [found, stack, layer, part] = PART.exec(text) ?? [];
    if (!found || Number(layer) > layersOf(config, stack)) return false;
    if (name === "neurons") return Number(part) <= config.d_ff;
    return part === "ff" || part === "self" || (part === "cross" && stack === "decoder");
  };
  const isSound = (name, text) => {
    if (name === "bias" && config.positions !== "relative") return false;
    if (name === "skip" || name === "neurons") return isPart(name, text);
    if (SWITCH_FORMS[name]?.bare) return isPlace(name, text);
    const [value, where] = text.split("@");
    if (!(VALUES[name]?.(value) ?? SWITCH_FORMS[name]?.settings.includes(value))) return false;
    if (name === "positions") return [undefined, "source", "target"].includes(where);
    return where === undefined || (name !== "pad" && isPlace(name, where) && isSide(name, value, where));
  };
  return Object.entries(params)
    .filter(([name, text]) => !text.split(",").every((part) => isSound(name, part.trim())))
    .map(([name]) => name);
}

// A token is hidden from the kinds of attention whose keys are on its side.
const isSide = (name, value, where) =>
  name !== "hide" || where.startsWith("all") || where.startsWith("decoder_self") === value.startsWith("target");
