"""The leak: change a later token of the target, and see which earlier predictions move, with the mask and without."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from torch import Tensor

from pages.components.comparison import Compared
from pages.components.descriptions import in_words
from pages.components.sentences import badge, paragraph
from pages.components.translation import cut_off, number, refusal, table
from pages.frame.frame import message
from pages.runtime import cache
from pages.runtime.shared import shared
from transformer.analysis.leak import moved, peeking, step_by_step
from transformer.analysis.translation import perplexity
from transformer.inference.pretrained import InputError, Pretrained, readable
from transformer.interventions.sets import InterventionError, Interventions, Unmask
from transformer.text.tokenizer import PIECE_MARK
from transformer.texts import _
from transformer.tracing.trace import Trace

LAST_EXCHANGE = "headscope_leak"  # (trace id, position, typed text) of the last trace, because widgets forget


def sides(interventions: Interventions) -> tuple[Interventions, Interventions]:
    """The switches with the causal mask on everywhere; and with it off where they switch it off, or else everywhere."""
    opened = [switch for switch in interventions.switches if isinstance(switch, Unmask) and switch.mask == "causal"]
    rest = Interventions(tuple(switch for switch in interventions.switches if switch not in opened))
    return rest, rest + Interventions(tuple(opened or [Unmask("causal")]))


def runner_up(trace: Trace, position: int, specials: Sequence[int]) -> tuple[int, float]:
    """The model's likeliest token for a position of target_in, other than the token there and special ones; and its
    probability."""
    probabilities = trace.logits[position - 1].softmax(-1)
    left = probabilities.clone()
    left[[*specials, trace.target_in_ids[position]]] = -1
    best = int(left.argmax())
    return best, float(probabilities[best])


@dataclass(frozen=True)
class Exchange:
    """position: in target_in; token: the id fed there; before, after: the text of both tokens."""

    position: int
    token: int
    before: str
    after: str


def _first_position(trace: Trace, specials: Sequence[int]) -> int:
    """The first position to show: in the later half, so that many positions come before it, where the model was closest
    to another token."""
    positions = range(max(1, len(trace.target_in) // 2), len(trace.target_in))
    return max(positions, key=lambda position: runner_up(trace, position, specials)[1])


def _exchange(model: Pretrained, trace: Trace) -> Exchange:
    """The two fields, and a sentence that says which token is fed: the first typed piece that is not only a piece
    mark."""
    labels, config = trace.target_in_labels, model.config
    specials = (config.pad_id, config.unk_id, config.start_id, config.end_id)
    left, right = st.columns(2, gap="small")
    position_key, text = f"hs-leak-position-{trace.id}", f"hs-leak-fed-{trace.id}"
    stored = st.session_state.get(LAST_EXCHANGE)
    if stored is None or stored[0] != trace.id:
        stored = (trace.id, _first_position(trace, specials), "")
    for key, value in zip((position_key, text), stored[1:], strict=True):
        if key not in st.session_state:
            st.session_state[key] = value
    position = left.selectbox(
        _("Target position to change"),
        range(1, len(labels)),
        format_func=lambda index: f"{index + 1} · {labels[index]}",
        key=position_key,
    )
    alternative, probability = runner_up(trace, position, specials)
    other_label = readable(model.tokenizer.pieces([alternative]))[0]
    typed = right.text_input(_("Token to feed there"), key=text, placeholder=other_label, max_chars=100)
    st.session_state[LAST_EXCHANGE] = (trace.id, position, typed)
    ids = model.tokenizer.encode(typed)
    ids = [token_id for token_id in ids if model.tokenizer.pieces([token_id]) != [PIECE_MARK]] or ids
    token = ids[0] if ids else alternative
    after = readable(model.tokenizer.pieces([token]))[0]
    if token == trace.target_in_ids[position]:
        sentence = _("“{after}” is already fed at position {position}. Type another token.")
    elif len(ids) > 1:
        sentence = _(
            "At position {position}, “{after}” is fed instead of “{before}”: the first of the {count} pieces you typed."
        )
    elif ids:
        sentence = _("At position {position}, “{after}” is fed instead of “{before}”, as you typed.")
    elif typed.strip():
        sentence = _(
            "Your text has no readable character, so “{after}” is fed instead of “{before}” at position {position}."
        )
    else:
        sentence = _(
            "At position {position}, “{after}” is fed instead of “{before}”. It is the model's likeliest other token "
            "there, p = {probability}."
        )
    sentence = sentence.format(
        position=position + 1, after=after, before=labels[position], count=len(ids), probability=f"{probability:.2g}"
    )
    paragraph(sentence)
    return Exchange(position, token, labels[position], after)


def _rows(trace: Trace, exchange: Exchange, distances: Sequence[Tensor], sides: Sequence[str]) -> str:
    """HTML: one row per position with the token fed, the prediction, and how far that moved, with one column per side.

    Only earlier positions have bars: later ones may move, and move most.
    """
    position, labels = exchange.position, trace.target_in_labels
    most = max(float(moves[:position].max()) for moves in distances) or 1.0
    titles = (_("fed"), _("predicts"), *sides)
    head = '<th scope="col">#</th>' + "".join(f'<th scope="col">{html.escape(title)}</th>' for title in titles)
    past = _("The past: predicted before position {position} is fed").format(position=position + 1)
    rest = _("From position {position} on: these can see the new token").format(position=position + 1)
    rows = []
    for index, label in enumerate(labels):
        if index in (0, position):
            title = rest if index else past
            rows.append(f'<tr class="hs-leak-group"><th colspan="{3 + len(sides)}">{html.escape(title)}</th></tr>')
        fed = html.escape(label)
        if index == position:
            fed = f"<s>{fed}</s> → <b>{html.escape(exchange.after)}</b>"
        cells = "".join(
            f'<td class="hs-leak-far" style="--w:{min(100.0, 100 * far / most):.1f}%">{number(far)}</td>'
            for far in (float(moves[index]) for moves in distances)
        )
        css_class = "hs-leak-past" if index < position else "hs-leak-changed" if index == position else ""
        rows.append(
            f'<tr class="{css_class}"><td>{index + 1}</td><td>{fed}</td>'
            f"<td>{html.escape(trace.target_out_labels[index])}</td>{cells}</tr>"
        )
    return f'<table class="hs-leak-table"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def checked(most: float, count: int) -> str:
    """HTML: the result of the check. most: the largest move at the `count` positions before the changed token."""
    good = most == 0
    if not good:
        text = _("With the mask, a prediction before the changed token moved by {most}. It must be exactly 0.")
    elif count == 1:
        text = _("Exactly 0 with the mask, at the one position before it.")
    else:
        text = _("Exactly 0 with the mask, at all {count} positions before it.")
    return badge(text.format(most=f"{most:.3g}", count=count), good)


def verdict(with_mask: float, without: float, before: Sequence[str], after: Sequence[str]) -> str:
    """One sentence: the effect of seeing later tokens on the target, by two perplexities, and on the free-running
    translation."""
    same = tuple(before) == tuple(after)
    sentences = {
        ("helps", True): _(
            "Seeing later tokens helps the model with this target (perplexity {with_mask} with the mask, {without} "
            "without), and its free-running translation stays the same."
        ),
        ("helps", False): _(
            "Seeing later tokens helps the model with this target (perplexity {with_mask} with the mask, {without} "
            "without), but its free-running translation changes from token {position} on."
        ),
        ("confuses", True): _(
            "Seeing later tokens confuses the model with this target (perplexity {with_mask} with the mask, {without} "
            "without: {times} times as much), but its free-running translation stays the same."
        ),
        ("confuses", False): _(
            "Seeing later tokens confuses the model with this target (perplexity {with_mask} with the mask, {without} "
            "without: {times} times as much), and its free-running translation changes from token {position} on."
        ),
        ("little", True): _(
            "Seeing later tokens hardly matters for this target (perplexity {with_mask} with the mask, {without} "
            "without), and the free-running translation stays the same."
        ),
        ("little", False): _(
            "Seeing later tokens hardly matters for this target (perplexity {with_mask} with the mask, {without} "
            "without), but the free-running translation changes from token {position} on."
        ),
    }[peeking(with_mask, without), same]
    shared = list(zip(before, after, strict=False))
    first_difference = next((index for index, (old, new) in enumerate(shared) if old != new), len(shared))
    times = without / with_mask
    return sentences.format(
        with_mask=number(with_mask),
        without=number(without),
        times=f"{times:.1f}" if times < 100 else f"{times:,.0f}",
        position=first_difference + 1,
    )


def _peeking(compared: Compared, switches: Sequence[Interventions], traces: Sequence[Trace]) -> None:
    """Both perplexities and both translations, and what they mean for this input."""
    source = compared.before.source_text
    translations = [cache.translate(compared.model, source, switch_set, compared.limit) for switch_set in switches]
    texts = [
        _("{text} … (cut off after {limit} tokens)").format(text=translated.text, limit=len(translated.tokens))
        if cut_off(translated)
        else translated.text
        for translated in translations
    ]
    surprised = [perplexity(trace) for trace in traces]
    rows = [
        (_("Perplexity of the target (teacher-forced)"), *map(number, surprised)),
        (_("Free-running translation"), *texts),
    ]
    st.html(table(["", _("with the mask"), _("without")], rows, "hs-leak-peek"))
    sentence = verdict(surprised[0], surprised[1], translations[0].tokens, translations[1].tokens)
    st.html(f'<p class="hs-leak-verdict">{html.escape(sentence)}</p>')


@shared(entries=256, queued=True)
def _step_by_step(model: Pretrained, trace: Trace) -> float:
    """`step_by_step`, cached, because it takes one pass per token."""
    return step_by_step(trace, model.model)


def bare_verdict(whole: float, stepwise: float) -> str:
    """One sentence for a model without the mask: the effect of seeing the answer, by two perplexities of the target."""
    sentences = {
        "helps": _(
            "When the model sees the whole target, its perplexity is {whole}. When it sees nothing after the current "
            "step, as in free running, it is {stepwise}, {times} times as much."
        ),
        "confuses": _(
            "When the model sees the whole target, its perplexity is {whole}. This is worse than when it sees nothing "
            "after the current step, as in free running: {stepwise}."
        ),
        "little": _(
            "Seeing the whole target hardly matters: perplexity is {whole} with it, and {stepwise} when the model "
            "sees nothing after the current step, as in free running."
        ),
    }[peeking(stepwise, whole)]
    times = stepwise / whole
    return sentences.format(
        whole=number(whole), stepwise=number(stepwise), times=f"{times:.1f}" if times < 100 else f"{times:,.0f}"
    )


def _draw_without_mask(compared: Compared, exchange: Exchange, fed: tuple[tuple[int, int], ...]) -> None:
    """The same for a model that was trained without the mask: there is no masked side to compare with."""
    model, trace = compared.model, compared.before
    switches = compared.interventions
    try:
        plain = compared.after
        distances = moved(plain, cache.retrace(model, trace, switches, compared.limit, fed))
        if exchange.token != trace.target_in_ids[exchange.position]:
            most = float(distances[: exchange.position].max())
            sentence = (
                _("This model has no causal mask: predictions before the changed token move by up to {most}.")
                if most > 0
                else _("This model has no causal mask, but no prediction before the changed token moves.")
            )
            paragraph(sentence.format(most=number(most)))
        rows = _rows(trace, exchange, [distances], (_("change"),))
        st.html(f'<div class="hs-leak-scroll" tabindex="0">{rows}</div>')
        legend = _("Numbers: max |difference of logits| over the vocabulary, with: {switches}.")
        text = html.escape(legend.format(switches=in_words(switches, model.config)))
        st.html(f'<p class="hs-tr-legend">{text}</p>')
        written = cache.translate(model, trace.source_text, switches, compared.limit)
        whole, stepwise = perplexity(plain), _step_by_step(model, plain)
        shown = (
            _("{text} … (cut off after {limit} tokens)").format(text=written.text, limit=len(written.tokens))
            if cut_off(written)
            else written.text
        )
        cells = [
            (_("Perplexity of the target (teacher-forced)"), number(whole), number(stepwise)),
            (_("Free-running translation"), "", shown),
        ]
        titles = ["", _("sees the whole target"), _("sees nothing after the step")]
        st.html(table(titles, cells, "hs-leak-peek"))
        st.html(f'<p class="hs-leak-verdict">{html.escape(bare_verdict(whole, stepwise))}</p>')
    except (InterventionError, InputError) as error:
        message(refusal(error, compared.interventions, model.config), "error")


def draw(compared: Compared) -> None:
    """Change a token, see what moved, and see the effect of later tokens on the target and the translation."""
    trace, model = compared.before, compared.model
    if len(trace.target_in) < 2:
        message(_("Only the start token is fed to the decoder here, so there is no later token to change."), "note")
        return
    exchange = _exchange(model, trace)
    fed = ((exchange.position, exchange.token),)
    if not model.config.causal:
        _draw_without_mask(compared, exchange, fed)
        return
    switches = sides(compared.interventions)
    try:
        plain = [cache.retrace(model, trace, switch_set, compared.limit) for switch_set in switches]
        distances = [
            moved(one, cache.retrace(model, trace, on, compared.limit, fed))
            for one, on in zip(plain, switches, strict=True)
        ]
        past = [float(moves[: exchange.position].max()) for moves in distances]
        table_of_moves = _rows(trace, exchange, distances, (_("with the mask"), _("without")))
        if exchange.token != trace.target_in_ids[exchange.position]:
            sentence = (
                _("Without the mask, predictions before it move by up to {most}.")
                if past[1] > 0
                else _("Without the mask, no prediction before it moves either.")
            )
            text = html.escape(sentence.format(most=number(past[1])))
            st.html(f'<p class="hs-checks">{checked(past[0], exchange.position)} <span>{text}</span></p>')
        st.html(f'<div class="hs-leak-scroll" tabindex="0">{table_of_moves}</div>')
        legend = _(
            "Numbers: max |difference of logits| over the vocabulary. With the mask: {with_mask}. Without: {without}."
        )
        on, off = (in_words(switch_set, model.config) for switch_set in switches)
        text = html.escape(legend.format(with_mask=on, without=off))
        st.html(f'<p class="hs-tr-legend">{text}</p>')
        _peeking(compared, switches, plain)
    except (InterventionError, InputError) as error:
        message(refusal(error, compared.interventions, model.config), "error")
