"""Single neurons: the strongest ones of a token, what activates a neuron in the probe set, what it writes; silent
neurons."""

import html
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.components import figure, task
from pages.components.descriptions import row_caution
from pages.components.pieces import numbered, shown, stack_labels
from pages.components.probing import pairs_of
from pages.components.sentences import paragraph, part_layout, point
from pages.feedforward.activity import choose_layer, percent, sides
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.frame.options import Options
from pages.runtime.session import from_session
from pages.runtime.shared import SharedCache, identity
from transformer.analysis.activations import SHAPES
from transformer.analysis.neuron_outputs import FEW, PIECES, Promotion, most_common, output_norms, promotion, strongest
from transformer.analysis.tokens import is_special
from transformer.figures import feedforward as layer_figures
from transformer.figures import single_neurons as figures
from transformer.inference.pretrained import Pretrained
from transformer.model.tap import STACKS
from transformer.probing.neuron_survey import TOP_TOKENS, NeuronStatistics, Reading, neuron_statistics, reading
from transformer.text.tokenizer import PIECE_MARK
from transformer.texts import _
from transformer.tracing.trace import Trace

NAMED = 3  # pieces named in the sentence about a neuron
JOBS: SharedCache[NeuronStatistics] = SharedCache("counts of neurons")


def key_of(model: Pretrained) -> tuple[str, str]:
    return model.name, identity(model)


# -- the token chosen ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """The chosen neuron; everything counts from 0, as in the trace."""

    stack: str
    layer: int
    token: int
    neuron: int


def _longest(trace: Trace, stack: str) -> int:
    """The index of the token with the longest text; a special token only if there is no other."""
    pieces = trace.source_tokens if stack == "encoder" else trace.target_in
    ordinary = [index for index, special in enumerate(is_special(pieces)) if not special]
    return max(ordinary or range(len(pieces)), key=lambda index: len(stack_labels(trace, stack)[index]))


@dataclass
class ShownNeuron:
    """The neuron that was shown last without a choice. key: model, sentence, layer and token; None before the first."""

    key: tuple[Hashable, ...] | None = None
    neuron: int = 0


def _neuron_to_show(model: Pretrained, trace: Trace, stack: str, layer: int, token: int) -> int:
    """The neuron shown without a choice: if the probe set was counted, the strongest at the token among those with
    TOP_TOKENS examples; else the strongest of all. It stays the same while a person stays at this token."""
    activation = sides(trace)[stack].activation[layer, token]
    key = (*key_of(model), trace.source_text, trace.target_in, stack, layer, token)
    last = from_session(ShownNeuron)
    if last.key == key:
        return last.neuron
    statistics = JOBS.find(key_of(model))
    neuron = int(activation.argmax())
    if statistics is not None:
        side = statistics.stack(stack)
        order = activation.argsort(descending=True, stable=True)
        often = (activation[order] > statistics.threshold) & (side.counts[layer][order] >= TOP_TOKENS)
        neuron = int(order[int(often.int().argmax())]) if often.any() else neuron
    last.key, last.neuron = key, neuron
    return neuron


def _choose(frame: PageFrame, trace: Trace) -> Chosen:
    """The controls."""
    first, second, third, fourth = st.columns(4)
    stack, layer = choose_layer(frame.options, trace, first, second, "decoder", last=True)
    names = numbered(stack_labels(trace, stack))
    token = frame.options.at(third).index("token", _("Token"), names, _longest(trace, stack))
    leader = _neuron_to_show(frame.model, trace, stack, layer, token) + 1
    neuron = frame.options.at(fourth).number("neuron", _("Neuron"), 1, frame.model.config.d_ff, leader) - 1
    return Chosen(stack, layer, token, neuron)


def _bars(frame: PageFrame, trace: Trace, chosen: Chosen) -> None:
    """The strongest neurons of the token; a click chooses one."""
    activation = sides(trace)[chosen.stack].activation[chosen.layer, chosen.token]
    norms = output_norms(frame.model.model, chosen.stack, chosen.layer)
    active = int((activation != 0).sum())
    label = stack_labels(trace, chosen.stack)[chosen.token]
    if not active:
        paragraph(_("At “{token}” every activation of this layer is 0: only b₂ is added.", token=label))
        return
    count = min(FEW, active)
    leaders, longest = (strongest(activation, norms, by, count) for by in ("activation", "contribution"))
    values = leaders.activation.numpy(), leaders.contribution.numpy()
    config = frame.model.config
    kind, gated, biases = SHAPES.get(config.activation, config.activation), config.gated, config.biases

    def picked(index: int) -> None:
        if index < len(leaders.neurons):
            frame.options.report("neuron", leaders.neurons[index] + 1)

    drawn = figure.built(
        figures.strongest, leaders.neurons, *values, chosen.stack, label, chosen.neuron, kind, gated, biases
    )
    figure.draw(
        drawn,
        "feedforward_strongest",
        "feedforward-strongest",
        on_pick=picked,
        first=True,
        about=f"{chosen.stack}-layer-{chosen.layer + 1}-{label}",
        trace=trace,
    )
    missed = [
        f"{neuron + 1:,} ({float(length):.2f})"
        for neuron, length in zip(longest.neurons, longest.contribution, strict=True)
        if neuron not in leaders.neurons
    ]
    more = _("These also lead by length: {neurons}.", neurons=", ".join(missed)) if missed else ""
    text = _(
        "Click a bar to choose its neuron. The activation says how strongly a neuron responds, the length how much it "
        "adds: rows wᵢ of W₂ are {low} to {high} long."
    )
    paragraph(text.format(low=f"{float(norms.min()):.2f}", high=f"{float(norms.max()):.2f}"), more)


def _at_token(frame: PageFrame, trace: Trace, chosen: Chosen, promoted: Promotion) -> str:
    """What the chosen neuron does at the chosen token: when it is active, and what it adds then."""
    activation = sides(trace)[chosen.stack].activation[chosen.layer, chosen.token]
    norms = output_norms(frame.model.model, chosen.stack, chosen.layer)
    value = activation[chosen.neuron]
    layer = layer_figures.layer_name(chosen.stack, chosen.layer)
    label, neuron = stack_labels(trace, chosen.stack)[chosen.token], f"{chosen.neuron + 1:,}"
    if value == 0:
        text = _("Neuron {neuron} of {layer} is silent at “{token}”: its activation is 0, so it adds nothing.")
        return text.format(neuron=neuron, layer=layer, token=label)
    return _(
        "At “{token}” neuron {neuron} of {layer} is active ({value}, rank {rank} of {count}) and adds a vector of "
        "length {length} that points to {pieces}.",
        token=label,
        neuron=neuron,
        layer=layer,
        value=f"{float(value):.3f}",
        rank=int((activation > value).sum()) + 1,
        count=f"{len(activation):,}",
        length=f"{float(value.abs() * norms[chosen.neuron]):.3f}",
        pieces=", ".join(f"“{piece}”" for piece in shown(frame.model, promoted.top[:NAMED])),
    )


# -- what it writes -----------------------------------------------------------------------------------------------


def _ends_of_row(model: Pretrained, promoted: Promotion) -> tuple[str, str]:
    """Two sentences: how far the first and the last piece are from the others, and whether chance alone reaches
    that."""
    first, last = shown(model, [promoted.top[0], promoted.bottom[0]])
    verdict_text = _(
        "“{piece}” is {above} standard deviations above the mean of all {count} pieces, and “{last}” is {below} below "
        "it."
    )
    numbers = {
        "above": f"{promoted.above:.2f}",
        "below": f"{promoted.below:.2f}",
        "count": f"{model.config.output_size:,}",
    }
    text = verdict_text.format(piece=first, last=last, **numbers)
    chance = {
        (True, True): _("Chance alone would reach about {expected}: both stand out."),
        (True, False): _("Chance alone would reach about {expected}: only “{piece}” stands out."),
        (False, True): _("Chance alone would reach about {expected}: only “{last}” stands out."),
        (False, False): _("Chance alone would reach about {expected}: the row singles out no piece."),
    }[promoted.above > promoted.expected, promoted.below > promoted.expected]
    return text, chance.format(expected=f"{promoted.expected:.2f}", piece=first, last=last)


def _chance(options: Options, model: Pretrained, promoted: Promotion) -> None:
    with options.panel("chance", _("What chance would reach")):
        st.markdown(
            _(
                "Of {count} independent normal numbers, as many as there are pieces, the largest is {expected} "
                "standard deviations above their mean on average (Blom 1958). A row whose ends are no farther out is "
                "no more selective than such numbers."
            ).format(count=f"{model.config.output_size:,}", expected=f"{promoted.expected:.2f}")
        )


def _vocabulary(options: Options, model: Pretrained, chosen: Chosen) -> Promotion:
    most = max(1, min(PIECES, model.config.output_size // 4))  # in a small vocabulary both ends would overlap
    promoted = promotion(model.model, chosen.stack, chosen.layer, chosen.neuron, most)
    ids = [*promoted.top, *reversed(promoted.bottom)]
    scores = np.array([*promoted.top_scores, *reversed(promoted.bottom_scores)])
    pieces = model.tokenizer.pieces(ids)
    deviations = (scores - promoted.mean) / (promoted.deviation or 1.0)
    tied = model.config.tied_output

    drawn = figure.built(
        figures.vocabulary, shown(model, ids), pieces, scores, deviations, chosen.neuron, chosen.stack, tied
    )
    about = f"{chosen.stack}-layer-{chosen.layer + 1}-neuron-{chosen.neuron + 1}"
    figure.draw(drawn, "feedforward_vocabulary", "feedforward-vocabulary", first=True, about=about)
    parts = any(label.startswith("…") for label in shown(model, ids))
    paragraph(
        *_ends_of_row(model, promoted),
        row_caution(model.config, chosen.stack, chosen.layer),
        _("“…” stands before a piece that continues a word.") if parts else "",
    )
    _chance(options, model, promoted)
    return promoted


# -- over the probe set -------------------------------------------------------------------------------------------


def in_context(read: Reading, position: int) -> str:
    """HTML: a sentence with one marked token, with the spaces as typed."""
    parts = []
    for index, piece in enumerate(read.pieces):
        text = piece.replace(PIECE_MARK, " ").lstrip() or "␣"
        gap = " " if index and (piece.startswith(PIECE_MARK) or "</s>" in (piece, read.pieces[index - 1])) else ""
        gap = " " if index == 1 and is_special(read.pieces[:1])[0] else gap
        shown = html.escape(text)
        parts.append(gap + (f"<mark>{shown}</mark>" if index == position else shown))
    return "".join(parts)


def _strongest_tokens(model: Pretrained, chosen: Chosen, statistics: NeuronStatistics, promoted: Promotion) -> None:
    """The tokens of the probe set at which the neuron is strongest."""
    side = statistics.stack(chosen.stack)
    count = int(side.counts[chosen.layer, chosen.neuron])
    values = side.values[chosen.layer, chosen.neuron].tolist()
    active = [index for index, value in enumerate(values) if value > statistics.threshold]
    st.html(f'<h2 class="hs-ff-title">{html.escape(_("Its strongest activations in the probe set"))}</h2>')
    if not active:
        summary = _("It fires on none of the {tokens} tokens of {pairs} sentences.")
        paragraph(summary.format(tokens=f"{side.tokens:,}", pairs=statistics.pairs))
        return
    rows, ids, next_ids = [], [], []
    reads = "source" if chosen.stack == "encoder" else "target"
    for index in active:
        sentence, position = (
            int(table[chosen.layer, chosen.neuron, index]) for table in (side.sentences, side.positions)
        )
        read = reading(model, pairs_of(model)[sentence], chosen.stack)
        ids.append(read.ids[position])
        next_ids.append(read.following[position])
        (following,) = shown(model, [read.following[position]], reads)
        after = _("next comes “{piece}”", piece=following) if chosen.stack == "decoder" else ""
        small = f"<small>{html.escape(after)}</small>" if after else ""
        text = in_context(read, position)
        rows.append(f'<li><b>{values[index]:.2f}</b><span><span dir="auto">{text}</span>{small}</span></li>')
    st.html(f'<ol class="hs-ff-tokens hs-ff-{chosen.stack}">{"".join(rows)}</ol>')
    summary = _("It is active on {count} of {tokens} tokens ({share}).")
    sentences = [summary.format(count=f"{count:,}", tokens=f"{side.tokens:,}", share=percent(count / side.tokens))]
    token_id, times = most_common(ids)
    (piece,) = shown(model, [token_id], reads)
    if len(ids) > 1 and times > 1:
        summary = _("Of these {count} strongest, {times} are the piece “{piece}”.")
        sentences.append(summary.format(count=len(ids), times=times, piece=piece))
    elif len(ids) > 1:
        sentences.append(_("These {count} strongest are {count} different pieces.", count=len(ids)))
    if chosen.stack == "decoder":
        hits = sum(token_id in promoted.top for token_id in next_ids)
        summary = _(
            "At {hits} of these {count}, the reference continues with one of the {most} pieces that the neuron "
            "promotes most, which are {share} of the vocabulary."
        )
        most = len(promoted.top)
        share = percent(most / model.config.output_size)
        sentences.append(summary.format(hits=hits, count=len(ids), most=most, share=share))
    paragraph(*sentences)


def _silent(model: Pretrained, statistics: NeuronStatistics) -> None:
    """Neurons that never fire and that always fire."""
    never = {stack: statistics.stack(stack).never.numpy() for stack in STACKS}
    always = {stack: statistics.stack(stack).always.numpy() for stack in STACKS}
    d_ff = model.config.d_ff
    if any(mask.any() for mask in (*never.values(), *always.values())):
        over = _("{pairs} sentence pairs", pairs=statistics.pairs)
        drawn = figure.built(figures.silent, never, always, d_ff, statistics.threshold, over)
        figure.draw(drawn, "feedforward_silent", "feedforward-silent")
    text = _(
        "On the probe set, {pairs} sentence pairs with {source} source tokens and {target} tokens fed to the decoder, "
        "{never} of {all} neurons never fire and {always} fire at every token. A neuron that is silent here may fire "
        "on other text."
    )
    total = d_ff * sum(len(mask) for mask in never.values())
    numbers = {
        "source": statistics.encoder.tokens,
        "target": statistics.decoder.tokens,
        "never": sum(int(mask.sum()) for mask in never.values()),
        "always": sum(int(mask.sum()) for mask in always.values()),
        "all": total,
    }
    paragraph(text.format(pairs=statistics.pairs, **{name: f"{count:,}" for name, count in numbers.items()}))


def _counted(model: Pretrained) -> NeuronStatistics | None:
    """None while a background job counts."""
    pairs = pairs_of(model)
    return task.sized_result(
        JOBS,
        key_of(model),
        _("Count over {count} sentence pairs", count=len(pairs)),
        lambda progress: neuron_statistics(model, pairs, progress),
        model,
        sum(len(model.encode(source)) + len(model.encode(target, "target")) for source, target in pairs),
    )


def draw(frame: PageFrame, trace: Trace) -> None:
    """What the sentence shows, at once; what needs the probe set comes after the rest of the page."""
    model = frame.model
    about, controls, picture = part_layout()
    with controls:
        chosen = _choose(frame, trace)
    with picture:
        left, right = st.columns(2, gap="medium")
    with right:
        promoted = _vocabulary(frame.options, model, chosen)
    with left:
        _bars(frame, trace, chosen)
        exciting = st.container()
    point(_at_token(frame, trace, chosen, promoted), about)
    paragraph(
        _(
            "Section 3.3, equation 2, read neuron by neuron: FFN(x) = Σᵢ aᵢ wᵢ + b₂. Neuron i compares x with column "
            "i of W₁, which gives its activation aᵢ, and adds aᵢ times row wᵢ of W₂: a key-value memory (Geva et al. "
            "2021)."
        ),
        quiet=True,
    )
    below = st.container()
    if not pairs_of(model):
        text = _(
            "There is no probe set from {source} to {target}, so this page cannot count which tokens activate a "
            "neuron and which neurons never fire. transformer.probing.neuron_survey.neuron_statistics counts over any "
            "sentence pairs."
        )
        with below:
            message(text.format(source=model.languages[0], target=model.languages[1]), "note")
        return

    def later() -> None:
        with exciting:
            statistics = JOBS.find(key_of(model)) or _counted(model)
            if statistics is not None:
                _strongest_tokens(model, chosen, statistics, promoted)
        if statistics is not None:
            with below:
                _silent(model, statistics)

    if JOBS.find(key_of(model)) is not None:
        later()
    else:
        frame.draw_last(later)
