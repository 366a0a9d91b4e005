"""The effect of the switches on the translation: both translations word by word, and their numbers."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from statistics import fmean

import streamlit as st

from pages.components.comparison import Compared
from pages.components.descriptions import in_words, scaling_note, trained_exact
from pages.components.sentences import paragraph
from pages.frame.messages import capital, message
from pages.runtime import cache
from transformer.analysis.tokens import is_special
from transformer.analysis.translation import Word, differing, mean_probability, perplexity, repetition, words
from transformer.inference.pretrained import InputError, Translation, readable
from transformer.interventions.sets import NONE, Hide, InterventionError, Interventions
from transformer.model.config import ModelConfig
from transformer.texts import _

END = "</s>"


def words_of(translation: Translation) -> tuple[Word, ...]:
    """The words of a translation; the last is </s> unless it was cut off."""
    return words(translation.tokens, readable(translation.tokens), translation.probabilities)


def is_word(word: Word) -> bool:
    """Whether it is a word to count: punctuation and special tokens are none."""
    return not is_special(word.pieces)[0] and any(character.isalnum() for character in word.text)


def cut_off(translation: Translation) -> bool:
    return translation.tokens[-1:] != (END,)


def repeated(translation: Translation) -> float:
    """seq-rep-4 of the tokens, without </s>."""
    return repetition([token for token in translation.tokens if token != END])


def number(value: float) -> str:
    """A perplexity or a distance as text; only exact 0 is "0"."""
    if not math.isfinite(value):
        return "∞"
    if value == 0:
        return "0"
    if 0.005 <= abs(value) < 1000:
        return f"{value:.2f}"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.1e}"


def relative(before: float, after: float) -> str:
    """The change of a positive number, e.g. "+12%", or "× 25" from ten times on."""
    ratio = after / before if before else math.inf
    if not math.isfinite(ratio):
        return "× ∞"
    if ratio >= 10:
        return f"× {number(ratio) if ratio >= 1000 else f'{ratio:.0f}'}"
    moved = 100 * (ratio - 1)
    return f"{moved:+.0f}%" if abs(moved) >= 9.95 else f"{round(moved, 1) + 0.0:+.1f}%"  # + 0.0: no -0.0


def short(probability: float) -> str:
    """A probability with two decimals, shown under a word."""
    return "<.01" if 0 < probability < 0.005 else f"{probability:.2f}"


def words_row(word_list: Sequence[Word], marks: Sequence[bool]) -> str:
    """HTML: every word above a bar with its probability; marked words are framed and bold."""
    parts = []
    for word, marked in zip(word_list, marks, strict=True):
        css_class = "hs-tr-word"
        css_class += " hs-tr-differs" if marked else ""
        css_class += " hs-tr-special" if is_special(word.pieces)[0] else ""
        pieces = " · ".join(f"{piece} {p:.4g}" for piece, p in zip(word.pieces, word.probabilities, strict=True))
        parts.append(
            f'<span class="{css_class}" style="--p:{100 * word.probability:.1f}%" title="{html.escape(pieces)}">'
            f"<span>{html.escape(word.text)}</span><small>{html.escape(short(word.probability))}</small></span>"
        )
    return f'<p class="hs-tr-words">{" ".join(parts)}</p>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], css_class: str = "") -> str:
    """HTML: a table of plain texts; the first column names each row."""
    titles = "".join(f'<th scope="col">{html.escape(text)}</th>' if text else "<td></td>" for text in head)
    body = "".join(
        f'<tr><th scope="row">{html.escape(row[0])}</th>'
        + "".join(f"<td>{html.escape(text)}</td>" for text in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<table class="hs-tr-table {css_class}"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>'


def apart(before: Sequence[Word], after: Sequence[Word]) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """For both sides, which words differ."""
    return differing([word.text for word in before], [word.text for word in after])


def _side(title: str, translation: Translation, marks: Sequence[bool]) -> None:
    st.html(f'<h2 class="hs-tr-title">{html.escape(title)}</h2>' + words_row(words_of(translation), marks))


def _metrics(compared: Compared, before: Translation, after: Translation, given: bool) -> str:
    """HTML: the numbers of both translations."""
    target = _("Perplexity of your target") if given else _("Perplexity of the original translation")
    rows = [
        (target, number(perplexity(compared.before)), number(perplexity(compared.after))),
        (
            _("Probability per generated token"),
            f"{mean_probability(before.probabilities):.2f}",
            f"{mean_probability(after.probabilities):.2f}",
        ),
        (_("Repetition, seq-rep-4"), f"{repeated(before):.2f}", f"{repeated(after):.2f}"),
    ]
    return table(["", _("before"), _("after")], rows)


def refusal(error: InterventionError | InputError, interventions: Interventions, config: ModelConfig) -> str:
    """Why the model cannot translate with these switches, and what to do."""
    reason = capital(error) + "."
    hides = [switch for switch in interventions.switches if isinstance(switch, Hide)]
    hidden = Interventions(tuple(hide for hide in hides if hide.side == "target") or tuple(hides))
    if isinstance(error, InputError) or not hidden:
        return reason  # the error itself says what to do
    more = (
        _(
            "The first decoding step sees only the start token, and so does the first row under the causal mask. To "
            "go on, undo this: {hidden}."
        )
        if config.causal
        else _("The first decoding step sees only the start token. To go on, undo this: {hidden}.")
    )
    return f"{reason} {more.format(hidden=in_words(hidden, config))}"


def _scaling(compared: Compared, word_list: Sequence[Word], marks: Sequence[bool]) -> None:
    """What a translation with other scaling shows, and what it does not."""
    note = scaling_note(compared.interventions, compared.model.config, brief=True)
    if not note:
        return
    moved = relative(perplexity(compared.before), perplexity(compared.after))
    sentence = _("{changed} of {count} words of this translation differ, and perplexity changed by {perplexity}.")
    counted = [mark for word, mark in zip(word_list, marks, strict=True) if is_word(word)]
    text = sentence.format(changed=sum(counted), count=len(counted), perplexity=moved)
    paragraph(text, note)
    recipes = {"base": _("trained with the division by √dₖ"), "no-scaling": _("trained without it")}
    rows = []
    for recipe, label in recipes.items():
        exact = trained_exact(recipe)
        rows.append((label, f"{fmean(exact):.1f}%", *(f"{share:.1f}%" for share in exact)))
    seeds = [_("seed {seed}").format(seed=seed + 1) for seed in range(len(rows[0]) - 2)]
    st.html(table([_("Exactly right outputs of small models (task reverse)"), _("mean"), *seeds], rows))


def changes(compared: Compared) -> str:
    """One sentence: what the switches do to the translation, in words and in perplexity. "" if it cannot be decoded."""
    trace = compared.before
    try:
        before, after = (
            words_of(cache.translate(compared.model, trace.source_text, switches, compared.limit))
            for switches in (NONE, compared.interventions)
        )
    except (InterventionError, InputError):
        return ""
    marks = [mark for word, mark in zip(before, apart(before, after)[0], strict=True) if is_word(word)]
    switches = in_words(compared.interventions, compared.model.config)
    text = _(
        "{switches}: {changed} of the {count} words of the translation differ. For the translation as trained, the "
        "perplexity goes from {before} to {after}."
    )
    return text.format(
        switches=switches[:1].upper() + switches[1:],
        changed=sum(marks),
        count=len(marks),
        before=number(perplexity(compared.before)),
        after=number(perplexity(compared.after)),
    )


def draw(compared: Compared, given: bool) -> None:
    """The model's translations without and with the switches.

    given: whether a person gave the target whose perplexity is shown; otherwise it is the model's own translation.
    """
    trace = compared.before
    try:
        before = cache.translate(compared.model, trace.source_text, NONE, compared.limit)
        after = cache.translate(compared.model, trace.source_text, compared.interventions, compared.limit)
    except (InterventionError, InputError) as error:
        message(refusal(error, compared.interventions, compared.model.config), "error")
        return
    marks = apart(words_of(before), words_of(after))
    if not compared.interventions:
        _side(_("No switches"), before, marks[0])
        legend = _("Bar and number: the probability of each word. Set a switch to see its translation beside this one.")
        st.html(f'<p class="hs-tr-legend">{html.escape(legend)}</p>')
        return
    switches = in_words(compared.interventions, compared.model.config)
    left, right = st.columns(2, gap="medium")
    with left:
        _side(_("Before: no switches"), before, marks[0])
    with right:
        _side(_("After: {switches}").format(switches=switches), after, marks[1])
    if any(map(any, marks)):
        legend = _("Framed and bold: the words that differ. Bar and number: the probability of each word.")
    else:
        legend = _("No word differs. Bar and number: the probability of each word.")
    st.html(f'<p class="hs-tr-legend">{html.escape(legend)}</p>')
    if cut_off(after):
        sentence = _("With these switches the translation did not end within {limit} tokens and was cut off.")
        message(sentence.format(limit=len(after.tokens)), "note")
    if cut_off(before):
        sentence = _("Without switches the translation did not end within {limit} tokens and was cut off.")
        message(sentence.format(limit=len(before.tokens)), "note")
    st.html(_metrics(compared, before, after, given))
    st.html(
        '<p class="hs-tr-legend">'
        + html.escape(
            _(
                "Perplexity: exp of the mean −ln p per token, </s> included, teacher-forced. Probability per token: "
                "the geometric mean. seq-rep-4: the share of 4-token sequences that appeared before."
            )
        )
        + "</p>"
    )
    _scaling(compared, words_of(after), marks[1])
