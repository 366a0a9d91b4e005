"""Switches in words, and what switching scaling can and cannot show."""

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from transformer.interventions.sets import (
    EVERYWHERE,
    HeadSwitch,
    Hide,
    Interventions,
    KnockOut,
    Pad,
    Paint,
    Replace,
    Reposition,
    Resample,
    Scale,
    Silence,
    Skip,
    Switch,
    Where,
    layers_of,
)
from transformer.model.config import ModelConfig
from transformer.model.tap import KINDS
from transformer.texts import _, semicolon_list
from transformer.view.shared_texts import say

MOST_NAMED = 3  # groups of heads, or sub-layers, of a switch that are named; more are counted
TABLE3 = Path(__file__).with_name("table3.json")
MOST_LISTED = 8  # hidden tokens in a list, and phrases in a text


def sub_layer_equation(config: ModelConfig, norm: str = "LayerNorm", sub: str = "Sublayer") -> str:
    """The output of a sub-layer of this model (section 3.1); in the paper LayerNorm(x + Sublayer(x)). norm, sub: how
    LayerNorm and Sublayer are written."""
    read = f"{norm}(x)" if config.norm == "pre" else "x"
    total = f"x + {sub}({read})" if config.residual else f"{sub}({read})"
    return f"{norm}({total})" if config.norm == "post" else total


def lens_limits(config: ModelConfig) -> list[str]:
    """One sentence for each part that the lens relies on and this model lacks."""
    sentences = []
    if not config.residual:
        sentences.append(
            _(
                "This model has no residual connections, so there is no stream that layers add to. Each layer "
                "replaces the output of the layer before, and only the last output was ever trained to be read."
            )
        )
    if not config.causal:
        sentences.append(
            _("It has no causal mask either: every step sees the whole target, also the token it must predict.")
            if sentences
            else _("This model has no causal mask: every step sees the whole target, also the token it must predict.")
        )
    return sentences


def row_caution(config: ModelConfig, stack: str, layer: int) -> str:
    """One sentence: why the scores of a neuron's row are a direction and not the change of the logits, where that
    holds."""
    if stack == "encoder":
        return _(
            "A neuron of the encoder does not write to the vocabulary directly. Its output passes through the rest of "
            "the encoder and cross-attention, so the scores say only what its row would promote if it were read "
            "directly."
        )
    last, normed = layer + 1 == config.decoder_layers, config.norm != "none"
    if last and normed:
        return _(
            "LayerNorm comes between this row and the logits, so it is a direction, not the exact change of a logit."
        )
    if last:
        return _(
            "No LayerNorm comes between this row and the logits in this model. These scores times the neuron's "
            "activation are the exact change of each logit."
        )
    if normed:
        return _(
            "LayerNorm and the layers above come between this row and the logits, so it is a direction, not the exact "
            "change of a logit."
        )
    return _(
        "The layers above come between this row and the logits, so it is a direction, not the exact change of a logit."
    )


def heads_in_words(where: Where) -> str:
    """Heads in words, but not all heads, e.g. "cross-attention, layer 1, head 3"."""
    named = [axis for axis in ("kind", "layer", "head") if getattr(where, axis) is not None]
    kind = say(where.kind) if where.kind else ""
    if named == ["kind"]:
        return kind
    return say("_".join(named), kind=kind, layer=(where.layer or 0) + 1, head=(where.head or 0) + 1)


def _and(texts: Sequence[str]) -> str:
    """The texts joined by "and"."""
    return reduce(lambda first, last: say("and", first=first, last=last), texts)


def _at(wheres: Sequence[Where], name: str, **values: object) -> str:
    """The shared text `name` where all heads are meant; else the text `name`_in, with the names of the heads, or their
    number if there are many. values: of the text."""
    if EVERYWHERE in wheres:
        return say(name, **values)
    many = len(wheres) > MOST_NAMED
    heads = say("places", count=len(wheres)) if many else _and([heads_in_words(where) for where in wheres])
    return say(f"{name}_in", heads=heads, **values)


def _by_heads(switches: Sequence[Any], name: Callable[[Any], tuple[str, dict[str, object]]]) -> list[str]:
    """One phrase for each group of consecutive switches with the same text. name: gives the name of a switch's shared
    text, and its values."""

    def where_of(switch: HeadSwitch) -> Where:
        """The where of a switch, without a kind if there is only one."""
        return EVERYWHERE if len(switch.kinds) == 1 and switch.where == Where(switch.kinds[0]) else switch.where

    return [
        _at([where_of(switch) for switch in alike], text, **values) for (text, values), alike in groupby(switches, name)
    ]


def _padded(switches: Sequence[Pad], config: ModelConfig | None) -> list[str]:
    return [say("pad", count=switch.tokens) for switch in switches]


def _heads(wheres: Sequence[Where], config: ModelConfig) -> int:
    """How many heads of the model these cover."""
    return sum(
        any(where.covers(kind, layer, head) for where in wheres)
        for kind in KINDS
        for layer in range(layers_of(config, kind))
        for head in range(config.heads)
    )


def _knocked_out(switches: Sequence[KnockOut], config: ModelConfig | None) -> list[str]:
    wheres = [switch.where for switch in switches]
    if config is None or EVERYWHERE in wheres:
        return [_at(wheres, "zero")]
    count = _heads(wheres, config)
    number = "zero_one" if count == 1 else "zero_some"
    if len(wheres) > 1:
        return [say(number, count=count)]
    name = "zero_all" if wheres[0].head is None else number
    return [say(f"{name}_in", count=count, heads=heads_in_words(wheres[0]))]


def _hidden(switches: Sequence[Hide], config: ModelConfig | None) -> list[str]:
    """One phrase per side and Where."""
    sides: dict[tuple[str, Where], list[int]] = {}
    for switch in switches:
        sides.setdefault((switch.side, switch.where), []).append(switch.token + 1)
    hidden_texts = []
    for (side, where), tokens in sides.items():
        number = "one" if len(tokens) == 1 else "some" if len(tokens) <= MOST_LISTED else "many"
        hidden = say(f"hide_{side}_{number}", tokens=", ".join(map(str, sorted(tokens))), count=len(tokens))
        if where != EVERYWHERE:
            hidden = say("hide_in", hidden=hidden, heads=heads_in_words(where))
        hidden_texts.append(hidden)
    return hidden_texts


def _painted(switches: Sequence[Paint], config: ModelConfig | None) -> list[str]:
    """One phrase per switch."""
    one, later = _("row {row} of {heads} painted"), _("row {row} of {heads} and all later ones painted")
    return [
        (later if switch.later else one).format(row=switch.row + 1, heads=heads_in_words(switch.where))
        for switch in switches
    ]


def stack_name(stack: str) -> str:
    return {"encoder": _("encoder"), "decoder": _("decoder")}[stack]


def _moved(switches: Sequence[Reposition], config: ModelConfig | None) -> list[str]:
    """One phrase per move, e.g. "positions of the source shifted by 5"."""
    return [say(f"{switch.rule}_{switch.side or 'both'}", amount=f"{switch.amount:g}") for switch in switches]


def sublayer_names(sub_layers: Iterable[tuple[int, str]]) -> tuple[str, ...]:
    """ "self 1", "FFN 1", ... as labels of an axis. sub_layers: layer from 0, and kind."""
    names = {"self": _("self {layer}"), "cross": _("cross {layer}"), "ff": _("FFN {layer}")}
    return tuple(names[name].format(layer=layer + 1) for layer, name in sub_layers)


def sub_layer(switch: Skip) -> str:
    """A sub-layer by name, e.g. "feed-forward, encoder layer 2"."""
    return say(f"{switch.stack}_{switch.part}_part", layer=switch.layer + 1)


def _left_out(switches: Sequence[Skip], config: ModelConfig | None) -> list[str]:
    if len(switches) > MOST_NAMED:
        return [say("skip_many", count=len(switches))]
    return [say("skip", sub_layers=_and([sub_layer(switch) for switch in switches]))]


def _silenced(switches: Sequence[Silence], config: ModelConfig | None) -> list[str]:
    """One phrase per layer."""
    layers: dict[tuple[str, int], list[int]] = {}
    for switch in switches:
        layers.setdefault((switch.stack, switch.layer), []).append(switch.neuron + 1)
    return [
        say(
            f"neurons_{stack}_{'one' if len(neurons) == 1 else 'some'}",
            neurons=neurons[0],
            count=f"{len(neurons):,}",
            layer=layer + 1,
        )
        for (stack, layer), neurons in sorted(layers.items())
    ]


# The phrases for all switches of a class; with the model's config where it is known.
WORDS: dict[type[Switch], Callable[[Sequence[Any], ModelConfig | None], list[str]]] = {
    Pad: _padded,
    Hide: _hidden,
    KnockOut: _knocked_out,
    Paint: _painted,
    Reposition: _moved,
    Skip: _left_out,
    Silence: _silenced,
}
# Of the others, the name of the shared text of one switch, and its values; without an entry its name in links.
NAMES: dict[type[Switch], Callable[[Any], tuple[str, dict[str, object]]]] = {
    Scale: lambda switch: ("scaling_off", {}) if switch.factor == 1 else ("scaling", {"factor": f"{switch.factor:g}"}),
    Resample: lambda switch: ("drawn", {"seed": switch.other}) if isinstance(switch.other, int) else ("resample", {}),
    Replace: lambda switch: (switch.rule, {}),
}


def _words(sort: type[Switch], switches: Sequence[Switch], config: ModelConfig | None) -> list[str]:
    """The phrases for all switches of a class."""
    if sort in WORDS:
        return WORDS[sort](switches, config)
    return _by_heads(switches, NAMES.get(sort, lambda switch: (switch.param, {})))


def phrases(interventions: Interventions, config: ModelConfig | None = None) -> list[str]:
    """The switches in plain words, at most MOST_LISTED phrases.

    config: of the model, to count its heads; without it the text names them. The browser writes the same
    (frontend/src/lab/words.js).
    """
    texts = [text for switch_class, alike in interventions.by_class() for text in _words(switch_class, alike, config)]
    if len(texts) > MOST_LISTED:
        texts[MOST_LISTED - 1 :] = [say("more_switches", count=len(texts) - MOST_LISTED + 1)]
    return texts


def in_words(interventions: Interventions, config: ModelConfig | None = None) -> str:
    """The same as one text, e.g. "scaling off; 5 heads knocked out"; "no switches" if there are none."""
    return semicolon_list(phrases(interventions, config)) or say("no_switches")


def scaling_note(interventions: Interventions, config: ModelConfig, brief: bool = False) -> str:
    """What a result with other scaling does not show; "" if scaling is as trained, or the model has none.

    Section 3.2.1 of the paper; trained models: table3.json.
    """
    factors = [switch.factor for switch in interventions.switches if isinstance(switch, Scale)]
    if not config.scaling or all(factor == config.scale for factor in factors):
        return ""
    if all(factor == 1 for factor in factors):
        now = say("rescaled_off")
    elif all(factor > config.scale for factor in factors):
        now = say("rescaled_larger")
    elif all(factor < config.scale for factor in factors):
        now = say("rescaled_smaller")
    else:
        now = say("rescaled_mixed")
    if brief:
        return f"{now} {say('rescaled_paper')}"
    why = _(
        "The paper's argument for scaling is about training (section 3.2.1): large products push the softmax into "
        "regions where it has extremely small gradients."
    )
    with_scaling, without = trained_exact("base"), trained_exact("no-scaling")
    trained = _(
        "A small model trained without it shows the effect: after 1,000 updates on the toy task reverse, {unscaled}% "
        "of the outputs were exact ({least} to {most} over three seeds), against {scaled}% with scaling."
    ).format(
        unscaled=f"{fmean(without):.1f}", least=f"{min(without):.1f}", most=f"{max(without):.1f}",
        scaled=f"{fmean(with_scaling):.1f}",
    )  # fmt: skip
    return " ".join((why, now, trained, _("“Why √dₖ” shows the gradient.")))


@cache
def _table3() -> dict[str, dict[str, list[float]]]:
    rows: dict[str, dict[str, list[float]]] = json.loads(TABLE3.read_text(encoding="utf-8"))["rows"]
    return rows


def trained_exact(recipe: str) -> list[float]:
    """Share of exactly right outputs, in %, of small models trained by a recipe of recipes/table3, one per seed; as
    `python -m benchmarks.table3` measured it."""
    return [100 * share for share in _table3()[recipe]["exact"]]
