"""The parts of the residual stream add up to the whole, in every kind of model; a plain loop finds the same."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.build import D_MODEL, PAIRWISE, T5, pretrained_variant, variant_name
from transformer.analysis.norms import Norm
from transformer.analysis.residual import Parts, decompose, states, stream, sublayers
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.model.tap import STACKS
from transformer.tracing.trace import Trace

SOURCE, TARGET = "ka lo minu", "re sta vu"
every_model = pytest.mark.parametrize("changes", [*PAIRWISE, T5, {**T5, "norm": "post"}], ids=variant_name)
every_stack = pytest.mark.parametrize("stack", STACKS)


def tiny(**changes: Any) -> Pretrained:
    """Three layers below two, so that neither stack passes for the other."""
    return pretrained_variant(encoder_layers=3, decoder_layers=2, **changes)


def recorded(trace: Trace, stack: str, name: str, field: str, layer: int) -> Tensor:
    part = {"encoderself": "encoder_self", "decoderself": "decoder_self", "decodercross": "cross"}
    return getattr(getattr(trace, part.get(stack + name, f"{stack}_ff")), field)[layer]


def normalised(vector: Tensor, x: Tensor, norm: Norm) -> Tensor:
    """gamma (p - mean(p)) / sigma(x); RMSNorm has no means."""
    rms = isinstance(norm, torch.nn.RMSNorm)
    mean, about = (0, 0) if rms else (x.mean(), vector.mean())
    return norm.weight.double() * (vector - about) / ((x - mean).square().mean() + norm.eps).sqrt()


def by_hand(model: Pretrained, trace: Trace, stack: str, token: int) -> Tensor:
    """The parts of one token's last vector, by a loop over the layers' modules: [part, d_model]."""
    config, side = model.config, "source" if stack == "encoder" else "target"
    parts = [getattr(trace, f"{side}_{name}")[token].double() for name in ("embedding", "positions")]
    bias = x = torch.zeros(config.d_model, dtype=torch.float64)

    def through(norm: Norm) -> None:
        nonlocal bias
        parts[:] = [normalised(one, x, norm) for one in parts]
        bias = normalised(bias, x, norm) + (0 if isinstance(norm, torch.nn.RMSNorm) else norm.bias.double())

    for index, layer in enumerate(getattr(model.model, stack)):
        places = {"self": layer.self_residual, "ff": layer.feed_forward_residual}
        if stack == "decoder":
            places = {"self": layer.self_residual, "cross": layer.cross_residual, "ff": layer.feed_forward_residual}
        for name, module in places.items():
            if not config.residual:  # whatever came before ends here
                parts, bias = [torch.zeros_like(one) for one in parts], torch.zeros_like(bias)
            parts.append(recorded(trace, stack, name, "update", index)[token].double())
            x = recorded(trace, stack, name, "sum", index)[token].double()
            if config.norm == "post":
                through(module.norm)
    if config.norm == "pre":
        through(getattr(model.model, f"{stack}_norm"))
    return torch.stack([*parts, *([bias] if config.norm != "none" else [])])


@every_stack
@every_model
def test_the_parts_add_up_to_the_whole(changes: dict[str, Any], stack: str) -> None:
    model = tiny(**changes)
    trace = model.trace(SOURCE, TARGET)
    parts = decompose(trace, model.model, stack)
    whole = getattr(trace, f"{stack}_output")
    count = {"encoder": 3 * 2, "decoder": 2 * 3}[stack]
    biases = model.config.norm != "none"
    assert parts.vectors.shape == (2 + count + biases, *whole.shape) and parts.vectors.dtype == torch.float64
    torch.testing.assert_close(parts.vectors.sum(0).float(), whole, atol=1e-4, rtol=0)
    assert parts.deviation == (parts.vectors.sum(0) - whole.double()).abs().max().item() < 1e-4
    assert torch.equal(parts.whole, whole.double())
    torch.testing.assert_close(parts.shares.sum(0), torch.ones(len(whole), dtype=torch.float64), atol=1e-4, rtol=0)
    for token in (0, len(whole) - 1):
        expected = by_hand(model, trace, stack, token)
        torch.testing.assert_close(parts.vectors[:, token], expected, atol=1e-9, rtol=0)
        own = (expected @ whole[token].double()) / whole[token].double().square().sum()
        torch.testing.assert_close(parts.shares[:, token], own, atol=1e-9, rtol=0)


@every_stack
@every_model
def test_the_parts_after_a_layer_add_up_too(changes: dict[str, Any], stack: str) -> None:
    model = tiny(**changes)
    trace = model.trace(SOURCE, TARGET)
    for through in (1, 2):
        parts = decompose(trace, model.model, stack, through)
        whole = getattr(trace, f"{stack}_ff").leaves[through - 1]
        assert parts.sublayers == sublayers(trace, stack)[: (2 if stack == "encoder" else 3) * through]
        assert len(parts.vectors) == len(parts.sublayers) + 2 + (model.config.norm != "none")
        torch.testing.assert_close(parts.vectors.sum(0).float(), whole, atol=1e-4, rtol=0)
        assert torch.equal(parts.whole, whole.double())
    if model.config.norm != "pre" and stack == "decoder":  # there is nothing behind the last layer
        last, all_of_it = decompose(trace, model.model, stack, 2), decompose(trace, model.model, stack)
        assert torch.equal(last.vectors, all_of_it.vectors)


@every_stack
@every_model
def test_every_sum_is_input_plus_update(changes: dict[str, Any], stack: str) -> None:
    model = tiny(**changes)
    trace = model.trace(SOURCE, TARGET)
    found = stream(trace, model.model, stack)
    assert found.sublayers == sublayers(trace, stack)
    place = 0
    for index, layer in enumerate(getattr(model.model, stack)):
        modules = {"self": layer.self_residual, "cross": getattr(layer, "cross_residual", None)}
        for name, module in {**modules, "ff": layer.feed_forward_residual}.items():
            if module is None:
                continue
            assert found.sublayers[place] == (index, name)
            enters, update, total = (recorded(trace, stack, name, one, index) for one in ("enters", "update", "sum"))
            assert torch.equal(enters + update if model.config.residual else update, total)
            pre = model.config.norm == "pre"
            normed = module.norm(enters if pre else total)
            wanted = {"enters": enters, "update": update, "sum": total, "normed": normed}
            there = {"sum": model.config.residual, "normed": model.config.norm != "none"}
            assert list(found.lengths) == [one for one in wanted if there.get(one, True)]
            for field, row in found.lengths.items():
                expected = wanted[field].double().square().sum(-1).sqrt()
                torch.testing.assert_close(row[place], expected, atol=1e-5, rtol=1e-6)
            place += 1
    assert place == len(found.enters)
    total = found.update if found.sum is None else found.sum
    before = found.normed if model.config.norm == "post" else total
    torch.testing.assert_close(before[:-1], found.enters[1:], atol=1e-5, rtol=1e-6)


@every_stack
def test_states_are_the_input_and_each_layers_output(stack: str) -> None:
    for changes in PAIRWISE:
        trace = tiny(**changes).trace(SOURCE, TARGET)
        found = states(trace, stack)
        own = trace.encoder_self if stack == "encoder" else trace.decoder_self
        assert torch.equal(found[:-1], own.enters)
        assert len(found) == (4 if stack == "encoder" else 3) and found.shape[-1] == D_MODEL


def test_under_switches_the_parts_still_add_up() -> None:
    model = tiny()
    trace = model.trace(SOURCE, TARGET, interventions=Interventions.parse({"zero": "cross.1", "scaling": "off"}))
    assert decompose(trace, model.model, "decoder").deviation < 1e-4


@every_stack
def test_a_trace_of_one_token(stack: str) -> None:
    model = tiny()
    trace = model._pass([3], [2], [3], Interventions())
    whole = replace(model.trace(SOURCE, TARGET), **trace)
    parts: Parts = decompose(whole, model.model, stack)
    assert parts.vectors.shape[1] == 1 and parts.deviation < 1e-4


def test_an_unknown_stack_or_layer_is_refused() -> None:
    model = tiny()
    trace = model.trace(SOURCE, TARGET)
    for stack in ("", "middle", "cross"):
        with pytest.raises(ValueError, match="unknown stack .*; choose encoder or decoder"):
            decompose(trace, model.model, stack)
        with pytest.raises(ValueError, match="unknown stack"):
            states(trace, stack)
    for through in (0, -1, 4):
        with pytest.raises(ValueError, match=f"^the encoder has 3 layers; through is {through}, choose 1 to 3"):
            decompose(trace, model.model, "encoder", through)
