// The branches of a link, "1.3.417_2.5.88": translation `line` goes on with token `token` at step `step`; in a link the
// first two count from 1. pages/decoding/step.py reads them, too.
export const MOST = 8; // translations beside the first

/** @typedef {{line: number, step: number, token: number}} Branch */

/** @returns {Branch[]} none for a text that is something else */
export function readBranches(text) {
  const parts = text ? text.split("_") : [];
  const matches = parts.map((part) => /^([1-9]\d?)\.([1-9]\d{0,2})\.(\d{1,6})$/.exec(part));
  if (matches.includes(null) || parts.length > MOST) return [];
  return matches.map((match) => {
    const [line, step, token] = match.slice(1).map(Number);
    return { line: line - 1, step: step - 1, token };
  });
}

/** @param {Branch[]} branches */
export const writeBranches = (branches) =>
  branches.map(({ line, step, token }) => [line + 1, step + 1, token].join(".")).join("_");

// The branches without translation `gone` (0 is the first, which stays) and those that branch off from it.
/** @param {Branch[]} branches @returns {Branch[]} */
export function without(branches, gone) {
  const numbers = new Map([[0, 0]]); // of the translations that stay, before and after
  const kept = [];
  branches.forEach((branch, index) => {
    if (index + 1 === gone || !numbers.has(branch.line)) return;
    kept.push({ ...branch, line: numbers.get(branch.line) });
    numbers.set(index + 1, kept.length);
  });
  return kept;
}

// The branches without those inside a beginning of this many tokens, and what branches off from them.
export function afterBeginning(branches, length) {
  const inside = branches.findIndex(({ step }) => step < length);
  return inside < 0 ? branches : afterBeginning(without(branches, inside + 1), length);
}

// The chosen translation and step of a link, "2.5", from 0; null for none.
export function readPosition(text) {
  const match = /^(\d{1,2})\.(\d{1,3})$/.exec(text);
  return match && { line: Number(match[1]) - 1, step: Number(match[2]) - 1 };
}

export const writePosition = ({ line, step }) => `${line + 1}.${step + 1}`;
