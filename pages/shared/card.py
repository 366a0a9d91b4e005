"""What a checkpoint says of itself: sizes, scores, how it was trained, its card."""

from __future__ import annotations

import csv

import streamlit as st

from pages.shared import figure
from pages.shared.texts import _
from transformer.figures.training import training_curve
from transformer.pretrained import Pretrained


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
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
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
    except (OSError, ValueError, KeyError, csv.Error):
        st.caption(_("The training.csv of this checkpoint cannot be read."))
        return
    figure.prepare()
    figure.draw(drawn, "training", "training")


def card(model: Pretrained) -> None:
    """The model card; Markdown without HTML, for a checkpoint may come from anywhere."""
    path = model.path / "README.md"
    if path.is_file() and path.stat().st_size < 100_000:
        st.markdown(path.read_text(encoding="utf-8", errors="replace"))
    else:
        st.caption(_("This checkpoint brought no model card (README.md)."))
