"""Position lab: change the encodings of a trained model, and see the effect on attention and translation."""

import html
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.components import compared_heads, figure, probing, translation
from pages.components.comparison import compare, switches_of_page
from pages.components.descriptions import in_words
from pages.components.sentences import check, controls_and_picture, deviation, paragraph, part_layout, point
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.frame.options import Options, show_value
from pages.frame.state import change_state, max_tokens, page_state
from pages.runtime import cache
from pages.runtime.shared import shared
from transformer.analysis.permutation import Equivariance, equivariance, permutation
from transformer.figures.permutation import permutation_deviations
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions, Reposition
from transformer.model.tap import SIDES
from transformer.texts import _, semicolon_list
from transformer.tracing.trace import Trace

TRAINED = "trained"
# Smaller deviations are rounding: outputs after LayerNorm have size 1, float32 has 7 digits. Without LayerNorm both
# may be larger.
ROUNDING = 1e-4
FACTORS = (0.0, 0.25, 0.5, 2.0, 4.0, 10.0)
DEFAULTS = {"shift": 5, "scale": 0.5, "shuffle": 1}
DEMO = Interventions((Reposition("remove", "source"),))


def _moves(switches: Interventions, side: str) -> list[Reposition]:
    """The moves of one side; a move of both sides counts for each."""
    moves = [switch for switch in switches.switches if isinstance(switch, Reposition) and switch.covers(side)]
    return [replace(move, side=side) for move in moves]


def _set(options: Options, shown: Interventions, side: str, moves: list[Reposition]) -> None:
    """Replace the moves of one side and keep those of the other. shown: what the page shows now."""
    moves = [*_moves(shown, SIDES[1 - SIDES.index(side)]), *moves]
    options.report("trained", "off" if moves else "on", "off")
    change_state(switches=page_state().switches.without(Reposition) + Interventions(tuple(moves)))


def _choose(options: Options, shown: Interventions, side: str) -> None:
    rule = st.session_state[f"positions_rule_{side}"]
    _set(options, shown, side, [] if rule == TRAINED else [Reposition(rule, side, DEFAULTS.get(rule, 0))])


def _amount(options: Options, shown: Interventions, side: str, rule: str, moves: list[Reposition]) -> None:
    """Replace the last move; earlier ones from a link stay."""
    amount = st.session_state[f"positions_amount_{side}_{rule}"]
    _set(options, shown, side, [*moves[:-1], Reposition(rule, side, amount)])


def _control(frame: PageFrame, side: str, switches: Interventions, tokens: int) -> None:
    """The menu of one side, and the amount of the chosen rule. tokens: how many positions the side has."""
    moves = _moves(switches, side)
    rule = moves[-1].rule if moves else TRAINED
    labels = {
        TRAINED: _("as trained"),
        "remove": _("none"),
        "shuffle": _("shuffled"),
        "reverse": _("reversed"),
        "shift": _("shifted"),
        "scale": _("scaled"),
    }
    key = f"positions_rule_{side}"
    show_value(key, rule, frame.page_changed)
    st.segmented_control(
        _("Positions of the source") if side == "source" else _("Positions of the target"),
        list(labels),
        format_func=labels.__getitem__,
        key=key,
        on_change=_choose,
        args=(frame.options, switches, side),
        required=True,
    )
    if len(moves) > 1:
        text = _("These changes apply together, in this order: {moves}. A new choice here replaces all of them.")
        message(text.format(moves=semicolon_list(in_words(Interventions((move,))) for move in moves)), "note")
    if rule not in DEFAULTS:
        return
    amount, key = moves[-1].amount, f"positions_amount_{side}_{rule}"
    about: dict[str, Any] = {"key": key, "on_change": _amount, "args": (frame.options, switches, side, rule, moves)}
    about["width"] = 260
    if rule == "scale":
        factors = sorted({*FACTORS, float(amount)})
        show_value(key, float(amount), frame.page_changed)
        st.segmented_control(
            _("Multiply encodings by"),
            factors,
            format_func=lambda amount: f"{amount:g}",
            required=True,
            **{**about, "width": 340},
        )
        return
    show_value(key, int(amount), frame.page_changed)
    if rule == "shift":
        most = max(int(amount), frame.model.config.max_positions - tokens)
        st.number_input(_("Shift by"), 1, most, step=1, **about)
    else:
        st.number_input(_("Seed of the shuffle"), 0, 9999, step=1, **about)


def _point(results: dict[str, Equivariance], positions: bool) -> str:
    """What positions are for, in two numbers. positions: whether the model has any."""
    without, with_ = float(results["without"].outputs.max()), float(results["with"].outputs.max())
    if not positions:
        return _(
            "This model was trained without positions: with its tokens in another order the encoder gives the same "
            "vectors (largest deviation {without}, rounding)."
        ).format(without=deviation(without))
    return _(
        "Only positions tell the encoder the order. Without them the shuffled sentence gives every token the same "
        "vector as before (largest deviation {without}, rounding); with them vectors change by up to {with_}."
    ).format(without=deviation(without), with_=f"{with_:.3g}")


def _check_sentences(results: dict[str, Equivariance], positions: bool) -> None:
    """The check and its meaning. positions: whether the model has any."""
    without, with_ = results["without"], results["with"]
    largest = float(without.outputs.max())
    holds = _holds(without)
    name = _("permutation-equivariant without positions: {deviation}") if holds else _(
        "not permutation-equivariant: {deviation}"
    )  # fmt: skip
    check(name.format(deviation=deviation(largest)), holds)
    text = _(
        "Without positions no output deviates by more than {without} over all layers, next to outputs of size {size}; "
        "no probability of the decoder changes by more than {predicted}."
    )
    more = (
        _("With positions, outputs differ by up to {with_} and probabilities by up to {moved}.")
        if positions
        else _("This model was trained without positions, so there is nothing to compare with.")
    )
    paragraph(
        text.format(
            without=deviation(largest),
            size=f"{float(without.size[-1]):.2g}",
            predicted=deviation(without.predicted),
        ),
        more.format(with_=f"{float(with_.outputs.max()):.3g}", moved=f"{with_.predicted:.3g}"),
    )


def _holds(without: Equivariance) -> bool:
    return float(without.outputs.max()) < ROUNDING * max(1.0, float(without.size.max()))


@shared(queued=True)
def _reordered(model: Pretrained, trace: Trace, seed: int, limit: int) -> dict[str, Equivariance]:
    """With positions and without."""
    order = permutation(len(trace.source_ids), seed)
    without = Interventions((Reposition("remove", "source"),))
    results = {}
    for side, switches in (("with", trace.interventions), ("without", without)):
        usual = cache.retrace(model, trace, switches, limit)
        moved = model.retrace(trace, switches, order=order, limit=limit)
        results[side] = equivariance(usual, moved, order)
    return results


def draw_equivariance(frame: PageFrame, trace: Trace) -> None:
    """The source in another order, with positions and without."""
    limit = frame.model.token_limit(max_tokens())
    about, controls, picture = part_layout()
    with controls:
        left, right = st.columns((1, 4), gap="medium", vertical_alignment="bottom")
        seed = frame.options.at(left).number("seed", _("Another order (seed)"), 0, 9999, 0)
    results = _reordered(frame.model, trace, seed, limit)
    order = permutation(len(trace.source_ids), seed)
    words = html.escape(" ".join(trace.source_labels[position] for position in order))
    with right:
        st.html(f'<p class="hs-said" dir="auto">{html.escape(_("The tokens, now:"))} <b>{words}</b></p>')
    positions = frame.model.config.positions != "none"
    if _holds(results["without"]):
        point(_point(results, positions), about)
    found_with = results["with"].outputs.tolist() if positions else []
    with picture:
        figure.draw(
            figure.built(
                permutation_deviations,
                found_with,
                results["without"].outputs.tolist(),
                results["with"].size.tolist(),
            ),
            "permutation",
            "permutation",
            first=True,
            about=f"order-{seed}",
            trace=trace,
        )
    _check_sentences(results, positions)
    paragraph(
        _(
            "Attention and feed-forward networks treat their input as a set. Put the tokens in another order P, and "
            "the outputs come in that order and are otherwise the same: f(Px) = P f(x). Only the encodings of section "
            "3.5 tell the encoder which token stands where."
        ),
        quiet=True,
    )


def draw(frame: PageFrame, trace: Trace) -> None:
    """The pictures of attention before and after, their controls, translations and the probe set.

    Until a person has chosen something, the page shows DEMO: its point needs no click."""
    values = compared_heads.report(frame.state)
    state = compared_heads.merge_browser(frame.state, frame.model, ())
    has_positions = frame.model.config.positions != "none"
    if not has_positions:
        message(_("This model was trained without positions, so there is nothing to change here."), "note")
    switches = switches_of_page(state.switches, (Reposition,), frame.model)
    as_trained = frame.options.choice("trained", ("off", "on"), "off") == "on"
    if not switches and has_positions and not as_trained:
        switches = DEMO
    about = st.empty()
    controls, picture = controls_and_picture()
    with controls:
        for side, column in zip(SIDES, st.columns(2, gap="medium"), strict=True):
            with column:
                _control(frame, side, switches, len(trace.source_ids if side == "source" else trace.target_in_ids))
    compared = compare(frame.model, trace, switches)
    with picture:
        says = st.container(key="hs-says")
        row, pane = compared_heads.choices(values, frame.options, compared, state.view.kind)
        compared_heads.draw(frame.state, compared, compared_heads.Layout(tries=False, cards=False, row=row, pane=pane))
    if compared.interventions:
        point(translation.changes(compared), about)
    compared_heads.draw_translations(says, compared)
    translation.draw(compared, given=not trace.own)
    probing.draw(compared)
    with frame.options.panel("positions", _("What do the positions do?")):
        st.markdown(
            _(
                "Attention by itself sees a set: it compares every query with every key, wherever they stand. So "
                "section 3.5 adds to each embedding a vector for its position. **None** adds nothing. **Shuffled** "
                "and **reversed** give tokens the vectors of other tokens of the sentence. **Shifted** gives token p "
                "the vector of position p + k, so all distances stay the same. **Scaled** multiplies the vectors. A "
                "target is reversed or shuffled again at every decoding step, among the tokens written so far."
            )
        )
