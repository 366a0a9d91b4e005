"""One head, twice: two sentences, two checkpoints, or a recorded training state beside the trained model."""

import streamlit as st
from torch import Tensor

from pages.attribution.patching import second_pair
from pages.components import figure
from pages.components.one_head import choose_head
from pages.components.sentences import paragraph, part_layout, point
from pages.frame.frame import PageFrame
from pages.frame.messages import capital, message
from pages.frame.state import max_tokens
from pages.runtime import cache, session_models
from pages.runtime.shared import shared
from transformer.checkpoints.folder import RECORDING
from transformer.figures import attention as figures
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import layers_of
from transformer.texts import UserError, _
from transformer.tracing.finite import check_numbers
from transformer.tracing.trace import Trace
from transformer.training.recording import LARGEST, Recording

OPTIONS = ("cell_head", "beside", "second", "second_target", "model_b", "state")


class CompareError(UserError):
    """Two things that cannot be compared."""


@shared()
def recording_of(model: Pretrained) -> Recording | None:
    """The recording of a checkpoint's training; None if it has none that can be read."""
    try:
        return Recording.from_bytes(model.beside(RECORDING, LARGEST) or b"", RECORDING)
    except (OSError, ValueError):
        return None


def draw(frame: PageFrame, trace: Trace) -> None:
    options, model = frame.options, frame.model
    head, controls, picture = part_layout()
    with controls:
        names = {
            "sentence": _("Another sentence"),
            "checkpoint": _("Another model"),
            "training": _("A state of its training"),
        }
        left, right = st.columns(2, vertical_alignment="bottom")
        beside = options.at(left).labelled("beside", _("Compare with"), names)
        with right:
            kind, layer, number = choose_head(options, "cell_head", model.config, frame.state.view)
        question = _("How much of this map is the sentence, and how much the head? Put two maps side by side.")
        try:
            found = _other(frame, trace, beside, kind, layer, number)
        except UserError as error:
            with head:
                point(question)
                message(capital(error) + ".", "error")
            return
        if found is None:
            with head:
                point(question)
                message(_("Type a second sentence; the model translates it."), "note")
            return
        other, name, weights = found
    own = trace.attention(kind).weights[layer, number]
    check_numbers(own, weights)
    same = own.shape == weights.shape
    point(_says(trace, kind, frame.state.view.rows, (weights - own).abs() if same else None), head)
    with picture:
        rows = frame.state.view.rows
        columns = st.columns(2, gap="medium", vertical_alignment="bottom")  # texts above the maps may differ in lines
        both = (("a", trace, model.name, own), ("b", other, name, weights))
        for column, (side, shown, of, map_) in zip(columns, both, strict=True):
            title = _("{model}, layer {layer}, head {head}", model=of, layer=layer + 1, head=number + 1)
            values = [[round(value, 6) for value in row] for row in map_.tolist()]
            with column:
                figure.draw(
                    figure.built(figures.weight_map, shown, kind, values, title, rows=rows), f"compare_{side}",
                    "compare", trace=shown, about=side.upper(),
                )  # fmt: skip
        if same:
            change = [[round(value, 6) for value in row] for row in (weights - own).tolist()]
            figure.draw(
                figure.built(figures.difference_map, trace, kind, change, _("Second minus first"), rows=rows),
                "compare_difference", "compare", trace=trace, about="difference",
            )  # fmt: skip
        else:
            paragraph(_("The maps have different sizes, so there is no difference to draw."), quiet=True)
    paragraph(_("Both maps have the same colours: 0 to 1."), quiet=True)


def _other(
    frame: PageFrame, trace: Trace, beside: str, kind: str, layer: int, head: int
) -> tuple[Trace, str, Tensor] | None:
    """The second trace, its model in words, and the weights to show for it, [query, key]; None without a second
    sentence. Raises UserError."""
    options, model = frame.options, frame.model
    if beside == "sentence":
        text, target = second_pair(frame, trace, "second", _("Second sentence"))
        if not text.strip():
            return None
        other = cache.trace(model, model.name, text, target, max_tokens())
        return other, model.name, other.attention(kind).weights[layer, head]
    if beside == "checkpoint":
        names = [name for name in session_models.names() if name != model.name]
        if not names:
            raise CompareError("there is no other model; load or train one on the Training page")
        name = str(options.choose("model_b", _("Second model, with the same sentence pair"), names, names[0]))
        second = session_models.load(name)
        other = cache.trace(second, name, trace.source_text, trace.target_text, max_tokens())
        layers, heads = layers_of(second.config, kind), second.config.heads
        if layer >= layers or head >= heads:
            raise CompareError(
                "{name} has {layers} layers of {heads} heads there, so it has no such head; choose another",
                name=name, layers=layers, heads=heads,
            )  # fmt: skip
        return other, name, other.attention(kind).weights[layer, head]
    found = recording_of(model)
    pair = (trace.source_text, trace.target_text)
    sources = [source for source, _target in found.sentences] if found else []
    if found is None or trace.source_text not in sources:
        if found is None:
            raise CompareError("this model has no recording of its training; choose another model")
        raise CompareError("the training was recorded for this model's examples only; choose one in the menu Examples")
    at = found.sentences.index(pair) if pair in found.sentences else sources.index(trace.source_text)
    steps = list(found.steps)
    step = int(options.choose("state", _("Step of the training"), steps, steps[0], lambda value: f"{value:,}"))
    array = found.weights[kind][at]
    if array.shape[1] <= layer or array.shape[2] <= head:
        raise CompareError("the recording has no such head; choose another")
    source, target = found.sentences[at]
    other = cache.trace(model, model.name, source, target or "", max_tokens())
    weights = other.cross.weights.new_tensor(array[steps.index(step), layer, head] / 255)
    if weights.shape != other.attention(kind).weights.shape[-2:]:
        raise CompareError("the recording was made with other tokens; choose another sentence")
    return other, _("{model} at step {step}", model=model.name, step=f"{step:,}"), weights


def _says(trace: Trace, kind: str, rows: str, change: Tensor | None) -> str:
    """change: how much every weight changes, [query, key]; None for maps of different sizes. rows: how a decoder row is
    read."""
    if change is None:
        return _(
            "The same head on inputs of different numbers of tokens: look for the same pattern, not the same cells."
        )
    query, key = divmod(int(change.argmax()), change.shape[1])
    largest = f"{float(change.max()):.2f}"
    if not change.any():
        return _("The same head twice: none of its {cells} weights changes.", cells=change.numel())
    keys = trace.target_in_labels if kind == "decoder_self" else trace.source_labels
    if kind == "encoder_self":
        text = _(
            "The same head twice: of {cells} weights, the one from “{query}” to “{key}” changes most, by {largest}."
        )
        return text.format(cells=change.numel(), query=trace.source_labels[query], key=keys[key], largest=largest)
    predicted = rows == "predicted"
    return _(
        "The same head twice: of {cells} weights, the one from “{query}” ({reading}) to “{key}” changes most, by "
        "{largest}.",
        cells=change.numel(),
        query=(trace.target_out_labels if predicted else trace.target_in_labels)[query],
        reading=_("the token predicted") if predicted else _("the token fed in"),
        key=keys[key],
        largest=largest,
    )
