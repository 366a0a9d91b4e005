"""Neurons and whole sub-layers taken out of a trained model, and the effect on translation and perplexity."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.components import figure, probing, task, translation
from pages.components.comparison import compare, switches_of_page
from pages.components.descriptions import stack_name, sub_layer, sublayer_names
from pages.components.sentences import paragraph, point
from pages.frame.frame import PageFrame
from pages.frame.messages import capital, message
from pages.frame.options import show_value
from pages.frame.state import add_notices, change_state, max_tokens, page_state
from pages.runtime.session import from_session
from pages.runtime.shared import SharedCache, identity
from transformer.analysis.translation import perplexity
from transformer.cancellation import Stopped
from transformer.figures import feedforward as figures
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import (
    MANY,
    SUB_LAYERS,
    InterventionError,
    Interventions,
    Silence,
    Skip,
    Switch,
    layers_of,
)
from transformer.model.config import ModelConfig
from transformer.model.tap import STACKS
from transformer.texts import UserError, _, semicolon_list
from transformer.tracing.trace import Trace

STRONGEST = 10
LITTLE = 1.1  # times the perplexity as trained: a sub-layer that changes it less changes it little
JOBS: SharedCache[list[float]] = SharedCache("perplexities without a sub-layer")
SWITCH_CLASSES = (Skip, Silence)
_RANGE = re.compile(r"\s*([0-9]{1,6})\s*(?:[-–]\s*([0-9]{1,6})\s*)?", re.ASCII)


class ListError(UserError):
    """A list of neurons that cannot be read; the message says what was typed and what is allowed."""


def read_neurons(text: str, count: int) -> list[int]:
    """Indices from 0 for a typed list that counts from 1: "17, 30-45". Raises ListError."""
    indices: list[int] = []
    for part in filter(str.strip, text.split(",")):
        match = _RANGE.fullmatch(part)
        if not match:
            raise ListError(
                "“{part}” is not a neuron; write numbers and ranges with commas between them, for example 17, 30-45",
                part=part.strip()[:40],
            )
        low, high = int(match[1]), int(match[2] or match[1])
        if min(low, high) < 1 or max(low, high) > count:
            raise ListError(
                "{part} is outside this layer; its neurons are 1 to {count:,}", part=part.strip(), count=count
            )
        if low > high:
            raise ListError("{part} runs backwards; write {low}-{high}", part=part.strip(), low=high, high=low)
        indices.extend(range(low - 1, high))
    if len(set(indices)) > MANY:
        raise ListError(
            "at most {most:,} neurons can be silenced, and these are {count:,}; leave out the whole FFN instead",
            most=MANY,
            count=len(set(indices)),
        )
    return sorted(set(indices))


def write_neurons(neurons: list[int]) -> str:
    """Indices as such a text, with neighbours as ranges."""
    parts: list[tuple[int, int]] = []
    for neuron in sorted(neurons):
        if parts and parts[-1][1] == neuron - 1:
            parts[-1] = (parts[-1][0], neuron)
        else:
            parts.append((neuron, neuron))
    return ", ".join(str(low + 1) if low == high else f"{low + 1}-{high + 1}" for low, high in parts)


def _set(switch_class: type, switches: Sequence[Switch]) -> str:
    """Replace the switches of one class. Returns "", or why they cannot be set."""
    rest = page_state().switches.without(switch_class).switches
    try:
        change_state(switches=Interventions((*rest, *switches)))
    except InterventionError as error:
        return _("{reason}; leave out the whole FFN instead.", reason=capital(error))
    return ""


def _chosen_layers(stack: str) -> None:
    skips = [switch for switch in page_state().switches.switches if isinstance(switch, Skip)]
    others = [skip for skip in skips if skip.stack != stack]
    if wrong := _set(Skip, [*others, *map(Skip.parse, st.session_state[f"feedforward_skip_{stack}"])]):
        add_notices(wrong)


def _sub_layers(frame: PageFrame, stack: str, switches: Interventions) -> None:
    """The menu of a stack's sub-layers to leave out."""
    config = frame.model.config
    skips = _all_skips(config, stack)
    labels = dict(zip(map(str, skips), _names(skips), strict=True))
    out = [str(skip) for skip in skips if skip in switches.switches]
    key = f"feedforward_skip_{stack}"
    show_value(key, out, frame.page_changed)
    st.pills(
        _("Leave out sub-layers of the encoder") if stack == "encoder" else _("Leave out sub-layers of the decoder"),
        list(labels),
        selection_mode="multi",
        format_func=labels.__getitem__,
        key=key,
        on_change=_chosen_layers,
        args=(stack,),
        help=semicolon_list(sub_layer(skip) for skip in skips[: len(SUB_LAYERS[stack])]),
    )


def _neurons_of(switches: Interventions, stack: str, layer: int) -> list[int]:
    silences = [switch for switch in switches.switches if isinstance(switch, Silence)]
    return [switch.neuron for switch in silences if (switch.stack, switch.layer) == (stack, layer)]


def _silence(stack: str, layer: int, neurons: list[int]) -> str:
    """Replace the silenced neurons of one layer. Returns "", or why they cannot be silenced."""
    others = [
        switch
        for switch in page_state().switches.switches
        if isinstance(switch, Silence) and (switch.stack, switch.layer) != (stack, layer)
    ]
    return _set(Silence, [*others, *(Silence(stack, layer, neuron) for neuron in neurons)])


def _field(stack: str, layer: int) -> str:
    """Widget key of the list of a layer's neurons."""
    return f"feedforward_neurons_{stack}_{layer}"


@dataclass
class WrongList:
    """found: key of a field, its text, and why that is no list of neurons; None where nothing is wrong."""

    found: tuple[str, str, str] | None = None


def _typed(stack: str, layer: int, config: ModelConfig) -> None:
    """Read the typed list; an error is stored with the text until that is corrected."""
    text = st.session_state[_field(stack, layer)]
    try:
        wrong = _silence(stack, layer, read_neurons(text, config.d_ff))
    except ListError as error:
        wrong = capital(error) + "."
    from_session(WrongList).found = (_field(stack, layer), text, wrong) if wrong else None


def _list_error(key: str) -> str:
    """What is wrong with the list in a field; "" if nothing is."""
    wrong = from_session(WrongList).found
    return wrong[2] if wrong and wrong[:2] == (key, st.session_state.get(key)) else ""


def _silence_by_button(stack: str, layer: int, neurons: list[int]) -> None:
    """Silence neurons by a button; they replace a list that cannot be read."""
    st.session_state.pop(_field(stack, layer), None)
    if wrong := _silence(stack, layer, neurons):
        add_notices(wrong)


def strongest(trace: Trace, stack: str, layer: int, count: int = STRONGEST) -> list[int]:
    """The most active neurons of a layer: by the sum of their activations over the tokens of the sentence."""
    part = trace.encoder_ff if stack == "encoder" else trace.decoder_ff
    return part.activation[layer].sum(0).topk(min(count, part.activation.shape[-1])).indices.tolist()


def _neurons(frame: PageFrame, switches: Interventions, trace: Trace) -> None:
    """The field for the neurons of one layer to silence."""
    config = frame.model.config
    first, second, third = st.columns([2, 1, 4], gap="medium")
    stack = str(frame.options.at(first).segment("stack", _("Stack"), STACKS, STACKS[0], stack_name))
    layer = frame.options.at(second).number("layer", _("Layer"), 1, layers_of(config, stack), 1) - 1
    silent, key = _neurons_of(switches, stack, layer), _field(stack, layer)
    written = write_neurons(silent)
    if frame.page_changed or (not _list_error(key) and not _names_exactly(st.session_state.get(key), silent, config)):
        st.session_state[key] = written
    with third:
        st.text_input(
            _("Silence neurons, 1 to {count}: numbers and ranges", count=f"{config.d_ff:,}"),
            key=key,
            placeholder=_("for example 17, 30-45"),
            on_change=_typed,
            args=(stack, layer, config),
        )
        if _list_error(key):
            message(_list_error(key))
    with st.container(horizontal=True, gap="small"):
        st.button(
            _("The {count} most active here", count=STRONGEST),
            key="feedforward_strongest",
            help=_("By the sum of their activations over the tokens of this sentence"),
            on_click=_silence_by_button,
            args=(stack, layer, sorted({*silent, *strongest(trace, stack, layer)})),
        )
        st.button(
            _("Put everything back"),
            key="feedforward_back",
            disabled=not switches,
            on_click=_reset,
        )


def _names_exactly(text: str | None, neurons: list[int], config: ModelConfig) -> bool:
    """Whether a list names exactly these neurons, however it is written."""
    try:
        return text is not None and read_neurons(text, config.d_ff) == sorted(neurons)
    except ListError:
        return False


def _reset() -> None:
    for key in [state_key for state_key in st.session_state if str(state_key).startswith("feedforward_neurons_")]:
        del st.session_state[key]
    change_state(switches=page_state().switches.without(*SWITCH_CLASSES))


def _without(model: Pretrained, trace: Trace, skips: list[Skip], limit: int) -> list[float] | None:
    """Perplexity of a trace's target with each sub-layer left out alone; None while a background job computes it."""

    def work(progress: task.Progress) -> list[float]:
        found: list[float] = []
        for skip in skips:
            if not progress(len(found), len(skips)):
                raise Stopped
            found.append(perplexity(model.retrace(trace, Interventions((skip,)), limit=limit)))
        return found

    label = _("Leave out each of {count} sub-layers alone", count=len(skips))
    tokens = len(skips) * (len(trace.source_ids) + len(trace.target_in_ids))
    return task.sized_result(JOBS, (model.name, identity(model), trace.id, limit), label, work, model, tokens)


def _all_skips(config: ModelConfig, stack: str) -> list[Skip]:
    return [Skip(stack, layer, part) for layer in range(layers_of(config, stack)) for part in SUB_LAYERS[stack]]


def _names(skips: Sequence[Skip]) -> tuple[str, ...]:
    return sublayer_names((skip.layer, skip.part) for skip in skips)


def _toggle(skip: Skip) -> None:
    """Leave a sub-layer out, or put it back."""
    out = [switch for switch in page_state().switches.switches if isinstance(switch, Skip)]
    _set(Skip, [switch for switch in out if switch != skip] if skip in out else [*out, skip])


def _most_can_go(found: list[tuple[Skip, float]], trained: float) -> str:
    """How much each sub-layer matters alone, in one sentence."""
    small = sum(value < LITTLE * trained for _skip, value in found)
    worst, value = max(found, key=lambda pair: pair[1])
    sentence = _(
        "The model can do without most single sub-layers: for {small} of the {count}, leaving it out raises the "
        "perplexity of this translation by less than {most}%. Without {worst} it goes from {before} to {after}."
    )
    if 2 * small <= len(found):
        sentence = _(
            "Sub-layers left out one at a time: for {small} of the {count} the perplexity of this translation rises by "
            "less than {most}%. Without {worst} it goes from {before} to {after}."
        )
    return sentence.format(
        small=small,
        count=len(found),
        most=round(100 * (LITTLE - 1)),
        worst=sub_layer(worst),
        before=translation.number(trained),
        after=translation.number(value),
    )


def _alone(
    frame: PageFrame, trace: Trace, switches: Interventions, about: DeltaGenerator, place: DeltaGenerator
) -> None:
    """Every sub-layer left out alone: the figure, whose bars can be clicked, and its sentence."""
    config, limit = frame.model.config, frame.model.token_limit(max_tokens())
    skips = [skip for stack in STACKS for skip in _all_skips(config, stack)]

    def later() -> None:
        with place:
            values = _without(frame.model, trace, skips, limit)
        if values is None:
            return
        trained = perplexity(trace)
        named = list(zip(skips, _names(skips), values, strict=True))
        bars = {stack: {name: value for skip, name, value in named if skip.stack == stack} for stack in STACKS}
        out = [_("{stack}, {sublayer}", stack=stack_name(skip.stack), sublayer=name)
               for skip, name, _value in named if skip in switches.switches]  # fmt: skip
        drawn = figure.built(figures.left_out, bars, trained, out)
        with place:
            figure.draw(
                drawn,
                "feedforward_alone",
                "feedforward-left-out",
                on_pick=lambda at: _toggle(skips[at]),
                first=True,
                trace=trace,
            )
        if not switches:
            point(_most_can_go(list(zip(skips, values, strict=True)), trained), about)

    frame.draw_last(later)


def draw(frame: PageFrame, trace: Trace) -> None:
    """What is left out, and translation, perplexity and the probe set before and after."""
    switches = switches_of_page(frame.state.switches, SWITCH_CLASSES, frame.model)
    about, place = st.empty(), st.container()
    _alone(frame, trace, switches, about, place)
    paragraph(_("Click a bar to leave its sub-layer out, or to put it back."), quiet=True)
    for stack in STACKS:
        _sub_layers(frame, stack, switches)
    _neurons(frame, switches, trace)
    compared = compare(frame.model, trace, switches)
    if compared.interventions:
        point(translation.changes(compared), about)
    translation.draw(compared, given=not trace.own)
    probing.draw(compared)
    config = frame.model.config
    if not config.residual:
        left_out = _(
            "A sub-layer that is left out returns 0. In this model no residual connection carries x past it (section "
            "3.1 has one), so nothing of x remains."
        )
    elif config.norm == "post":
        left_out = _(
            "A sub-layer that is left out returns 0, so only the residual connection carries x on, to the LayerNorm "
            "as usual (section 3.1)."
        )
    else:
        left_out = _(
            "A sub-layer that is left out returns 0, so only the residual connection carries x on (section 3.1)."
        )
    with frame.options.panel("left_out", _("What is left out?")):
        st.markdown(
            left_out
            + " "
            + _(
                "A silenced neuron has the activation 0 for every token, so its row of W₂ adds nothing (section 3.3, "
                "equation 2). The model was not trained for either. A translation that survives does not show that a "
                "part does nothing, only that other parts make up for it here."
            )
        )
