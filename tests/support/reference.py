"""The encoder-decoder once more, in loops: written from the paper's equations in float64, and with every switch.

It reads the weights out of a model's modules and shares no code with `transformer.model.attention`, `.masks`, `.tap` or
`.switching`: what the tests compare was worked out twice. One sentence pair, no batch; a plain list wherever the model
has an axis of a tensor.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from hypothesis import strategies
from torch import Tensor, nn

from transformer.interventions.sets import Hide, Interventions, KnockOut, Pad, Replace, Scale, Unmask, Where
from transformer.model.transformer import Transformer

Rows = list[Tensor]  # one vector a token, float64
Place = tuple[str, int, int]  # kind, layer, head
KNOWN = (Scale, Unmask, Pad, Hide, KnockOut, Replace)  # switches that the reference has
KEYS_OF = {"encoder_self": "source", "decoder_self": "target", "cross": "source"}


class BlindError(ValueError):
    """A query has no key left."""


@dataclass
class Reference:
    """What came out. Every list is [query], and [query][key] for `scores` and `weights`.

    logits: [target] vectors; scores (before masks, times factor), weights, heads: by (kind, layer, head); updates: what
    a sub-layer of attention returns, by (kind, layer). gap: the least distance between the best and the second score
    of a row whose weights went to the best one: what is smaller than rounding, rounding decides.
    """

    logits: Rows = field(default_factory=list)
    scores: dict[Place, list[list[float]]] = field(default_factory=dict)
    weights: dict[Place, list[list[float]]] = field(default_factory=dict)
    heads: dict[Place, Rows] = field(default_factory=dict)
    updates: dict[tuple[str, int], Rows] = field(default_factory=dict)
    gap: float = math.inf


def _reaches(where: Where, place: Place) -> bool:
    wanted = (where.kind, where.layer, where.head)
    return all(want is None or want == got for want, got in zip(wanted, place, strict=True))


def _affine(module: nn.Linear, x: Tensor) -> Tensor:
    return module.weight.double() @ x + (0 if module.bias is None else module.bias.double())


def _layer_norm(module: nn.Module, x: Tensor) -> Tensor:
    if isinstance(module, nn.Identity):
        return x
    if isinstance(module, nn.RMSNorm):
        return x / ((x**2).mean() + module.eps).sqrt() * module.weight.double()  # type: ignore[operator]
    assert isinstance(module, nn.LayerNorm)
    spread = ((x - x.mean()) ** 2).mean()
    return (x - x.mean()) / (spread + module.eps).sqrt() * module.weight.double() + module.bias.double()


def position(model: Transformer, place: int, side: str = "source") -> Tensor:
    """PE(p, 2i) = sin(p / 10000^(2i/d)), PE(p, 2i+1) = cos(the same), section 3.5, or first all sines and then all
    cosines; or what was learned; or nothing."""
    wide = model.config.d_model
    if model.config.positions == "learned":
        table = model.target_positions if side == "target" and model.config.separate_positions else model.positions
        return table.table[place].double()  # type: ignore[index, union-attr]
    if model.config.positions in ("none", "relative"):
        return torch.zeros(wide, dtype=torch.float64)
    values = []
    fairseq = model.config.layout == "fairseq"  # the first place is 2, and the last wavelength is 10,000
    order = range(wide) if model.config.layout == "interleaved" else [*range(0, wide, 2), *range(1, wide, 2)]
    for number in order:
        pair = number // 2
        angle = (place + 2 * fairseq) / 10_000 ** (pair / max(wide // 2 - 1, 1) if fairseq else 2 * pair / wide)
        values.append(math.cos(angle) if number % 2 else math.sin(angle))
    return torch.tensor(values, dtype=torch.float64)


def bias(model: Transformer, kind: str, head: int, query: int, key: int) -> float:
    """What T5 adds to a score: of half of its buckets each has one distance, the others grow logarithmically."""
    module = {"encoder_self": model.encoder_bias, "decoder_self": model.decoder_bias}.get(kind)
    if module is None:
        return 0.0
    count, first, far = model.config.buckets, 0, query - key
    if kind == "encoder_self":
        count //= 2
        far, first = abs(far), count if key > query else 0
    far, exact = max(far, 0), count // 2
    if far >= exact:
        far = exact + int(math.log(far / exact) / math.log(model.config.farthest / exact) * (count - exact))
    return float(module.table[first + min(far, count - 1), head])


def _visible(model: Transformer, place: Place, query: int, keys: Sequence[int], switches: Interventions) -> list[int]:
    """Indices of the keys this query may attend to (section 3.2.3). keys: ids of the tokens they are made of."""
    pad = model.config.pad_id
    kind = place[0]
    found = []
    for key, token in enumerate(keys):
        future, hidden = kind == "decoder_self" and key > query and model.config.causal, False
        padding = token == pad and not (kind == "decoder_self" and key == 0)  # what decoding begins with is no padding
        for one in switches.switches:
            if isinstance(one, Pad) or not _reaches(one.where, place):
                continue
            if isinstance(one, Unmask) and one.mask == "causal":
                future = False
            elif isinstance(one, Unmask):
                padding = False
            elif isinstance(one, Hide) and one.side == KEYS_OF[kind] and one.token == key:
                hidden = True
        if not (future or padding or hidden):
            found.append(key)
    if not found:
        raise BlindError(f"{place}, query {query}")
    return found


def _row_of_weights(scores: list[float], seen: list[int], rule: str, out: Reference) -> list[float]:
    """softmax(scores) over the keys in sight, 0 elsewhere; or what takes its place."""
    weights = [0.0] * len(scores)
    top = max(scores[key] for key in seen)
    total = sum(math.exp(scores[key] - top) for key in seen)
    for key in seen:
        weights[key] = 1 / len(seen) if rule == "uniform" else math.exp(scores[key] - top) / total
    if rule == "argmax":
        ranked = sorted(scores[key] for key in seen)
        out.gap = min(out.gap, ranked[-1] - ranked[-2] if len(ranked) > 1 else math.inf)
        best = max(seen, key=lambda key: scores[key])
        weights = [float(key == best) for key in range(len(scores))]
    return weights


def _attention(
    model: Transformer, kind: str, layer: int, x: Rows, memory: Rows, ids: Sequence[int], switches: Interventions,
    out: Reference,
) -> Rows:  # fmt: skip
    """MultiHead(x, memory, memory), section 3.2.2. ids: tokens of the memory."""
    config = model.config
    stack = model.encoder if kind == "encoder_self" else model.decoder
    module = getattr(stack[layer], "cross_attention" if kind == "cross" else "self_attention")
    d_v = config.d_v or config.d_model // config.heads
    d_k = config.d_k or d_v
    joined: list[list[Tensor]] = [[] for _ in x]
    for head in range(config.heads):
        place = (kind, layer, head)
        factor, rule, silent = 1 / math.sqrt(d_k) if config.scaling else 1.0, "softmax", False
        for one in switches.switches:
            if isinstance(one, Pad) or not _reaches(one.where, place):
                continue
            if isinstance(one, Scale):
                factor = one.factor
            elif isinstance(one, Replace):
                rule = one.rule
            elif isinstance(one, KnockOut):
                silent = True
        keys = [_affine(module.key, row)[head * d_k : (head + 1) * d_k] for row in memory]
        values = [_affine(module.value, row)[head * d_v : (head + 1) * d_v] for row in memory]
        out.scores[place], out.weights[place], out.heads[place] = [], [], []
        for query, row in enumerate(x):
            q = _affine(module.query, row)[head * d_k : (head + 1) * d_k]
            scores = [float(q @ k) * factor + bias(model, kind, head, query, at) for at, k in enumerate(keys)]
            weights = _row_of_weights(scores, _visible(model, place, query, ids, switches), rule, out)
            mixed = torch.zeros(d_v, dtype=torch.float64)
            for weight, value in zip(weights, values, strict=True):
                mixed = mixed + weight * value
            mixed = mixed * 0 if silent else mixed
            out.scores[place].append(scores)
            out.weights[place].append(weights)
            out.heads[place].append(mixed)
            joined[query].append(mixed)
    out.updates[kind, layer] = [_affine(module.output, torch.cat(parts)) for parts in joined]
    return out.updates[kind, layer]


def _feed_forward(model: Transformer, module: nn.Module, x: Tensor) -> Tensor:
    """max(0, x W_1 + b_1) W_2 + b_2, equation 2; or x Phi(x), or x / (1 + e^-x), in place of max(0, x); or with a gate,
    (max(0, x W_1) * x V) W_2."""
    gate = 1 if module.gate is None else _affine(module.gate, x)  # type: ignore[arg-type]
    inner = _affine(module.inner, x)  # type: ignore[arg-type]
    if model.config.activation == "gelu":
        inner = inner * (1 + torch.erf(inner / math.sqrt(2))) / 2
    elif model.config.activation == "gelu_new":
        inner = inner * (1 + torch.tanh(math.sqrt(2 / math.pi) * (inner + 0.044715 * inner**3))) / 2
    elif model.config.activation == "swish":
        inner = inner / (1 + (-inner).exp())
    else:
        inner = inner.clamp(min=0)
    return _affine(module.outer, inner * gate)  # type: ignore[arg-type]


def reference(
    model: Transformer, source: Sequence[int], target: Sequence[int], switches: Interventions | None = None
) -> Reference:
    """One teacher-forced pass. source: ids, without the <pad> that a switch adds; target: ids fed in.

    Raises BlindError when the switches leave a query no key.
    """
    switches = switches or Interventions()
    for one in switches.switches:
        if isinstance(one, Pad):
            source = [*source, *[model.config.pad_id] * one.tokens]
    out = Reference()
    factor = math.sqrt(model.config.d_model) if model.config.embedding_scale else 1.0

    def embed(ids: Sequence[int], table: nn.Embedding, side: str) -> Rows:
        rows = [table.weight[one].double() * factor + position(model, at, side) for at, one in enumerate(ids)]
        return [_layer_norm(model.source_norm if side == "source" else model.target_norm, row) for row in rows]

    def residual(module: nn.Module, x: Rows, sub_layer: object) -> Rows:
        kind, norm = model.config.norm, module.norm
        read = [_layer_norm(norm, row) for row in x] if kind == "pre" else x  # type: ignore[arg-type]
        updates = sub_layer(read)  # type: ignore[operator]
        past = 1 if model.config.residual else 0
        sums = [past * row + update for row, update in zip(x, updates, strict=True)]
        return [_layer_norm(norm, row) for row in sums] if kind == "post" else sums  # type: ignore[arg-type]

    x = embed(source, model.embedding, "source")
    for number, layer in enumerate(model.encoder):
        x = residual(
            layer.self_residual,
            x,
            lambda y, at=number: _attention(model, "encoder_self", at, y, y, source, switches, out),
        )
        x = residual(
            layer.feed_forward_residual,
            x,
            lambda y, layer=layer: [_feed_forward(model, layer.feed_forward, row) for row in y],
        )
    memory = [_layer_norm(model.encoder_norm, row) for row in x]
    of_target = model.target_embedding or model.embedding
    x = embed(target, of_target, "target")
    for number, layer in enumerate(model.decoder):
        x = residual(
            layer.self_residual,
            x,
            lambda y, at=number: _attention(model, "decoder_self", at, y, y, target, switches, out),
        )
        x = residual(
            layer.cross_residual,
            x,
            lambda y, at=number: _attention(model, "cross", at, y, memory, source, switches, out),
        )
        x = residual(
            layer.feed_forward_residual,
            x,
            lambda y, layer=layer: [_feed_forward(model, layer.feed_forward, row) for row in y],
        )
    matrix = of_target.weight if model.output_matrix is None else model.output_matrix
    bias = torch.zeros(len(matrix)) if model.output_bias is None else model.output_bias
    out.logits = [matrix.double() @ _layer_norm(model.decoder_norm, row) + bias.double() for row in x]
    return out


# -- any switches ----------------------------------------------------------------------------------------------------


def places(
    layers: int = 2, heads: int = 3, kinds: Sequence[str | None] = (None, *KEYS_OF)
) -> strategies.SearchStrategy:
    """Any place of a model of so many layers and heads."""
    return strategies.builds(
        Where,
        strategies.sampled_from(kinds),
        strategies.none() | strategies.integers(0, layers - 1),
        strategies.none() | strategies.integers(0, heads - 1),
    )


def switches(
    layers: int = 2, heads: int = 3, tokens: int = 6, low: float = 1e-4, high: float = 1e3
) -> strategies.SearchStrategy:
    """Any switch. tokens: which ones can be hidden; low, high: factors of scaling."""
    where = places(layers, heads)

    def hidden(side: str, kinds: Sequence[str | None]) -> strategies.SearchStrategy:
        return strategies.builds(
            Hide, strategies.just(side), strategies.integers(1, tokens), places(layers, heads, kinds)
        )

    return strategies.one_of(
        strategies.builds(Scale, strategies.floats(low, high) | strategies.just(1.0), where),
        strategies.builds(Unmask, strategies.just("causal"), places(layers, heads, (None, "decoder_self"))),
        strategies.builds(Unmask, strategies.just("padding"), places(layers, heads, (None, "encoder_self", "cross"))),
        strategies.builds(Pad, strategies.integers(1, 4)),
        hidden("source", (None, "encoder_self", "cross")),
        hidden("target", (None, "decoder_self")),
        strategies.builds(KnockOut, where),
        strategies.builds(Replace, strategies.sampled_from(("uniform", "argmax")), where),
    )


# Switches that are tested together, by hand.
OPEN = Unmask("causal")
COMBINED = [
    (),
    (Scale(1.0),),
    (Scale(0.05, Where("cross", 1)), Scale(1.0, Where("encoder_self", None, 2))),
    (OPEN,),
    (Unmask("causal", Where("decoder_self", 1, 0)), Scale(0.7)),
    (Pad(3),),
    (Pad(2), Unmask("padding")),
    (Pad(2), Unmask("padding", Where("cross", 0, 1)), OPEN),
    (Hide("source", 2), Hide("source", 4, Where("cross")), Hide("target", 1, Where("decoder_self", 0))),
    (KnockOut(Where("encoder_self", 0, 0)), KnockOut(Where("cross", None, 2)), KnockOut(Where("decoder_self", 1))),
    (Replace("uniform"),),
    (Replace("uniform", Where("encoder_self")), OPEN, Pad(1), Hide("source", 0)),
    (Replace("argmax", Where("cross")), Replace("uniform", Where("cross", 0, 1)), Scale(1.0)),
    (Scale(1.0), OPEN, Unmask("padding"), Pad(1), Hide("source", 3), KnockOut(Where("cross", 1, 1)),
     Replace("uniform", Where("decoder_self", 0, 2)), Replace("argmax", Where("encoder_self", 1))),
]  # fmt: skip
