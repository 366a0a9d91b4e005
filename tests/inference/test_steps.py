"""The distribution of every step, continuations of forced beginnings, and the trail of beam search."""

import math

import pytest
import torch

import transformer
from tests.support.build import tiny_pretrained
from transformer.inference.sampling import Sampling
from transformer.inference.search import FINISHED, OPEN, PRUNED, Hypothesis, Trail, greedy, n_best
from transformer.inference.steps import continuations

MODEL = tiny_pretrained()
SOURCE = "ka lo minu"
LIMIT = 12


def _logits(prefix: list[int]) -> torch.Tensor:
    """Log-probabilities of the token after a prefix, by a pass of its own."""
    source = torch.tensor([MODEL.encode(SOURCE)])
    fed = torch.tensor([[MODEL.config.start_id, *prefix]])
    hidden = MODEL.hidden(source, fed)
    logits = MODEL.model.project(hidden)[0, -1].detach().log_softmax(-1)
    logits[[MODEL.config.pad_id, MODEL.config.start_id]] = -math.inf
    return logits


def test_each_step_is_the_distribution_after_what_was_written() -> None:
    (found,) = continuations(MODEL, SOURCE, limit=LIMIT, top=5)
    ids = list(found.hypothesis.ids)
    assert tuple(ids) == greedy(MODEL.model, torch.tensor([MODEL.encode(SOURCE)]), LIMIT)[0].ids
    assert len(found.steps) == len(ids)
    for number, step in enumerate(found.steps):
        probabilities = _logits(ids[:number]).double().exp()
        best = probabilities.topk(5)
        assert list(step.ids) == best.indices.tolist() and step.ids[0] == ids[number]
        assert step.probabilities == pytest.approx(best.values.tolist(), rel=1e-4)
        assert sum(step.probabilities) + step.rest == pytest.approx(float(probabilities.sum()), abs=1e-6)
        assert step.entropy == pytest.approx(float(torch.special.entr(probabilities).sum()), rel=1e-4)
        assert step.narrowed is None


def test_branches_go_on_from_their_beginnings_as_if_alone() -> None:
    (whole,) = continuations(MODEL, SOURCE, limit=LIMIT)
    other = next(one for one in whole.steps[1].ids if one != whole.hypothesis.ids[1] and one != MODEL.config.end_id)
    prefixes = [(), whole.hypothesis.ids[:2], (whole.hypothesis.ids[0], other)]
    first, same, branch = continuations(MODEL, SOURCE, prefixes, limit=LIMIT)
    assert first.hypothesis.ids == same.hypothesis.ids == whole.hypothesis.ids
    assert branch.hypothesis.ids[:2] == prefixes[2] and branch.hypothesis != first.hypothesis
    (alone,) = continuations(MODEL, SOURCE, prefixes[2:], limit=LIMIT)
    assert alone.hypothesis.ids == branch.hypothesis.ids
    assert branch.hypothesis.log_probs[1] == pytest.approx(float(_logits([whole.hypothesis.ids[0]])[other]), abs=1e-4)


def test_samples_have_seeds_of_their_own_and_show_what_they_were_drawn_from() -> None:
    sample = Sampling(temperature=1.5, top_k=3, seed=4)
    found = continuations(MODEL, SOURCE, [()] * 3, limit=LIMIT, sample=sample)
    for number, one in enumerate(found):
        alone = MODEL.translate(SOURCE, limit=LIMIT, sample=Sampling(temperature=1.5, top_k=3, seed=4 + number))
        assert tuple(MODEL.tokenizer.pieces(one.hypothesis.ids)) == alone.tokens
        for step in one.steps:
            assert step.narrowed is not None
            assert sum(step.narrowed) == pytest.approx(1, abs=1e-9) and not any(step.narrowed[3:])


def _trail(beams: int, alpha: float = 0.6, limit: int = LIMIT) -> tuple[Trail, list[Hypothesis]]:
    trail: Trail = []
    (found,) = n_best(MODEL.model, torch.tensor([MODEL.encode(SOURCE)]), beams, alpha, limit, trail=trail)
    return trail, found


@pytest.mark.parametrize("beams", [1, 3, 8])
def test_the_trail_leads_to_every_finished_hypothesis(beams: int) -> None:
    trail, found = _trail(beams)
    plain = n_best(MODEL.model, torch.tensor([MODEL.encode(SOURCE)]), beams, 0.6, LIMIT)[0]
    assert found == plain  # looking changes nothing
    ended: dict[tuple[int, ...], float] = {}
    open_: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    for step in trail:
        assert len(step) <= 2 * beams and [one.total for one in step] == sorted(
            (one.total for one in step), reverse=True
        )
        assert sum(one.fate == OPEN for one in step) <= beams
        later = []
        for one in step:
            ids, total = open_[one.parent]
            assert one.total == pytest.approx(total + one.log_prob, abs=1e-5)
            if one.fate == FINISHED:
                ended[(*ids, one.token)] = one.total
            elif one.fate == OPEN:
                later.append(((*ids, one.token), one.total))
            else:
                assert one.fate == PRUNED
        open_ = later
    for hypothesis in found:
        assert ended[hypothesis.ids] == pytest.approx(hypothesis.score, abs=1e-5)


def test_a_hypothesis_that_the_limit_cuts_off_is_finished_in_the_trail() -> None:
    model = transformer.load("reverse")
    trail: Trail = []
    (found,) = n_best(model.model, torch.tensor([model.encode("abcdefgh")]), 2, 0.6, 3, trail=trail)
    assert len(found) == 1 and len(found[0].ids) == 3
    assert [one.fate for one in trail[-1]].count(FINISHED) == 1
