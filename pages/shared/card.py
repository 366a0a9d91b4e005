"""What a checkpoint says of itself: sizes, scores, how it was trained, its card."""

from __future__ import annotations

import csv
import io
import re

import streamlit as st

from pages.shared import figure
from pages.shared.texts import _
from transformer.figures.training import training_curve
from transformer.files import read_own
from transformer.pretrained import Pretrained

LARGEST = 100_000  # bytes of a card or a log; those of the bundled models take 5,000


def _is_toy(model: Pretrained) -> bool:
    """Whether its task has one right answer: it reports exact matches and, its words being letters, no BLEU."""
    return isinstance(model.metrics.get("exact"), int | float) and "bleu" not in model.metrics


def sizes(model: Pretrained) -> None:
    """The architecture in one line of numbers; scores where the checkpoint reports them."""
    config, metrics = model.config, model.metrics
    numbers = [
        (_("parameters"), f"{model.model.parameter_count():,}"),
        (_("layers"), f"{config.encoder_layers} + {config.decoder_layers}"),
        (_("heads a layer"), f"{config.heads} × {config.d_head}"),
        ("d_model · d_ff", f"{config.d_model} · {config.d_ff}"),
        (_("vocabulary"), f"{config.vocab_size:,}"),
    ]
    for name, key in (("sacreBLEU", "bleu"), ("chrF", "chrf"), (_("perplexity"), "perplexity")):
        if isinstance(metrics.get(key), int | float):
            numbers.append((name, f"{metrics[key]:.1f}"))
    if _is_toy(model):
        numbers.append((_("exact match"), f"{100 * metrics['exact']:.2f}".rstrip("0").rstrip(".") + " %"))
    with st.container(horizontal=True, gap="large", key="hs-sizes"):
        for name, value in numbers:
            st.metric(name, value, width="content")


def curve(model: Pretrained) -> None:
    """Loss, and BLEU of a translation model, over the training, if the checkpoint brought its log."""
    path = model.path / "training.csv"
    if not path.is_file():
        st.caption(_("This checkpoint brought no training.csv."))
        return
    try:
        rows = list(csv.DictReader(io.StringIO(read_own(path, LARGEST).decode("utf-8"), newline="")))
        if _is_toy(model):
            rows = [{**row, "validation_bleu": ""} for row in rows]
        labels = {
            "loss": _("training loss"),
            "validation_loss": _("validation loss"),
            "bleu": _("validation BLEU"),
            "step": _("step"),
            "axis": _("loss, nats per token"),
        }
        drawn = training_curve(rows, labels, figure.theme())
    except (OSError, ValueError, KeyError, TypeError, csv.Error):
        st.caption(_("The training.csv of this checkpoint cannot be read."))
        return
    figure.prepare()
    figure.draw(drawn, "training", "training")


def tamed(markdown: str) -> str:
    """The Markdown of a card as this page shows it: its headings one level below the page's own, but not the comments
    in its code, and pictures as text. Those go everywhere: what looks like code here need not be code to Markdown."""
    code = re.compile(r"(^ {0,3}(?:`{3,}|~{3,})[\s\S]*?(?:^ {0,3}(?:`{3,}|~{3,})|\Z)|`[^`\n]*`)", re.MULTILINE)
    parts = code.split(markdown)
    for at in range(0, len(parts), 2):  # between them: code
        parts[at] = re.sub(r"^( {0,3}#{1,5})(?=[ \t])", r"\1#", parts[at], flags=re.MULTILINE)
    return "".join(parts).replace("![", "!\\[")


def card(model: Pretrained) -> None:
    """The model card; Markdown without HTML and without pictures, for a checkpoint may come from anywhere, and a
    picture from elsewhere would tell that server who looks at it."""
    path = model.path / "README.md"
    if not path.is_file():
        st.caption(_("This checkpoint brought no model card (README.md)."))
        return
    try:
        text = read_own(path, LARGEST).decode("utf-8", "replace")
    except OSError as error:
        st.caption(_("The model card (README.md) cannot be read: {reason}.").format(reason=error.strerror))
        return
    st.markdown(tamed(text))
