import { el } from "../core/dom.js";
import { runLabel } from "./words.js";

// The slider over all recorded steps of the chosen run, play and live.
export class Timeline {
  // hooks: {t, goTo(index), play(), live()}
  // save: the menu that saves the picture
  constructor(hooks, save) {
    this.hooks = hooks;
    const { t } = hooks;
    this.playing = el("button", { type: "button", "data-testid": "training-play", click: () => hooks.play() });
    this.live = el(
      "button",
      {
        type: "button",
        class: "learn-live",
        "data-testid": "training-live",
        title: t("live_title"),
        click: () => hooks.live(),
      },
      el("span", { class: "learn-dot", "aria-hidden": "true" }),
      t("live"),
    );
    this.slider = el("input", {
      type: "range",
      min: 0,
      max: 0,
      step: 1,
      value: 0,
      "data-testid": "training-slider",
      input: () => hooks.goTo(Number(this.slider.value)),
    });
    this.number = el("output", { class: "learn-step", "data-testid": "training-step" });
    this.element = el("div", { class: "learn-time" }, this.playing, this.slider, this.number, this.live, save);
  }

  draw(run, index, mode) {
    const { t } = this.hooks;
    const enabled = Boolean(run) && index >= 0;
    for (const control of [this.playing, this.slider, this.live]) control.disabled = !enabled;
    this.live.hidden = !run || !run.active;
    const playing = mode === "play";
    if (this.mode !== mode) {
      this.mode = mode;
      this.playing.replaceChildren(
        el("span", { class: "learn-sign", "aria-hidden": "true" }, playing ? "❚❚" : "▶"),
        t(playing ? "play_hold" : "play"),
      );
      this.playing.title = t(playing ? "play_hold_title" : "play_title");
      this.playing.setAttribute("aria-label", this.playing.title);
      this.live.setAttribute("aria-pressed", String(mode === "live"));
    }
    const end = run ? run.end : 0;
    if (Number(this.slider.max) !== end) this.slider.max = end;
    const at = Math.max(0, index);
    if (Number(this.slider.value) !== at) this.slider.value = at;
    this.slider.style.setProperty("--there", end ? `${((100 * Math.max(0, run.last)) / end).toFixed(2)}%` : "0%");
    const step = enabled ? run.frames[index].step.toLocaleString("en") : "";
    const steps = run ? run.about.steps.toLocaleString("en") : "";
    const text = enabled ? t("step_of", { step, steps }) : t("step_none");
    if (text === this.text && run === this.run) return;
    this.text = text;
    this.run = run;
    this.number.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
    this.slider.setAttribute("aria-label", t("slider", { label: run ? runLabel(t, run) : "" }));
  }
}
