"""Sections 5.1 and 5.2: one batch of training text, the padding in it, and what training costs."""

from __future__ import annotations

import html
from dataclasses import dataclass

import numpy as np
import streamlit as st
from torch import Tensor

from pages.components import saving
from pages.components.sentences import controls_and_picture, paragraph, point
from pages.components.training_log import training_log
from pages.components.translation import table
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.runtime.shared import shared
from transformer.files import read_text
from transformer.inference.pretrained import Pretrained, readable
from transformer.paths import app_folder
from transformer.probing.probes import english_to_german
from transformer.text.batching import bucket, make_batch
from transformer.texts import _

OPTIONS = ("tokens", "batch", "order", "speed")
TEXT = "recipes/en-de.own.tsv"  # our own part of the training text
PAIRS, LARGEST = 2_000, 2_000_000  # sentence pairs; bytes
ROWS = 12  # sentences shown
P100 = 9.5  # TFLOPS that the paper assumes for a P100 GPU
TRAINED = (("base", 12 * 3600, 8), ("big", 84 * 3600, 8))  # the paper's models: seconds, GPUs (section 5.2)


@dataclass(frozen=True)
class Batches:
    """source, target: ids of the pairs. batches: rows of each; padding: share of padded cells over all batches, both
    sides; steps: number of batches."""

    source: tuple[tuple[int, ...], ...]
    target: tuple[tuple[int, ...], ...]
    batches: tuple[tuple[int, ...], ...]
    padding: float


@shared()
def batched(model: Pretrained, tokens: int, by_length: bool) -> Batches:
    """The first pairs of our own training text in batches, in buckets of similar length or in random order."""
    lines = read_text(app_folder() / TEXT, LARGEST).splitlines()[:PAIRS]
    pairs = [line.split("\t")[:2] for line in lines]
    encode = model.tokenizer.encode
    source, target = (tuple(tuple(encode(pair[side])) for pair in pairs) for side in (0, 1))
    lengths = [(len(s) + 1, len(t) + 1) for s, t in zip(source, target, strict=True)]
    rows = bucket(lengths, tokens, np.random.default_rng(0)) if by_length else in_random_order(lengths, tokens)
    used = sum(sum(lengths[i]) for batch in rows for i in batch)
    room = sum(len(batch) * (max(lengths[i][0] for i in batch) + max(lengths[i][1] for i in batch)) for batch in rows)
    return Batches(source, target, tuple(map(tuple, rows)), 1 - used / room)


def most_padded(found: Batches) -> int:
    """The number of the batch of several pairs with the largest share of padding on the source side, from 1."""

    def share(rows: tuple[int, ...]) -> float:
        lengths = [len(found.source[i]) + 1 for i in rows]
        return 1 - sum(lengths) / (len(rows) * max(lengths)) if len(rows) > 3 else 0.0

    return 1 + max(range(len(found.batches)), key=lambda number: share(found.batches[number]))


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
        _cost(frame)
        return
    controls, picture = controls_and_picture()
    first, second, third = controls.columns(3)
    with first:
        by_length = options.segment(
            "order", _("Batches"), ("buckets", "random"), "buckets",
            lambda name: {"buckets": _("similar lengths"), "random": _("random order")}[name],
        ) == "buckets"  # fmt: skip
    with second:
        tokens = options.number("tokens", _("Tokens a side, at most"), 200, 4000, 1000)
    found = {way: batched(model, tokens, way) for way in (True, False)}
    with third:
        count = len(found[by_length].batches)
        number = options.number("batch", _("Batch"), 1, count, most_padded(found[by_length]))
    with head:
        text = _(
            "All rows of a batch need one length, so short sentences get padding. In batches of similar lengths "
            "{buckets} of all positions are padding, in random order {random}."
        )
        point(text.format(buckets=f"{100 * found[True].padding:.1f} %", random=f"{100 * found[False].padding:.1f} %"))
    ids = found[by_length]
    rows = sorted(ids.batches[number - 1], key=lambda i: (len(ids.source[i]), len(ids.target[i])))
    whole = make_batch([ids.source[i] for i in rows], [ids.target[i] for i in rows], model.config)
    count_shown = min(ROWS, len(rows))
    shown = [round(at * (len(rows) - 1) / max(1, count_shown - 1)) for at in range(count_shown)]
    pieces = {"source": _pieces(model, whole.source[shown], "source"),
              "target": _pieces(model, whole.target_out[shown], "target")}  # fmt: skip
    stem, caption = [model.name, "batch", str(number)], [_("Batch {number}").format(number=number)]
    with picture, saving.saved("batch", stem, caption, _table(pieces)):
        left, right = st.columns(2)
        with left:
            _grid(pieces["source"], _("Source: the mask hides <pad> from every query"))
        with right:
            _grid(pieces["target"], _("Target to predict: <pad> does not count in the loss"))
    counted = int((whole.target_out != model.config.pad_id).sum())
    text = _(
        "Batch {number} of {count}: {rows} sentence pairs, {shown} of them shown, from the shortest to the longest; "
        "hatched: padding, {padding} of this batch. Its loss is the mean over {counted} tokens. The paper's batches "
        "have about 25,000 tokens a side."
    )
    places = sum(side.numel() for side in (whole.source, whole.target_out))
    real = sum(int((side != model.config.pad_id).sum()) for side in (whole.source, whole.target_out))
    padding = f"{100 * (1 - real / places):.1f} %"
    values = {"number": number, "count": count, "rows": len(rows), "shown": len(shown), "counted": counted}
    paragraph(text.format(**values, padding=padding), quiet=True)
    _cost(frame)


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


def _log(model: Pretrained) -> tuple[float, float] | None:
    """Seconds and target tokens of the open model's training; None without its log."""
    try:
        rows = training_log(model)
        return (float(rows[-1]["seconds"]), sum(float(row["tokens"]) for row in rows)) if rows else None
    except (ValueError, KeyError, TypeError):
        return None


def _cost(frame: PageFrame) -> None:
    """Training cost by the paper's formula: time × processors × what each sustains."""
    speed = frame.options.fraction(
        "speed", _("TFLOPS that this model's processors sustained together"), 0.01, 1000.0, 0.8, 0.1, "%.2f",
        help=_("0.8 is what two cores reached with 16-bit matrix products where the bundled model was trained."),
    )  # fmt: skip
    head = ("", _("time"), _("processors × TFLOPS"), _("operations"), _("6 × parameters × tokens"))
    rows = [
        (
            _("the paper's {name}").format(name=name), _("{hours:g} hours").format(hours=seconds / 3600),
            f"{count} × {P100:g}", f"{seconds * count * P100 * 1e12:.1e}", "–",
        )
        for name, seconds, count in TRAINED
    ]  # fmt: skip
    log = _log(frame.model)
    if log is not None:
        seconds, tokens = log
        parameters = frame.model.model.parameter_count()
        rows.append(
            (
                frame.model.name, _("{hours:g} hours").format(hours=round(seconds / 3600, 2)), f"{speed:g}",
                f"{seconds * speed * 1e12:.1e}", f"{6 * parameters * tokens:.1e}",
            )
        )  # fmt: skip
    st.html(table(head, rows, "hs-recipe-cost"))
    paragraph(
        _(
            "Section 5.2 and Table 2: time, times the number of GPUs, times what each sustains. The last column counts "
            "instead: about 2 operations a parameter and token forwards, 4 backwards."
        ),
        quiet=True,
    )
