import { el, printable } from "../core/dom.js";
import { runSwatch } from "./status.js";
import { runLabel, lettersOf, mistakesOf } from "./words.js";

// What a run writes at the step shown, letter by letter, and predictions of the paper with what happened.

// What is wrong in a text, in words; mistakes: of `mistakesOf`.
const mistakesText = (t, mistakes) => t(mistakes.extra ? "wrong_extra" : "wrong", mistakes);

// A text with its wrong letters marked by more than a colour. mistakes: of `mistakesOf`.
function writtenText(t, written, right, mistakes) {
  const spans = lettersOf(written, right).map(({ letter, state }) =>
    state === "right"
      ? printable(letter)
      : el("span", { class: "learn-" + state, title: state === "missing" ? t("missing") : null }, printable(letter)),
  );
  const text = el("span", { "aria-hidden": mistakes ? "true" : null }, ...(written ? spans : [t("empty")]));
  const parts = [text];
  if (mistakes) {
    const spoken = t("wrong_spoken", { output: written || t("empty"), mistakes: mistakesText(t, mistakes) });
    parts.push(el("span", { class: "hs-spoken" }, spoken));
  }
  return letters(...parts);
}

const letters = (...parts) => el("span", { class: "learn-letters", dir: "auto", translate: "no" }, ...parts);

export class PredictionTable {
  constructor(t) {
    this.t = t;
    this.title = el("h2", null, el("span", null, t("predictions")), " ", el("small", null));
    this.body = el("tbody");
    this.head = el("tr");
    this.table = el("table", { class: "learn-table learn-outputs" }, el("thead", null, this.head), this.body);
    this.teacher = el("tbody");
    const inside = el("table", { class: "learn-table learn-teacher" }, this.teacher);
    this.element = el(
      "section",
      { class: "learn-predictions", "data-testid": "training-predictions" },
      this.title,
      el("div", { class: "learn-scroll", tabindex: 0, role: "group", "aria-label": t("predictions") }, this.table),
      el("h3", null, t("teacher")),
      el("div", { class: "learn-scroll", tabindex: 0, role: "group", "aria-label": t("teacher") }, inside),
    );
  }

  // step: in words. A cell is rebuilt only if its content changed.
  draw(store, run, index, step) {
    const { t } = this;
    const frame = run && run.frames[index];
    this.element.hidden = !frame;
    if (!frame) return;
    this.title.lastChild.textContent = t("predictions_hint", { label: runLabel(t, run), step });
    const { shown } = run.opening;
    const beside = store.runs.filter(
      (other) => other !== run && other.frames.length && other.shownKey === run.shownKey,
    );
    const key = [run, ...beside].map((shownRun) => shownRun.id + runLabel(t, shownRun)).join();
    if (this.key !== key) {
      this.key = key;
      this.rows = [];
      this.predicted = null;
      this.element.dataset.beside = beside.length;
      const names = ["column_input", "column_answer", "column_output", "column_verdict"];
      const headings = beside.map((otherRun) =>
        el("th", { scope: "col" }, runSwatch(otherRun.slot), " ", runLabel(t, otherRun)),
      );
      this.head.replaceChildren(...names.map((name) => el("th", { scope: "col" }, t(name))), ...headings);
      this.body.replaceChildren(...shown.map((pair, i) => this.row(pair, i, beside)));
    }
    const frames = [frame, ...beside.map((otherRun) => otherRun.frames[otherRun.frameAt(frame.step)])];
    this.rows.forEach((row, i) => row.cells.forEach((cell, j) => this.write(row, cell, frames[j].outputs[i] ?? "")));
    const predicted = frame.predicted.join("\n");
    if (predicted === this.predicted) return;
    this.predicted = predicted;
    this.drawTeacher(run.opening, frame.predicted);
  }

  // A cell with the output of a run: the chosen run's with a verdict in words after it, the others' with a sign only.
  write({ target }, cell, written) {
    const { t } = this;
    if (cell.written === written) return;
    cell.written = written;
    const mistakes = mistakesOf(written, target);
    const element = writtenText(t, written, target, mistakes);
    const sign = mistakes ? "✗ " : "✓ ";
    cell.verdict.textContent = cell.words ? sign + (mistakes ? mistakesText(t, mistakes) : t("right")) : sign;
    cell.verdict.className = mistakes ? "hs-bad" : "hs-ok";
    cell.output.replaceChildren(...(cell.words ? [element] : [cell.verdict, element]));
  }

  // One of the shown inputs and its right answer; the output comes with every frame.
  row([source, target], i, beside) {
    const { t } = this;
    const cell = (name, words) => ({
      output: el("td", { "data-name": name }),
      verdict: el("span"),
      words,
      written: null,
    });
    const cells = [cell(t("column_output"), true), ...beside.map((otherRun) => cell(runLabel(t, otherRun), false))];
    this.rows.push({ target, cells });
    const name = el("th", { scope: "row" }, letters(source));
    if (i === 0) name.append(" ", el("small", null, t("row_example")));
    const answer = el("td", { "data-name": t("column_answer") }, letters(target));
    const [{ output, verdict }, ...otherCells] = cells;
    const rest = otherCells.map((otherCell) => otherCell.output);
    return el("tr", { "data-testid": "training-output" }, name, answer, output, el("td", null, verdict), ...rest);
  }

  drawTeacher(opening, predicted) {
    const { t } = this;
    const line = (name, tokens, marks) =>
      el(
        "tr",
        null,
        el("th", { scope: "row" }, t(name)),
        ...tokens.map((token, i) => {
          const wrong = marks && token !== marks[i];
          const spoken = wrong ? el("span", { class: "hs-spoken" }, t("wrong", { wrong: 1, letters: 1 })) : null;
          const look = { class: wrong ? "learn-wrong" : null, dir: "auto" };
          return el("td", null, el("span", look, printable(token)), spoken);
        }),
      );
    this.teacher.replaceChildren(
      line("teacher_fed", opening.target_in),
      line("teacher_right", opening.target_out),
      line("teacher_predicted", predicted, opening.target_out),
    );
  }
}

const SIGNS = { "as predicted": ["✓ ", "hs-ok"], differs: ["≠ ", "learn-open"], open: ["? ", "learn-open"] };

export class FindingTable {
  constructor(t) {
    this.t = t;
    this.body = el("tbody");
    const names = ["finding_run", "finding_predicts", "finding_happened", "finding_verdict"];
    const head = el("tr", null, ...names.map((name) => el("th", { scope: "col" }, t(name))));
    // A single row stands close below the pictures.
    this.strip = el("section", { class: "learn-finding", "data-testid": "training-finding", hidden: true });
    this.strip.setAttribute("aria-label", t("findings"));
    this.element = el(
      "section",
      { class: "learn-findings", "data-testid": "training-findings", hidden: true },
      el("h2", null, t("findings")),
      el("table", { class: "learn-table" }, el("thead", null, head), this.body),
    );
  }

  // Elements with the section of the paper and the verdict.
  parts(finding) {
    const { t } = this;
    const name = finding.verdict in SIGNS ? finding.verdict : "open";
    const [sign, look] = SIGNS[name];
    const section = finding.section ? el("small", null, t("finding_section", { section: finding.section })) : null;
    return { section, verdict: el("span", { class: look }, sign + t("verdict_" + name)) };
  }

  drawStrip(finding) {
    const { t } = this;
    const { section, verdict } = this.parts(finding);
    const part = (name, about, text) =>
      el("div", null, el("h2", null, name, " ", about), el("p", { dir: "auto" }, text));
    const open = finding.verdict === "open";
    this.strip.dataset.verdict = finding.verdict;
    this.strip.replaceChildren(
      part(t("finding_predicts"), section, finding.predicts),
      part(open ? t("finding_happened") : t("finding_end", finding), open ? null : verdict, finding.happened),
    );
  }

  draw(store) {
    const { t } = this;
    const findings = store.more.findings || [];
    const text = JSON.stringify([findings, store.runs.map((run) => run.slot)]);
    if (text === this.text) return;
    this.text = text;
    this.element.hidden = findings.length < 2;
    this.strip.hidden = findings.length !== 1;
    if (findings.length === 1) this.drawStrip(findings[0]);
    this.body.replaceChildren(
      ...findings.map((finding) => {
        const run = store.run(finding.run);
        const { section, verdict } = this.parts(finding);
        const cell = (name, ...inside) => el("td", { "data-name": t(name), dir: "auto" }, ...inside);
        return el(
          "tr",
          { "data-verdict": finding.verdict },
          el("th", { scope: "row" }, run ? runSwatch(run.slot) : null, el("span", { dir: "auto" }, finding.title)),
          cell("finding_predicts", finding.predicts, section ? " " : null, section),
          cell("finding_happened", finding.happened),
          cell("finding_verdict", verdict),
        );
      }),
    );
  }
}
