"""Section 5.1: a text in batches, the padding in them, and the tokens of a step."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from torch import Tensor

from pages.components import figure, saving
from pages.components.sentences import controls_and_picture, paragraph, point
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.runtime.shared import shared
from transformer.figures.recipe import length_histogram, step_tokens
from transformer.files import read_text
from transformer.inference.pretrained import Pretrained, readable
from transformer.paths import app_folder
from transformer.probing.probes import english_to_german
from transformer.text.batching import bucket, make_batch
from transformer.texts import _

OPTIONS = ("tokens", "batch", "order")
TEXT = "recipes/en-de.own.tsv"  # Tatoeba's pairs, which the bundled model was trained on too, do not ship
PAIRS, LARGEST = 2_000, 2_000_000  # sentence pairs; bytes
ROWS = 12  # sentences shown
SEVERAL = 4  # pairs of a batch that shows what its order does


@dataclass(frozen=True)
class Batches:
    """source, target: ids of the pairs. batches: rows of each, in the order of the steps."""

    source: tuple[tuple[int, ...], ...]
    target: tuple[tuple[int, ...], ...]
    batches: tuple[tuple[int, ...], ...]

    def lengths(self, rows: Sequence[int]) -> tuple[list[int], list[int]]:
        """Tokens of the sources and of the targets of some pairs, </s> included."""
        return [len(self.source[i]) + 1 for i in rows], [len(self.target[i]) + 1 for i in rows]

    def step(self, rows: Sequence[int]) -> tuple[int, int, int]:
        """Tokens of the sources and of the targets of a batch, and how many positions of both sides are padding."""
        source, target = self.lengths(rows)
        positions = len(rows) * (max(source) + max(target))
        return sum(source), sum(target), positions - sum(source) - sum(target)

    @property
    def padding(self) -> float:
        """The share of padding in all positions of all batches."""
        steps = [self.step(rows) for rows in self.batches]
        return sum(step[2] for step in steps) / sum(map(sum, steps))


@shared()
def batched(model: Pretrained, tokens: int, by_length: bool) -> Batches:
    """The first pairs of TEXT in batches, in buckets of similar length or in random order."""
    lines = read_text(app_folder() / TEXT, LARGEST).splitlines()[:PAIRS]
    pairs = [line.split("\t")[:2] for line in lines]
    encode = model.tokenizer.encode
    source, target = (tuple(tuple(encode(pair[side])) for pair in pairs) for side in (0, 1))
    lengths = [(len(s) + 1, len(t) + 1) for s, t in zip(source, target, strict=True)]
    rows = bucket(lengths, tokens, np.random.default_rng(0)) if by_length else in_random_order(lengths, tokens)
    return Batches(source, target, tuple(map(tuple, rows)))


def typical(found: Batches) -> int:
    """The number of the batch, from 1, of several pairs if there is one, whose padding is nearest to that of all."""

    def unlike(number: int) -> tuple[bool, float]:
        *tokens, padding = found.step(found.batches[number])
        share = padding / (sum(tokens) + padding)
        return len(found.batches[number]) < SEVERAL, abs(share - found.padding)

    return 1 + min(range(len(found.batches)), key=unlike)


def in_random_order(lengths: list[tuple[int, int]], tokens: int) -> list[list[int]]:
    """Batches of at most `tokens` padded tokens a side, filled in random order, whatever the lengths."""
    batches: list[list[int]] = [[]]
    longest = 0
    for i in np.random.default_rng(0).permutation(len(lengths)).tolist():
        longest = max(longest, *lengths[i])
        if batches[-1] and (len(batches[-1]) + 1) * longest > tokens:
            batches.append([])
            longest = max(lengths[i])
        batches[-1].append(i)
    return batches


def draw(frame: PageFrame) -> None:
    model, options = frame.model, frame.options
    head = st.container()
    if not english_to_german(model):
        message(_("The drawn batch is English-German text; choose such a model in the menu above."), "note")
        return
    controls, picture = controls_and_picture()
    first, second, third = controls.columns(3)
    orders = {"buckets": _("similar lengths"), "random": _("random order")}
    by_length = options.at(first).labelled("order", _("Batches"), orders) == "buckets"
    tokens = options.at(second).number("tokens", _("Tokens a side, at most"), 200, 4000, 1000)
    found = {way: batched(model, tokens, way) for way in (True, False)}
    with third:
        count = len(found[by_length].batches)
        number = options.number("batch", _("Batch"), 1, count, typical(found[by_length]))
    with head:
        text = _(
            "All rows of a batch need one length, so short sentences get padding. In batches of similar lengths "
            "{buckets} of all positions are padding, in random order {random}."
        )
        point(text.format(buckets=f"{100 * found[True].padding:.1f}%", random=f"{100 * found[False].padding:.1f}%"))
    ids = found[by_length]
    rows = sorted(ids.batches[number - 1], key=lambda i: (len(ids.source[i]), len(ids.target[i])))
    whole = make_batch([ids.source[i] for i in rows], [ids.target[i] for i in rows], model.config)
    count_shown = min(ROWS, len(rows))
    shown = [round(at * (len(rows) - 1) / max(1, count_shown - 1)) for at in range(count_shown)]
    pieces = {"source": _pieces(model, whole.source[shown], "source"),
              "target": _pieces(model, whole.target_out[shown], "target")}  # fmt: skip
    stem, caption = [model.name, "batch", str(number)], [_("Batch {number}", number=number)]
    with picture, saving.saved("batch", stem, caption, _table(pieces)):
        left, right = st.columns(2)
        with left:
            _grid(pieces["source"], _("Source: the mask hides <pad> from every query"))
        with right:
            _grid(pieces["target"], _("Target to predict: <pad> does not count in the loss"))
    sources, targets, padding = ids.step(rows)
    text = _(
        "Batch {number} of {count}: {rows} sentence pairs, {shown} of them shown, from the shortest to the longest; "
        "hatched: padding, {padding} of this batch. Its loss is the mean over {counted} tokens."
    )
    values = {"number": number, "count": count, "rows": len(rows), "shown": len(shown), "counted": targets}
    paragraph(text.format(**values, padding=f"{100 * padding / (sources + targets + padding):.1f}%"), quiet=True)
    left, right = st.columns(2)
    with left:
        every, here = ids.lengths(range(len(ids.source))), ids.lengths(rows)
        drawn = figure.built(length_histogram, *every, *here, number)
        figure.draw(drawn, "recipe-lengths", "sentence-lengths", about=f"{tokens}-{number}")
    with right:
        every_source, every_target, every_padding = map(list, zip(*map(ids.step, ids.batches), strict=True))
        drawn = figure.built(step_tokens, every_source, every_target, every_padding, number)
        figure.draw(drawn, "recipe-steps", "tokens-a-step", about=f"{tokens}-{number}")
    paragraph(_steps(every_target))
    paragraph(_text(), quiet=True)


def _steps(targets: Sequence[int]) -> str:
    """How many target tokens the steps have."""
    text = _(
        "A step learns from {low} to {high} target tokens here, {mean} on average. The paper's steps have about 25,000 "
        "source tokens and 25,000 target tokens."
    )
    mean = sum(targets) / len(targets)
    return text.format(low=f"{min(targets):,}", high=f"{max(targets):,}", mean=f"{mean:,.0f}")


def _text() -> str:
    """What is batched."""
    text = _(
        "The text: {pairs} pairs of {file}, which a language model wrote for this project. The bundled model en-de was "
        "trained on this file and on Tatoeba's pairs, which do not come with the app."
    )
    return text.format(pairs=f"{PAIRS:,}", file=TEXT)


def _pieces(model: Pretrained, ids: Tensor, side: str) -> list[list[str]]:
    """The tokens of a batch's rows, [row, position]; padding is ""."""
    return [
        [
            "" if one == model.config.pad_id else label
            for one, label in zip(row, readable(model.tokenizer_of(side).pieces(row)), strict=True)
        ]
        for row in ids.tolist()
    ]


def _table(pieces: dict[str, list[list[str]]]) -> list[list[str]]:
    """The tokens of both sides as one table, rows of equal length."""
    longest = max(len(row) for rows in pieces.values() for row in rows)
    rows = [
        [side, str(number), *row, *[""] * (longest - len(row))]
        for side, rows_of in pieces.items()
        for number, row in enumerate(rows_of, start=1)
    ]
    return [["side", "row", *map(str, range(1, longest + 1))], *rows]


def _grid(pieces: list[list[str]], title: str) -> None:
    """The tokens as a table; padding is hatched."""
    rows = (
        "".join(f"<td>{html.escape(one)}</td>" if one else "<td class=hs-pad></td>" for one in row) for row in pieces
    )
    table_rows = "".join(f"<tr>{row}</tr>" for row in rows)
    st.html(
        f'<p class="hs-tr-title">{html.escape(title)}</p><div class="hs-batch-scroll" tabindex="0">'
        f'<table class="hs-batch">{table_rows}</table></div>'
    )
