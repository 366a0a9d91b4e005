"""PyTorch's own nn.Transformer with the weights of one of our models."""

import functools
import itertools
import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.support.reference import position
from transformer.model.attention import MultiHeadAttention
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.tap import FUSED, KINDS, Tap, scope
from transformer.model.transformer import Transformer

ACTIVATION = {"relu": F.relu, "gelu": F.gelu, "swish": F.silu}
# Largest differences measured: 8e-6 on outputs, 1.2e-5 on logits of up to 6, 2e-6 on weights (reverse-gelu).
OUTPUTS = {"rtol": 1e-5, "atol": 1e-5}
WEIGHTS = {"rtol": 0.0, "atol": 3e-5}  # 1.7e-5 seen on a CPU with other kernels


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    """W^Q, W^K and W^V over each other, as PyTorch keeps them; W^O as it is."""
    parts = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def twin(model: Transformer) -> nn.Transformer:
    """An nn.Transformer with the weights of ours, in eval mode; it always has residual connections.

    PyTorch's default ends both stacks in a LayerNorm, with post-norm too; the paper and our post-norm do not, so the
    stacks are built one by one.
    """
    config = model.config
    pre = config.norm == "pre"
    sizes: dict[str, Any] = dict(
        d_model=config.d_model, nhead=config.heads, dim_feedforward=config.d_ff, dropout=0.0,
        activation=ACTIVATION[config.activation], layer_norm_eps=config.layer_norm_eps,
        batch_first=True, norm_first=pre,
    )  # fmt: skip
    final = [nn.LayerNorm(config.d_model, eps=config.layer_norm_eps) if pre else None for _ in range(2)]
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(**sizes), config.encoder_layers, final[0], enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(**sizes), config.decoder_layers, final[1])
    theirs = nn.Transformer(
        config.d_model, config.heads, custom_encoder=encoder, custom_decoder=decoder, batch_first=True
    )
    for mine, other in itertools.chain(
        zip(model.encoder, encoder.layers, strict=True), zip(model.decoder, decoder.layers, strict=True)
    ):
        assert isinstance(mine, EncoderLayer | DecoderLayer)
        norms = [mine.self_residual, mine.feed_forward_residual]
        copy_attention(mine.self_attention, other.self_attn)
        if isinstance(mine, DecoderLayer):
            norms.insert(1, mine.cross_residual)
            copy_attention(mine.cross_attention, other.multihead_attn)
        other.linear1.load_state_dict(mine.feed_forward.inner.state_dict())
        other.linear2.load_state_dict(mine.feed_forward.outer.state_dict())
        for number, residual in enumerate(norms, 1):
            if config.norm == "none":
                setattr(other, f"norm{number}", nn.Identity())
            else:
                getattr(other, f"norm{number}").load_state_dict(residual.norm.state_dict())
    if pre:
        encoder.norm.load_state_dict(model.encoder_norm.state_dict())
        decoder.norm.load_state_dict(model.decoder_norm.state_dict())
    return theirs.eval()


def embedded(model: Transformer, ids: Tensor, side: str = "source") -> Tensor:
    """Embeddings times sqrt(d_model) plus PE, written out again, and PyTorch's LayerNorm where the model has one:
    [batch, token] -> [batch, token, d_model]."""
    table = model.target_embedding if side == "target" and model.config.target_vocab_size else model.embedding
    places = torch.stack([position(model, at, side) for at in range(ids.shape[1])]).float()
    assert table is not None
    total = table.weight[ids] * (math.sqrt(model.config.d_model) if model.config.embedding_scale else 1) + places
    return (model.source_norm if side == "source" else model.target_norm)(total)


def projected(model: Transformer, hidden: Tensor) -> Tensor:
    """Logits of what leaves the decoder: [..., d_model] -> [..., vocab]."""
    table = model.embedding if model.target_embedding is None else model.target_embedding
    matrix = table.weight if model.output_matrix is None else model.output_matrix
    return hidden @ matrix.T + (0 if model.output_bias is None else model.output_bias)


def future(length: int) -> Tensor:
    """True = hidden, as PyTorch's masks are: [query, key]."""
    return torch.ones(length, length, dtype=torch.bool).triu(1)


class Watched:
    """What every nn.MultiheadAttention of a pass returns as its weights, by the name of its module.

    The layers call it with need_weights=False; the hook asks for the weights of each head. A hook also keeps the
    encoder off its fast path, which never calls the module.
    """

    def __init__(self, theirs: nn.Transformer) -> None:
        self.weights: dict[str, Tensor] = {}
        for name, module in theirs.named_modules():
            if isinstance(module, nn.MultiheadAttention):
                module.register_forward_pre_hook(self._ask, with_kwargs=True)
                module.register_forward_hook(functools.partial(self._keep, name))

    @staticmethod
    def _ask(_: nn.Module, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        return args, {**kwargs, "need_weights": True, "average_attn_weights": False}

    def _keep(self, name: str, _module: nn.Module, _args: tuple, output: tuple[Tensor, Tensor]) -> None:
        self.weights[name] = output[1]

    def of(self, kind: str, layer: int) -> Tensor:
        """[batch, head, query, key]"""
        stack = "encoder" if kind == "encoder_self" else "decoder"
        return self.weights[f"{stack}.layers.{layer}.{'multihead_attn' if kind == 'cross' else 'self_attn'}"]


def their_pass(model: Transformer, theirs: nn.Transformer, source: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """What leaves the encoder and the decoder, [batch, token, d_model] each."""
    padding, late = source == model.config.pad_id, target == model.config.pad_id
    late[:, 0] = False  # what decoding begins with is no padding, whatever its id
    torch.backends.mha.set_fastpath_enabled(model.config.norm != "none")  # the fast path asks for a LayerNorm
    try:
        memory = theirs.encoder(embedded(model, source), src_key_padding_mask=padding)
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    hidden = theirs.decoder(
        embedded(model, target, "target"),
        memory,
        tgt_mask=future(target.shape[1]) if model.config.causal else None,
        tgt_key_padding_mask=late,
        memory_key_padding_mask=padding,
    )
    return memory, hidden


def check(model: Transformer, source: Tensor, target: Tensor) -> None:
    """Memory, decoder output, logits, and the weights of every head of every layer of every kind."""
    theirs = twin(model)
    watched = Watched(theirs)
    tap = Tap()
    logits = model(source, target, tap)
    with torch.no_grad():
        memory, hidden = their_pass(model, theirs, source, target)
    torch.testing.assert_close(tap.records["encoder.output"], memory, **OUTPUTS)
    torch.testing.assert_close(tap.records["decoder.output"], hidden, **OUTPUTS)
    torch.testing.assert_close(logits, projected(model, hidden), **OUTPUTS)
    torch.testing.assert_close(model(source, target, FUSED), logits, **OUTPUTS)
    for kind in KINDS:
        layers = model.config.encoder_layers if kind == "encoder_self" else model.config.decoder_layers
        for layer in range(layers):
            wanted, found = watched.of(kind, layer), tap.records[f"{scope(kind, layer)}weights"]
            assert found.shape == wanted.shape and found.shape[1] == model.config.heads
            torch.testing.assert_close(found, wanted, **WEIGHTS)
            hidden_cells = ~tap.records[f"{scope(kind, layer)}mask"]
            # Both hide the same cells, and hide them entirely. A cell that is not hidden is 0 only by underflow.
            assert not wanted[hidden_cells].any() and not found[hidden_cells].any()
            assert (found[~hidden_cells & (wanted == 0)] < 1e-37).all()
