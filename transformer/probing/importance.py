"""Does a head matter? Loss and score without it; the gradient's estimate of that; and pruning, head by head."""

import hashlib
import json
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from transformer.attribution.gradients import differentiable, gradients_of
from transformer.cancellation import Progress, tell
from transformer.inference import reference
from transformer.inference.drafts import BATCH, Ids
from transformer.inference.pretrained import Pretrained
from transformer.inference.speed import with_parameters
from transformer.interventions.sets import SUB_LAYERS, InterventionError, KnockOut, Skip, Where, brief, layers_of
from transformer.model.cache import KeyValueCache
from transformer.model.config import ModelConfig
from transformer.model.tap import KINDS, STACKS, AnyTap, Off, scope
from transformer.probing.drafts import loss_and_outputs, outputs
from transformer.probing.probes import DRAWS, LEVEL, bleu_interval, task_of
from transformer.text.bleu_tokenizers import tokenizer_for
from transformer.text.tokenizer import equal
from transformer.texts import UserError, any_of
from transformer.tracing.finite import check_numbers
from transformer.training.data import Pair
from transformer.training.evaluation import corpus_bleu, fits, surprise

WAYS = ("zero", "mean")
METRICS = ("bleu", "exact")
MOST_REMEMBERED = 300_000_000  # bytes of matrices that `without` keeps for further calls
ENOUGH = 0.9  # of the score of all heads, with which a pruned model still counts as whole
Head = tuple[str, int, int]  # kind of attention, layer and head from 0


def all_heads(config: ModelConfig) -> list[Head]:
    """Encoder self-attention first, then the decoder's, then cross-attention; layer by layer."""
    return [
        (kind, layer, head)
        for kind in KINDS
        for layer in range(layers_of(config, kind))
        for head in range(config.heads)
    ]


def name_of(head: Head) -> str:
    """As in links and switches, counted from 1: "cross.2.6"."""
    kind, layer, number = head
    return f"{kind}.{layer + 1}.{number + 1}"


def sub_layers(config: ModelConfig) -> dict[str, list[Skip]]:
    """Every sub-layer, and every layer with all of its sub-layers, by name: "decoder.2.cross", "decoder.2"."""
    found: dict[str, list[Skip]] = {}
    for stack in STACKS:
        for layer in range(layers_of(config, stack)):
            parts = [Skip(stack, layer, part) for part in SUB_LAYERS[stack]]
            found |= {part.value: [part] for part in parts} | {f"{stack}.{layer + 1}": parts}
    return found


def _last_matrix(stack: str, layer: int, part: str) -> str:
    """The last matrix of a sub-layer in a state dict, without ".weight": what it adds to x is its output."""
    return f"{stack}.{layer}." + ("feed_forward.outer" if part == "ff" else f"{part}_attention.output")


def _output_matrix(kind: str, layer: int) -> str:
    """The name of the output matrix W^O of an attention sub-layer in a state dict, without ".weight"."""
    stack, part = {"encoder_self": ("encoder", "self"), "decoder_self": ("decoder", "self")}.get(
        kind, ("decoder", "cross")
    )
    return _last_matrix(stack, layer, part)


def mean_outputs(model: Pretrained, pairs: Sequence[Pair]) -> dict[Head, Tensor]:
    """The mean output of every head over all rows of all pairs, [d_head]: what mean ablation puts in its place.
    Raises NotFiniteError."""
    means = reference.mean_outputs(model.model, model.numbered_pairs(pairs))
    return {(kind, layer, head): means[kind, layer][head, 0] for kind, layer, head in all_heads(model.config)}


class Remembered(nn.Module):
    """A layer that computes each output once: for the same inputs it returns the output that it remembers.

    seen: digest of the inputs -> output, shared by many models that differ only after this layer. name: of the layer.
    With a cache, or a tap that may change something, it always computes.
    """

    def __init__(self, layer: nn.Module, seen: dict[bytes, Tensor], name: str) -> None:
        super().__init__()
        self.layer, self.seen, self.name = layer, seen, name

    def forward(self, *inputs: Tensor | AnyTap | KeyValueCache | None) -> Tensor:
        digest = hashlib.blake2b(self.name.encode(), digest_size=16)
        for value in inputs:
            if isinstance(value, Tensor) and value.device.type == "cpu":
                digest.update(repr((value.shape, value.dtype)).encode())
                digest.update(value.contiguous().numpy().data)
            elif isinstance(value, Off):
                digest.update(b"fused" if value.fused else b"plain")
            elif value is None:
                digest.update(b"none")
            else:
                return self.layer(*inputs)
        key = digest.digest()
        found = self.seen.get(key)
        if found is None:
            found = self.layer(*inputs)
            if sum(one.nbytes for one in self.seen.values()) < MOST_REMEMBERED:
                self.seen[key] = found
        return found


def _unchanged(parts: Sequence[Head | Skip], config: ModelConfig) -> list[tuple[str, int]]:
    """The stack and number of every layer whose output is the same with and without these parts."""
    first = {stack: layers_of(config, stack) for stack in STACKS}
    for part in parts:
        stack, layer = (
            (part.stack, part.layer) if isinstance(part, Skip) else (STACKS[part[0] != "encoder_self"], part[1])
        )
        first[stack] = min(first[stack], layer)
    encoder, decoder = STACKS
    if first[encoder] < config.encoder_layers:  # the decoder reads what changed
        first[decoder] = 0
    return [(stack, layer) for stack in STACKS for layer in range(first[stack])]


def _check(parts: Sequence[Head | Skip], config: ModelConfig) -> None:
    """Raises InterventionError unless all of these are heads or sub-layers of such a model."""
    for part in parts:
        if isinstance(part, Skip):
            part.check(config)
        elif isinstance(part, tuple | list) and len(part) == 3 and None not in part:
            KnockOut(Where(*part)).check(config)
        else:
            raise InterventionError(
                "{value} is not a head; write (KIND, LAYER, HEAD) with numbers from 0, for example {example}",
                value=brief(part),
                example=("cross", 0, 1),
            )


def without(
    model: Pretrained,
    parts: Sequence[Head | Skip],
    means: Mapping[Head, Tensor] | None = None,
    seen: dict[bytes, Tensor] | None = None,
) -> Pretrained:
    """The model with these heads' outputs at 0, or at their means (`mean_outputs`), and without these sub-layers,
    whatever it reads.

    The same as the switches `zero`, `mean` and `skip`: a head's columns of W^O become 0, and a mean adds to the bias;
    of a sub-layer the last matrix and its bias become 0. So everything that needs no names of tensors, such as fast
    decoding, works on it. All other tensors are shared, not copied. seen: what the layers before the first change gave,
    for models of the same weights (`Remembered`); None: every layer runs. Raises InterventionError for a head or
    sub-layer that the model lacks.
    """
    _check(parts, model.config)
    state, changed = model.model.state_dict(), dict[str, Tensor]()
    width = model.config.d_head
    for part in parts:
        if isinstance(part, Skip):
            name = _last_matrix(part.stack, part.layer, part.part)
            changed |= {key: torch.zeros_like(state[key]) for key in (f"{name}.weight", f"{name}.bias") if key in state}
            continue
        kind, layer, head = part
        name, columns = _output_matrix(kind, layer), slice(head * width, (head + 1) * width)
        weight, bias = f"{name}.weight", f"{name}.bias"
        if weight not in changed:
            changed[weight] = state[weight].clone()
        if means is not None:
            if bias not in state:
                raise InterventionError("this model has no biases to hold the mean of a head; choose zero")
            changed[bias] = changed.get(bias, state[bias]) + changed[weight][:, columns] @ means[kind, layer, head]
        changed[weight][:, columns] = 0
    network = with_parameters(model.model, changed)
    if seen is not None:
        for stack, layer in _unchanged(parts, model.config):
            layers = getattr(network, stack)
            layers[layer] = Remembered(layers[layer], seen, f"{stack}.{layer}")
    return replace(model, model=network)


@dataclass(frozen=True)
class Effect:
    """Of removing something. loss: change of the loss, nats per target token; score: change of the score of greedy
    translations, of METRICS, with its 95% interval, low and high (paired bootstrap); None if it was not asked for."""

    loss: float
    score: float | None = None
    low: float | None = None
    high: float | None = None


def metric_of(model: Pretrained) -> str:
    """Of METRICS: exact matches for a toy task, whose words are letters."""
    return "exact" if task_of(model) else "bleu"


def _score(model: Pretrained, texts: Sequence[str], references: Sequence[str]) -> float:
    """0 to 100."""
    if metric_of(model) == "exact":
        return 100 * sum(map(equal, texts, references)) / len(texts)
    return corpus_bleu(texts, [[one] for one in references], tokenizer_for(model.languages[1]))


def _interval(
    model: Pretrained, before: tuple[str, ...], after: tuple[str, ...], references: tuple[str, ...]
) -> tuple[float, float]:
    """95% interval of the change of the score, by a paired bootstrap over sentences."""
    if metric_of(model) == "bleu":
        return bleu_interval(before, after, references, tokenizer_for(model.languages[1]))
    changes = [equal(new, one) - equal(old, one) for old, new, one in zip(before, after, references, strict=True)]
    drawn = torch.randint(len(changes), (DRAWS, len(changes)), generator=torch.Generator().manual_seed(0))
    means = 100 * torch.tensor(changes).double()[drawn].mean(1)
    low, high = means.quantile(torch.tensor([(1 - LEVEL) / 2, (1 + LEVEL) / 2]).double()).tolist()
    return low, high


def _loss(model: Pretrained, pairs: Sequence[Pair]) -> float:
    nats, tokens, _ = surprise(model, pairs, BATCH)
    return nats / tokens


def measurable_loss(model: Pretrained, pairs: Sequence[Pair]) -> float:
    """The loss, nats per target token. Raises ValueError for no pairs, NotFiniteError if it is NaN."""
    if not pairs:
        raise ValueError("there are no sentence pairs to measure with; give at least one")
    loss = _loss(model, pairs)
    check_numbers(torch.tensor(loss))
    return loss


@torch.inference_mode()
def effects(
    model: Pretrained,
    pairs: Sequence[Pair],
    groups: Mapping[str, Sequence[Head | Skip]],
    way: str = "zero",
    score: bool = True,
    progress: Progress = lambda done, total: True,
    seen: dict[bytes, Tensor] | None = None,
) -> dict[str, Effect]:
    """What the model loses without each group. groups: name -> heads or sub-layers, often one.
    way: of WAYS; a sub-layer can only be at zero. progress: called with (groups done, all); False stops (Stopped).
    seen: of `without`, for several calls with the same model and pairs. Raises ValueError for another way, a mean of a
    sub-layer and no pairs, NotFiniteError."""
    if way not in WAYS:
        raise UserError("unknown way {way!r}; choose {ways}", way=way, ways=any_of(WAYS, way))
    skipped = [part for parts in groups.values() for part in parts if isinstance(part, Skip)]
    if way == "mean" and skipped:
        raise ValueError(f"{skipped[0].value} is a sub-layer, and only heads have a mean; measure it with way='zero'")
    measurable_loss(model, pairs)
    means = mean_outputs(model, pairs) if way == "mean" else None
    forced = [
        (tuple(model.encode(source)), tuple(model.encode(target, "target")))
        for source, target in pairs
        if fits(model, source, "source") and fits(model, target, "target")
    ]
    sources = {source: (*model.encode(source),) for source, _ in pairs if source.strip()} if score else {}
    references = tuple(target for _, target in pairs)

    def texts(outputs: Mapping[Ids, Ids]) -> tuple[str, ...]:
        return tuple(model.tokenizer.decode(outputs[sources[one]]) if one in sources else "" for one, _ in pairs)

    drafts = outputs(model, dict.fromkeys(sources.values(), ()))
    before, _ = loss_and_outputs(model, forced, {})
    written = texts(drafts) if score else ()
    whole = _score(model, written, references) if score else 0.0
    found: dict[str, Effect] = {}
    seen = {} if seen is None else seen
    for name, heads in groups.items():
        loss, changed = loss_and_outputs(without(model, heads, means, seen), forced, drafts)
        effect = Effect(loss - before)
        if score:
            after = texts(changed)
            low, high = _interval(model, written, after, references)
            effect = replace(effect, score=_score(model, after, references) - whole, low=low, high=high)
        found[name] = effect
        tell(progress, len(found), len(groups))
    return found


def gradient_importance(model: Pretrained, pairs: Sequence[Pair]) -> dict[Head, float]:
    """I_h = E |Att_h(x)^T dL/dAtt_h(x)| (Michel et al. 2019, section 4.1): for every row of a head's output its product
    with the gradient of the pair's loss, absolute, per target token; then divided by the layer's L2 norm, if that is
    not 0. Raises ValueError for no pairs, NotFiniteError."""
    if not pairs:
        raise ValueError("there are no sentence pairs to measure with; give at least one")
    sums: dict[tuple[str, int], Tensor] = {}
    tokens = 0
    for source, target in pairs:
        graph = differentiable(model, model.trace(source, target))
        places = [(kind, layer) for kind in KINDS for layer in range(layers_of(model.config, kind))]
        outputs = [graph.records[f"{scope(kind, layer)}head_outputs"] for kind, layer in places]
        check_numbers(graph.log_probs)
        gradients = gradients_of(graph.log_probs.sum(), outputs)
        for place, output, gradient in zip(places, outputs, gradients, strict=True):
            estimate = (output * gradient)[0].sum(-1).abs().sum(-1).detach()  # [head]
            sums[place] = sums.get(place, 0) + estimate.double().cpu()
        tokens += graph.log_probs.shape[1]
    return {
        (kind, layer, head): float(one)
        for (kind, layer), total in sums.items()
        for head, one in enumerate(torch.where(total > 0, total / total.norm(), 0.0))
    }


@dataclass(frozen=True)
class Curve:
    """left: numbers of heads left, from all to none; score: of METRICS, with so many."""

    left: tuple[int, ...]
    score: tuple[float, ...]

    def breaks(self) -> int:
        """The smallest number of heads with which the score is still at least ENOUGH of that of all heads, as long as
        it is so for every larger number too."""
        enough = self.left[0]
        for left, score in zip(self.left, self.score, strict=True):
            if score < ENOUGH * self.score[0]:
                break
            enough = left
        return enough


@torch.inference_mode()
def pruning_curve(
    model: Pretrained,
    pairs: Sequence[Pair],
    order: Sequence[Head],
    every: int = 8,
    progress: Progress = lambda done, total: True,
) -> Curve:
    """The score with the first heads of the order removed: none, `every`, two times as many, ..., all. Raises Stopped,
    ValueError for no pairs, NotFiniteError."""
    measurable_loss(model, pairs)
    counts = [*range(0, len(order), every), len(order)]
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    scores, seen = [], {}  # type: ignore[var-annotated]
    for count in counts:
        changed = without(model, order[:count], seen=seen)
        scores.append(_score(model, [one.text for one in changed.translate_all(sources)], references))
        tell(progress, len(scores), len(counts))
    return Curve(tuple(len(order) - count for count in counts), tuple(scores))


def random_orders(config: ModelConfig, count: int) -> list[list[Head]]:
    """So many random orders of all heads, the same in every call."""
    rng, heads = random.Random(1), all_heads(config)
    return [rng.sample(heads, len(heads)) for _ in range(count)]


def rank_correlation(first: Mapping[Any, float], second: Mapping[Any, float]) -> float:
    """Spearman's: how well one importance predicts the order of another; equal values share the mean of their ranks.
    NaN if one of them is all equal, or has NaN."""
    heads = sorted(first)
    values = [torch.tensor([scores[head] for head in heads], dtype=torch.float64) for scores in (first, second)]
    if any(bool(one.isnan().any()) for one in values):
        return math.nan
    ranks = [((one[:, None] > one).double().sum(1) + (one[:, None] >= one).double().sum(1)) / 2 for one in values]
    one, other = (rank - rank.mean() for rank in ranks)
    size = float(one.norm() * other.norm())
    return float(one @ other) / size if size else math.nan


ORDERS = ("least", "most", "random")


@dataclass(frozen=True)
class Survey:
    """What every head is worth on some sentence pairs. heads: `name_of` -> effect with the head at 0; means: the same
    with the head at its mean; gradient: the estimate of Michel et al.; parts: of sub-layers and layers;
    curves: of ORDERS -> pruning, "random" of several orders; order: names of heads, least important first. metric:
    of METRICS; loss, score: of the whole model, nats per target token, and of greedy translations.
    """

    sentences: int
    metric: str
    loss: float
    score: float
    heads: Mapping[str, Effect]
    means: Mapping[str, Effect]
    gradient: Mapping[str, float]
    parts: Mapping[str, Effect]
    curves: Mapping[str, Sequence[Curve]]
    order: Sequence[str]

    def agreement(self) -> float:
        """How well the gradient predicts the order of the losses: Spearman's rank correlation."""
        return rank_correlation(self.gradient, {name: effect.loss for name, effect in self.heads.items()})


RANDOM, POINTS = 10, 12  # random orders of a pruning curve; its points
GROUP = 8  # heads or parts that a process measures in one go, after the whole model
Unit = tuple[str, list[str]]  # of WAYS or "curve"; names of heads or parts, for a curve in the order of removal
Over = Callable[[Sequence[Unit]], Iterable[Any]]


def measured(model: Pretrained, pairs: Sequence[Pair], unit: Unit) -> dict[str, Any]:
    """One unit of a survey, as JSON: name -> effect, or a curve."""
    way, names = unit
    heads = {name_of(head): head for head in all_heads(model.config)}
    if way == "curve":
        return asdict(pruning_curve(model, pairs, [heads[name] for name in names], -(-len(heads) // POINTS)))
    parts: dict[str, Any] = {**{name: [head] for name, head in heads.items()}, **sub_layers(model.config)}
    found = effects(model, pairs, {name: parts[name] for name in names}, way)
    return {name: asdict(effect) for name, effect in found.items()}


def survey(
    model: Pretrained,
    pairs: Sequence[Pair],
    curves: bool = True,
    progress: Progress = lambda done, total: True,
    over: Over | None = None,
) -> Survey:
    """Measure everything. curves: also prune. progress: called with (models measured, all) after each; False stops
    (Stopped). over: yields what `measured` returns for the units, in order, computed by other processes. Raises
    ValueError for no pairs."""
    heads = {name_of(head): [head] for head in all_heads(model.config)}
    parts = sub_layers(model.config)
    every = -(-len(heads) // POINTS)
    steps = len([*range(0, len(heads), every), len(heads)]) * (RANDOM + 2) if curves else 0
    total = 2 * len(heads) + len(parts) + steps

    def from_(start: int) -> Progress:
        return lambda done, _: progress(start + done, total)

    seen: dict[bytes, Tensor] = {}

    def effects_of(groups: Mapping[str, Sequence[Head | Skip]], way: str, start: int) -> dict[str, Effect]:
        if over is None:
            return effects(model, pairs, groups, way, progress=from_(start), seen=seen)
        names = list(groups)
        units = [(way, names[first : first + GROUP]) for first in range(0, len(names), GROUP)]
        return {name: Effect(**one) for found in over(units) for name, one in found.items()}

    zero = effects_of(heads, "zero", 0)
    mean = effects_of(heads, "mean", len(heads))
    removed = effects_of(parts, "zero", 2 * len(heads))
    order = sorted(heads, key=lambda name: zero[name].loss)
    found: dict[str, list[Curve]] = {name: [] for name in ORDERS}
    if curves:
        start = 2 * len(heads) + len(parts)
        orders = [("least", order), ("most", order[::-1])]
        orders += [("random", list(map(name_of, one))) for one in random_orders(model.config, RANDOM)]
        drawn: Iterable[Curve]
        if over is None:
            drawn = (
                pruning_curve(
                    model, pairs, [heads[name][0] for name in one], every, from_(start + number * steps // (RANDOM + 2))
                )
                for number, (_order, one) in enumerate(orders)
            )
        else:
            plain = over([("curve", one) for _order, one in orders])
            drawn = (Curve(tuple(one["left"]), tuple(one["score"])) for one in plain)
        for (name, _one), curve in zip(orders, drawn, strict=True):
            found[name].append(curve)
    texts = [one.text for one in model.translate_all([source for source, _ in pairs])]
    gradient = {name_of(head): value for head, value in gradient_importance(model, pairs).items()}
    return Survey(
        len(pairs), metric_of(model), _loss(model, pairs), _score(model, texts, [target for _, target in pairs]),
        zero, mean, gradient, removed, found, order,
    )  # fmt: skip


def to_json(found: Survey) -> str:
    """As text that `from_json` reads, numbers with five digits."""

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.5g}")
        if isinstance(value, Mapping):
            return {name: plain(one) for name, one in value.items()}
        return [plain(one) for one in value] if isinstance(value, list | tuple) else value

    return json.dumps(plain(asdict(found)))


def from_json(text: str, config: ModelConfig) -> Survey | None:
    """The survey of a model with these sizes; None if the text is not one."""
    try:
        data = json.loads(text)
        of_parts = {
            name: {part: Effect(**effect) for part, effect in data.pop(name).items()}
            for name in ("heads", "means", "parts")
        }
        curves = {
            name: tuple(Curve(tuple(one["left"]), tuple(one["score"])) for one in data["curves"][name])
            for name in ORDERS
        }
        found = Survey(**{**data, **of_parts, "curves": curves, "order": tuple(data["order"])})
        names = {name_of(head) for head in all_heads(config)}
        same = names == set(found.heads) == set(found.means) == set(found.gradient) == set(found.order)
        same = same and found.metric in METRICS
        return found if same and set(found.parts) == set(sub_layers(config)) else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
