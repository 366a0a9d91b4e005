import pytest
import torch
from torch import nn

from tests.support.build import D_MODEL, HEADS, tiny_config
from transformer.model.config import NORMS
from transformer.model.layers import DecoderLayer, EncoderLayer, SubLayer
from transformer.model.masks import causal_mask
from transformer.model.tap import Tap

BATCH, SOURCE, TARGET = 2, 7, 5
CHOICES = [(norm, activation) for norm in ("post", "pre") for activation in ("relu", "gelu")]


def _scatter(module, seed):
    torch.manual_seed(seed)
    for parameter in module.parameters():
        nn.init.normal_(parameter, mean=0.1, std=0.2)
    return module


def _copy_attention(ours, theirs):
    theirs.in_proj_weight.data = torch.cat((ours.query.weight, ours.key.weight, ours.value.weight)).detach()
    theirs.in_proj_bias.data = torch.cat((ours.query.bias, ours.key.bias, ours.value.bias)).detach()
    theirs.out_proj.load_state_dict(ours.output.state_dict())


@pytest.mark.parametrize(
    ("norm", "residual", "wanted"),
    [
        ("post", True, (1, -1)),  # LayerNorm(x - 5 x) = LayerNorm(-4, -12)
        ("post", False, (1, -1)),  # LayerNorm(-5 x) = LayerNorm(-5, -15)
        ("pre", True, (6, -2)),  # x - 5 LayerNorm(x) = (1 + 5, 3 - 5)
        ("pre", False, (5, -5)),  # -5 LayerNorm(x)
        ("none", True, (-4, -12)),  # x - 5 x
        ("none", False, (-5, -15)),  # -5 x
    ],
)
def test_residual_by_hand(norm, residual, wanted):
    layer = SubLayer(tiny_config(d_model=2, heads=1, norm=norm, residual=residual, layer_norm_eps=1e-9)).eval()
    x = torch.tensor([[[1.0, 3.0]]])  # LayerNorm of it is (-1, 1)
    assert layer(x, lambda y: -5 * y).flatten().tolist() == pytest.approx(wanted, abs=1e-5)


def test_norm_by_hand_with_and_without_x():
    """What x is to LayerNorm of the sum: Sublayer(x) = (0, 2), x = (4, 0) give LayerNorm(4, 2), or LayerNorm(0, 2)."""
    x, update = torch.tensor([[[4.0, 0.0]]]), torch.tensor([[[0.0, 2.0]]])
    for residual, wanted in ((True, [1, -1]), (False, [-1, 1])):
        layer = SubLayer(tiny_config(d_model=2, heads=1, residual=residual, layer_norm_eps=1e-9)).eval()
        assert layer(x, lambda y: update).flatten().tolist() == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("norm", NORMS)
def test_residual_identities(norm, residual):
    layer = _scatter(SubLayer(tiny_config(norm=norm, residual=residual)).eval(), 1)
    x = torch.randn(BATCH, SOURCE, D_MODEL)
    tap = Tap()
    output = layer(x, torch.tanh, tap)
    records = tap.finish()
    assert list(records) == ["enters", "update", "sum", "leaves"]
    assert torch.equal(records["enters"], x) and torch.equal(records["leaves"], output)
    assert torch.equal(records["enters"] * residual + records["update"], records["sum"])
    assert torch.equal(output, layer.norm(records["sum"]) if norm == "post" else records["sum"])
    assert bool(list(layer.parameters())) == (norm != "none")
    assert torch.equal(records["update"], torch.tanh(layer.norm(x) if norm == "pre" else x))


@pytest.mark.parametrize("residual", [True, False])
@pytest.mark.parametrize("norm", ["pre", "none"])
def test_dropout_falls_on_the_update_only_and_only_in_training(norm, residual):
    layer = SubLayer(tiny_config(norm=norm, residual=residual, dropout=0.5))
    x = torch.randn(BATCH, SOURCE, D_MODEL)
    past = x * residual
    torch.manual_seed(3)
    difference = layer.train()(x, torch.ones_like) - past
    torch.testing.assert_close(difference.round(decimals=4).unique(), torch.tensor([0.0, 2.0]))
    assert torch.equal(layer.eval()(x, torch.ones_like), past + 1)


@pytest.mark.parametrize(("norm", "activation"), CHOICES)
def test_encoder_layer_against_torch(norm, activation):
    config = tiny_config(norm=norm, activation=activation)
    ours = _scatter(EncoderLayer(config).eval(), 2)
    theirs = nn.TransformerEncoderLayer(
        D_MODEL, HEADS, config.d_ff, 0.0, activation, batch_first=True, norm_first=norm == "pre"
    )
    _copy_attention(ours.self_attention, theirs.self_attn)
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    theirs.norm1.load_state_dict(ours.self_residual.norm.state_dict())
    theirs.norm2.load_state_dict(ours.feed_forward_residual.norm.state_dict())
    x = torch.randn(BATCH, SOURCE, D_MODEL)
    padding = torch.tensor([[False] * 7, [False] * 4 + [True] * 3])
    output = ours(x, ~padding[:, None, None])
    wanted = theirs(x, src_key_padding_mask=padding)
    torch.testing.assert_close(output, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("norm", "activation"), CHOICES)
def test_decoder_layer_against_torch(norm, activation):
    config = tiny_config(norm=norm, activation=activation)
    ours = _scatter(DecoderLayer(config).eval(), 3)
    theirs = nn.TransformerDecoderLayer(
        D_MODEL, HEADS, config.d_ff, 0.0, activation, batch_first=True, norm_first=norm == "pre"
    )
    _copy_attention(ours.self_attention, theirs.self_attn)
    _copy_attention(ours.cross_attention, theirs.multihead_attn)
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    theirs.norm1.load_state_dict(ours.self_residual.norm.state_dict())
    theirs.norm2.load_state_dict(ours.cross_residual.norm.state_dict())
    theirs.norm3.load_state_dict(ours.feed_forward_residual.norm.state_dict())
    x, memory = torch.randn(BATCH, TARGET, D_MODEL), torch.randn(BATCH, SOURCE, D_MODEL)
    padding = torch.tensor([[False] * 7, [False] * 4 + [True] * 3])
    mask = causal_mask(TARGET)
    output = ours(x, memory, mask, ~padding[:, None, None])
    wanted = theirs(x, memory, tgt_mask=~mask[0, 0], memory_key_padding_mask=padding)
    torch.testing.assert_close(output, wanted, rtol=1e-5, atol=1e-5)


def test_names_of_a_decoder_layer():
    tap = Tap()
    layer = DecoderLayer(tiny_config()).eval()
    x, memory = torch.randn(BATCH, TARGET, D_MODEL), torch.randn(BATCH, SOURCE, D_MODEL)
    layer(x, memory, causal_mask(TARGET), torch.ones(1, 1, 1, SOURCE, dtype=torch.bool), tap)
    attention = ["enters", "queries", "keys", "values", "mask", "scores", "weights", "head_outputs"]
    attention += ["update", "sum", "leaves"]
    network = ["enters", "pre_activation", "activation", "update", "sum", "leaves"]
    wanted = [f"{kind}.{name}" for kind in ("self", "cross") for name in attention] + [f"ff.{n}" for n in network]
    assert list(tap.finish()) == wanted
    assert tap.records["cross.weights"].shape == (BATCH, HEADS, TARGET, SOURCE)
    assert torch.equal(tap.records["self.leaves"], tap.records["cross.enters"])
    assert torch.equal(tap.records["cross.leaves"], tap.records["ff.enters"])
