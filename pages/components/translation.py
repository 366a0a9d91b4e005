"""The effect of the switches on the translation: both translations word by word, and their numbers.

On the site without a server, frontend/src/effect/ computes and draws the same.
"""

import html
import math
from collections.abc import Sequence
from statistics import fmean

import streamlit as st

from pages.components.comparison import Compared
from pages.components.descriptions import in_words, scaling_note, trained_exact
from pages.components.sentences import marked_up, paragraph
from pages.frame.messages import capital, message
from pages.runtime import cache
from transformer.analysis.tokens import is_special
from transformer.analysis.translation import Word, differing, mean_probability, perplexity, repetition, words
from transformer.inference.pretrained import InputError, Translation, readable
from transformer.interventions.sets import NONE, Hide, InterventionError, Interventions
from transformer.model.config import ModelConfig
from transformer.texts import _
from transformer.view.shared_texts import say

END = "</s>"


def words_of(translation: Translation) -> tuple[Word, ...]:
    """The words of a translation; the last is </s> unless it was cut off."""
    return words(translation.tokens, readable(translation.tokens), translation.probabilities)


def is_word(word: Word) -> bool:
    """Whether it is a word to count: punctuation and special tokens are none."""
    return not is_special(word.pieces)[0] and any(character.isalnum() for character in word.text)


def cut_off(translation: Translation) -> bool:
    return translation.tokens[-1:] != (END,)


def quoted(translation: Translation) -> str:
    """Its text; where the limit cut it off, that is said."""
    if not cut_off(translation):
        return translation.text
    return _("{text} … (cut off after {limit} tokens)", text=translation.text, limit=len(translation.tokens))


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
        f'<tr><th scope="row">{marked_up(row[0])}</th>'
        + "".join(f"<td>{marked_up(text)}</td>" for text in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<table class="hs-tr-table {css_class}"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>'


def apart(before: Sequence[Word], after: Sequence[Word]) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """For both sides, which words differ."""
    return differing([word.text for word in before], [word.text for word in after])


def _side(title: str, translation: Translation, marks: Sequence[bool]) -> None:
    st.html(f'<h2 class="hs-tr-title">{html.escape(title)}</h2>' + words_row(words_of(translation), marks))


def _legend(name: str) -> None:
    """What is shown above it. name: of a shared text."""
    st.html(f'<p class="hs-tr-legend">{html.escape(say(name))}</p>')


def _metrics(compared: Compared, before: Translation, after: Translation, given: bool) -> str:
    """HTML: the numbers of both translations."""
    rows = [
        (
            say("perplexity_given" if given else "perplexity_own"),
            number(perplexity(compared.before)),
            number(perplexity(compared.after)),
        ),
        (
            say("per_token"),
            f"{mean_probability(before.probabilities):.2f}",
            f"{mean_probability(after.probabilities):.2f}",
        ),
        (say("repetition"), f"{repeated(before):.2f}", f"{repeated(after):.2f}"),
    ]
    return table(["", say("before"), say("after")], rows)


def refusal(error: InterventionError | InputError, interventions: Interventions, config: ModelConfig) -> str:
    """Why the model cannot translate with these switches, and what to do."""
    reason = capital(error) + "."
    hides = [switch for switch in interventions.switches if isinstance(switch, Hide)]
    hidden = Interventions(tuple(hide for hide in hides if hide.side == "target") or tuple(hides))
    if isinstance(error, InputError) or not hidden:
        return reason  # the error itself says what to do
    return f"{reason} {say('blind_causal' if config.causal else 'blind', hidden=in_words(hidden, config))}"


def _scaling(compared: Compared, word_list: Sequence[Word], marks: Sequence[bool]) -> None:
    """What a translation with other scaling shows, and what it does not."""
    note = scaling_note(compared.interventions, compared.model.config, brief=True)
    if not note:
        return
    moved = relative(perplexity(compared.before), perplexity(compared.after))
    counted = [mark for word, mark in zip(word_list, marks, strict=True) if is_word(word)]
    paragraph(say("rescaled", changed=sum(counted), count=len(counted), perplexity=moved), note)
    recipes = {"base": say("exact_scaled"), "no-scaling": say("exact_unscaled")}
    rows = []
    for recipe, label in recipes.items():
        exact = trained_exact(recipe)
        rows.append((label, f"{fmean(exact):.1f}%", *(f"{share:.1f}%" for share in exact)))
    seeds = [say("seed", seed=seed + 1) for seed in range(len(rows[0]) - 2)]
    st.html(table([say("exact"), say("mean_of_seeds"), *seeds], rows))


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
    return _(
        "{switches}: {changed} of the {count} words of the translation differ. For the translation as trained, the "
        "perplexity goes from {before} to {after}.",
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
        _side(say("wrote_only"), before, marks[0])
        _legend("words_only")
        return
    switches = in_words(compared.interventions, compared.model.config)
    left, right = st.columns(2, gap="medium")
    with left:
        _side(say("wrote_before"), before, marks[0])
    with right:
        _side(say("wrote_after", switches=switches), after, marks[1])
    _legend("words_differ" if any(map(any, marks)) else "words_same")
    for name, translation in (("cut_after", after), ("cut_before", before)):
        if cut_off(translation):
            message(say(name, limit=len(translation.tokens)), "note")
    st.html(_metrics(compared, before, after, given))
    _legend("measured")
    _scaling(compared, words_of(after), marks[1])
