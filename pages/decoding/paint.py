"""Attention by hand: the weights of one row set by a person, decoding going on from them, before and after."""

import math
import re
from dataclasses import dataclass, replace

import streamlit as st
from torch import Tensor

from pages.components.descriptions import heads_in_words
from pages.components.live_picture import for_browser
from pages.components.pieces import numbered
from pages.components.sentences import paragraph, part_layout, point
from pages.components.translation import apart, cut_off, quoted, words_of, words_row
from pages.decoding import payload
from pages.frame.frame import PageFrame
from pages.frame.messages import capital, message
from pages.frame.options import Options
from pages.frame.state import max_tokens
from pages.runtime import cache
from pages.runtime.session import from_session, reported
from transformer.inference.pretrained import InputError, Translation
from transformer.interventions.sets import NONE, InterventionError, Interventions, Paint, Where, layers_of
from transformer.interventions.switch import brief, is_number, parse_number
from transformer.model.config import ModelConfig
from transformer.texts import _
from transformer.tracing.finite import check_numbers
from transformer.tracing.trace import Trace
from transformer.view.bundle import script, style

OLDER = ("paint_layer", "paint_head")  # of links from before several heads could be chosen
OPTIONS = ("paint_kind", "paint_heads", "paint_row", "paint_span", "paint", *OLDER)
KEY = "paint"
NAMED = 2  # heads up to which each is named

_picture = st.components.v2.component("headscope.paint", js=script("paint"), css=style("paint"))


@dataclass(frozen=True)
class Heads:
    """The chosen heads of one kind of attention: (layer, head) from 0, in order."""

    chosen: tuple[tuple[int, int], ...]
    layers: int
    heads: int

    @property
    def all(self) -> bool:
        return len(self.chosen) == self.layers * self.heads

    def __str__(self) -> str:
        """As in links; "" for all."""
        return "" if self.all else "_".join(f"{layer + 1}.{head + 1}" for layer, head in self.chosen)

    def wheres(self, kind: str) -> tuple[Where, ...]:
        """As few as there are: whole layers are one each."""
        if self.all:
            return (Where(kind),)
        found: list[Where] = []
        for layer in range(self.layers):
            heads = [head for at, head in self.chosen if at == layer]
            whole = len(heads) == self.heads
            found += [Where(kind, layer)] if whole else [Where(kind, layer, head) for head in heads]
        return tuple(found)

    def mean(self, weights: Tensor) -> list[float]:
        """The mean row of the chosen heads. weights: [layer, head, key]."""
        layers, heads = zip(*self.chosen, strict=True)
        return [round(value, 3) for value in weights[list(layers), list(heads)].mean(0).tolist()]


def read_heads(text: str, layers: int, heads: int) -> Heads | None:
    """The heads of a link, "1.2_4.8", or all for ""; None if it names others or is something else."""
    every = tuple((layer, head) for layer in range(layers) for head in range(heads))
    if not text:
        return Heads(every, layers, heads)
    matches = [re.fullmatch(r"([1-9]\d?)\.([1-9]\d?)", part, re.ASCII) for part in text.split("_")]
    asked = {(int(match[1]) - 1, int(match[2]) - 1) for match in matches if match}
    return Heads(tuple(sorted(asked)), layers, heads) if all(matches) and asked <= set(every) else None


def read_weights(text: str, count: int) -> list[float]:
    """The weights of a link, "0_1_0.5", for a row with `count` keys; none above 1, which a slider could not show.
    Raises InterventionError."""
    found = []
    for part in text.split("_"):
        value = parse_number(part)
        if not is_number(value) or not 0 <= value < math.inf:
            raise InterventionError(
                "{value} is not a weight, so the model's own row is shown; a painted row has {count} numbers of at "
                "least 0, joined by _",
                value=brief(part),
                count=count,
            )
        found.append(value)
    if len(found) != count:
        raise InterventionError(
            "{given} weights are painted, but this row has {count} tokens to attend to, so the model's own row is "
            "shown; move a slider to paint it",
            given=len(found),
            count=count,
        )
    largest = max(1.0, *found)
    return [one / largest for one in found]


def _heads(options: Options, config: ModelConfig, kind: str) -> Heads:
    layers = layers_of(config, kind)
    asked = options.typed("paint_heads", "", longest=6 * layers * config.heads)
    older = [options.typed(name, "0") for name in OLDER]
    if not asked and older != ["0", "0"] and all(re.fullmatch(r"\d{1,2}", one, re.ASCII) for one in older):
        layer, head = map(int, older)
        every = [(at, one) for at in range(1, layers + 1) for one in range(1, config.heads + 1)]
        asked = "_".join(f"{at}.{one}" for at, one in every if layer in (0, at) and head in (0, one))
    for name in OLDER:
        options.report(name, "0", "0")
    found = read_heads(asked, layers, config.heads)
    if found is None:
        sentence = _(
            "The link asks for the heads {asked!r}. Allowed: layer 1 to {layers}, head 1 to {heads}, as 1.2_4.8."
        )
        message(sentence.format(asked=asked[:40], layers=layers, heads=config.heads))
        found = read_heads("", layers, config.heads)
        assert found is not None
    options.report("paint_heads", str(found), "")
    return found


def _in_words(heads: Heads, kind: str) -> str:
    wheres = heads.wheres(kind)
    if len(wheres) > NAMED:
        text = _("{count} heads of {attention}", count=len(heads.chosen), attention=heads_in_words(Where(kind)))
    else:
        text = "; ".join(map(heads_in_words, wheres))
    return capital(text)


def shortened(text: str) -> str:
    """A text of words of which the last are repeats of 1 to 4 words, three times or more, with two of these runs."""
    words = text.split()
    for size in range(1, 5):
        end = len(words)
        while end > size and words[end - 1] == words[end - 1 - size]:
            end -= 1
        if len(words) - end >= 2 * size:
            return " ".join(words[: end + size])
    return text


def _quoted(translation: Translation) -> str:
    """Its text; a repeated end is shortened where the limit cut it off, and that is said."""
    if not cut_off(translation):
        return translation.text
    return quoted(replace(translation, text=shortened(translation.text).rstrip("… ")))


@dataclass
class PaintedRow:
    """Of the last run. weights: as in links, "" for none; row: kind of attention and the keys of its row, None before
    the first run."""

    weights: str = ""
    row: tuple[str, tuple[str, ...]] | None = None


def _asked(options: Options, kind: str, keys: tuple[str, ...]) -> str:
    """The painted weights as in links; "", and a message, if they were painted on other keys: a weight is for a token,
    and at its position stands another one now."""
    asked = options.typed("paint", "", longest=4_000)
    row = (kind, keys)
    last = from_session(PaintedRow)
    if asked and asked == last.weights and last.row != row:
        sentence = _(
            "The tokens that this row attends to have changed, so the weights painted on the others are removed and "
            "the model's own row is shown."
        )
        message(sentence, "note")
        options.report("paint", "", "")
        asked = ""
    last.weights, last.row = asked, row
    return asked


def draw(frame: PageFrame, trace: Trace) -> None:
    model, options, config = frame.model, frame.options, frame.model.config
    top, controls, picture = part_layout(near=True)
    columns = controls.columns(3, vertical_alignment="bottom")
    own = cache.trace(model, model.name, trace.source_text, "", max_tokens())
    check_numbers(own.logits)
    kinds = {"cross": _("cross"), "decoder_self": _("masked self")}
    kind = options.at(columns[0]).labelled("paint_kind", _("Attention"), kinds)
    with columns[1]:
        labels = own.target_out_labels
        start = min(1, len(labels) - 1)
        row = options.index("paint_row", _("Step that predicts"), numbered(labels, ": "), start)
    spans = {"step": _("this step"), "later": _("this step and all later")}
    later = options.at(columns[2]).labelled("paint_span", _("Applies to"), spans, "later") == "later"
    heads = _heads(options, config, kind)
    keys = own.source_labels if kind == "cross" else own.target_in_labels[: row + 1]
    plain = heads.mean(own.attention(kind).weights[:, :, row, : len(keys)])
    weights: list[float] | None = None
    before = after = cache.translate(model, trace.source_text, NONE, max_tokens())
    painted, edited = NONE, own
    with top:
        place = st.container()
        asked = _asked(options, kind, tuple(keys))
        try:
            if asked:
                weights = read_weights(asked, len(keys))
                switches = tuple(Paint(row, tuple(weights), later, where) for where in heads.wheres(kind))
                painted = Interventions(switches)
                after = cache.translate(model, trace.source_text, painted, max_tokens())
                edited = cache.retrace(model, own, painted, max_tokens())
        except (InterventionError, InputError) as error:
            message(capital(error) + ".", "error")
            painted = NONE
    text = _(
        "At step {row} the chosen heads attend most to “{key}” ({share}), and the model writes “{token}” ({p}). Move a "
        "weight, and see what changes."
    )
    if painted:
        text = (
            _(
                "{heads}, from step {row}: “{before}” becomes “{after}”. At this step “{token}” had a probability of "
                "{p}; now it has {now}."
            )
            if later
            else _(
                "{heads}, step {row}: “{before}” becomes “{after}”. At this step “{token}” had a probability of {p}; "
                "now it has {now}."
            )
        )
        if before.text == after.text:
            text = _(
                "{heads}, step {row}: the translation stays “{before}”, but “{token}”, which had a probability of {p} "
                "at this step, now has {now}. Paint more heads, or another step."
            )
    share = max(plain)
    said = text.format(
        heads=_in_words(heads, kind),
        row=row + 1,
        before=_quoted(before),
        after=_quoted(after),
        key=keys[plain.index(share)],
        share=f"{share:.0%}",
        token=labels[row],
        p=f"{own.probabilities[row].item():.1%}",
        now=f"{edited.probabilities[row].item():.1%}",
    )
    point(said, place)

    def paint() -> None:
        found = reported(KEY, "weights")
        if isinstance(found, list) and len(found) == len(keys) and all(isinstance(one, int | float) for one in found):
            options.report("paint", "_".join(f"{max(0.0, min(1.0, float(one))):.3g}" for one in found))

    def choose() -> None:
        found = reported(KEY, "heads")
        if isinstance(found, str) and read_heads(found, heads.layers, heads.heads):
            options.report("paint_heads", found, "")

    left, right = picture.columns([2, 3])
    with left:
        _picture(
            key=KEY,
            data={
                "keys": list(keys),
                "weights": weights or plain,
                "plain": plain,
                "painted": weights is not None,
                "place": [kind, str(heads), row, *keys],
                "colour": "cross" if kind == "cross" else "target",
                "layers": heads.layers,
                "heads": heads.heads,
                "chosen": [f"{layer + 1}.{head + 1}" for layer, head in heads.chosen],
                "said": said,
                **payload.caption(trace, "paint", kind, f"step{row + 1}"),
                **for_browser("paint"),
            },
            on_weights_change=paint,
            on_heads_change=choose,
        )
        if asked:
            st.button(_("As the model had it"), on_click=lambda: options.report("paint", "", ""))
    with right:
        marks = apart(words_of(before), words_of(after))
        sides = [(_("As the model attends"), before, marks[0]), (_("As you painted"), after, marks[1])]
        for title, one, marked in sides if painted else sides[:1]:
            st.html(f'<h2 class="hs-tr-title">{title}</h2>{words_row(words_of(one), marked)}')
        if painted:
            params = " ".join(f"{name}={value}" for name, value in painted.to_params().items())
            paragraph(_("In Python and on the command line: {switch}", switch=params), quiet=True)
