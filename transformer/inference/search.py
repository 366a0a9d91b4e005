"""Greedy search, sampling and beam search, also after a forced beginning."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from transformer.checkpoints.beam_rule import ALPHA, PAPER, BeamRule
from transformer.checkpoints.constraints import FREE, Constraints
from transformer.checks import expect
from transformer.inference.incremental import IncrementalDecoder
from transformer.model.tap import FUSED, OFF, AnyTap
from transformer.model.transformer import Transformer
from transformer.texts import Text, UserError

EXTRA_LENGTH = 50  # section 6.1: "maximum output length during inference to input length + 50"


@dataclass(frozen=True)
class Hypothesis:
    """One translation.

    ids: predicted tokens in order, ending in </s> unless cut off at the limit
    log_probs: natural log-probability of each under the full softmax
    complete: whether the model ended it with </s>, before the limit if </s> has to be written there
    """

    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    complete: bool = True

    @property
    def score(self) -> float:
        """Sum of log-probabilities."""
        return sum(self.log_probs)


def output_limit(model: Transformer, source_length: int, limit: int | None = None) -> int:
    """Limit of the output tokens: the smallest of input + 50 (section 6.1), the model's positions, and `limit`."""
    bounds = [source_length + EXTRA_LENGTH, model.config.max_positions]
    return min(bounds if limit is None else [*bounds, limit])


def output_limits(model: Transformer, source: Tensor, limit: int | None) -> list[int]:
    """`output_limit` of every row by its own length, so that padding in the batch has no effect."""
    lengths = (source != model.config.pad_id).sum(1).tolist()
    return [output_limit(model, length, limit) for length in lengths]


def _start(model: Transformer, source: Tensor, cached: bool, tap: AnyTap) -> IncrementalDecoder:
    """A decoder for the sources."""
    cached = cached and model.config.causal and not tap.replays
    if tap.off and cached:
        tap = FUSED
    return IncrementalDecoder(model, model.encode(source, tap), source, tap, cached)


def _block(model: Transformer, log_probs: Tensor) -> Tensor:
    """The same tensor, with -inf for what is never written."""
    log_probs[..., model.config.unwritten] = -torch.inf
    return log_probs


def is_complete(ids: Sequence[int], limit: int, end_id: int, constraints: Constraints) -> bool:
    """Whether the model ended an output itself."""
    return ids[-1] == end_id and (constraints.last is None or len(ids) < limit)


Choose = Callable[[Tensor, Sequence[int]], Tensor]
Prefixes = Sequence[Sequence[int]]


def most_probable(log_probs: Tensor, rows: Sequence[int]) -> Tensor:
    """The id of the most probable token of each row. log_probs: [row, vocab]."""
    return log_probs.argmax(-1)


@torch.inference_mode()
def greedy(
    model: Transformer,
    source: Tensor,
    limit: int | None = None,
    cached: bool = True,
    tap: AnyTap = OFF,
    prefixes: Prefixes | None = None,
    choose: Choose = most_probable,
    constraints: Constraints = FREE,
) -> list[Hypothesis]:
    """Greedy search: take the most probable token at every step.

    source: ids [batch, source] ending in </s>, padded. limit: most tokens to write (see `output_limit`).
    cached: keep keys and values between steps; otherwise every step runs the whole prefix. Both give the same tokens.
    A model without the causal mask, and an edit that opens it, never use the cache. tap: edits every pass
    (`EditingTap`). An edit of the mask can let padded rows of a batch see their padding.
    prefixes: the ids that each output begins with, no longer than its limit; they are part of the hypothesis, with the
    log-probabilities that the model gives them. choose: takes the tokens after them, from log-probabilities
    [row, vocab] and the number of each row's sentence (`sampling.Drawn`). constraints: what it may choose.
    """
    config = model.config
    limits = output_limits(model, source, limit)
    forced = prefixes or [()] * len(source)
    decoder = _start(model, source, cached, tap)
    at_once = decoder.cache is not None and decoder.tap.fused
    known = min(max(limits) - 1, *map(len, forced)) if at_once else 0  # tokens fed in one pass
    fed = torch.tensor([[config.start_id, *prefix[:known]] for prefix in forced], device=source.device)
    ahead = decoder.hidden(fed) if known else None  # [batch, step, d_model], of the first steps
    written: list[list[int]] = [[] for _ in source]
    scores: list[list[float]] = [[] for _ in source]
    active = list(range(len(source)))  # rows that are not finished
    for step in range(1, max(limits) + 1):
        logits = (decoder.logits(fed) if ahead is None else model.project(ahead[:, step - 1])).float()
        log_probs = allowed = _block(model, logits.log_softmax(-1))
        if constraints.before_the_limit:
            for row, next_scores in zip(active, _block(model, logits), strict=True):
                constraints.apply(next_scores, written[row], config.end_id)
            allowed = logits.log_softmax(-1)
        chosen = choose(allowed, active)[:, None]
        for index, row in enumerate(active):
            if step <= len(forced[row]):
                chosen[index] = forced[row][step - 1]
            elif step == limits[row] and constraints.last is not None:
                chosen[index] = constraints.last
        tokens, token_scores = chosen[:, 0].tolist(), log_probs.gather(1, chosen)[:, 0].tolist()
        for row, token, score in zip(active, tokens, token_scores, strict=True):
            written[row].append(token)
            scores[row].append(score)
        going = [
            index for index, (row, token) in enumerate(zip(active, tokens, strict=True))
            if token != config.end_id and limits[row] > step
        ]  # fmt: skip
        if not going:
            break
        fed = chosen
        if len(going) < len(active):
            rows = torch.tensor(going, device=source.device)
            active, fed = [active[index] for index in going], chosen[rows]
            decoder.select(rows)
            ahead = None if ahead is None else ahead[rows]
        if step > known:
            ahead = None
    return [
        Hypothesis(tuple(ids), tuple(probs), is_complete(ids, most, config.end_id, constraints))
        for ids, probs, most in zip(written, scores, limits, strict=True)
    ]


def check_beams(beam: int, alpha: float, n: int | None = None) -> None:
    """Raises UserError, WrongTypeError for a search that cannot be."""
    expect(beam, int, "beam", Text("a whole number of at least 1"))
    if beam < 1:
        raise UserError("beam is {beam}; give a whole number of at least 1", beam=beam)
    if not math.isfinite(alpha):
        raise UserError("alpha is {alpha}; give a finite number", alpha=alpha)
    expect(n, (int, type(None)), "n", Text("a whole number of at least 1, or None"))
    if n is not None and not 1 <= n <= beam:
        raise UserError("n is {n}; give a whole number from 1 to beam, which is {beam}", n=n, beam=beam)


OPEN, FINISHED, PRUNED = "open", "finished", "pruned"


@dataclass(frozen=True)
class Candidate:
    """One way to go on that beam search looked at.

    parent: index of the open hypothesis it continues, among the open ones of the step before. token: its id. log_prob:
    of the token; total: of the whole hypothesis. fate: "open": kept; "finished"; "pruned": not among the best.
    """

    parent: int
    token: int
    log_prob: float
    total: float
    fate: str


Trail = list[list[Candidate]]  # for each step the candidates of one sentence, best first


@torch.inference_mode()
def beam(
    model: Transformer,
    source: Tensor,
    beam: int = 4,
    alpha: float = ALPHA,
    limit: int | None = None,
    tap: AnyTap = OFF,
    rule: BeamRule = PAPER,
    prefixes: Prefixes | None = None,
) -> list[Hypothesis]:
    """Beam search (section 6.1: beam 4, alpha 0.6): the hypothesis with the best score / length_penalty.

    source: ids [batch, source] ending in </s>, padded; beam: hypotheses that stay open at every step; tap, prefixes: as
    in `greedy`; rule: how to compare hypotheses and when a sentence is finished.
    """
    found = n_best(model, source, beam, alpha, limit, tap, rule, prefixes)
    return [best[0] if best else Hypothesis((), (), False) for best in found]


@torch.inference_mode()
def n_best(
    model: Transformer,
    source: Tensor,
    beam: int = 4,
    alpha: float = ALPHA,
    limit: int | None = None,
    tap: AnyTap = OFF,
    rule: BeamRule = PAPER,
    prefixes: Prefixes | None = None,
    trail: Trail | None = None,
    n: int | None = None,
    text_of: Callable[[Sequence[int]], str] = str,
) -> list[list[Hypothesis]]:
    """The finished hypotheses of beam search, best first, at most `beam` for each source; arguments as in `beam()`.

    The search ends as soon as its best hypothesis is certain, so there may be fewer. trail: an empty list, which gets
    the candidates that the search for the first source looked at, step by step. n: then search on until n different
    texts are finished, of which no open hypothesis, at its present length, is better than the last, or the limit is
    reached; returned are the first hypothesis of the search and the best one of every text. text_of: the text of ids;
    a blank one does not count.
    """
    check_beams(beam, alpha, n)
    config = model.config
    device = source.device
    vocab = config.output_size
    count = len(source)
    limits = output_limits(model, source, limit)
    decoder = _start(model, source, True, tap)
    # Row r of the batch is hypothesis r % width of sentence owners[r // width].
    owners, width = list(range(count)), 1
    fed = torch.full((count, 1), config.start_id, device=device)
    totals = torch.zeros(count, 1, device=device)  # of the log-probabilities, [sentence, width]
    history: list[list[tuple[int, ...]]] = [[()] for _ in owners]
    probs: list[list[tuple[float, ...]]] = [[()] for _ in owners]
    finished: list[list[Hypothesis]] = [[] for _ in owners]  # for each sentence the best `beam`, best first
    ended: set[int] = set()  # sentences whose search goes on for the sake of n
    texts: list[dict[str, Hypothesis]] = [{} for _ in owners]  # with n, for each sentence the best of every text
    forced = prefixes or [()] * count

    def value(hypothesis: Hypothesis) -> float:
        return hypothesis.score / rule.divisor(len(hypothesis.ids), alpha)

    def finish(owner: int, ids: tuple[int, ...], log_probs: tuple[float, ...]) -> None:
        hypothesis = Hypothesis(ids, log_probs, is_complete(ids, limits[owner], config.end_id, rule.constraints))
        if n is not None:
            text = text_of(ids)
            texts[owner][text] = max(texts[owner].get(text, hypothesis), hypothesis, key=value)
        if owner not in ended:
            best = finished[owner]
            best.append(hypothesis)
            best.sort(key=value, reverse=True)  # stable: of equal values the earlier hypothesis stays first
            del best[beam:]

    def enough(owner: int, length: int, going: float) -> bool:
        values = sorted((value(one) for text, one in texts[owner].items() if text.strip()), reverse=True)
        return n is None or (len(values) >= n and going / rule.divisor(length, alpha) <= values[n - 1])

    for step in range(1, max(limits) + 1):
        log_probs = _block(model, decoder.logits(fed).float().log_softmax(-1))
        if rule.constraints != FREE:
            for i, owner in enumerate(owners):
                for scores, ids in zip(log_probs[i * width : (i + 1) * width], history[i], strict=True):
                    if step > len(forced[owner]):
                        rule.constraints.apply(scores, ids, config.end_id, step == limits[owner])
        if rule.renormalise:
            log_probs = log_probs.log_softmax(-1)
        for i, owner in enumerate(owners):
            if step <= len(forced[owner]):
                rows_of = log_probs[i * width : (i + 1) * width]
                kept = rows_of[:, forced[owner][step - 1]].clone()
                rows_of.fill_(-torch.inf)
                rows_of[:, forced[owner][step - 1]] = kept
        joint = (totals.view(-1, 1) + log_probs).view(len(owners), width * vocab)
        # Among 2 x beam candidates, at least `beam` do not end.
        values, flat = joint.topk(min(2 * beam, width * vocab), dim=-1)
        before: list[list[float]] = totals.tolist()
        going: list[tuple[int, list[int], list[int], list[float]]] = []  # place in owners; parents, tokens, totals
        for i, owner in enumerate(owners):
            open_rows: list[int] = []
            open_tokens: list[int] = []
            open_totals: list[float] = []
            full = step == limits[owner]
            seen: list[Candidate] = []
            for rank, (total, candidate) in enumerate(zip(values[i].tolist(), flat[i].tolist(), strict=True)):
                parent, token = divmod(candidate, vocab)
                if total == -torch.inf:
                    continue
                fate = PRUNED
                if token == config.end_id or (full and rule.cut):
                    if rank < beam:
                        fate = FINISHED
                        last = total - before[i][parent]
                        finish(owner, (*history[i][parent], token), (*probs[i][parent], last))
                elif len(open_rows) < beam:
                    fate = OPEN
                    open_rows.append(parent)
                    open_tokens.append(token)
                    open_totals.append(total)
                if trail is not None and owner == 0:
                    seen.append(Candidate(parent, token, total - before[i][parent], total, fate))
            if full and open_rows and not finished[owner]:
                parent, token = open_rows[0], open_tokens[0]
                last = open_totals[0] - before[i][parent]
                finish(owner, (*history[i][parent], token), (*probs[i][parent], last))
                seen = [
                    replace(one, fate=FINISHED if one.parent == parent and one.token == token else one.fate)
                    for one in seen
                ]
            if trail is not None and owner == 0:
                trail.append(seen)
            if full or not open_rows:
                continue
            best, highest = [value(one) for one in finished[owner]], max(open_totals)
            if owner in ended or rule.ended(best, beam, step, limits[owner], highest, alpha):
                ended.add(owner)
                if enough(owner, step, highest):
                    continue
            going.append((i, open_rows, open_tokens, open_totals))
        if not going:
            break
        wide = max(len(parents) for _, parents, _, _ in going)
        for _, parents, tokens, sums in going:  # fill the shape with impossible hypotheses
            missing = wide - len(parents)
            parents += parents[:1] * missing
            tokens += tokens[:1] * missing
            sums += [-torch.inf] * missing
        history = [[(*history[i][p], t) for p, t in zip(ps, ts, strict=True)] for i, ps, ts, _ in going]
        probs = [
            [(*probs[i][p], total - before[i][p]) for p, total in zip(ps, sums, strict=True)]
            for i, ps, _, sums in going
        ]
        chosen = torch.tensor([i * width + parent for i, parents, _, _ in going for parent in parents], device=device)
        decoder.select(chosen, same_sources=len(going) == len(owners) and wide == width)
        owners, width = [owners[i] for i, _, _, _ in going], wide
        fed = torch.tensor([token for _, _, tokens, _ in going for token in tokens], device=device)[:, None]
        totals = torch.tensor([sums for _, _, _, sums in going], device=device)
    if n is None:
        return finished
    return [
        [*best[:1], *sorted((one for one in others.values() if one not in best[:1]), key=value, reverse=True)]
        for best, others in zip(finished, texts, strict=True)
    ]
