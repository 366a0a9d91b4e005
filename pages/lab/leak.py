"""The leak: change a later token of the target, and see which earlier predictions move, with the mask and without."""

import html
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from torch import Tensor

from pages.components.comparison import Compared
from pages.components.descriptions import in_words
from pages.components.pieces import typed_ids
from pages.components.saving import describe_trace, saved
from pages.components.sentences import badge, paragraph
from pages.components.translation import number, quoted, refusal, table
from pages.frame.frame import Links, message
from pages.frame.options import Options
from pages.runtime import cache
from pages.runtime.session import from_session
from pages.runtime.shared import shared
from transformer.analysis.leak import moved, peeking, step_by_step
from transformer.analysis.translation import perplexity
from transformer.inference.pretrained import InputError, Pretrained, readable
from transformer.interventions.sets import InterventionError, Interventions, Unmask
from transformer.text.tokenizer import PIECE_MARK, AnyTokenizer
from transformer.texts import _
from transformer.tracing.trace import Trace

CANDIDATES = 20  # likeliest tokens among which a word is looked for
LEAST_LETTERS = 3  # of a word that is fed by default


@dataclass
class LastSentence:
    """trace_id: of the sentence whose position and token are in the options; "" before the first."""

    trace_id: str = ""


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


def other_word(trace: Trace, position: int, tokenizer: AnyTokenizer, specials: Sequence[int]) -> tuple[int, float]:
    """The likeliest other token for a position of target_in that reads as a whole word of the target's language, and
    its probability; (-1, 0) if there is none.

    A word starts with the piece mark, has letters only, and is no beginning of the token there ("is" of
    "ist"): a model trained on sampled subwords gives such beginnings some probability. No word of the source: a copied
    English word reads as English.
    """
    there = trace.target_in[position]
    sources = {piece.removeprefix(PIECE_MARK).casefold() for piece in trace.source_tokens}
    if not there.startswith(PIECE_MARK) or not there.removeprefix(PIECE_MARK).isalpha():
        return -1, 0.0
    probabilities = trace.logits[position - 1].softmax(-1)
    candidates = probabilities.topk(min(CANDIDATES, len(probabilities))).indices.tolist()
    for token, piece in zip(candidates, tokenizer.pieces(candidates), strict=True):
        word = piece.removeprefix(PIECE_MARK)
        whole = piece.startswith(PIECE_MARK) and word.isalpha() and len(word) >= LEAST_LETTERS
        if whole and token not in specials and not there.startswith(piece) and word.casefold() not in sources:
            return token, float(probabilities[token])
    return -1, 0.0


def first_exchange(trace: Trace, tokenizer: AnyTokenizer, specials: Sequence[int]) -> tuple[int, int]:
    """Position and token to show first: in the later half, so that many positions come before it, the whole word to
    which the model was closest; else its closest token."""
    positions = range(max(1, len(trace.target_in) // 2), len(trace.target_in))
    words = {position: other_word(trace, position, tokenizer, specials) for position in positions}
    best = max(positions, key=lambda position: words[position][1])
    if words[best][0] >= 0:
        return best, words[best][0]
    best = max(positions, key=lambda position: runner_up(trace, position, specials)[1])
    return best, runner_up(trace, best, specials)[0]


def _exchange(model: Pretrained, trace: Trace, options: Options) -> tuple[Exchange, str]:
    """The two fields, and a sentence that says which token is fed: the first typed piece that is not only a piece
    mark."""
    labels, config = trace.target_in_labels, model.config
    specials = (config.pad_id, config.unk_id, config.start_id, config.end_id)
    last = from_session(LastSentence)
    if last.trace_id not in ("", trace.id):  # another sentence begins anew
        for name in ("position", "token"):
            options.report(name, "", "")
    last.trace_id = trace.id
    first, alternative = first_exchange(trace, model.tokenizer, specials)
    fields = st.container(horizontal=True, gap="small", key="hs-leak-fields")
    position = (
        int(
            options.at(fields).choose(
                "position",
                _("Target position to change"),
                range(2, len(labels) + 1),
                first + 1,
                lambda number: f"{number} · {labels[number - 1]}",
            )
        )
        - 1
    )
    if position != first:
        alternative = other_word(trace, position, model.tokenizer, specials)[0]
    if alternative < 0:
        alternative = runner_up(trace, position, specials)[0]
    probability = float(trace.logits[position - 1].softmax(-1)[alternative])
    other_label = readable(model.tokenizer.pieces([alternative]))[0]
    typed = options.at(fields).text("token", _("Token to feed there"), 100, placeholder=other_label)
    ids = typed_ids(model.tokenizer, typed)
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
            "At position {position}, “{after}” is fed instead of “{before}”. The model gave it p = {probability} there."
        )
    sentence = sentence.format(
        position=position + 1, after=after, before=labels[position], count=len(ids), probability=f"{probability:.2g}"
    )
    return Exchange(position, token, labels[position], after), sentence


def _rows(trace: Trace, exchange: Exchange, distances: Sequence[Tensor], sides: Sequence[str]) -> str:
    """HTML: one row per position with the token fed, the prediction, and how far that moved, with one column per side.

    Only earlier positions have bars: later ones may move, and move most.
    """
    position, labels = exchange.position, trace.target_in_labels
    most = max(float(moves[:position].max()) for moves in distances) or 1.0
    titles = (_("fed"), _("predicts"), *sides)
    head = '<th scope="col">#</th>' + "".join(f'<th scope="col">{html.escape(title)}</th>' for title in titles)
    past = _("The past: predicted before position {position} is fed", position=position + 1)
    rest = _("From position {position} on: these can see the new token", position=position + 1)
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


def _draw_rows(
    trace: Trace,
    exchange: Exchange,
    distances: Sequence[Tensor],
    sides: Sequence[str],
    switches: Interventions,
    legend: str,
    said: str,
) -> None:
    """The picture of the moves, its legend, and the menu that saves both."""
    titles = [_("position"), _("fed"), _("predicts"), *sides]
    columns = (trace.target_in_labels, trace.target_out_labels, *(moves.tolist() for moves in distances))
    rows = [titles, *([index, *values] for index, values in enumerate(zip(*columns, strict=True), 1))]
    rows[exchange.position + 1][1] = f"{exchange.before} → {exchange.after}"
    about = describe_trace(trace, switches)
    stem = [about["model"], "leak", f"position{exchange.position + 1}", exchange.after, *about["switches"]]
    with saved("leak", stem, [said, about["sentences"]], rows):
        st.html(f'<p class="hs-tr-legend">{html.escape(legend)}</p>')
        st.html(f'<div class="hs-leak-scroll" tabindex="0">{_rows(trace, exchange, distances, sides)}</div>')


def checked(most: float, count: int) -> str:
    """HTML: the result of the check. most: the largest move at the `count` positions before the changed token."""
    good = most == 0
    if not good:
        text = _("With the mask, a prediction before the changed token moved by {most}. It must be exactly 0.")
    elif count == 1:
        text = _("With the mask, the prediction before it changes by exactly 0.")
    else:
        text = _("With the mask, all {count} predictions before it change by exactly 0.")
    return badge(text.format(most=f"{most:.3g}", count=count), good)


def peeked(with_mask: float, without: float) -> str:
    """One sentence: what seeing later tokens does to the target, by its two perplexities."""
    times = without / with_mask
    return {
        "helps": _("Seeing later tokens helps the model with this target."),
        "confuses": _(
            "Seeing later tokens confuses the model: its perplexity on this target is {times} times as high."
        ),
        "little": _("Seeing later tokens hardly matters for this target."),
    }[peeking(with_mask, without)].format(times=f"{times:.1f}" if times < 100 else f"{times:,.0f}")


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


def punch_line(with_mask: float, without: float) -> str:
    """HTML: the perplexity of the target with the mask and without, large."""
    values = {"with_mask": number(with_mask), "without": number(without)}
    return (
        f'<p class="hs-leak-punch"><small>{html.escape(_("Perplexity of this target"))}</small>'
        f"<span>{html.escape(_('{with_mask} with the mask', **values))}</span>"
        f'<b aria-hidden="true">→</b><span>{html.escape(_("{without} without", **values))}</span></p>'
    )


def _other_half(links: Links) -> None:
    """The other half of the point: a model trained without the mask; and where to see it learn."""
    text = _(
        "This model learned with the mask, so it never learned to use later tokens. A model trained without the mask "
        "learns to cheat: it copies the token that it should predict, which it can see, and cannot write by itself."
    )
    st.html(f'<p class="hs-said">{html.escape(text)}</p>')
    link = next((link for page, link in links.items() if page.name == "training"), None)
    if link is not None:
        st.page_link(link, label=_("Watch a model learn to cheat →"), query_params={"preset": "no-mask"})


def _free_running(compared: Compared, switches: Sequence[Interventions], surprised: Sequence[float]) -> None:
    """Both perplexities and both translations, and what they mean for this input."""
    source = compared.before.source_text
    translations = [cache.translate(compared.model, source, switch_set, compared.limit) for switch_set in switches]
    rows = [
        (_("Perplexity of the target (teacher-forced)"), *map(number, surprised)),
        (_("Free-running translation"), *map(quoted, translations)),
    ]
    st.html(table(["", _("with the mask"), _("without")], rows, "hs-leak-peek"))
    sentence = verdict(surprised[0], surprised[1], translations[0].tokens, translations[1].tokens)
    st.html(f'<p class="hs-leak-verdict">{html.escape(sentence)}</p>')


@shared(queued=True)
def _step_by_step(model: Pretrained, trace: Trace) -> float:
    """`step_by_step`, cached, because it takes one pass per token."""
    return step_by_step(trace, model.model, model.outputs_elsewhere)


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


def _draw_without_mask(
    compared: Compared,
    exchange: Exchange,
    fed: tuple[tuple[int, int], ...],
    picture: st.delta_generator.DeltaGenerator,
    said: str,
    point: st.delta_generator.DeltaGenerator,
) -> None:
    """The same for a model that was trained without the mask: there is no masked side to compare with."""
    model, trace = compared.model, compared.before
    switches = compared.interventions
    try:
        plain = compared.after
        whole, stepwise = perplexity(plain), _step_by_step(model, plain)
        with point:
            st.html(f'<p class="hs-leak-verdict">{html.escape(bare_verdict(whole, stepwise))}</p>')
        distances = moved(plain, cache.retrace(model, trace, switches, compared.limit, fed))
        with picture:
            if exchange.token != trace.target_in_ids[exchange.position]:
                most = float(distances[: exchange.position].max())
                sentence = (
                    _("This model has no causal mask: predictions before the changed token move by up to {most}.")
                    if most > 0
                    else _("This model has no causal mask, but no prediction before the changed token moves.")
                )
                paragraph(sentence.format(most=number(most)))
            text = _("Numbers: how far a prediction moves, as the largest change of a logit. With: {switches}.")
            legend = text.format(switches=in_words(switches, model.config))
            _draw_rows(trace, exchange, [distances], (_("change"),), switches, legend, said)
        written = cache.translate(model, trace.source_text, switches, compared.limit)
        cells = [
            (_("Perplexity of the target (teacher-forced)"), number(whole), number(stepwise)),
            (_("Free-running translation"), "", quoted(written)),
        ]
        titles = ["", _("sees the whole target"), _("sees nothing after the step")]
        st.html(table(titles, cells, "hs-leak-peek"))
    except (InterventionError, InputError) as error:
        message(refusal(error, compared.interventions, model.config), "error")


def draw(compared: Compared, options: Options, links: Links) -> None:
    """Change a token, see what moved, and see the effect of later tokens on the target and the translation."""
    trace, model = compared.before, compared.model
    if len(trace.target_in) < 2:
        message(_("Only the start token is fed to the decoder here, so there is no later token to change."), "note")
        return
    with st.container(key="hs-leak"):  # the style sheet puts the picture beside the words, or between them
        point, picture, more = (st.container(key=f"hs-leak-{name}") for name in ("point", "picture", "more"))
    if not model.config.causal:
        with picture:
            exchange, said = _exchange(model, trace, options)
        with more:
            paragraph(said)
        _draw_without_mask(compared, exchange, ((exchange.position, exchange.token),), picture, said, point)
        return
    switches = sides(compared.interventions)
    try:
        plain = [cache.retrace(model, trace, switch_set, compared.limit) for switch_set in switches]
        surprised = [perplexity(side) for side in plain]
        with point:
            st.html(punch_line(*surprised))
            st.html(f'<p class="hs-leak-verdict">{html.escape(peeked(*surprised))}</p>')
        with picture:
            exchange, said = _exchange(model, trace, options)
        fed = ((exchange.position, exchange.token),)
        distances = [
            moved(one, cache.retrace(model, trace, on, compared.limit, fed))
            for one, on in zip(plain, switches, strict=True)
        ]
        past = [float(moves[: exchange.position].max()) for moves in distances]
        with picture:
            legend = _("Numbers: how far a prediction moves, as the largest change of a logit.")
            if compared.interventions:  # the sides differ in more than the columns say, or in part of it
                legend = _(
                    "Numbers: how far a prediction moves, as the largest change of a logit. With the mask: "
                    "{with_mask}. Without: {without}."
                )
                on, off = (in_words(switch_set, model.config) for switch_set in switches)
                legend = legend.format(with_mask=on, without=off)
            titles = (_("with the mask"), _("without"))
            _draw_rows(trace, exchange, distances, titles, compared.interventions, legend, said)
        with more:
            paragraph(said)
            if exchange.token != trace.target_in_ids[exchange.position]:
                sentence = (
                    _("Without the mask, predictions before it move by up to {most}.")
                    if past[1] > 0
                    else _("Without the mask, no prediction before it moves either.")
                )
                text = html.escape(sentence.format(most=number(past[1])))
                st.html(f'<p class="hs-checks">{checked(past[0], exchange.position)} <span>{text}</span></p>')
            _other_half(links)
        _free_running(compared, switches, surprised)
    except (InterventionError, InputError) as error:
        message(refusal(error, compared.interventions, model.config), "error")
