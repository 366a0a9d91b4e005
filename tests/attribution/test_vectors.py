"""Contributions by vectors: the parts add up to the sub-layer's result, and hand-solved cases of the measures."""

from typing import Any

import pytest
import torch

from tests.support.build import T5, pretrained_variant, tiny_pretrained
from transformer.attribution import METHODS, attribute
from transformer.attribution.contributions import Contributions, in_shares, through_layers
from transformer.attribution.vectors import alti_measure, by_vectors, norm_measure, one_head, parts, rollout
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import KINDS

TEXT = ("ka lo mi vu", "lo mi ka")
MODEL = tiny_pretrained()
TRACE = MODEL.trace(*TEXT)


@pytest.mark.parametrize(
    "changes",
    [{}, {"norm": "pre"}, {"norm": "none"}, {"residual": False}, {"d_k": 3}, T5, {**T5, "norm": "post"}],
    ids=str,
)
def test_the_parts_of_every_sub_layer_add_up_to_its_result(changes: dict[str, Any]) -> None:
    model = pretrained_variant(**changes)
    trace = model.trace(*TEXT)
    for kind in KINDS:
        for layer in range(trace.attention(kind).layers):
            found = parts(model.model, trace, kind, layer)
            torch.testing.assert_close(
                found.vectors.sum(1) + found.own + found.constant, found.result, atol=1e-4, rtol=1e-4
            )


@pytest.mark.parametrize("changes", [{}, {"norm": "pre"}, {"residual": False}], ids=str)
@pytest.mark.parametrize("switch", ["zero=cross.1.1", "zero=cross.1", "skip=decoder.1.cross", "mean=cross.1"])
def test_what_a_switch_removes_brings_nothing(switch: str, changes: dict[str, Any]) -> None:
    model = pretrained_variant(**changes).with_reference([("ka", "mi")])
    trace = model.trace(*TEXT, interventions=Interventions.parse(switch))
    found = parts(model.model, trace, "cross", 0)
    torch.testing.assert_close(found.vectors.sum(1) + found.own + found.constant, found.result, atol=1e-4, rtol=1e-4)
    assert bool(found.vectors.any()) == (switch == "zero=cross.1.1")


def test_what_an_edit_puts_in_the_place_of_a_head_is_constant() -> None:
    """At one row of one head, so that everything else still comes from its keys."""

    def put(outputs: torch.Tensor) -> torch.Tensor:
        changed = outputs.clone()
        changed[:, 1, 2] = 3.0
        return changed

    trace = MODEL.retrace(TRACE, edits={"decoder.0.cross.head_outputs": put})
    found, before = (parts(MODEL.model, one, "cross", 0) for one in (trace, TRACE))
    torch.testing.assert_close(found.vectors.sum(1) + found.own + found.constant, found.result, atol=1e-4, rtol=1e-4)
    rows = [0, 1, 3]
    torch.testing.assert_close(found.vectors[rows], before.vectors[rows])
    assert not torch.allclose(found.constant[2], before.constant[2], atol=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, {"norm": "pre"}, {"residual": False}, {"norm": "none"}], ids=str)
@pytest.mark.parametrize("switch", ["skip=decoder.1.cross,decoder.2.cross", "mean=cross"])
def test_nothing_comes_from_a_source_that_no_layer_reads(switch: str, changes: dict[str, Any]) -> None:
    model = pretrained_variant(**changes).with_reference([("ka", "mi")])
    trace = model.trace(*TEXT, interventions=Interventions.parse(switch))
    # Weights alone do not know that nobody uses them: attention and rollout know of sub-layers, not of heads.
    blind = set() if switch.startswith("skip") else {"attention", "rollout"}
    for name in METHODS:
        if name in blind:
            continue
        found = attribute(model, trace, name)
        assert float(found.source.abs().max()) < 1e-5, name
        if found.shares:
            torch.testing.assert_close(found.prefix.sum(-1), torch.ones(len(found.prefix), dtype=torch.float64))


@pytest.mark.parametrize("name", ["alti", "attention", "norm", "rollout", "zeroing"])
def test_a_token_that_reads_nothing_stays_its_own(name: str) -> None:
    """Without any attention the prefix is the identity; a row of zeros is not shared out to the future."""
    skipped = ",".join(f"decoder.{layer}.{part}" for layer in (1, 2) for part in ("self", "cross"))
    found = attribute(MODEL, MODEL.trace(*TEXT, interventions=Interventions.parse(f"skip={skipped}")), name)
    assert torch.equal(found.prefix, torch.eye(len(found.prefix), dtype=torch.float64)) and not found.source.any()


def test_the_measures_by_hand() -> None:
    vectors = torch.tensor([[[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0]]])  # [query, key, d_model]
    result = torch.tensor([[2.0, 4.0]])
    assert norm_measure(vectors, result).tolist() == [[5.0, 0.0, 1.0]]
    # |y| = 6; without the first vector |(-1, 0)| = 1 is left, without the third |(3, 4)| = 7, more than there was.
    assert alti_measure(vectors, result).tolist() == [[5.0, 0.0, 0.0]]


def test_shares_by_hand() -> None:
    shares = in_shares(torch.tensor([[1.0, 3.0, 0.0], [0.0, 0.0, 0.0]]), torch.tensor([0, 1]))
    assert shares.tolist() == [[0.25, 0.75, 0.0], [0.0, 1.0, 0.0]]


def test_two_layers_by_hand() -> None:
    """One source word that is all the encoder has; two target tokens."""
    encoder = [torch.eye(1)]
    decoder = [torch.tensor([[0.5, 0.0], [0.3, 0.3]]), torch.tensor([[0.8, 0.0], [0.0, 0.5]])]
    cross = [torch.tensor([[0.5], [0.4]]), torch.tensor([[0.2], [0.5]])]
    source, prefix = through_layers(encoder, decoder, cross)
    assert source.flatten().tolist() == pytest.approx([0.8 * 0.5 + 0.2, 0.5 * 0.4 + 0.5])
    assert prefix.tolist() == [pytest.approx([0.4, 0.0]), pytest.approx([0.15, 0.15])]


@pytest.mark.parametrize("changes", [{}, {"norm": "pre"}], ids=str)
@pytest.mark.parametrize("measure", [alti_measure, norm_measure])
def test_rows_sum_to_one_and_nothing_comes_from_the_future(changes: dict[str, Any], measure: Any) -> None:
    model = pretrained_variant(**changes)
    found = by_vectors(model, model.trace(*TEXT), measure)
    torch.testing.assert_close(found.joined().sum(-1), torch.ones(len(found.source), dtype=torch.float64))
    assert (found.joined() >= 0).all() and found.prefix.triu(1).abs().max() == 0
    assert ((found.source_share() > 0) & (found.source_share() < 1)).all()


def test_rollout_of_the_encoder_is_the_product_of_half_weights_and_half_identity() -> None:
    expected = torch.eye(len(TRACE.source_ids), dtype=torch.float64)
    for weights in TRACE.encoder_self.weights.double():
        expected = (weights.mean(0) + torch.eye(len(expected))) / 2 @ expected
    (half,) = {0.5}
    source, prefix = (
        torch.zeros(len(TRACE.target_in_ids), len(expected), dtype=torch.float64),
        torch.eye(len(TRACE.target_in_ids), dtype=torch.float64),
    )
    for own, cross in zip(TRACE.decoder_self.weights.double(), TRACE.cross.weights.double(), strict=True):
        own = (own.mean(0) + torch.eye(len(prefix))) / 2
        source, prefix = half * own @ source + half * cross.mean(0) @ expected, half * own @ prefix
    found = rollout(MODEL, TRACE)
    torch.testing.assert_close(found.source, source)
    torch.testing.assert_close(found.prefix, prefix)


def test_only_shares_have_a_source_share() -> None:
    with pytest.raises(ValueError, match="sum to 1"):
        Contributions(torch.zeros(1, 1), torch.zeros(1, 1), shares=False).source_share()


def test_one_head_gives_its_own_weights_and_nothing_else() -> None:
    trace = tiny_pretrained().trace(*TEXT)
    for kind, side, other in (("cross", "source", "prefix"), ("decoder_self", "prefix", "source")):
        found = one_head(trace, kind, 1, 0)
        torch.testing.assert_close(getattr(found, side), trace.attention(kind).weights[1, 0].double())
        assert not getattr(found, other).any()
        torch.testing.assert_close(found.joined().sum(-1), torch.ones(len(trace.target_out_ids), dtype=torch.float64))
    with pytest.raises(
        ValueError, match="encoder_self does not read for an output token; choose cross or decoder_self"
    ):
        one_head(trace, "encoder_self", 0, 0)
    with pytest.raises(ValueError, match="cross has no head -1; there are 3, counted from 0"):
        one_head(trace, "cross", 0, -1)
