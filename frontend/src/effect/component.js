import { el } from "../core/dom.js";
import { PlainView } from "../host/plain_view.js";
import { EXACT_OF_SEEDS } from "../state/generated.js";
import { changeText, changedWords, digitsText, numberText, shortText } from "./numbers.js";

// What switches do to the translation: both word by word with their probabilities, and their numbers. data = {effect: of
// numbers.js or null if the model cannot write, in_words: the switches or "" without any, hidden: in words what keeps it
// from writing, causal, rescaled: name of a text or null, big, texts}.

const SIDES = /** @type {const} */ (["before", "after"]);

export class Effect extends PlainView {
  // texts: those of pages
  constructor(parent, texts) {
    super(parent, "effect", { ...texts, region: texts.effect });
  }

  build() {
    this.body = el("div");
    return [this.body];
  }

  paint() {
    const { effect, in_words: switches } = this.data;
    this.body.replaceChildren(...(!effect ? [this.refusal()] : switches ? this.both(effect) : this.only(effect)));
  }

  line(name, values = {}, css = "hs-tr-legend") {
    return el("p", { class: css }, this.t(name, values));
  }

  // Why the model cannot write.
  refusal() {
    const { causal, hidden } = this.data;
    return this.line(causal ? "blind_causal" : "blind", { hidden }, "effect-note");
  }

  only({ before }) {
    return [this.side("wrote_only", before), this.line("words_only")];
  }

  both(effect) {
    const { t, data } = this;
    const titles = { before: "wrote_before", after: "wrote_after" };
    const sides = SIDES.map((name) => this.side(titles[name], effect[name]));
    const cut = [...SIDES].reverse().filter((name) => effect[name].cut);
    const differs = SIDES.some((name) => effect[name].marks.includes(true));
    const row = (name, text) => [t(name), ...SIDES.map((side) => text(effect[side]))];
    const rows = [
      row(effect.given ? "perplexity_given" : "perplexity_own", ({ perplexity }) => numberText(perplexity)),
      row("per_token", ({ mean }) => mean.toFixed(2)),
      row("repetition", ({ repeated }) => repeated.toFixed(2)),
    ];
    return [
      el("div", { class: "effect-sides" }, ...sides),
      this.line(differs ? "words_differ" : "words_same"),
      ...cut.map((name) => this.line(`cut_${name}`, { limit: effect[name].tokens }, "effect-note")),
      table(["", t("before"), t("after")], rows),
      this.line("measured"),
      ...(data.rescaled ? this.scaling(effect) : []),
    ];
  }

  // Every word above a bar with its probability; words that differ are framed and bold.
  side(title, { words, marks }) {
    const word = ({ text, special, pieces, probabilities }, at) => {
      const p = probabilities.reduce((product, one) => product * one, 1);
      const css = `hs-tr-word${marks[at] ? " hs-tr-differs" : ""}${special ? " hs-tr-special" : ""}`;
      const said = pieces.map((piece, at) => `${piece} ${digitsText(probabilities[at])}`).join(" · ");
      const style = `--p: ${(100 * p).toFixed(1)}%`;
      return el("span", { class: css, style, title: said }, el("span", null, text), el("small", null, shortText(p)));
    };
    return el(
      "div",
      { "data-testid": title },
      el("h2", { class: "hs-tr-title" }, this.t(title, { switches: this.data.in_words })),
      el("p", { class: "hs-tr-words", dir: "auto" }, ...words.map(word)),
    );
  }

  // What a translation with other scaling shows, and what it does not.
  scaling({ before, after }) {
    const { t } = this;
    const perplexity = changeText(before.perplexity, after.perplexity);
    const told = [t("rescaled", { ...changedWords(after), perplexity }), t(this.data.rescaled), t("rescaled_paper")];
    const percent = (share) => `${share.toFixed(1)}%`;
    const mean = (shares) => shares.reduce((sum, share) => sum + share, 0) / shares.length;
    const rows = ["scaled", "unscaled"].map((name) => {
      const exact = EXACT_OF_SEEDS[name];
      return [t(`exact_${name}`), percent(mean(exact)), ...exact.map(percent)];
    });
    const seeds = EXACT_OF_SEEDS.scaled.map((_, at) => t("seed", { seed: at + 1 }));
    return [el("p", { class: "effect-said" }, told.join(" ")), table([t("exact"), t("mean_of_seeds"), ...seeds], rows)];
  }
}

// A table of texts; the first column names each row.
function table(head, rows) {
  const title = (text) => (text ? el("th", { scope: "col" }, text) : el("td"));
  const row = ([name, ...texts]) =>
    el("tr", null, el("th", { scope: "row" }, name), ...texts.map((text) => el("td", null, text)));
  const [thead, tbody] = [el("thead", null, el("tr", null, ...head.map(title))), el("tbody", null, ...rows.map(row))];
  return el("div", { class: "effect-scroll" }, el("table", { class: "hs-tr-table" }, thead, tbody));
}
