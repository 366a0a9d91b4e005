"""A survey of all feed-forward neurons over many sentence pairs: how often each is active, and where most."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.analysis.activations import ACTIVE, SHAPES
from transformer.cancellation import Progress, tell
from transformer.inference.pretrained import Pretrained, readable
from transformer.interventions.sets import layers_of
from transformer.model.masks import real_tokens
from transformer.model.tap import STACKS, EditingTap, check_stack
from transformer.short_repr import short_repr
from transformer.text.batching import bucket, make_batch
from transformer.training.data import Pair

TOP_TOKENS = 8  # strongest tokens of every neuron
BATCH_TOKENS = 400  # padded tokens per side in one pass; with d_ff 1,024 the activations of a layer take 1.6 MB


@dataclass(frozen=True)
class StackNeurons:
    """The neurons of one stack; k is TOP_TOKENS, or the number of tokens if there are fewer.

    field      shape               what it is
    ---------  ------------------  -----------------------------------------------------------------------------
    tokens     whole number        of all sentences, </s> of a source and <s> of a target included
    counts     [layer, neuron]     on how many of them the activation is above the threshold, whole numbers
    mean       [layer, neuron]     activation, mean over all tokens, float64
    values     [layer, neuron, k]  the k largest activations, falling
    sentences  [layer, neuron, k]  in which pair each was, counted from 0; of equal activations any
    positions  [layer, neuron, k]  at which token of it, counted from 0
    """

    tokens: int
    counts: Tensor
    mean: Tensor
    values: Tensor
    sentences: Tensor
    positions: Tensor

    __repr__ = short_repr

    @property
    def never(self) -> Tensor:
        """Neurons active on no token: [layer], whole numbers."""
        return (self.counts == 0).sum(-1)

    @property
    def always(self) -> Tensor:
        """Neurons active on every token: [layer], whole numbers."""
        return (self.counts == self.tokens).sum(-1)


@dataclass(frozen=True)
class NeuronStatistics:
    """Encoder over the sources, decoder over the references, fed in (teacher forcing).

    threshold: a neuron is active where its activation is above it; pairs: how many sentence pairs.
    """

    encoder: StackNeurons
    decoder: StackNeurons
    threshold: float
    pairs: int

    def stack(self, name: str) -> StackNeurons:
        """The neurons of "encoder" or "decoder". Raises ValueError for another name."""
        return self.encoder if check_stack(name) == "encoder" else self.decoder


class _Sums:
    """Running sums for StackNeurons; holds at most one layer of one pass at a time."""

    def __init__(self, layers: int, neurons: int, threshold: float, device: torch.device) -> None:
        self.threshold = threshold
        self.counts = torch.zeros(layers, neurons, dtype=torch.int64, device=device)
        self.totals = torch.zeros(layers, neurons, dtype=torch.float64, device=device)
        self.best = [torch.empty(neurons, 0, device=device) for _ in range(layers)]
        self.where = [torch.empty(neurons, 0, dtype=torch.int64, device=device) for _ in range(layers)]
        self.names: list[tuple[int, int]] = []  # (sentence, position) of every token so far
        self.real = torch.empty(0, dtype=torch.bool, device=device)  # [sentence of the batch, token], False is <pad>

    def begin(self, rows: Sequence[int], real: Tensor) -> None:
        """Set the tokens of the next pass: the indices of its sentences, and which positions hold a token."""
        self.real, self.first = real, len(self.names)
        self.names += [(rows[row], position) for row, position in real.nonzero().tolist()]

    def watch(self, layer: int, activation: Tensor) -> Tensor:
        """Read the activations [sentence, token, neuron] of a layer; returns them unchanged."""
        activations = activation[self.real].float().T  # [neuron, token]
        self.counts[layer] += (activations > self.threshold).sum(1)
        self.totals[layer] += activations.sum(1, dtype=torch.float64)
        values, positions = activations.topk(min(TOP_TOKENS, activations.shape[1]), dim=1)
        values = torch.cat((self.best[layer], values), 1)
        positions = torch.cat((self.where[layer], positions + self.first), 1)
        self.best[layer], order = values.topk(min(TOP_TOKENS, values.shape[1]), dim=1)
        self.where[layer] = positions.gather(1, order)
        return activation

    def finish(self) -> StackNeurons:
        tokens, names = len(self.names), torch.tensor(self.names)
        where = names[torch.stack(self.where).cpu()]  # [layer, neuron, k, 2]
        return StackNeurons(
            tokens=tokens,
            counts=self.counts.cpu(),
            mean=self.totals.cpu() / tokens,
            values=torch.stack(self.best).cpu(),
            sentences=where[..., 0].contiguous(),
            positions=where[..., 1].contiguous(),
        )


@torch.inference_mode()
def neuron_statistics(
    model: Pretrained,
    pairs: Sequence[Pair],
    progress: Progress = lambda done, total: True,
    batch_tokens: int = BATCH_TOKENS,
    threshold: float | None = None,
) -> NeuronStatistics:
    """Run every pair through the model and count.

    progress: called with (pairs done, total) before the first batch and after each; False stops. batch_tokens: padded
    tokens per side in one pass. threshold: None means `ACTIVE` of the model's non-linearity.

    Raises Stopped; ValueError for no pairs; InputError for a pair that does not fit the model.
    """
    if not pairs:
        raise ValueError("there is nothing to count: no sentence pairs were given")
    config, device = model.config, model.model.device
    above = ACTIVE[SHAPES.get(config.activation, config.activation)] if threshold is None else threshold
    numbered = [(model.encode(source)[:-1], model.encode(target, "target")[:-1]) for source, target in pairs]
    layers = {"encoder": layers_of(config, "encoder_self"), "decoder": layers_of(config, "cross")}
    sums = {stack: _Sums(layers[stack], config.d_ff, above, device) for stack in STACKS}
    tap = EditingTap({
        f"{stack}.{layer}.ff.activation": functools.partial(sums[stack].watch, layer)
        for stack in STACKS
        for layer in range(layers[stack])
    })  # fmt: skip
    done = 0
    tell(progress, 0, len(pairs))
    for rows in bucket([(len(source) + 1, len(target) + 1) for source, target in numbered], batch_tokens, None):
        batch = make_batch([numbered[row][0] for row in rows], [numbered[row][1] for row in rows], config)
        source, fed = batch.source.to(device), batch.target_in.to(device)
        sums["encoder"].begin(rows, source != config.pad_id)
        sums["decoder"].begin(rows, real_tokens(fed, config.pad_id))
        model.model.decode(fed, model.model.encode(source, tap), source, tap)
        done += len(rows)
        tell(progress, done, len(pairs))
    return NeuronStatistics(sums["encoder"].finish(), sums["decoder"].finish(), above, len(pairs))


@dataclass(frozen=True)
class Reading:
    """The tokens a stack reads of a pair, counted as in `NeuronStatistics`.

    pieces: with the piece mark; labels: as a person reads them; ids; following: ids of what comes next, what the
    decoder should predict there.
    """

    pieces: tuple[str, ...]
    labels: tuple[str, ...]
    ids: tuple[int, ...]
    following: tuple[int, ...]


def reading(model: Pretrained, pair: Pair, stack: str) -> Reading:
    """What the encoder reads of a pair's source, or the decoder of its target, which begins with its start token; </s>
    is not fed.

    For the encoder `following` is the next token of the source, and </s> after the last. Raises ValueError, InputError.
    """
    text, side = (pair[0], "source") if check_stack(stack) == "encoder" else (pair[1], "target")
    ids, pieces = model.encode(text, side), model.surfaces(text, side)
    if stack == "decoder":
        start = model.config.start_id
        fed = (*model.tokenizer.pieces([start]), *pieces[:-1])
        return Reading(fed, readable(fed), (start, *ids[:-1]), tuple(ids))
    return Reading(tuple(pieces), readable(pieces), tuple(ids), (*ids[1:], model.config.end_id))
