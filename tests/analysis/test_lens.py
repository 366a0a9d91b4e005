"""The lens of the last layer is the model's own prediction; every other place is worked out from the table."""

from typing import Any

import pytest
import torch

from tests.support.build import D_MODEL, PAIRWISE, pretrained_variant, tiny_model, tiny_tokenizer, variant_name
from transformer.analysis.lens import candidates, logit_lens, sharing
from transformer.analysis.residual import states
from transformer.inference.pretrained import Pretrained

SOURCE, TARGET = "ka lo minu", "re sta vu"
every_model = pytest.mark.parametrize("changes", PAIRWISE, ids=variant_name)


def tiny(**changes: Any) -> Pretrained:
    return pretrained_variant(decoder_layers=3, **changes)


@every_model
def test_the_last_layer_gives_the_models_prediction(changes: dict[str, Any]) -> None:
    model = tiny(**changes)
    trace = model.trace(SOURCE, TARGET)
    lens = logit_lens(trace, model.model)
    best = trace.logits.softmax(-1).topk(5)
    assert torch.equal(lens.ids[-1], best.indices) and torch.equal(lens.probabilities[-1], best.values)
    assert lens.deviation == 0.0
    assert torch.equal(lens.final, trace.logits.argmax(-1)) and torch.equal(lens.probability[-1], best.values[:, 0])
    assert lens.rank[-1].tolist() == [1] * len(trace.target_out)


@every_model
def test_every_place_is_read_through_the_output_table(changes: dict[str, Any]) -> None:
    model = tiny(**changes)
    trace = model.trace(SOURCE, TARGET)
    lens = logit_lens(trace, model.model, top=3)
    table = model.model.embedding.weight.double()
    places = states(trace, "decoder").double()
    assert lens.ids.shape == lens.probabilities.shape == (4, len(trace.target_out), 3)
    if model.config.norm == "pre":
        norm = model.model.decoder_norm
        about, spread = places.mean(-1, keepdim=True), places.var(-1, correction=0, keepdim=True)
        places = (places - about) / (spread + norm.eps).sqrt() * norm.weight.double() + norm.bias.double()
    own = (places @ table.T).softmax(-1)  # [place, step, token]
    order = own.argsort(-1, descending=True)
    close = {"atol": 1e-5, "rtol": 1e-4}
    assert torch.equal(lens.ids, order[..., :3])
    torch.testing.assert_close(lens.probabilities.double(), own.gather(-1, order[..., :3]), **close)
    final = lens.final.expand(4, -1)[..., None]
    torch.testing.assert_close(lens.probability.double(), own.gather(-1, final)[..., 0], **close)
    assert torch.equal(lens.rank, 1 + (order == final).int().argmax(-1))
    assert torch.equal(lens.echoes, order[..., 0] == torch.tensor(trace.target_in_ids))
    for settled, ranks in zip(lens.settled.tolist(), lens.rank.T.tolist(), strict=True):
        assert set(ranks[settled:]) == {1} and (settled == 0 or ranks[settled - 1] > 1)


def test_a_small_vocabulary_is_returned_whole() -> None:
    model = tiny()
    trace = model.trace(SOURCE, TARGET)
    vocabulary = len(tiny_tokenizer())
    lens = logit_lens(trace, model.model, top=1000)
    assert lens.ids.shape[-1] == vocabulary
    torch.testing.assert_close(lens.probabilities.sum(-1), torch.ones(4, len(trace.target_out)))
    ids, probabilities = candidates(trace, 0, 1000)
    assert sorted(ids.tolist()) == list(range(vocabulary)) and len(probabilities) == vocabulary


def test_candidates_of_a_step() -> None:
    trace = tiny().trace(SOURCE, TARGET)
    for step in range(len(trace.target_out)):
        ids, probabilities = candidates(trace, step)
        own = trace.logits[step].softmax(-1)
        order = sorted(range(len(own)), key=lambda number: -own[number])[:8]
        assert ids.tolist() == order and torch.equal(probabilities, own[order])
    for step in (-1, len(trace.target_out)):
        with pytest.raises(ValueError, match=f"there is no step {step}"):
            candidates(trace, step)
    with pytest.raises(ValueError, match="top must be at least 1, but it is 0"):
        logit_lens(trace, tiny().model, top=0)


@every_model
def test_input_and_output_use_the_same_rows(changes: dict[str, Any]) -> None:
    model = tiny(**changes)
    trace = model.trace(SOURCE, TARGET)
    weight = model.model.embedding.weight
    for token in (0, 5, len(weight) - 1):
        found = sharing(trace, model.model, token)
        assert torch.equal(found.entering, weight[token]) and found.difference == 0.0
        assert torch.equal(found.leaving, weight[token])
    assert found.deviation < 1e-4 and found.saved == 2 * len(tiny_tokenizer()) * D_MODEL
    logits = trace.decoder_output.double() @ weight.double().T
    assert found.deviation == (logits - trace.logits).abs().max().item()
    for token in (-1, len(weight)):
        with pytest.raises(ValueError, match=f"there is no token id {token}"):
            sharing(trace, model.model, token)


def test_sharing_sees_a_model_that_does_not_share() -> None:
    model = tiny()
    trace = model.trace(SOURCE, TARGET)
    other = tiny_model(seed=2, decoder_layers=3, vocab_size=len(tiny_tokenizer()))
    model.model.project = other.project  # type: ignore[method-assign]
    found = sharing(trace, model.model, 5)
    assert torch.equal(found.leaving, other.embedding.weight[5]) and found.difference > 0.01


def test_sharing_leaves_no_gradient_behind() -> None:
    model = tiny()
    trace = model.trace(SOURCE, TARGET)
    model.model.requires_grad_(True)
    found = sharing(trace, model.model, 5)
    assert model.model.embedding.weight.grad is None and not found.entering.requires_grad
    model.model.requires_grad_(False)
