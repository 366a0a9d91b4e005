import pytest
import torch

from tests.support.build import (
    VOCAB,
    padded_sources,
    random_ids,
    targets_in,
    tiny_config,
    tiny_model,
)
from transformer.inference.incremental import IncrementalDecoder
from transformer.model.transformer import TooLongError, Transformer


def test_one_table_serves_encoder_decoder_and_output():
    model = tiny_model()
    hidden = random_ids(1, 2, 66).float()
    assert torch.equal(model.project(hidden), hidden @ model.embedding.weight.T)
    assert [name for name, p in model.named_parameters() if VOCAB in p.shape] == ["embedding.weight"]


def test_without_norm_no_layer_has_one():
    model = tiny_model(norm="none")
    assert not any(isinstance(module, torch.nn.LayerNorm) for module in model.modules())
    assert not any("norm" in name for name in model.state_dict())


def test_a_model_without_the_mask_is_not_decoded_with_a_cache():
    model, source = tiny_model(causal=False), padded_sources(1)
    with pytest.raises(ValueError, match=r"^this model has no causal mask, .*decode without a cache$"):
        IncrementalDecoder(model, model.encode(source), source)(targets_in(1, 3, 1))


def test_dropout_only_while_training():
    model, source, target = tiny_model(dropout=0.5, attention_dropout=0.3), padded_sources(1), targets_in(2, 3)
    assert torch.equal(model(source, target), model(source, target))
    model.train()
    torch.manual_seed(1)
    assert not torch.equal(model(source, target), model(source, target))


def test_too_many_tokens_give_a_message_with_both_numbers():
    model = tiny_model(max_positions=6)
    model.encode(padded_sources(1, (6,)))
    with pytest.raises(TooLongError, match=r"^the text has 7 tokens, and this model has 6 positions$"):
        model.encode(padded_sources(1, (7,)))
    source = padded_sources(1, (3,))
    memory, target = model.encode(source), targets_in(1, 1, 7)
    model.decode(target[:, :6], memory, source)
    decoder = IncrementalDecoder(model, memory, source)
    for fed in range(6):
        decoder(target[:, fed : fed + 1])
    for too_long in (lambda: model.decode(target, memory, source), lambda: decoder(target[:, 6:])):
        with pytest.raises(TooLongError, match=r"^the text has 7 tokens"):
            too_long()


def test_initial_scale():
    torch.manual_seed(1)
    model = Transformer(tiny_config(vocab_size=997))
    assert model.embedding.weight.std().item() == pytest.approx(66**-0.5, rel=0.02)
    assert all((p == 0).all() for name, p in model.named_parameters() if name.endswith("bias"))
    assert model(padded_sources(1), targets_in(2, 3)).std().item() == pytest.approx(1, rel=0.2)
