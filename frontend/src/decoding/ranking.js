// The n-best list of a beam search for any length penalty, from its tree: data = {steps: [[{parent, total, ranked}]],
// beams, penalty: "wu" or "length", alpha, end: after how many steps a search with alpha ends, ends: the same for every
// position of the slider, null where it goes on longer than this tree, positions: from one whole number to the next}.

export function divisor(penalty, length, alpha) {
  return penalty === "length" ? length ** alpha : ((5 + length) / 6) ** alpha;
}

// After how many steps the search ends, or null if it has to go on for that.
function endOf({ alpha, end, ends, positions }, asked) {
  return asked === alpha ? end : (ends[Math.round(asked * positions)] ?? null);
}

// {end, exact: whether the tree is long enough, found: [{step, rank, score}] best first, wins: ranks of the winner's
// nodes, step by step}
export function rankAt(data, alpha) {
  const known = endOf(data, alpha);
  const end = known ?? data.steps.length;
  const score = (step, rank) => data.steps[step][rank].total / divisor(data.penalty, step + 1, alpha);
  const found = data.steps
    .slice(0, end)
    .flatMap((nodes, step) =>
      nodes.flatMap((one, rank) => (one.ranked ? { step, rank, score: score(step, rank) } : [])),
    )
    .sort((one, other) => other.score - one.score)
    .slice(0, data.beams);
  const wins = [];
  for (let { step, rank } = found[0]; step >= 0; step--) {
    wins[step] = rank;
    rank = data.steps[step][rank].parent;
  }
  return { end, exact: known !== null, found, wins };
}

// The n-best list for a length penalty, best first, and what greedy search wrote: {text, tokens, total, length, by: the
// length penalty, score, cut} each.
export function nBest(data, alpha) {
  const row = ({ text, tokens, total, cut }) => {
    const by = divisor(data.penalty, tokens.length, alpha);
    return { text, tokens, total, length: tokens.length, by, score: total / by, cut };
  };
  const found = rankAt(data, alpha).found.map(({ step, rank }) => {
    const { text, total, fate } = data.steps[step][rank];
    return row({ text, tokens: tokensTo(data.steps, step, rank), total, cut: fate === "cut" });
  });
  return { found, greedy: row(data.greedy) };
}

// The first step, from 0, whose token greedy search does not write; null if the winner has greedy search's tokens.
export function leavesGreedy(data, alpha) {
  const { step, rank } = rankAt(data, alpha).found[0];
  const tokens = tokensTo(data.steps, step, rank);
  const first = tokens.findIndex((token, n) => token !== data.greedy.tokens[n]);
  return first < 0 ? null : first;
}

// The tokens from the first one to a node's.
function tokensTo(steps, step, rank) {
  const tokens = [];
  for (let [at, place] = [step, rank]; at >= 0; at--) {
    const { token, parent } = steps[at][place];
    tokens.unshift(token);
    place = parent;
  }
  return tokens;
}

// Rows with one text in different tokens look like the same: for each row of {text, tokens}, [from, to) of its tokens
// that are not those of the first other row with its text; null where no row has that text in other tokens.
export function differences(rows) {
  const same = (one, other) => one.length === other.length && one.every((token, n) => token === other[n]);
  return rows.map(({ text, tokens }) => {
    const other = rows.find((one) => one.text === text && !same(one.tokens, tokens))?.tokens;
    if (!other) return null;
    const shorter = Math.min(tokens.length, other.length);
    let from = 0;
    while (from < shorter && tokens[from] === other[from]) from++;
    let behind = 0;
    while (behind < shorter - from && tokens.at(-1 - behind) === other.at(-1 - behind)) behind++;
    return [from, tokens.length - behind];
  });
}

// The rows of the tree's table: step, rank of the node before, token, log p of the token, log p in all, score, fate.
export function treeRows(data, alpha) {
  const { penalty, steps } = data;
  return steps.slice(0, rankAt(data, alpha).end).flatMap((nodes, step) =>
    nodes.map(({ parent, token, log_prob, total, fate }) => {
      const score = total / divisor(penalty, step + 1, alpha);
      return [step + 1, step ? parent + 1 : "", token, log_prob, total, score, fate];
    }),
  );
}
