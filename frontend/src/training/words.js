import { countText } from "../core/format.js";

// Runs and their numbers in words. t: of makeTexts.

export function runLabel(t, run) {
  return run.about.label || t("run_unnamed", { n: run.slot + 1 });
}

// Shares for people; 99.6% must not become 100%.
export function percentText(t, share) {
  if (typeof share !== "number") return t("none");
  const value = 100 * share;
  const isWhole = Math.abs(value - Math.round(value)) < 0.05;
  return t("percent", { n: isWhole ? Math.round(value) : value.toFixed(1) });
}

export function lossText(t, value) {
  if (typeof value !== "number") return t("none");
  return value < 0.0995 ? value.toFixed(4) : value.toFixed(value < 9.995 ? 3 : 1);
}

export function timeText(t, seconds) {
  const rounded = Math.max(1, Math.round(seconds));
  if (rounded < 100) return t("seconds", { n: rounded });
  return t("minutes", { m: Math.floor(rounded / 60), s: rounded % 60 });
}

// The status of a run, in a few words.
export function stageText(t, run, waiting) {
  const stage = ownStageText(t, run, waiting);
  const active = !["done", "failed"].includes(run.about.stage);
  return run.about.watched && active ? t("stage_watched", { stage }) : stage;
}

function ownStageText(t, run, waiting) {
  const { stage, reason, error, limit } = run.about;
  // The newest frame may have a later step than the last pack.
  const step = Math.max(run.about.step, run.frames.length ? run.frames[run.last].step : 0);
  const values = {
    step: countText(step),
    steps: countText(run.about.steps),
    limit: countText(Math.round(limit)),
    error,
  };
  if (run.about.recording) return t("stage_recorded", { ...values, seed: run.about.seed });
  if (stage === "waiting") return waitText(t, run.about, waiting);
  if (stage === "failed") return t("stage_failed", values);
  if (stage !== "done") return t("stage_" + stage, values);
  const known = ["steps", "stopped", "time", "left", "died"].includes(reason);
  return t(known ? "stage_done_" + reason : "stage_done", values);
}

// The place in the queue, and the minutes until the run starts, if anybody knows.
function waitText(t, { place, wait }, waiting) {
  const named = t(place >= 1 && place <= 3 ? "place_" + place : "place_n", { n: place });
  const known = t(waiting >= place ? "stage_waiting" : "stage_waiting_place", { place: named, waiting });
  const text = place === 1 && !(waiting > 1) ? t("stage_next") : known;
  if (typeof wait !== "number") return text;
  return wait < 60 ? t("wait_minute", { place: text }) : t("wait_minutes", { place: text, n: Math.round(wait / 60) });
}

// The numbers beside the status: speed, time left and the limit, which is shown from the start.
export function numberTexts(t, run) {
  if (run.about.recording) return "";
  const { stage, seconds } = run.about;
  const limit = countText(Math.round(run.about.limit));
  if (stage === "waiting" || stage === "starting") return t("limit_then", { limit });
  if (stage === "failed") return "";
  if (stage === "done")
    return t("took", { seconds: seconds < 99.5 ? seconds.toFixed(1) : countText(Math.round(seconds)) });
  if (stage === "paused" && run.about.pause_left)
    return t("numbers_paused", { left: timeText(t, run.about.pause_left), limit });
  if (stage === "paused" || !run.speed) return t("limit", { limit });
  const speed = run.speed < 9.95 ? run.speed.toFixed(1) : countText(Math.round(run.speed));
  return t(run.left < 1 ? "numbers_soon" : "numbers", { speed, left: timeText(t, run.left), limit });
}

// Output and right answer letter by letter: [{letter, state: "right" | "wrong" | "missing"}]
export function lettersOf(written, right) {
  const [actual, expected] = [Array.from(written), Array.from(right)];
  return Array.from({ length: Math.max(actual.length, expected.length) }, (_, i) => {
    if (i >= actual.length) return { letter: expected[i], state: "missing" };
    return { letter: actual[i], state: actual[i] === expected[i] ? "right" : "wrong" };
  });
}

// What is wrong in a written text: null, or how many letters of the right answer are wrong or missing, of how many, and how
// many are written after its end.
export function mistakesOf(written, right) {
  const letters = Array.from(right).length;
  const all = lettersOf(written, right);
  const wrong = all.slice(0, letters).filter((letter) => letter.state !== "right").length;
  const extra = all.length - letters;
  return wrong + extra ? { wrong, letters, extra } : null;
}
