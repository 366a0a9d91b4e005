"""Encoder and decoder layers (section 3.1)."""

from collections.abc import Callable

from torch import Tensor, nn

from transformer.model.attention import MultiHeadAttention
from transformer.model.cache import LayerCache
from transformer.model.config import ModelConfig
from transformer.model.feedforward import FeedForward
from transformer.model.tap import OFF, AnyTap


def layer_norm(config: ModelConfig) -> nn.LayerNorm | nn.RMSNorm:
    """LayerNorm over the d_model numbers of a token (Ba et al. 2016), with gamma and beta; or RMSNorm, gamma x divided
    by the root mean square of x (Zhang and Sennrich 2019)."""
    return (nn.RMSNorm if config.rms_norm else nn.LayerNorm)(config.d_model, eps=config.layer_norm_eps)


class SubLayer(nn.Module):
    """The residual connection around a sub-layer, and its LayerNorm: LayerNorm(x + Sublayer(x)), section 3.1.

    norm="pre": x + Sublayer(LayerNorm(x)) (Xiong et al. 2020); norm="none": x + Sublayer(x); residual=False: each
    without its "x +". Dropout applies to the sub-layer's output before the sum (section 5.4).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.norm = layer_norm(config) if config.norm != "none" else nn.Identity()
        self.pre = config.norm == "pre"
        self.residual = config.residual
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor, compute: Callable[[Tensor], Tensor], tap: AnyTap = OFF) -> Tensor:
        """x: [batch, token, d_model]; compute: the sub-layer, same shape in and out. Returns the same shape."""
        x = tap("enters", x)
        update = tap("update", compute(self.norm(x) if self.pre else x))
        update = self.dropout(update) if self.training else update
        total = tap("sum", x + update if self.residual else update)
        return tap("leaves", total if self.pre else self.norm(total))


def _attention(config: ModelConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.d_model, config.heads, config.attention_dropout, config.d_k, config.scaling, config.d_v, config.biases
    )


def _feed_forward(config: ModelConfig) -> FeedForward:
    return FeedForward(config.d_model, config.d_ff, config.activation, config.gated, config.biases)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = _attention(config)
        self.self_residual = SubLayer(config)
        self.feed_forward = _feed_forward(config)
        self.feed_forward_residual = SubLayer(config)

    def forward(self, x: Tensor, mask: Tensor | None, tap: AnyTap = OFF, bias: Tensor | None = None) -> Tensor:
        """x: [batch, source, d_model]; mask, bias: as in `attend`, with queries and keys of the source."""
        at = tap.at("self")
        x = self.self_residual(x, lambda y: self.self_attention(y, y, mask, bias=bias, tap=at), at)
        at = tap.at("ff")
        return self.feed_forward_residual(x, lambda y: self.feed_forward(y, at), at)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the encoder's output, then feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = _attention(config)
        self.self_residual = SubLayer(config)
        self.cross_attention = _attention(config)
        self.cross_residual = SubLayer(config)
        self.feed_forward = _feed_forward(config)
        self.feed_forward_residual = SubLayer(config)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        self_mask: Tensor | None,
        cross_mask: Tensor | None,
        tap: AnyTap = OFF,
        cache: LayerCache | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """x: [batch, target, d_model]; memory: [batch, source, d_model], the encoder's output.

        self_mask: broadcastable to [batch, head, target, target]; cross_mask: to [batch, head, target, source]; cache:
        keys and values of earlier steps; x then holds only the tokens after them; bias: of self-attention, as in
        `attend`.
        """
        at_self, at_cross, at_ff = tap.at("self"), tap.at("cross"), tap.at("ff")
        self_cache, cross_cache = (None, None) if cache is None else (cache.self_attention, cache.cross_attention)
        x = self.self_residual(
            x, lambda y: self.self_attention(y, y, self_mask, bias=bias, tap=at_self, cache=self_cache), at_self
        )
        x = self.cross_residual(
            x, lambda y: self.cross_attention(y, memory, cross_mask, tap=at_cross, cache=cross_cache), at_cross
        )
        return self.feed_forward_residual(x, lambda y: self.feed_forward(y, at_ff), at_ff)
