"""Decoding step by step is the decoder itself: with a cache and without, whatever the modules are."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.support.build import VARIANTS, padded_sources, targets_in, tiny_model, variant_name
from transformer.inference import speed
from transformer.inference.incremental import IncrementalDecoder
from transformer.inference.search import beam, greedy
from transformer.inference.speed import (
    FILLED,
    JointSelfAttention,
    ReorderedLinear,
    pays_to_reorder,
    prepare_for_decoding,
    reorder,
    with_parameters,
)
from transformer.model.attention import MultiHeadAttention
from transformer.model.tap import FUSED, OFF
from transformer.model.transformer import Transformer

LENGTH = 5
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


class ScaledQueries(MultiHeadAttention):
    """Other queries in self-attention and other weights everywhere."""

    def project(self, x: Tensor, memory: Tensor, *arguments: Any) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, values = super().project(x, memory, *arguments)
        return queries * 0.3, keys, values

    def forward(self, x: Tensor, memory: Tensor, *arguments: Any, **named: Any) -> Tensor:
        return super().forward(1.5 * x, memory, *arguments, **named)


class WithoutCache(MultiHeadAttention):
    def forward(self, x: Tensor, memory: Tensor, mask: Tensor | None = None, *, tap: Any = OFF) -> Tensor:  # type: ignore[override]
        return super().forward(x, memory, mask, tap=tap)


def with_scaled_queries(model: Transformer) -> None:
    for layer in model.decoder:
        layer.self_attention.__class__ = layer.cross_attention.__class__ = ScaledQueries


def with_another_projection(model: Transformer) -> None:
    for layer in model.decoder:
        layer.self_attention.key = nn.Sequential(layer.self_attention.key, nn.Tanh())


def with_other_weights(model: Transformer) -> None:
    for layer in model.decoder:
        value = layer.self_attention.value
        value.weight.data = value.weight.data.flip(0)
        layer.feed_forward.inner.weight = nn.Parameter(layer.feed_forward.inner.weight.flip(1), requires_grad=False)


def with_a_hook(model: Transformer) -> None:
    model.decoder[0].self_attention.output.register_forward_hook(lambda module, given, found: 2 * found)
    model.decoder[0].feed_forward.inner.register_forward_pre_hook(lambda module, given: (0.5 * given[0],))


CHANGES = [with_scaled_queries, with_another_projection, with_other_weights, with_a_hook]


def assert_steps_are_the_decoder(model: Transformer, tap: Any) -> Tensor:
    """Fed token by token, also after a choice of rows. Returns what the full pass gives."""
    source, target = padded_sources(3, (7, 4, 5)), targets_in(1, 3, LENGTH)
    memory = model.encode(source)
    whole = model.decode(target, memory, source)
    decoder = IncrementalDecoder(model, memory, source, tap)
    for step in range(2):
        torch.testing.assert_close(decoder(target[:, step : step + 1])[:, 0], whole[:, step], **CLOSE)
    rows = torch.tensor([2, 0, 2])
    decoder.select(rows)
    for step in range(2, LENGTH):
        torch.testing.assert_close(decoder(target[rows, step : step + 1])[:, 0], whole[rows, step], **CLOSE)
    return whole


@pytest.mark.parametrize("changes", [one for one in VARIANTS if one.get("causal", True)], ids=variant_name)
@pytest.mark.parametrize("prepared", [(), (prepare_for_decoding,), (prepare_for_decoding, reorder)])
@pytest.mark.parametrize("tap", [OFF, FUSED], ids=["plain", "fused"])
@torch.inference_mode()
def test_cached_steps_equal_the_full_pass(
    changes: dict[str, Any], prepared: tuple[Callable[[Transformer], None], ...], tap: Any
) -> None:
    model = tiny_model(**changes)
    for prepare in prepared:
        prepare(model)
    assert_steps_are_the_decoder(model, tap)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("prepared", [(), (prepare_for_decoding,), (prepare_for_decoding, reorder)])
@torch.no_grad()
def test_cached_and_full_decoding_agree_when_modules_are_exchanged(
    change: Any, prepared: tuple[Callable[[Transformer], None], ...]
) -> None:
    model = tiny_model()
    before = assert_steps_are_the_decoder(model, FUSED)
    for prepare in prepared:
        prepare(model)
    change(model)
    after = assert_steps_are_the_decoder(model, FUSED)
    assert (after - before).abs().max() > 0.1
    source = padded_sources(3, (7, 4, 5))
    for cached, full in zip(greedy(model, source, 9), greedy(model, source, 9, cached=False), strict=True):
        assert cached.ids == full.ids
        assert cached.log_probs == pytest.approx(full.log_probs, abs=1e-4)
    assert len(beam(model, source, 3, limit=9)) == 3


def test_an_attention_without_a_cache_is_an_error_and_not_another_number() -> None:
    model = tiny_model()
    model.decoder[1].cross_attention.__class__ = WithoutCache
    with pytest.raises(TypeError, match="unexpected keyword argument 'cache'"):
        greedy(model, padded_sources(1))


@torch.no_grad()
def test_preparing_changes_where_weights_lie_and_nothing_else() -> None:
    plain, model = tiny_model(), tiny_model()
    prepare_for_decoding(model)
    assert list(model.state_dict()) == list(plain.state_dict())
    for (name, ours), (_, theirs) in zip(model.named_parameters(), plain.named_parameters(), strict=True):
        assert torch.equal(ours, theirs) and ours.shape == theirs.shape, name
    attention = model.decoder[0].self_attention
    assert isinstance(attention, JointSelfAttention) and isinstance(attention.query, nn.Linear)
    weight = attention.joint_weight
    assert weight.data_ptr() == attention.query.weight.data_ptr()  # one memory, no second copy
    x = torch.randn(2, 1, 66)
    attention.key.weight.mul_(2)
    attention.value.bias.add_(1)
    joint, alone = (attention.project(x, x, tap) for tap in (FUSED, OFF))
    for ours, theirs in zip(joint, alone, strict=True):
        torch.testing.assert_close(ours, theirs, **CLOSE)
    assert torch.equal(
        model.decoder[0].feed_forward.inner(x), F.linear(x, *model.decoder[0].feed_forward.inner.parameters())
    )


def test_the_matrices_of_a_large_model_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model()
    addresses = [one.data_ptr() for one in model.parameters()]
    monkeypatch.setattr(speed, "LARGE", model.parameter_count())
    prepare_for_decoding(model)
    assert [one.data_ptr() for one in model.parameters()] == addresses
    source, target = torch.tensor([[4, 5, 6]]), torch.tensor([[2, 7, 8]])
    memory = model.encode(source)
    found = IncrementalDecoder(model, memory, source)(target)
    torch.testing.assert_close(found[:, 0], model.decode(target, memory, source)[:, -1], **CLOSE)


needs_order = pytest.mark.skipif(not pays_to_reorder(tiny_model()), reason="measured on x86 only")


@needs_order
def test_reordered_products_are_those_of_torch_for_every_number_of_rows() -> None:
    model = tiny_model()
    reorder(model)
    inner = model.encoder[0].feed_forward.inner
    assert isinstance(inner, ReorderedLinear)
    with torch.inference_mode():
        for rows in range(FILLED[-1] + 3):
            for x in (torch.randn(rows, 66), torch.randn(1, rows, 66), torch.randn(66, rows).T[None]):
                torch.testing.assert_close(inner(x), F.linear(x, inner.weight, inner.bias), **CLOSE)
                torch.testing.assert_close(model.project(x), F.linear(x, model.output_table, model.output_bias))


@needs_order
def test_gradients_and_exchanged_weights_do_not_see_the_reordered_matrix() -> None:
    model = tiny_model()
    prepare_for_decoding(model)
    reorder(model)
    inner = model.encoder[0].feed_forward.inner
    for wrong in (torch.randn(4, 33), torch.randn(2, 4, 66, dtype=torch.float64)):
        with pytest.raises(RuntimeError):  # as torch's own product
            inner(wrong)
    x = torch.randn(5, 66, requires_grad=True)
    inner(x).sum().backward()
    torch.testing.assert_close(x.grad, inner.weight.sum(0).expand(5, 66))
    name = "encoder.0.feed_forward.inner.weight"
    other = with_parameters(model, {name: 2 * inner.weight, "decoder.1.feed_forward.outer.bias": torch.ones(66)})
    with torch.inference_mode():
        x = torch.randn(5, 66)
        doubled = other.encoder[0].feed_forward.inner
        torch.testing.assert_close(doubled(x), F.linear(x, 2 * inner.weight, inner.bias))
        hidden, outer = torch.randn(5, inner.out_features), other.decoder[1].feed_forward.outer
        torch.testing.assert_close(outer(hidden), F.linear(hidden, outer.weight, torch.ones(66)), **CLOSE)
