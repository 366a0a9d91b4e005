"""Anything that can arrive, for Hypothesis: models of any sizes, padded batches, switches, and texts."""

from dataclasses import dataclass
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from tests.support.build import SYLLABLES, padded_sources, random_ids, tiny_model
from tests.support.reference import KNOWN, switches
from transformer.interventions.sets import (
    SUB_LAYERS,
    SWITCHES,
    InterventionError,
    Interventions,
    Paint,
    Reposition,
    Silence,
    Skip,
    Switch,
    layers_of,
)
from transformer.interventions.switch import HeadOutputs, Reference, Wanted
from transformer.model.config import ACTIVATIONS, LAYOUTS, NORMS, POSITIONS
from transformer.model.tap import KINDS
from transformer.model.transformer import Transformer

SHAPES = ((1, 14), (2, 7), (2, 11), (3, 6), (5, 10))  # heads, d_head: d_model is even, and not so small that the
# LayerNorm of a few numbers that happen to be alike makes much of rounding


@st.composite
def models(draw: st.DrawFn, **fixed: Any) -> Transformer:
    """A random model of a few thousand numbers; its axes are of different lengths. fixed: fields of its config."""
    heads, d_head = draw(st.sampled_from(SHAPES))
    drawn = {
        "heads": heads,
        "d_model": heads * d_head,
        "d_ff": draw(st.sampled_from((17, 29, 31))),
        "vocab_size": draw(st.sampled_from((13, 23, 37))),
        "encoder_layers": draw(st.integers(1, 3)),
        "decoder_layers": draw(st.integers(1, 3)),
        "norm": draw(st.sampled_from(NORMS)),
        "activation": draw(st.sampled_from(ACTIVATIONS)),
        "positions": draw(st.sampled_from(POSITIONS)),
        "buckets": draw(st.sampled_from((4, 7))),
        "farthest": draw(st.sampled_from((4, 6))),
        "d_k": draw(st.none() | st.sampled_from((3, 13))),
        "d_v": draw(st.none() | st.sampled_from((5, 12))),
        "biases": draw(st.booleans()),
        "gated": draw(st.booleans()),
        "rms_norm": draw(st.booleans()),
        "scaling": draw(st.booleans()),
        "residual": draw(st.booleans()),
        "causal": draw(st.booleans()),
        "target_vocab_size": draw(st.none() | st.sampled_from((11, 41))),
        "layout": draw(st.sampled_from(LAYOUTS)),
        "embedding_scale": draw(st.booleans()),
        "tied_output": draw(st.booleans()),
        "output_bias": draw(st.booleans()),
        "embedding_norm": draw(st.booleans()),
        "separate_positions": draw(st.booleans()),
        "start_id": draw(st.sampled_from((2, 0))),  # 0: decoding begins with <pad>, as Marian's does
    }
    drawn |= fixed
    drawn["separate_positions"] &= drawn["positions"] == "learned"  # a table of its own
    model = tiny_model(draw(st.integers(0, 99)), **drawn)
    for name, parameter in model.named_parameters():
        if ".gate." in name:
            parameter *= 0.3  # products of two large numbers round coarsely
    return model


@dataclass(frozen=True)
class Batch:
    """Ids, padded: source [batch, source] ends in </s>, target [batch, target] begins with <s>; and the lengths without
    padding."""

    source: Tensor
    target: Tensor
    sources: tuple[int, ...]
    targets: tuple[int, ...]


@st.composite
def batches(draw: st.DrawFn, model: Transformer, rows: int = 3, longest: int = 7) -> Batch:
    """One to `rows` sentence pairs of any lengths."""
    count = draw(st.integers(1, rows))
    sources = draw(st.lists(st.integers(1, longest), min_size=count, max_size=count))
    targets = draw(st.lists(st.integers(1, longest - 2), min_size=count, max_size=count))
    seed, config = draw(st.integers(0, 99)), model.config
    fed = random_ids(seed + 500, count, max(targets), vocab=config.output_size)
    fed[:, 0] = config.start_id
    for row, length in enumerate(targets):
        fed[row, length:] = config.pad_id
    return Batch(padded_sources(seed, sources, config.vocab_size), fed, tuple(sources), tuple(targets))


def skips(model: Transformer) -> st.SearchStrategy[Skip]:
    """Any sub-layer left out."""
    depth = {"encoder": model.config.encoder_layers, "decoder": model.config.decoder_layers}
    places = [(stack, at, part) for stack in depth for at in range(depth[stack]) for part in SUB_LAYERS[stack]]
    return st.sampled_from(places).map(lambda place: Skip(*place))


def silences(model: Transformer) -> st.SearchStrategy[Silence]:
    """Any neuron silenced."""
    layers = {"encoder": model.config.encoder_layers, "decoder": model.config.decoder_layers}
    places = [(stack, layer) for stack in layers for layer in range(layers[stack])]
    return st.builds(lambda at, neuron: Silence(*at, neuron), st.sampled_from(places),
                     st.integers(0, model.config.d_ff - 1))  # fmt: skip


def examples(model: Transformer) -> list[Switch]:
    """Those switches of which nothing more is known here, as their classes name them. Painted rows have tests of their
    own: their lengths depend on the sentence."""
    known = (*KNOWN, Reposition, Skip, Silence, Paint)
    texts = [text for sort in SWITCHES if sort not in known for text in sort.EXAMPLES]

    def fits(value: Interventions) -> bool:
        try:
            value.check(model.config)
        except InterventionError:
            return False
        return True

    return [one for value in map(Interventions.parse, texts) if fits(value) for one in value.switches]


def elsewhere(model: Transformer) -> Reference:
    """Random head outputs of other sentences, three rows each, for a model without a tokenizer."""
    config, d_head = model.config, model.config.d_head

    def outputs(wanted: Wanted) -> HeadOutputs:
        draws = torch.Generator().manual_seed(len(repr(wanted)))
        shape = (config.heads, 1 if wanted is None else 3, d_head)
        return {
            (kind, layer): torch.randn(shape, generator=draws)
            for kind in KINDS
            for layer in range(layers_of(config, kind))
        }

    return outputs


def any_switches(model: Transformer, tokens: int) -> st.SearchStrategy[Switch]:
    """Any switch that fits the model and a sentence of so many tokens."""
    config = model.config
    side = st.none() | st.sampled_from(("source", "target"))
    return st.one_of(
        switches(min(config.encoder_layers, config.decoder_layers), config.heads, max(1, tokens - 1), high=2.0),
        skips(model),
        silences(model),
        st.builds(Reposition, st.sampled_from(("remove", "reverse")), side),
        st.builds(Reposition, st.just("shuffle"), side, st.integers(0, 9999)),
        st.builds(Reposition, st.just("shift"), side, st.integers(1, 9)),
        st.builds(Reposition, st.just("scale"), side, st.floats(0, 4)),
        *(st.just(one) for one in examples(model)),
    )


def many_switches(model: Transformer, tokens: int, most: int = 4) -> st.SearchStrategy[Interventions]:
    """Some switches together."""
    return st.lists(any_switches(model, tokens), max_size=most).map(lambda many: Interventions(tuple(many)))


# Sentences in the invented language that `tiny_tokenizer` was trained on.
WORDS = st.lists(st.lists(st.sampled_from(SYLLABLES), min_size=1, max_size=3).map("".join), min_size=1, max_size=5)
SENTENCES = WORDS.map(" ".join)
# Whatever can be typed or pasted: every plane of Unicode, lone surrogates, controls, marks that combine, and markup.
ANYTHING = st.text(st.characters(exclude_categories=()), max_size=25)
ODD = st.sampled_from(
    ("<b>", "</s>", "<script>", "&amp;", '"', "e\u0301", "\ufb01", "\u200d", "\u202e", "\ufeff", "▁", "😀", "٣", "½",
     "\x00", "\ud800", "\u2028", "Å", "ﷺ", "한글", "ก็")
)  # fmt: skip
TEXTS = st.one_of(SENTENCES, ANYTHING, st.lists(st.one_of(ODD, st.sampled_from(SYLLABLES)), max_size=8).map("".join))
