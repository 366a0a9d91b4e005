import { buttonEl, el } from "../core/dom.js";
import { countText } from "../core/format.js";

// When heads formed, in words: computed in Python (analysis/formation.py) from the recorded states.

export function stepText(view, at) {
  const { data, t } = view;
  const step = countText(data.steps[at]);
  const last = countText(data.steps[data.steps.length - 1]);
  if (data.steps[at] === 0) return t("step_random");
  return t(at === data.steps.length - 1 ? "step_trained" : "step", { step, last });
}

// Never rounded up to a value it has not reached, nor down from a value it has.
function percentOf(share, needed) {
  const rounded = Math.round(100 * share);
  return share < needed && rounded >= 100 * needed ? Math.floor(100 * share) : rounded;
}

function wordsOf(view, forming) {
  const { data, t } = view;
  const kind = t("kind_" + forming.kind);
  const never = forming.state === null;
  const at = never ? data.steps.length - 1 : forming.state;
  const before = Math.max(0, at - 1);
  const number = (share) => percentOf(share, forming.needed);
  const percent = (share) => t("percent", { n: number(share) });
  return {
    kind,
    rows: forming.rows,
    head: t("head", { kind, layer: forming.layer + 1, head: forming.head + 1 }),
    from: countText(data.steps[before]),
    to: countText(data.steps[at]),
    fromShare: number(forming.shares[before]),
    toShare: number(forming.shares[at]),
    before: percent(forming.shares[before]),
    after: percent(forming.shares[at]),
    needed: t("percent", { n: Math.round(100 * forming.needed) }),
    first: percent(forming.first),
    count: forming.count,
    all: view.data.heads[forming.kind],
  };
}

// One entry per habit. jump: goes to the first state that has it, and to that head; null: no jump.
export function formationMarks(view, jump) {
  const { t } = view;
  const rank = (forming) => (forming.state === null ? 1e9 : forming.state);
  return [...view.data.formings]
    .sort((a, b) => rank(a) - rank(b))
    .map((forming) => {
      const words = wordsOf(view, forming);
      const never = forming.state === null;
      const details = never
        ? [t("never_detail", words), t("needed", words)]
        : [t(forming.what + "_detail", words), t("needed", words), t(forming.stays ? "stays" : "leaves", words)];
      details.push(t("over", { n: view.data.sentences.length }));
      const parts = never
        ? [el("span", null, t(forming.what + "_never", words))]
        : [
            el("b", null, t(forming.state > 0 ? "between" : "at_first", words)),
            el("span", null, t(forming.what, words)),
            el("small", null, t("shares", { before: words.fromShare, after: words.toShare })),
          ];
      const name = `formation-${forming.what}-${forming.kind}`;
      const about = { class: "fm-mark", "data-kind": forming.kind, "data-testid": name };
      const inside =
        never || !jump
          ? el("span", { ...about, tabindex: 0 }, ...parts)
          : buttonEl({ ...about, click: () => jump(forming) }, ...parts);
      view.hint(inside, () => details);
      const item = el("li", null, inside, el("span", { class: "hs-spoken" }, details.join(" ")));
      item.dataset.state = rank(forming);
      return item;
    });
}
