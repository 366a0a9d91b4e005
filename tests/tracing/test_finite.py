"""A model that overflows, and an edit that makes NaN: one sentence each instead of numbers that are none."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.support.build import pretrained_variant, tiny_pretrained
from transformer import Interventions
from transformer.attribution import METHODS, attribute
from transformer.inference.pretrained import Pretrained
from transformer.inference.sampling import Sampling
from transformer.model.tap import Edit, TapError
from transformer.probing.importance import effects
from transformer.probing.patching import head_places, recovery
from transformer.probing.roles import sentences_of
from transformer.tracing.finite import NotFiniteError, check_numbers
from transformer.tracing.patch import Place

PAIRS = (("ka lo", "lo ka"), ("mi vu", "vu mi"))
TEXT = ("ka lo mi vu", "lo mi ka")


@pytest.fixture
def broken() -> Pretrained:
    """Finite weights, but the queries' products overflow."""
    model = pretrained_variant()
    with torch.no_grad():
        attention: Any = model.model.decoder[0]
        for matrix in (attention.self_attention.query.weight, attention.self_attention.key.weight):
            matrix.fill_(3e38)
    return model


MEASUREMENTS: dict[str, Callable[[Pretrained], object]] = {
    **{name: lambda model, name=name: attribute(model, model.trace(*TEXT), name) for name in METHODS},
    "roles": lambda model: sentences_of(model, PAIRS),
    "importance": lambda model: effects(model, PAIRS, {"one": []}, score=False),
    "patching": lambda model: recovery(
        model, model.trace(*TEXT), model.trace("vu lo mi ka", TEXT[1]), head_places(model)["cross"], 0, 5
    ),
    "patch": lambda model: model.patch(
        tiny_pretrained().trace(*TEXT), model.trace(*TEXT), [Place("update", "decoder.0.self")]
    ),
    "translate": lambda model: model.translate(TEXT[0]),
    "translate, beam": lambda model: model.translate(TEXT[0], beam=2),
    "n_best": lambda model: model.n_best(TEXT[0]),
    "translate_all": lambda model: model.translate_all(list(TEXT)),
    "sample": lambda model: model.translate(TEXT[0], sample=Sampling()),
    "samples": lambda model: model.translate_all(list(TEXT), sample=Sampling()),
}


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_a_measurement_of_nan_is_one_sentence(broken: Pretrained, name: str) -> None:
    assert broken.trace(*TEXT).logits.isnan().any() and all(p.isfinite().all() for p in broken.model.parameters())
    with pytest.raises(NotFiniteError, match="computes NaN"):
        MEASUREMENTS[name](broken)


def test_masked_scores_are_fine() -> None:
    check_numbers(torch.tensor([1.0, float("-inf")]))


# -- edits ----------------------------------------------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
BAD: dict[str, tuple[str, Edit, str]] = {  # tensor, edit, what is said
    "NaN": (
        "decoder.0.cross.weights",
        lambda weights: weights.index_fill(-1, torch.tensor([1]), NAN),
        "the edit of decoder.0.cross.weights returned NaN at [0, 0, 0, 1]; it must return finite numbers, so look in "
        "it for a division by 0, a logarithm of 0 or a number that is too large",
    ),
    "NaN in place": (
        "source.embedding",
        lambda vectors: vectors.fill_(NAN),
        "the edit of source.embedding returned NaN at [0, 0, 0]; it must return finite numbers, so look in it for a "
        "division by 0, a logarithm of 0 or a number that is too large",
    ),
    "infinite logits": (
        "logits",
        lambda logits: logits.index_fill(-1, torch.tensor([5]), INF),
        "the edit of logits returned inf at [0, 0, 5]; it must return finite numbers, with -inf only for a part of "
        "each row, so look in it for a division by 0, a logarithm of 0 or a number that is too large",
    ),
    "a row of logits that forbids all": (
        "logits",
        lambda logits: torch.full_like(logits, -INF),
        "the edit of logits returned -inf at [0, 0, 0]; it must return finite numbers, with -inf only for a part of "
        "each row, so look in it for a division by 0, a logarithm of 0 or a number that is too large",
    ),
    "a mask that hides all": (
        "decoder.1.cross.mask",
        torch.zeros_like,
        "after the edit of decoder.1.cross.mask, decoder.1.cross.weights is NaN at [0, 0, 0, 0]; return smaller "
        "numbers, and leave every query a key to attend to",
    ),
    "too large": (
        "decoder.1.ff.leaves",
        lambda leaves: torch.full_like(leaves, 3e38),
        "after the edit of decoder.1.ff.leaves, logits is inf at [0, 0, 0]; return smaller numbers, and leave every "
        "query a key to attend to",
    ),
}  # fmt: skip
RUNS: dict[str, Callable[[Pretrained, Any], object]] = {
    "trace": lambda model, edits: model.trace(*TEXT, edits=edits),
    "own": lambda model, edits: model.trace(TEXT[0], edits=edits),
    "retrace": lambda model, edits: model.retrace(model.trace(*TEXT), edits=edits),
    "greedy": lambda model, edits: model.translate(TEXT[0], edits=edits),
    "beam": lambda model, edits: model.translate(TEXT[0], beam=3, edits=edits),
    "n_best": lambda model, edits: model.n_best(TEXT[0], edits=edits),
    "sample": lambda model, edits: model.translate(TEXT[0], edits=edits, sample=Sampling()),
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("what", BAD)
def test_an_edit_that_makes_no_numbers_is_named(what: str, run: str) -> None:
    tensor, edit, said = BAD[what]
    with pytest.raises(TapError) as error:
        RUNS[run](tiny_pretrained(), {tensor: edit})
    assert str(error.value) == said


def test_of_several_edits_those_before_the_first_wrong_tensor_are_named() -> None:
    edits: dict[str, Edit] = {
        "logits": torch.zeros_like,
        "decoder.1.ff.leaves": lambda leaves: leaves,
        "decoder.0.self.queries": lambda queries: torch.full_like(queries, 3e38),
        "encoder.0.ff.leaves": lambda leaves: leaves,
    }
    with pytest.raises(TapError) as error:
        tiny_pretrained().trace(*TEXT, edits=edits)
    said = str(error.value)
    assert said.startswith("after the edit of encoder.0.ff.leaves, decoder.0.self.queries, decoder.0.self.scores is")


def test_an_edit_is_blamed_where_a_switch_hides_what_it_made() -> None:
    edits: dict[str, Edit] = {"decoder.0.cross.weights": lambda weights: weights * NAN}
    with pytest.raises(TapError, match=r"edit of decoder\.0\.cross\.weights returned NaN"):
        tiny_pretrained().trace(*TEXT, edits=edits, interventions=Interventions.parse("zero=cross.1"))


def test_minus_infinity_stays_allowed_where_masks_use_it() -> None:
    model, first = tiny_pretrained(), torch.tensor([0])
    forbidden = torch.tensor([*range(5, 67)])
    edits: dict[str, Edit] = {
        "decoder.1.cross.scores": lambda scores: scores.index_fill(-1, first, -INF),
        "logits": lambda logits: logits.index_fill(-1, forbidden, -INF),
    }
    trace = model.trace(*TEXT, edits=edits)
    assert not trace.cross.weights[1, ..., 0].any() and trace.cross.weights[0, ..., 0].all()
    assert trace.logits[:, 5:].isneginf().all() and trace.logits[:, :5].isfinite().all()
    assert {*model.trace(TEXT[0], edits=edits, limit=9).target_out_ids} <= set(range(5))
    assert model.n_best(TEXT[0], edits=edits, limit=9)


@pytest.mark.parametrize("interventions", ["none", "scaling=off zero=cross.1.1"])
def test_a_model_that_computes_nan_is_traced_with_edits_and_switches_as_without(
    broken: Pretrained, interventions: str
) -> None:
    switches = Interventions.parse(interventions)
    plain = broken.trace(*TEXT, interventions=switches)
    same = broken.trace(*TEXT, interventions=switches, edits={"decoder.1.ff.leaves": lambda leaves: leaves * 1})
    assert plain.logits.isnan().any() and torch.equal(plain.logits.isnan(), same.logits.isnan())
    with pytest.raises(NotFiniteError):  # not of the edit
        broken.translate(TEXT[0], limit=8, edits={"logits": lambda logits: logits})
    wrong = {"encoder.0.ff.leaves": lambda leaves: leaves * NAN}
    with pytest.raises(TapError, match=r"the edit of encoder\.0\.ff\.leaves returned NaN"):
        broken.trace(*TEXT, edits=wrong)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
@pytest.mark.parametrize("by", [-1, 64])
def test_an_edited_position_that_the_model_lacks_is_one_sentence(by: int, positions: str) -> None:
    model = pretrained_variant(positions=positions)
    for run in RUNS.values():
        with pytest.raises(TapError) as error:
            run(model, {"target.position_ids": lambda ids: ids + by})
        assert str(error.value) == (
            f"the edit of target.position_ids returned the position {by}; this model has positions 0 to 63, so return "
            "only these"
        )
    last = {"target.position_ids": lambda ids: ids.clamp(min=63)}
    assert model.trace(*TEXT, edits=last).target_position_ids.tolist() == [63] * 6
