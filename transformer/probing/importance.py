"""Does a head matter? Loss and BLEU without it; the gradient's estimate of that; and pruning, head by head."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from transformer.attribution.gradients import differentiable
from transformer.cancellation import Stopped
from transformer.inference.pretrained import Pretrained
from transformer.inference.speed import prepare_for_decoding
from transformer.interventions.sets import layers_of
from transformer.model.config import ModelConfig
from transformer.model.tap import KINDS, scope
from transformer.model.transformer import Transformer
from transformer.probing.probes import bleu_interval
from transformer.training.data import Pair
from transformer.training.evaluation import corpus_bleu, surprise

WAYS = ("zero", "mean")
Head = tuple[str, int, int]  # kind of attention, layer and head from 0
Progress = Callable[[int, int], bool]


def all_heads(config: ModelConfig) -> list[Head]:
    """Encoder self-attention first, then the decoder's, then cross-attention; layer by layer."""
    return [
        (kind, layer, head)
        for kind in KINDS
        for layer in range(layers_of(config, kind))
        for head in range(config.heads)
    ]


def _name(kind: str, layer: int) -> str:
    """The output projection of a sub-layer in a state dict, without ".weight"."""
    stack = "encoder" if kind == "encoder_self" else "decoder"
    return f"{stack}.{layer}.{'cross' if kind == 'cross' else 'self'}_attention.output"


def mean_outputs(model: Pretrained, pairs: Sequence[Pair]) -> dict[Head, Tensor]:
    """The mean output of every head over all rows of all pairs, [d_head]: what mean ablation puts in its place."""
    sums: dict[Head, Tensor] = {}
    rows = dict.fromkeys(KINDS, 0)
    for source, target in pairs:
        trace = model.trace(source, target)
        for kind in KINDS:
            outputs = trace.attention(kind).head_outputs.double().sum(2)  # [layer, head, d_head]
            rows[kind] += trace.attention(kind).head_outputs.shape[2]
            for layer, heads in enumerate(outputs):
                for head, total in enumerate(heads):
                    sums[kind, layer, head] = sums.get((kind, layer, head), 0) + total
    return {key: (total / rows[key[0]]).float() for key, total in sums.items()}


def without_heads(model: Pretrained, heads: Iterable[Head], means: Mapping[Head, Tensor] | None = None) -> Pretrained:
    """The model with these heads' outputs at 0, or at their means (`mean_outputs`), whatever it reads.

    The same as the switch `zero`: a head's columns of W^O become 0, and a mean adds to the bias. So everything that
    needs no names of tensors, such as fast decoding, works on it. The other weights are shared, not copied.
    """
    state = model.model.state_dict()
    width = model.config.d_model // model.config.heads
    for kind, layer, head in heads:
        name, columns = _name(kind, layer), slice(head * width, (head + 1) * width)
        matrix = state[f"{name}.weight"].clone()
        if means is not None:
            state[f"{name}.bias"] = state[f"{name}.bias"] + matrix[:, columns] @ means[kind, layer, head]
        matrix[:, columns] = 0
        state[f"{name}.weight"] = matrix
    with torch.device("meta"):
        network = Transformer(model.config)
    network.load_state_dict(state, assign=True)
    network.positions = model.model.positions  # its table may be no parameter
    network.eval().requires_grad_(False)
    prepare_for_decoding(network)
    return replace(model, model=network)


@dataclass(frozen=True)
class Effect:
    """Of removing something. loss: change of the loss, nats per target token; bleu: change of BLEU on greedy
    translations, with its 95 % interval, low and high (paired bootstrap); None if it was not asked for."""

    loss: float
    bleu: float | None = None
    low: float | None = None
    high: float | None = None


def _loss(model: Pretrained, pairs: Sequence[Pair]) -> float:
    nats, tokens, _ = surprise(model, pairs)
    return nats / tokens


@torch.inference_mode()
def effects(
    model: Pretrained,
    pairs: Sequence[Pair],
    groups: Mapping[str, Sequence[Head]],
    way: str = "zero",
    bleu: bool = True,
    progress: Progress = lambda done, total: True,
) -> dict[str, Effect]:
    """What the model loses without each group of heads. groups: name -> heads, often one; a whole layer is a group too.
    way: of WAYS. progress: called with (groups done, all); False stops (Stopped). Raises ValueError for no pairs."""
    if not pairs:
        raise ValueError("there are no sentence pairs to measure with")
    means = mean_outputs(model, pairs) if way == "mean" else None
    sources, references = [source for source, _ in pairs], tuple(target for _, target in pairs)
    before = _loss(model, pairs)
    texts = tuple(model.translate_all(sources)) if bleu else ()
    whole = corpus_bleu(texts, [[one] for one in references]) if bleu else 0.0
    found: dict[str, Effect] = {}
    for name, heads in groups.items():
        changed = without_heads(model, heads, means)
        effect = Effect(_loss(changed, pairs) - before)
        if bleu:
            after = tuple(changed.translate_all(sources))
            low, high = bleu_interval(texts, after, references)
            effect = replace(effect, bleu=corpus_bleu(after, [[one] for one in references]) - whole, low=low, high=high)
        found[name] = effect
        if not progress(len(found), len(groups)):
            raise Stopped
    return found


def gradient_importance(model: Pretrained, pairs: Sequence[Pair]) -> dict[Head, float]:
    """I_h = E |Att_h(x)^T dL/dAtt_h(x)| (Michel et al. 2019, section 4.1): for every row of a head's output its product
    with the gradient of the pair's loss, absolute, per target token; then divided by the layer's L2 norm."""
    sums: dict[tuple[str, int], Tensor] = {}
    tokens = 0
    for source, target in pairs:
        graph = differentiable(model, model.trace(source, target))
        places = [(kind, layer) for kind in KINDS for layer in range(layers_of(model.config, kind))]
        outputs = [graph.records[f"{scope(kind, layer)}head_outputs"] for kind, layer in places]
        gradients = torch.autograd.grad(graph.log_probs.sum(), outputs)
        for place, output, gradient in zip(places, outputs, gradients, strict=True):
            estimate = (output * gradient)[0].sum(-1).abs().sum(-1).detach()  # [head]
            sums[place] = sums.get(place, 0) + estimate.double().cpu()
        tokens += graph.log_probs.shape[1]
    return {
        (kind, layer, head): float(one)
        for (kind, layer), total in sums.items()
        for head, one in enumerate(total / tokens / (total / tokens).norm())
    }


@dataclass(frozen=True)
class Curve:
    """left: numbers of heads left, from all to none; bleu: BLEU with so many."""

    left: tuple[int, ...]
    bleu: tuple[float, ...]


@torch.inference_mode()
def pruning_curve(
    model: Pretrained,
    pairs: Sequence[Pair],
    order: Sequence[Head],
    every: int = 8,
    progress: Progress = lambda done, total: True,
) -> Curve:
    """BLEU with the first heads of the order removed: none, `every`, two times as many, ..., all. Raises Stopped."""
    counts = [*range(0, len(order), every), len(order)]
    sources, references = [source for source, _ in pairs], [[target] for _, target in pairs]
    scores = []
    for count in counts:
        changed = without_heads(model, order[:count]) if count else model
        scores.append(corpus_bleu(changed.translate_all(sources), references))
        if not progress(len(scores), len(counts)):
            raise Stopped
    return Curve(tuple(len(order) - count for count in counts), tuple(scores))


def random_orders(config: ModelConfig, count: int, seed: int = 1) -> list[list[Head]]:
    """As many random orders of all heads."""
    rng, heads = random.Random(seed), all_heads(config)
    return [rng.sample(heads, len(heads)) for _ in range(count)]


def rank_correlation(first: Mapping[Head, float], second: Mapping[Head, float]) -> float:
    """Spearman's: how well one importance predicts the order of another; NaN if one of them is all equal."""
    heads = sorted(first)
    ranks = [
        torch.tensor([scores[head] for head in heads]).double().argsort().argsort().double()
        for scores in (first, second)
    ]
    one, other = (rank - rank.mean() for rank in ranks)
    size = float(one.norm() * other.norm())
    return float(one @ other) / size if size else math.nan
