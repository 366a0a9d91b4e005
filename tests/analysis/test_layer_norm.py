"""LayerNorm of one token against the pass that recorded it, and by hand."""

import pytest
import torch

from tests.support.build import T5, pretrained_variant, tiny_pretrained
from transformer.analysis.layer_norm import left_of_x, normed
from transformer.analysis.residual import kinds_of, sublayers


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_the_numbers_are_those_of_the_pass(stack: str) -> None:
    model = tiny_pretrained()
    trace = model.trace("ka lo minu", "re sta")
    for number, (layer, name) in enumerate(sublayers(trace, stack)):
        found = normed(trace, model.model, stack, number, 1)
        assert found is not None
        leaves = kinds_of(trace, stack)[name].leaves[layer, 1].double()
        assert torch.allclose(found.after, leaves, atol=1e-5)
        centred = (found.before - found.mean) / (found.variance + model.config.layer_norm_eps) ** 0.5
        assert torch.allclose(found.gamma * centred + found.beta, found.after, atol=1e-9)
        assert abs(centred.mean()) < 1e-9 and centred.var(correction=0).item() == pytest.approx(1, abs=1e-3)


def test_what_is_left_is_a_cosine() -> None:
    trace = tiny_pretrained().trace("ka lo minu", "re sta")
    found = left_of_x(trace, "decoder")
    assert found.shape == (len(sublayers(trace, "decoder")), len(trace.target_in_ids))
    x, y = trace.cross.enters[1, 2].double(), trace.cross.leaves[1, 2].double()
    assert found[4, 2].item() == pytest.approx((x @ y / (x.norm() * y.norm())).item())


def test_rms_norm_divides_by_the_root_of_the_mean_square() -> None:
    model = pretrained_variant(**T5)
    trace = model.trace("ka lo", "re")
    found = normed(trace, model.model, "encoder", 1, 0)
    assert found is not None and not found.beta.any() and found.before.mean().abs() > 0.01
    assert found.normalised.square().mean().item() == pytest.approx(1, abs=1e-4)
    norm = model.model.encoder[0].feed_forward_residual.norm
    torch.testing.assert_close(found.after.float(), norm(found.before.float()))


@pytest.mark.parametrize("norm", ["pre", "none"])
def test_other_kinds_of_models(norm: str) -> None:
    model = pretrained_variant(norm=norm)
    trace = model.trace("ka lo", "re")
    found = normed(trace, model.model, "encoder", 0, 0)
    if norm == "none":
        assert found is None
    else:
        assert found is not None and torch.equal(found.before, trace.encoder_self.enters[0, 0].double())
