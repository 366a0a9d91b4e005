"""The tree of beam search: equal to `transformer.beam` on the sentences of the bundled model, and to a plain search."""

from __future__ import annotations

import itertools

import pytest
import torch

import transformer
from tests.support.sentences import typed
from transformer.checkpoints.beam_rule import length_penalty
from transformer.inference.pretrained import Pretrained
from transformer.inference.search import FINISHED, OPEN, Hypothesis, Trail, n_best

LIMIT = 40
# beams and alpha of every sentence, in turn
SETTINGS = tuple(itertools.product((1, 2, 4, 8), (0.0, 0.6, 1.0, 2.0)))
Ids = tuple[int, ...]


def _nodes(model: Pretrained, trail: Trail) -> list[list[tuple[Hypothesis, float, str]]]:
    """Every node of every step: what was written up to there, its total log-probability, and what became of it."""
    steps = []
    open_ = [Hypothesis((), ())]
    for candidates in trail:
        nodes = []
        for one in candidates:
            parent = open_[one.parent]
            ended = one.token == model.config.end_id
            hypothesis = Hypothesis((*parent.ids, one.token), (*parent.log_probs, one.log_prob), ended)
            nodes.append((hypothesis, one.total, one.fate))
        open_ = [hypothesis for hypothesis, _, fate in nodes if fate == OPEN]
        steps.append(nodes)
    return steps


def _plain_beam(
    model: Pretrained, source: torch.Tensor, beams: int, alpha: float
) -> tuple[list[Ids], list[dict[Ids, str]]]:
    """Beam search as section 6.1 and Wu et al. describe it: lists, a full pass for every hypothesis, nothing cached.

    Returns the finished hypotheses, best first, and for every step what it kept and finished."""
    config = model.config
    open_: list[tuple[float, Ids]] = [(0.0, ())]
    finished: list[tuple[float, Ids]] = []
    steps = []
    for step in range(1, LIMIT + 1):
        fed = torch.tensor([[config.start_id, *ids] for _, ids in open_])
        with torch.inference_mode():
            logits = model.model(source.expand(len(open_), -1), fed)[:, -1]
        log_probs = logits.double().log_softmax(-1)
        log_probs[:, [config.pad_id, config.start_id]] = -torch.inf
        candidates = sorted(
            (
                (total + log_prob, (*ids, token))
                for (total, ids), row in zip(open_, log_probs.tolist(), strict=True)
                for token, log_prob in enumerate(row)
            ),
            reverse=True,
        )
        ended = [one for one in candidates[:beams] if one[1][-1] == config.end_id]
        open_ = [one for one in candidates[: 2 * beams] if one[1][-1] != config.end_id][:beams]
        finished += [(total / length_penalty(step, alpha), ids) for total, ids in ended]
        finished = sorted(finished, reverse=True)[:beams]
        steps.append({ids: OPEN for _, ids in open_} | {ids: FINISHED for _, ids in ended})
        bound = length_penalty(LIMIT if alpha else step + 1, alpha)  # of what an open hypothesis can still reach
        if finished and finished[0][0] >= open_[0][0] / bound:
            return [ids for _, ids in finished], steps
    raise AssertionError("this sentence has no translation that ends; choose another")


@pytest.mark.slow
@pytest.mark.parametrize("count", [24, pytest.param(200, marks=pytest.mark.long)])
def test_the_tree_is_beam_search_to_the_last_digit(count: int) -> None:
    model = transformer.load("en-de")
    sentences = typed(count)
    assert len(set(sentences)) == count
    for number, (sentence, (beams, alpha)) in enumerate(zip(sentences, itertools.cycle(SETTINGS), strict=False)):
        source = torch.tensor([model.encode(sentence)])
        trail: Trail = []
        (found,) = n_best(model.model, source, beams, alpha, LIMIT, trail=trail)
        (wanted,) = transformer.beam(model.model, source, beams, alpha, LIMIT)
        steps = _nodes(model, trail)
        ended = [(one, total) for nodes in steps for one, total, fate in nodes if fate == FINISHED]
        ranked = sorted(ended, key=lambda node: node[1] / length_penalty(len(node[0].ids), alpha), reverse=True)
        assert [one for one, _ in ranked[:beams]] == found, sentence
        assert ranked[0][0] == wanted, sentence  # ids and log-probabilities, to the last digit
        for hypothesis, total in ended:
            assert total == pytest.approx(hypothesis.score, rel=1e-12)
        if number < len(SETTINGS):
            best, plain = _plain_beam(model, source, beams, alpha)
            assert [one.ids for one in found] == best, sentence
            kept = [{one.ids: fate for one, _, fate in nodes if fate in (OPEN, FINISHED)} for nodes in steps]
            assert kept == plain, sentence
