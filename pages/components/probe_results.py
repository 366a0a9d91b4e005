"""Results of a probe set: a table, how much the numbers changed, and how much of that may be chance."""

import html
from collections.abc import Sequence

import streamlit as st

from pages.components.comparison import Compared
from pages.components.descriptions import in_words, scaling_note
from pages.components.sentences import paragraph
from pages.components.translation import number, relative, table
from transformer.inference.pretrained import Pretrained
from transformer.probing.probes import ProbeScores, bleu_interval, task_of
from transformer.texts import _


def rows_of(scores: Sequence[ProbeScores], toy: bool) -> list[tuple[str, ...]]:
    """The rows of the table. BLEU says nothing about a toy task, whose words are letters."""

    def percent(share: float) -> str:
        return f"{100 * share:.1f}%"

    rows = [
        (_("BLEU"), *(f"{score.bleu:.1f}" for score in scores)),
        (_("Perplexity of the references"), *(number(score.perplexity) for score in scores)),
        (_("Repetition, seq-rep-4"), *(percent(score.repetition) for score in scores)),
        (_("Exact matches"), *(percent(score.exact) for score in scores)),
        (_("Cut off before </s>"), *(percent(score.cut_off) for score in scores)),
    ]
    return rows[1:] if toy else rows


def moved(before: ProbeScores, after: ProbeScores, toy: bool) -> str:
    """One sentence: how much the numbers changed, and how many translations."""

    def apart(first: float, second: float) -> str:
        """The difference of two numbers as the table shows them."""
        return f"{round(round(second, 1) - round(first, 1), 1) + 0.0:+.1f}"  # + 0.0: no -0.0

    sentence = (
        _(
            "Exact matches changed by {exact} percentage points and perplexity by {perplexity}; {changed} of {count} "
            "translations changed."
        )
        if toy
        else _("BLEU changed by {bleu} and perplexity by {perplexity}; {changed} of {count} translations changed.")
    )
    one, other = before, after
    return sentence.format(
        bleu=apart(one.bleu, other.bleu),
        exact=apart(100 * one.exact, 100 * other.exact),
        perplexity=relative(one.perplexity, other.perplexity),
        changed=sum(old != new for old, new in zip(before.texts, after.texts, strict=True)),
        count=one.sentences,
    )


def chance(before: ProbeScores, after: ProbeScores) -> str:
    """One sentence: the confidence interval of the change of BLEU."""
    interval = bleu_interval(before.texts, after.texts, before.references, before.tokenize)
    sentence = (
        _(
            "When these sentences are resampled many times, BLEU changes by {low} to {high} (95%, paired bootstrap): "
            "that includes 0, so BLEU on these sentences does not show whether translation gets better or worse."
        )
        if interval[0] <= 0 <= interval[1]
        else _(
            "When these sentences are resampled many times, BLEU changes by {low} to {high} (95%, paired bootstrap)."
        )
    )
    return sentence.format(low=f"{interval[0]:+.1f}", high=f"{interval[1]:+.1f}")


def _easy_sentences_note(model: Pretrained, count: int) -> str:
    """One sentence: why BLEU here cannot be compared with the model card's."""
    card = model.metrics.get("bleu")
    if isinstance(card, int | float):
        sentence = _(
            "These {count} sentences are Headscope's own, short and easy: do not compare this BLEU with the model "
            "card's {card}, which was measured on other sentences."
        )
        return sentence.format(count=count, card=f"{card:.1f}")
    return _(
        "These {count} sentences are Headscope's own, short and easy: do not compare this BLEU with BLEU on other "
        "sentences."
    ).format(count=count)


def results(compared: Compared, scores: Sequence[ProbeScores]) -> None:
    """The table, without switches first, and what it does and does not show."""
    model, toy = compared.model, task_of(compared.model) is not None
    head = [_("{count} sentences", count=scores[0].sentences), _("no switches")]
    sentences = []
    if len(scores) > 1:
        head.append(in_words(compared.interventions, model.config))
        sentences = [
            " ".join(filter(None, (moved(scores[0], scores[1], toy), "" if toy else chance(scores[0], scores[1])))),
            scaling_note(compared.interventions, model.config),
        ]
    st.html(table(head, rows_of(scores, toy), "hs-probe-table"))
    for text in sentences:
        paragraph(text)
    note = _(
        "Greedy translations, one reference each (sacreBLEU). Perplexity: teacher-forced on the references. Cut off "
        "at input length + 50."
    )
    note = note if toy else f"{note} {_easy_sentences_note(model, scores[0].sentences)}"
    st.html(f'<p class="hs-tr-legend">{html.escape(note)}</p>')
