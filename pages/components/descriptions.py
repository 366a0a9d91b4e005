"""Switches in words, and what switching scaling can and cannot show."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
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
    Mean,
    Pad,
    Paint,
    Replace,
    Reposition,
    Resample,
    Scale,
    Silence,
    Skip,
    Switch,
    Unmask,
    Where,
    layers_of,
)
from transformer.model.config import ModelConfig
from transformer.model.tap import KINDS
from transformer.texts import _, semicolon_list

NAMED = 3  # up to this many Where of a switch are named; more are counted
TABLE3 = Path(__file__).with_name("table3.json")
LISTED = 8  # most hidden tokens in a list, and most phrases in a text


def with_table(text: str, config: ModelConfig) -> str:
    """The text of a figure for this model's output: W instead of E where the output has its own matrix, and the bias if
    there is one."""
    table, bias = "E" if config.tied_output else "W", " + <i>b</i>" if config.output_bias else ""
    text = text.replace("E<sup>⊤</sup>", f"{table}<sup>⊤</sup>{bias}")
    return text.replace("E<i>w<sub>i</sub></i>", f"{table}<i>w<sub>i</sub></i>")


def sub_layer_equation(config: ModelConfig, add: str = "+", norm: str = "LayerNorm", sub: str = "Sublayer") -> str:
    """The output of a sub-layer of this model (section 3.1), with these names; in the paper LayerNorm(x +
    Sublayer(x))."""
    read = f"{norm}(x)" if config.norm == "pre" else "x"
    total = f"x {add} {sub}({read})" if config.residual else f"{sub}({read})"
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
    kind = {
        "encoder_self": _("encoder self-attention"),
        "decoder_self": _("decoder self-attention"),
        "cross": _("cross-attention"),
    }.get(where.kind or "")
    text = {
        (True, False, False): "{kind}",
        (True, True, False): _("{kind}, layer {layer}"),
        (True, False, True): _("{kind}, head {head} of every layer"),
        (True, True, True): _("{kind}, layer {layer}, head {head}"),
        (False, True, False): _("layer {layer} of every attention"),
        (False, False, True): _("head {head} of every layer"),
        (False, True, True): _("layer {layer}, head {head} of every attention"),
    }[kind is not None, where.layer is not None, where.head is not None]
    return text.format(kind=kind, layer=(where.layer or 0) + 1, head=(where.head or 0) + 1)


def _and(texts: Sequence[str]) -> str:
    text = texts[0]
    for more in texts[1:]:
        text = _("{first} and {last}").format(first=text, last=more)
    return text


def _at(wheres: Sequence[Where], everywhere: str, somewhere: str) -> str:
    """The first text for all heads; else the second with their names, or their number if there are many."""
    if EVERYWHERE in wheres:
        return everywhere
    many = len(wheres) > NAMED
    named = _("{count} places").format(count=len(wheres)) if many else _and([heads_in_words(where) for where in wheres])
    return somewhere.format(heads=named)


def _by_heads(switches: Sequence[HeadSwitch], texts: Callable[[Any], tuple[str, str]]) -> list[str]:
    """One phrase for consecutive switches with the same texts. texts: gives the text for all heads, and the text with
    {heads}."""

    def where_of(switch: HeadSwitch) -> Where:
        """The where of a switch, without a kind if there is only one."""
        return EVERYWHERE if len(switch.kinds) == 1 and switch.where == Where(switch.kinds[0]) else switch.where

    return [_at([where_of(switch) for switch in alike], *both) for both, alike in groupby(switches, texts)]


def _scaled(switches: Sequence[Scale], config: ModelConfig | None) -> list[str]:
    def texts(switch: Scale) -> tuple[str, str]:
        if switch.factor == 1:
            return _("scaling off"), _("scaling off in {heads}")
        factor = f"{switch.factor:g}"
        somewhere = _("scores × {factor} in {heads}").format(factor=factor, heads="{heads}")
        return _("scores × {factor}").format(factor=factor), somewhere

    return _by_heads(switches, texts)


def _unmasked(switches: Sequence[Unmask], config: ModelConfig | None) -> list[str]:
    texts = {
        "causal": (_("causal mask off"), _("causal mask off in {heads}")),
        "padding": (_("padding mask off"), _("padding mask off in {heads}")),
    }
    return _by_heads(switches, lambda switch: texts[switch.mask])


def _replaced(switches: Sequence[Replace], config: ModelConfig | None) -> list[str]:
    texts = {
        "uniform": (_("weights uniform"), _("weights uniform in {heads}")),
        "argmax": (_("weights argmax"), _("weights argmax in {heads}")),
    }
    return _by_heads(switches, lambda switch: texts[switch.rule])


def _padded(switches: Sequence[Pad], config: ModelConfig | None) -> list[str]:
    return [_("{count} <pad> after the source").format(count=switch.tokens) for switch in switches]


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
        return [_at(wheres, _("every head knocked out"), _("heads knocked out in {heads}"))]
    count = _heads(wheres, config)
    if len(wheres) > 1:
        return [(_("1 head knocked out") if count == 1 else _("{count} heads knocked out")).format(count=count)]
    if wheres[0].head is None:
        text = _("{count} heads knocked out in {heads}")
    else:
        text = _("1 head knocked out: {heads}") if count == 1 else _("{count} heads knocked out: {heads}")
    return [text.format(count=count, heads=heads_in_words(wheres[0]))]


def _averaged(switches: Sequence[Mean], config: ModelConfig | None) -> list[str]:
    return _by_heads(switches, lambda switch: (_("every head at its mean"), _("heads at their mean in {heads}")))


def _resampled(switches: Sequence[Resample], config: ModelConfig | None) -> list[str]:
    """The sentence itself may be long, so it is not named."""

    def texts(switch: Resample) -> tuple[str, str]:
        if isinstance(switch.other, int):
            everywhere = _("every head's output from a sentence drawn with seed {seed}").format(seed=switch.other)
            somewhere = _("head outputs from a sentence drawn with seed {seed} in {heads}")
            return everywhere, somewhere.format(seed=switch.other, heads="{heads}")
        return _("every head's output from another sentence"), _("head outputs from another sentence in {heads}")

    return _by_heads(switches, texts)


def _hidden(switches: Sequence[Hide], config: ModelConfig | None) -> list[str]:
    """One phrase per side and Where."""
    sides: dict[tuple[str, Where], list[int]] = {}
    for switch in switches:
        sides.setdefault((switch.side, switch.where), []).append(switch.token + 1)
    texts = {
        "source": (
            _("token {tokens} of the source hidden"),
            _("tokens {tokens} of the source hidden"),
            _("{count} tokens of the source hidden"),
        ),
        "target": (
            _("token {tokens} of the target hidden"),
            _("tokens {tokens} of the target hidden"),
            _("{count} tokens of the target hidden"),
        ),
    }
    hidden_texts = []
    for (side, where), tokens in sides.items():
        text = texts[side][0 if len(tokens) == 1 else 1 if len(tokens) <= LISTED else 2]
        hidden = text.format(tokens=", ".join(map(str, sorted(tokens))), count=len(tokens))
        if where != EVERYWHERE:
            hidden = _("{hidden} in {heads}").format(hidden=hidden, heads=heads_in_words(where))
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
    texts = {
        ("remove", "source"): _("no positions in the source"),
        ("remove", "target"): _("no positions in the target"),
        ("remove", None): _("no positions"),
        ("shuffle", "source"): _("positions of the source shuffled"),
        ("shuffle", "target"): _("positions of the target shuffled"),
        ("shuffle", None): _("positions of both sides shuffled"),
        ("reverse", "source"): _("positions of the source reversed"),
        ("reverse", "target"): _("positions of the target reversed"),
        ("reverse", None): _("positions of both sides reversed"),
        ("shift", "source"): _("positions of the source shifted by {amount}"),
        ("shift", "target"): _("positions of the target shifted by {amount}"),
        ("shift", None): _("positions of both sides shifted by {amount}"),
        ("scale", "source"): _("positions of the source × {amount}"),
        ("scale", "target"): _("positions of the target × {amount}"),
        ("scale", None): _("positions of both sides × {amount}"),
    }
    return [texts[switch.rule, switch.side].format(amount=f"{switch.amount:g}") for switch in switches]


def sub_layer(switch: Skip) -> str:
    """A sub-layer by name, e.g. "feed-forward, encoder layer 2"."""
    texts = {
        ("encoder", "self"): _("self-attention, encoder layer {layer}"),
        ("encoder", "ff"): _("feed-forward, encoder layer {layer}"),
        ("decoder", "self"): _("self-attention, decoder layer {layer}"),
        ("decoder", "cross"): _("cross-attention, decoder layer {layer}"),
        ("decoder", "ff"): _("feed-forward, decoder layer {layer}"),
    }
    return texts[switch.stack, switch.part].format(layer=switch.layer + 1)


def _left_out(switches: Sequence[Skip], config: ModelConfig | None) -> list[str]:
    if len(switches) > NAMED:
        return [_("{count} sub-layers left out").format(count=len(switches))]
    return [_("left out: {sub_layers}").format(sub_layers=_and([sub_layer(switch) for switch in switches]))]


def _silenced(switches: Sequence[Silence], config: ModelConfig | None) -> list[str]:
    """One phrase per layer."""
    texts = {
        ("encoder", True): _("neuron {neurons} of encoder layer {layer} silenced"),
        ("encoder", False): _("{count} neurons of encoder layer {layer} silenced"),
        ("decoder", True): _("neuron {neurons} of decoder layer {layer} silenced"),
        ("decoder", False): _("{count} neurons of decoder layer {layer} silenced"),
    }
    layers: dict[tuple[str, int], list[int]] = {}
    for switch in switches:
        layers.setdefault((switch.stack, switch.layer), []).append(switch.neuron + 1)
    return [
        texts[stack, len(neurons) == 1].format(neurons=neurons[0], count=f"{len(neurons):,}", layer=layer + 1)
        for (stack, layer), neurons in sorted(layers.items())
    ]


# The phrases for all switches of a class; with the model's config where it is known.
WORDS: dict[type[Switch], Callable[[Sequence[Any], ModelConfig | None], list[str]]] = {
    Scale: _scaled,
    Unmask: _unmasked,
    Pad: _padded,
    Hide: _hidden,
    Mean: _averaged,
    Resample: _resampled,
    KnockOut: _knocked_out,
    Replace: _replaced,
    Paint: _painted,
    Reposition: _moved,
    Skip: _left_out,
    Silence: _silenced,
}


def phrases(interventions: Interventions, config: ModelConfig | None = None) -> list[str]:
    """The switches in plain words, at most LISTED phrases.

    config: of the model, to count its heads; without it the text names them.
    """
    texts = [text for switch_class, alike in interventions.by_class() for text in WORDS[switch_class](alike, config)]
    if len(texts) > LISTED:
        texts[LISTED - 1 :] = [_("{count} more switches").format(count=len(texts) - LISTED + 1)]
    return texts


def in_words(interventions: Interventions, config: ModelConfig | None = None) -> str:
    """The same as one text, e.g. "scaling off; 5 heads knocked out"; "no switches" if there are none."""
    return semicolon_list(phrases(interventions, config)) or _("no switches")


def scaling_note(interventions: Interventions, config: ModelConfig, brief: bool = False) -> str:
    """What a result with other scaling does not show; "" if scaling is as trained, or the model has none.

    Section 3.2.1 of the paper; trained models: table3.json.
    """
    factors = [switch.factor for switch in interventions.switches if isinstance(switch, Scale)]
    if not config.scaling or all(factor == config.scale for factor in factors):
        return ""
    if all(factor == 1 for factor in factors):
        now = _("This model was trained with scaling, so switching it off now only makes its softmax sharper.")
    elif all(factor > config.scale for factor in factors):
        now = _("This model was trained with scaling, so a larger factor now only makes its softmax sharper.")
    elif all(factor < config.scale for factor in factors):
        now = _("This model was trained with scaling, so a smaller factor now only makes its softmax flatter.")
    else:
        now = _("This model was trained with scaling, so other factors now only change how sharp its softmax is.")
    if brief:
        more = _("The paper's argument is about training (section 3.2.1); “Why √dₖ” shows the gradient.")
        return f"{now} {more}"
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
