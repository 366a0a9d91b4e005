import { buttonEl, el, sliderEl } from "../core/dom.js";
import { scaleLegend } from "../heads/legend.js";
import { CHOICES, START_VIEW } from "../state/generated.js";
import { changedKeys } from "../state/state.js";

// The bar of switches. Native buttons, selects and a slider; values go out through hooks.change({key: value}).
const { kind: KINDS, meanings: MEANINGS, sight: SIGHTS, ...SWITCHES } = CHOICES;

export class Controls {
  constructor(hooks) {
    const { t } = hooks;
    this.hooks = hooks;
    this.kindButtons = KINDS.map((kind) => {
      const about = { "data-testid": "kind-" + kind, "data-kind": kind, "aria-pressed": "false" };
      return buttonEl({ ...about, click: () => hooks.change({ kind }) }, t("kind_" + kind));
    });
    this.selects = {};
    const options = Object.entries(SWITCHES).map(([name, values]) => this.select(name, values));
    const bounds = { min: 0, max: 1, step: 0.01 };
    const cut = (threshold) => hooks.change({ threshold }, true);
    this.slider = sliderEl("opt-threshold", t("threshold"), bounds, cut);
    this.sliderText = el("output", { class: "hs-number" });
    const threshold = [el("span", null, t("threshold")), this.slider, this.sliderText];
    options.splice(5, 0, el("label", { class: "hs-opt" }, ...threshold));
    const [off, on] = MEANINGS;
    this.meaningsBox = el("input", {
      type: "checkbox",
      "data-testid": "opt-meanings",
      change: () => hooks.change({ meanings: this.meaningsBox.checked ? on : off }),
    });
    this.noMeanings = el("em", null);
    const meanings = [this.meaningsBox, el("span", null, t("meanings")), this.noMeanings];
    this.meanings = el("label", { class: "hs-opt" }, ...meanings);
    options.push(this.meanings);
    this.legend = el("div", { class: "hs-legend", "data-testid": "legend" });
    this.formation = buttonEl(
      {
        class: "hs-press hs-formation",
        "data-testid": "formation-open-close",
        "aria-pressed": "false",
        title: t("formation_title"),
        click: () => this.hooks.formation(this.formation.getAttribute("aria-pressed") !== "true"),
      },
      t("formation"),
    );
    // Where there is little room, the switches fold behind this button.
    const folding = { class: "hs-press hs-more", "data-testid": "options-open-close", "aria-expanded": "false" };
    this.more = buttonEl(folding, t("options"));
    this.more.addEventListener("click", () => {
      const open = this.element.toggleAttribute("data-open");
      this.more.setAttribute("aria-expanded", String(open));
      hooks.resized();
    });
    // At first sight the switches and the numbers stand behind two buttons; a third one leads back.
    const [all, first, how] = SIGHTS;
    this.sights = [
      [all, "options", () => all],
      [how, "how", ({ sight }) => (sight === how ? first : how)],
      [first, "simple", () => first],
    ].map(([name, label, next]) => {
      const about = {
        class: `hs-press hs-sight-button hs-sight-${name}`,
        "data-testid": `sight-${name}`,
        "aria-pressed": "false",
      };
      return buttonEl({ ...about, click: () => hooks.look(/** @type {any} */ (next)(this.state)) }, t(label));
    });
    const kinds = el("div", { class: "hs-seg", role: "group", "aria-label": t("kind") }, ...this.kindButtons);
    const bar = [kinds, this.legend, this.more, this.formation, ...this.sights.slice(0, 2)];
    this.element = el(
      "div",
      { class: "hs-controls" },
      el("div", { class: "hs-bar" }, ...bar),
      el("div", { class: "hs-options" }, ...options, this.sights[2]),
    );
  }

  select(name, values) {
    const { t } = this.hooks;
    const change = () => this.hooks.change({ [name]: select.value });
    const options = values.map((value) => el("option", { value }, t(name + "_" + value)));
    const select = el("select", { "data-testid": "opt-" + name, change }, ...options);
    this.selects[name] = select;
    return el("label", { class: "hs-opt" }, el("span", null, t(name)), select);
  }

  // Whether a switch is not as before any choice.
  differ(state) {
    const switches = ["threshold", "meanings", ...Object.keys(SWITCHES)];
    return changedKeys(START_VIEW, state).some((name) => switches.includes(name));
  }

  // legends: [{kind, low, high, gradient, text}]; formation: {open} of the slider over the training, null without a
  // slider; meanings: {any} whether a word of the sentences has one, null if there is nothing to tell this reader
  draw(state, kinds, legends, formation, meanings) {
    const { t } = this.hooks;
    this.state = state;
    for (const button of this.sights)
      button.setAttribute("aria-pressed", String(button.dataset.testid === `sight-${state.sight}`));
    this.meanings.hidden = !meanings;
    this.meaningsBox.checked = state.meanings === "on";
    const none = meanings && !meanings.any && this.meaningsBox.checked;
    this.noMeanings.textContent = none ? t("meanings_none") : "";
    this.meanings.title = t(meanings && !meanings.any ? "meanings_none" : "meanings_title");
    this.formation.hidden = !formation;
    this.formation.setAttribute("aria-pressed", String(Boolean(formation && formation.open)));
    for (const button of this.kindButtons) {
      button.setAttribute("aria-pressed", String(button.dataset.kind === state.kind));
      button.disabled = button.dataset.kind !== "all" && !kinds.includes(button.dataset.kind);
    }
    for (const [name, select] of Object.entries(this.selects)) {
      if (select.value !== state[name]) select.value = state[name];
      fitSelect(select);
    }
    if (Number(this.slider.value) !== state.threshold) this.slider.value = state.threshold;
    this.sliderText.textContent = state.threshold > 0 ? state.threshold.toFixed(2) : t("threshold_off");
    const made = (legend) => scaleLegend(legend, t("legend", legend), t("kind_" + legend.kind));
    this.legend.replaceChildren(...legends.map(made));
  }
}

// A native select is as wide as its widest option: set it to the width of the chosen one.
function fitSelect(select) {
  const chosen = select.selectedOptions[0];
  if (!chosen || !select.isConnected) return;
  const style = getComputedStyle(select);
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const em = parseFloat(style.fontSize);
  select.style.width = Math.ceil(context.measureText(chosen.textContent).width + em * 2.1) + "px";
}
