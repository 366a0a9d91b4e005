import { buttonEl, el, printable, sliderEl } from "../core/dom.js";
import { formatFactor } from "../core/format.js";
import { listText } from "../core/lists.js";
import { headsIn, nameOf, sentenceOf, sentenceValue, targetsOf } from "./params.js";
import { MOST_PADS, SWITCH_FORMS, WEIGHT_RULES } from "../state/generated.js";
import { hint } from "../core/tooltip.js";

const OFF = Object.keys(SWITCH_FORMS).filter((name) => SWITCH_FORMS[name].settings[0] === "off");
const OUTPUTS = ["own", "mean", "other"]; // of a head; a page without a server may offer fewer
const OCTAVES = 5; // the slider runs from 1/32 to 32 times 1/sqrt(d_k)
const STEP = 0.1;
const SNAP = 0.16; // the slider snaps to a mark within this many octaves

// The cards of switches above the pictures. They change lists of {value, where} (params.js) and report them.
export class SwitchCards {
  constructor(hooks) {
    this.hooks = hooks;
    this.element = el("div", { class: "hs-cards", role: "group", "aria-label": hooks.t("lab_switches") });
    this.makeScaling();
    const onOff = (name) => this.choices(name, ["on", "off"], (value) => this.put(name, value === "on" ? null : "off"));
    this.off = Object.fromEntries(OFF.map((name) => [name, onOff(name)]));
    this.makePads();
    const weigh = (value) => this.put("weights", value === "softmax" ? null : value);
    this.weights = this.choices("weights", WEIGHT_RULES, weigh);
    this.makeZero();
    this.makeHide();
    this.makeOutput();
  }

  // A card: title, controls, then where the switch applies.
  card(name, ...controls) {
    const { t } = this.hooks;
    const explained = t(`lab_${name}_title`);
    const title = el("span", { tabindex: "0", "aria-description": explained }, t("lab_" + name));
    hint(title, this.hooks.tooltip, () => [title.getAttribute("aria-description")]);
    const about = { class: "hs-card", "data-testid": "card-" + name, role: "group", "aria-label": t("lab_" + name) };
    const card = el("div", about, el("div", { class: "hs-card-title" }, title), ...controls);
    this.element.append(card);
    return card;
  }

  segments(name, values, pick) {
    const { t } = this.hooks;
    const button = (value) => {
      const about = { "data-testid": `${name}-${value}`, "data-value": value, click: () => pick(value) };
      return buttonEl(about, t("lab_" + value));
    };
    return el("div", { class: "hs-seg", role: "group", "aria-label": t("lab_" + name) }, ...values.map(button));
  }

  press(segments, value) {
    for (const button of segments.children) button.setAttribute("aria-pressed", String(button.dataset.value === value));
  }

  whereSelect(name) {
    const select = el("select", {
      "data-testid": "where-" + name,
      "aria-label": this.hooks.t("lab_where"),
      change: () => this.setWhere(name, select.value),
    });
    const more = buttonEl({ class: "hs-card-more", hidden: true, click: () => this.keepLast(name) });
    return { select, more, element: el("div", { class: "hs-where" }, select, more) };
  }

  makeScaling() {
    const { t } = this.hooks;
    const seg = this.segments("scaling", ["on", "off"], (value) => this.scaleBy(value === "on" ? this.standard : 1));
    const held = { pointerdown: () => (this.dragging = true), pointerup: () => (this.dragging = false) };
    const bounds = { min: -OCTAVES, max: OCTAVES, step: STEP, ...held };
    const slider = sliderEl("scaling-slider", t("lab_scaling_factor"), bounds, (octaves) => this.slide(octaves));
    const mark = el("span", { class: "hs-mark", "data-testid": "scaling-mark" });
    const one = el("span", { class: "hs-mark hs-mark-one" }, "1");
    const output = el("output", { class: "hs-number", "data-testid": "scaling-factor" });
    const whereSelect = this.whereSelect("scaling");
    const track = el("div", { class: "hs-slider" }, slider, mark, one);
    const line = el("div", { class: "hs-card-line hs-card-slider" }, seg, track, output);
    const card = this.card("scaling", line, whereSelect.element);
    card.classList.add("hs-card-wide");
    this.scaling = { seg, slider, mark, one, output, where: whereSelect, card };
  }

  // A card of choices, of which one is pressed; more: what stands below them.
  choices(name, values, pick, ...more) {
    const seg = this.segments(name, values, pick);
    const where = this.whereSelect(name);
    const card = this.card(name, el("div", { class: "hs-card-line" }, seg), ...more, where.element);
    return { seg, where, card };
  }

  // A field for a whole number from 0 to `most`; change: called with its text.
  numberField(name, most, label, change) {
    const about = { type: "number", min: 0, max: most, step: 1, "data-testid": name, "aria-label": label };
    const changed = () => {
      field.value = String(Math.max(0, Math.min(most, Math.round(Number(field.value)) || 0)));
      change(field.value);
    };
    const field = el("input", { ...about, change: changed });
    return field;
  }

  makePads() {
    const { t } = this.hooks;
    this.pads = this.numberField("pads", MOST_PADS, t("lab_pads"), (count) =>
      this.change("pad", count === "0" ? [] : [{ value: count, where: "all" }]),
    );
    const label = el("label", { class: "hs-pads", title: t("lab_pads") }, this.pads, el("span", null, "<pad>"));
    this.off.padding.card.querySelector(".hs-card-line").append(label);
  }

  makeZero() {
    const { t } = this.hooks;
    const mode = buttonEl(
      {
        class: "hs-press",
        "data-testid": "knock",
        "data-not-in-link": "", // what a click on a head does, not what is seen
        click: () => this.hooks.setKnocking(!this.hooks.knocking()),
      },
      t("lab_zero_click"),
    );
    const count = el("span", { class: "hs-number", "data-testid": "knocked" });
    const clearing = { class: "hs-card-more", "data-testid": "knock-clear", click: () => this.change("zero", []) };
    const clear = buttonEl(clearing, t("lab_zero_clear"));
    const where = el("div", { class: "hs-where" }, count, clear);
    const card = this.card("zero", el("div", { class: "hs-card-line" }, mode), where);
    this.zero = { mode, count, clear, card };
  }

  // Two switches: "mean", and "resample" from a sentence or a seed.
  makeOutput() {
    const { t } = this.hooks;
    const pick = (value) => {
      if (value === "own") this.putOutput(null);
      else if (value === "mean") this.putOutput("mean", "");
      else this.putOutput("resample", this.seed.value || "1");
    };
    this.text = el("input", {
      type: "text",
      maxlength: 1000,
      placeholder: t("lab_resample_hint"),
      "data-testid": "resample-text",
      "aria-label": t("lab_resample_text"),
      change: () => {
        const text = this.text.value.trim();
        this.putOutput("resample", text ? sentenceValue(text) : this.seed.value || "1");
      },
    });
    const draw = (seed) => this.putOutput("resample", seed);
    this.seed = this.numberField("resample-seed", 9999, t("lab_resample_seed"), draw);
    this.seed.value = "1";
    const label = el("label", { class: "hs-pads", title: t("lab_resample_seed") }, t("lab_resample_number"), this.seed);
    const from = el("div", { class: "hs-card-from" }, this.text, label);
    this.output = { ...this.choices("resample", OUTPUTS, pick, from), from, label };
    this.output.card.classList.add("hs-card-row");
  }

  makeHide() {
    const { t } = this.hooks;
    const select = el("select", {
      "data-testid": "hide",
      "aria-label": t("lab_hide_add"),
      change: () => {
        const { value } = select;
        select.value = "";
        if (value && !this.lists.hide.some((entry) => entry.value === value && entry.where === "all"))
          this.change("hide", [...this.lists.hide, { value, where: "all" }]);
      },
    });
    const chips = el("div", { class: "hs-hidden-list" });
    const card = this.card("hide", el("div", { class: "hs-card-line" }, select), chips);
    this.hide = { select, chips, card };
  }

  // -- actions of the user -----------------------------------------------------------------------------------------

  change(name, list, dragging) {
    this.hooks.switched({ ...this.lists, [name]: list }, dragging);
  }

  // A card shows the last entry of its switch; the entries before it came with a link.
  put(name, value, dragging) {
    const list = this.lists[name];
    const where = list.at(-1)?.where ?? this.chosenWhere(name);
    this.change(name, value === null ? list.slice(0, -1) : [...list.slice(0, -1), { value, where }], dragging);
  }

  chosenWhere(name) {
    return this.places?.[name] || "all";
  }

  // Both lists of the card "Head outputs", in the order in which they win.
  outputs() {
    return ["mean", "resample"].flatMap((name) => this.lists[name].map((entry) => ({ ...entry, name })));
  }

  // Replaces the last of them by another switch, or by none.
  putOutput(name, value, where = this.outputs().at(-1)?.where ?? this.chosenOutput()) {
    const lists = { mean: [...this.lists.mean], resample: [...this.lists.resample] };
    const last = this.outputs().at(-1);
    if (last) lists[last.name].pop();
    if (name) lists[name].push({ value, where });
    this.hooks.switched({ ...this.lists, ...lists });
  }

  // The chosen head, unless a person chose other heads.
  chosenOutput() {
    const { kind, layer, head } = this.subject;
    return this.places?.resample || (layer === "all" || head === "all" ? kind : nameOf(kind, layer, head));
  }

  slide(octaves) {
    const { standard } = this;
    const off = Math.log2(1 / standard);
    const near = this.dragging ? SNAP : STEP / 2; // with the arrow keys the slider can leave a mark again
    if (Math.abs(octaves) < near) return this.scaleBy(standard, true);
    if (Math.abs(octaves - off) < near) return this.scaleBy(1, true);
    return this.scaleBy(Number(formatFactor(standard * 2 ** octaves)), true);
  }

  // The factor the model was trained with counts as no switch.
  scaleBy(factor, dragging) {
    const same = Math.abs(factor / this.trained - 1) < 1e-9;
    this.put("scaling", same ? null : factor === 1 ? "off" : String(factor), dragging);
  }

  setWhere(name, where) {
    this.places = { ...this.places, [name]: where };
    if (name === "resample") {
      const last = this.outputs().at(-1);
      return last ? this.putOutput(last.name, last.value, where) : this.draw(this.subject);
    }
    const list = this.lists[name];
    if (!list.length) return this.draw(this.subject);
    return this.change(name, [...list.slice(0, -1), { ...list[list.length - 1], where }]);
  }

  keepLast(name) {
    if (name === "resample") {
      const { name: kept, value, where } = this.outputs().at(-1);
      return this.hooks.switched({ ...this.lists, mean: [], resample: [], [kept]: [{ value, where }] });
    }
    this.change(name, this.lists[name].slice(-1));
  }

  // Knocks a head out or restores it; "all" means every layer or head. Returns whether it is knocked out now.
  toggle(kind, layer, head) {
    const sizes = this.sizes();
    const knockedOut = this.knockedOut(sizes);
    const meant = [...headsIn([nameOf(kind, layer, head)], sizes)];
    const out = !meant.every((name) => knockedOut.has(name));
    for (const name of meant) knockedOut[out ? "add" : "delete"](name);
    const targets = targetsOf(knockedOut, sizes).map((where) => ({ value: "", where }));
    this.change("zero", targets);
    return out;
  }

  knockedOut(sizes = this.sizes()) {
    const targets = this.lists.zero.map(({ where }) => where);
    return headsIn(targets, sizes);
  }

  sizes() {
    const { kinds } = this.subject;
    return Object.fromEntries(Object.entries(kinds).map(([kind, { layers, heads }]) => [kind, { layers, heads }]));
  }

  // -- drawing -----------------------------------------------------------------------------------------------------

  // subject: {lists, forms, kinds, kind, layer, head, header, standard: 1/sqrt(d_k), trained: the model's own factor, knocking}
  draw(subject) {
    this.subject = subject;
    this.lists = subject.lists;
    this.standard = subject.standard;
    this.trained = subject.trained;
    const { t } = this.hooks;
    this.drawScaling();
    this.off.bias.card.hidden = !subject.header.biased;
    for (const [name, { seg, where, card }] of Object.entries(this.off)) {
      const on = !this.lists[name].length;
      this.press(seg, on ? "on" : "off");
      card.toggleAttribute("data-switched", !on || (name === "padding" && this.lists.pad.length > 0));
      this.drawWhere(name, where, this.lists[name]);
    }
    this.drawCausal(subject.header);
    const pads = this.lists.pad.at(-1)?.value ?? "0";
    if (this.padsDrawn !== pads) this.pads.value = pads; // else it holds what a person is typing
    this.padsDrawn = pads;
    const rules = this.lists.weights;
    this.press(this.weights.seg, rules.at(-1)?.value ?? "softmax");
    this.weights.card.toggleAttribute("data-switched", rules.length > 0);
    this.drawWhere("weights", this.weights.where, rules);
    const out = this.knockedOut().size;
    const counted = ["lab_zero_none", "lab_zero_one"][out] ?? "lab_zero_count";
    this.zero.count.textContent = t(counted, { n: out });
    this.zero.clear.hidden = !out;
    this.zero.card.toggleAttribute("data-switched", out > 0);
    this.zero.mode.setAttribute("aria-pressed", String(subject.knocking));
    this.drawHide();
    this.drawOutput();
  }

  drawOutput() {
    const { seg, from, label, where, card } = this.output;
    const { offered = OUTPUTS } = this.subject.header;
    card.hidden = offered.length === 1;
    for (const button of seg.children) button.hidden = !offered.includes(button.dataset.value);
    const outputs = this.outputs();
    const last = outputs.at(-1);
    this.press(seg, !last ? "own" : last.name === "mean" ? "mean" : "other");
    card.toggleAttribute("data-switched", outputs.length > 0);
    from.hidden = last?.name !== "resample";
    const value = from.hidden ? "" : last.value;
    if (this.outputDrawn !== value) {
      this.text.value = sentenceOf(value); // else it holds what a person is typing
      if (/^\d+$/.test(value)) this.seed.value = value;
    }
    this.outputDrawn = value;
    label.hidden = value.startsWith("text.");
    this.drawWhere("resample", where, outputs, outputs.length ? "" : this.chosenOutput());
  }

  // A model made without the causal mask has no mask to switch off.
  drawCausal({ causal, config }) {
    const bare = causal === false || (config || {}).causal === false;
    const { seg, where, card } = this.off.causal;
    if (bare) this.press(seg, "off");
    if (bare) card.removeAttribute("data-switched");
    for (const control of [...seg.children, where.select]) control.disabled = bare;
    const explained = this.hooks.t(bare ? "lab_causal_none" : "lab_causal_title");
    card.querySelector(".hs-card-title span").setAttribute("aria-description", explained);
  }

  drawScaling() {
    const { t } = this.hooks;
    const { seg, slider, mark, one, output, where, card } = this.scaling;
    const list = this.lists.scaling;
    const last = list.at(-1)?.value ?? "";
    const factor = last === "off" ? 1 : last ? Number(last) : this.trained;
    const on = Math.abs(factor / this.standard - 1) < 1e-6;
    this.press(seg, on ? "on" : factor === 1 ? "off" : "");
    mark.textContent = t("lab_scaling_mark", { d: Math.round(1 / this.standard ** 2) });
    const left = (octaves) => `calc(var(--thumb) / 2 + ${(octaves + OCTAVES) / (2 * OCTAVES)} * (100% - var(--thumb)))`;
    mark.style.left = left(0);
    const off = Math.log2(1 / this.standard);
    one.hidden = off < 0.5 || off > OCTAVES;
    one.style.left = left(off);
    slider.value = Math.log2(factor / this.standard);
    slider.setAttribute("aria-valuetext", t("lab_scaling_value", { factor: formatFactor(factor) }));
    output.textContent = t("lab_scaling_value", { factor: formatFactor(factor) });
    card.toggleAttribute("data-switched", list.length > 0);
    this.drawWhere("scaling", where, list);
  }

  drawWhere(name, whereSelect, list, chosen = this.chosenWhere(name)) {
    const { t } = this.hooks;
    const { kind, layer, head } = this.subject;
    const label = (of) => t("kind_" + of);
    const options = [["all", t("lab_everywhere")]];
    const { kinds } = this.subject.forms[name];
    if (kinds.length > 1) for (const of of kinds) options.push([of, t("lab_where_kind", { kind: label(of) })]);
    const near = kinds.includes(kind) ? kind : kinds[kinds.length - 1];
    for (let l = 1; l <= this.subject.kinds[near].layers; l++)
      options.push([`${near}.${l}`, t("lab_where_layer", { kind: label(near), layer: l })]);
    const one = { kind: label(near), layer: layer + 1, head: head + 1 };
    if (layer !== "all" && head !== "all") options.push([`${near}.${one.layer}.${one.head}`, t("lab_where_head", one)]);
    const value = list.at(-1)?.where ?? chosen;
    if (!options.some(([target]) => target === value)) options.push([value, this.targetText(value)]);
    const key = JSON.stringify(options);
    if (whereSelect.key !== key) {
      whereSelect.key = key;
      whereSelect.select.replaceChildren(...options.map(([target, text]) => el("option", { value: target }, text)));
    }
    whereSelect.select.value = value;
    whereSelect.more.hidden = list.length < 2;
    whereSelect.more.textContent = t("lab_more", { n: list.length - 1 });
    const written = ({ value, where }) => [value, this.targetText(where)].filter(Boolean).join(" · ");
    const earlier = list.slice(0, -1).map(written);
    whereSelect.more.title = t("lab_more_title", { list: listText(t, earlier) });
  }

  targetText(target) {
    const { t } = this.hooks;
    const match = /^(\w+)\.([1-9]\d*)(?:\.([1-9]\d*))?$/.exec(target);
    if (!match || match[1] === "all") return target;
    const names = { kind: t("kind_" + match[1]), layer: match[2], head: match[3] };
    return t(match[3] ? "lab_where_head" : "lab_where_layer", names);
  }

  drawHide() {
    const { t } = this.hooks;
    const { labels } = this.subject.header;
    const { select, chips, card } = this.hide;
    const name = (side, n) => {
      const list = labels[side === "source" ? "source" : "target_in"];
      return t("lab_hide_" + side, { n, token: printable(list[n - 1] === undefined ? "?" : list[n - 1]) });
    };
    const options = [el("option", { value: "" }, t("lab_hide_add"))];
    for (const [side, list] of Object.entries({ source: labels.source, target: labels.target_in }))
      list.forEach((_, i) => options.push(el("option", { value: `${side}.${i + 1}` }, name(side, i + 1))));
    const key = JSON.stringify([labels.source, labels.target_in]);
    if (this.hideKey !== key) select.replaceChildren(...options);
    this.hideKey = key;
    select.value = "";
    card.toggleAttribute("data-switched", this.lists.hide.length > 0);
    chips.replaceChildren(
      ...this.lists.hide.map((entry, i) => {
        const [side, n] = entry.value.split(".");
        const text = name(side, Number(n));
        const others = this.lists.hide.filter((_, j) => j !== i);
        const title = t("lab_hide_remove", { token: text });
        return buttonEl({ class: "hs-hidden-token", title, click: () => this.change("hide", others) }, text + " ×");
      }),
    );
  }
}
