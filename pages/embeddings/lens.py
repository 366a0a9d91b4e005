"""The logit lens, and the output of the last layer: candidates, probabilities, and the table shared by input and
output."""

import html
from collections.abc import Callable, Mapping, Sequence

import streamlit as st
from torch import Tensor

from pages.components import figure
from pages.components.descriptions import lens_limits
from pages.components.pieces import shown
from pages.components.saving import describe_trace, saved
from pages.components.sentences import check, controls_and_picture, deviation, paragraph, point
from pages.embeddings.inputs import layer_label, thinned
from pages.frame.frame import PageFrame
from pages.frame.options import Options
from pages.runtime.shared import shared
from transformer.analysis.lens import Lens, Sharing, candidates, logit_lens, sharing
from transformer.figures import output
from transformer.inference.pretrained import Pretrained
from transformer.model.config import ModelConfig
from transformer.texts import _
from transformer.tracing.trace import Trace

CANDIDATES = 8
STRONG, FULL = (
    0.61,
    0.91,
)  # shading above which black is easier to read than white in the dark theme, and white than black in the light one


def projection(config: ModelConfig) -> str:
    """One sentence: how this model computes logits from a vector, and how that differs from the paper."""
    if config.tied_output and not config.output_bias:
        return _("The projection is the shared table of section 3.4.")
    if config.tied_output and config.target_vocab_size is None:
        return _(
            "The projection is the shared table of section 3.4, and a learned bias for every token, which the paper "
            "does not have."
        )
    if config.tied_output and config.output_bias:
        return _(
            "The projection is the table of the target's embeddings, which the source does not share, and a learned "
            "bias for every token."
        )
    if config.tied_output:
        return _("The projection is the table of the target's embeddings, which the source does not share.")
    if config.output_bias:
        return _(
            "The projection is a separate matrix W, where the paper shares the table (section 3.4), and a learned bias "
            "for every token."
        )
    return _("The projection is a separate matrix W, where the paper shares the table (section 3.4).")


@shared(queued=True)
def lens_of(model: Pretrained, trace: Trace) -> Lens:
    """`logit_lens`, cached, because it takes 0.1 s and more with 60,000 words."""
    return logit_lens(trace, model.model)


@shared(queued=True)
def _sharing_of(model: Pretrained, trace: Trace, token: int) -> Sharing:
    return sharing(trace, model.model, token)


def _choose_step(trace: Trace, options: Options, start: int = 0) -> int:
    """The step chosen; counted from 0, like the one shown first."""
    pairs = zip(trace.target_in_labels, trace.target_out_labels, strict=True)
    names = [f"{position} · {fed} → {out}" for position, (fed, out) in enumerate(pairs, 1)]
    label = _("Step: fed → predicted") if trace.own else _("Step: fed → given target")
    return options.index("step", label, names, start)


def _pick(options: Options) -> Callable[[int], None]:
    """Called after a click on a step: chooses it."""
    return lambda index: options.report("step", index + 1)


def _probability(value: float) -> str:
    return "<.001" if 0 < value < 0.0005 else f"{value:.3f}" if value < 0.9995 else "1.000"


def _cell(label: str, probability: float, final: bool, title: str = "") -> str:
    names = (
        ["hs-emb-final"] * final + ["hs-emb-strong"] * (probability > STRONG) + ["hs-emb-full"] * (probability > FULL)
    )
    css_class = f' class="{" ".join(names)}"' if names else ""
    more = f' title="{html.escape(title)}"' if title else ""
    inside = f"<span>{html.escape(label)}</span><small>{html.escape(_probability(probability))}</small>"
    return f'<td{css_class}{more} style="--p:{100 * probability:.1f}%">{inside}</td>'


def _labels(model: Pretrained, ids: Tensor) -> dict[int, str]:
    """Labels of every token in a tensor of ids, each looked up once."""
    numbers = sorted(set(ids.flatten().tolist()))
    return dict(zip(numbers, shown(model, numbers), strict=True))


def steps_table(lens: Lens, trace: Trace, labels: dict[int, str], step: int) -> str:
    """HTML: the likeliest token of every step (columns) after every layer (rows, the input on top)."""
    final, ids, probabilities = lens.final.tolist(), lens.ids.tolist(), lens.probabilities.tolist()
    heads = "".join(
        f'<th scope="col"{" class=hs-emb-here" if position == step else ""}><small>{html.escape(fed)} →</small>'
        f"<b>{html.escape(labels[out])}</b></th>"
        for position, (fed, out) in enumerate(zip(trace.target_in_labels, final, strict=True))
    )
    rows = ""
    for index, (tokens, values) in enumerate(zip(ids, probabilities, strict=True)):
        cells = ""
        for best, likely, last in zip(tokens, values, final, strict=True):
            title = "  ".join(f"{labels[token_id]} {_probability(p)}" for token_id, p in zip(best, likely, strict=True))
            cells += _cell(labels[best[0]], likely[0], best[0] == last, title)
        rows += f'<tr><th scope="row">{html.escape(layer_label(index))}</th>{cells}</tr>'
    corner = html.escape(_("after"))
    return _scrolled(f"<tr><th>{corner}</th>{heads}</tr>", rows)


def step_table(lens: Lens, labels: dict[int, str], step: int) -> str:
    """HTML: the likeliest tokens of one step after every layer, the likeliest on the left."""
    last = int(lens.final[step])
    rows = ""
    for index, (tokens, values) in enumerate(
        zip(lens.ids[:, step].tolist(), lens.probabilities[:, step].tolist(), strict=True)
    ):
        cells = "".join(
            _cell(labels[token_id], p, token_id == last) for token_id, p in zip(tokens, values, strict=True)
        )
        rows += f'<tr><th scope="row">{html.escape(layer_label(index))}</th>{cells}</tr>'
    heads = "".join(f'<th scope="col">{rank}.</th>' for rank in range(1, lens.ids.shape[-1] + 1))
    return _scrolled(f"<tr><th>{html.escape(_('after'))}</th>{heads}</tr>", rows)


def _scrolled(head: str, body: str) -> str:
    table = f'<table class="hs-emb-table"><thead>{head}</thead><tbody>{body}</tbody></table>'
    return f'<div class="hs-emb-scroll" tabindex="0">{table}</div>'


def _lens_summary(lens: Lens, steps: int, tied: bool = True) -> str:
    """What the table shows, as counts. tied: input and output use the same table."""
    text = (
        _(
            "The output takes shape layer by layer: in {early} of {steps} steps the final token is the likeliest "
            "already before the last layer. Before any layer, the likeliest is the token just fed in {echoes} of "
            "{steps} steps, because input and output share one table."
        )
        if tied
        else _(
            "The output takes shape layer by layer: in {early} of {steps} steps the final token is the likeliest "
            "already before the last layer. Before any layer, the likeliest is the token just fed in {echoes} of "
            "{steps} steps."
        )
    )
    return text.format(
        echoes=int(lens.echoes[0].sum()), steps=steps, early=int((lens.settled < len(lens.rank) - 1).sum())
    )


def steps_rows(lens: Lens, trace: Trace, labels: Mapping[int, str]) -> list[list[str | float]]:
    """The likeliest tokens of every layer and step, one per line, under their headings."""
    rows: list[list[str | float]] = [[_("step"), _("fed"), _("after layer"), _("place"), _("token"), _("probability")]]
    for step, fed in enumerate(trace.target_in_labels):
        for layer, ids in enumerate(lens.ids[:, step].tolist()):
            values = lens.probabilities[layer, step].tolist()
            for rank, (token_id, value) in enumerate(zip(ids, values, strict=True), 1):
                rows.append([step + 1, fed, layer, rank, labels[token_id], value])
    return rows


def draw_lens(frame: PageFrame, trace: Trace) -> None:
    """What the decoder would predict if it stopped after each layer."""
    model = frame.model
    lens = lens_of(model, trace)
    labels = _labels(model, lens.ids)
    pre = model.config.norm == "pre"
    point(_lens_summary(lens, len(trace.target_out), model.config.tied_output))
    rows, about = steps_rows(lens, trace, labels), describe_trace(trace)
    stem = [about["model"], "logit-lens", "tokens"]
    caption = _("Logit lens: the likeliest tokens after every layer, with their probabilities")
    container = st.container()
    left, right = st.columns(2, gap="medium")
    with left:
        step = _choose_step(trace, frame.options)
        one = [rows[0], *(row for row in rows[1:] if row[0] == step + 1)]
        with saved("lens-step", [*stem, f"step{step + 1}"], [caption, about["sentences"]], one):
            st.html(step_table(lens, labels, step))
    with container:
        with saved("lens-steps", stem, [caption, about["sentences"]], rows):
            st.html(steps_table(lens, trace, labels, step))
        check(
            _("Last row = the model's own output: largest deviation of the logits {deviation}").format(
                deviation=deviation(lens.deviation)
            ),
            lens.deviation < 1e-3,
        )
    with right:
        layers = [layer_label(index) for index in range(len(lens.rank))]
        steps = [labels[token_id] for token_id in lens.final.tolist()]
        drawn = figure.built(
            output.lens_heatmap,
            lens.probability.numpy(),
            lens.rank.numpy(),
            layers,
            steps,
            pre,
            model.config.tied_output,
            model.config.output_bias,
        )
        figure.draw(drawn, "emb_lens", "logit-lens", on_pick=_pick(frame.options), trace=trace)
        paragraph(_("Click a column to choose its step."), quiet=True)
        thinned(drawn)
    paragraph(
        _(
            "After every layer the residual stream is projected onto the vocabulary, as if the decoder ended there "
            "(logit lens, nostalgebraist 2020). {projection} Columns are steps, fed → finally predicted; rows go down "
            "through the layers. A cell names the likeliest token. The number is its probability, and so is the "
            "shading, from 0 to 1 in full orange. Framed: the final token, which is the likeliest after the last "
            "layer."
        ).format(projection=projection(model.config)),
        *lens_limits(model.config),
        quiet=True,
    )
    with frame.options.panel("trust", _("How far can you trust the lens?")):
        st.markdown(
            _(
                "The projection was trained to read only the last layer. An early layer may hold the answer in "
                "directions that the projection cannot read, and a token it names early need not be what the model "
                "“thinks”. With LayerNorm after each sub-layer (section 3.1), or with no LayerNorm, x is read as it "
                "leaves the layer. With LayerNorm before each sub-layer, x first passes the final LayerNorm, as the "
                "output of the last layer does."
            )
        )
        if model.config.tied_output:
            st.markdown(
                _(
                    "Right after the embedding, the token just fed often leads only because its row is multiplied "
                    "with itself."
                )
            )


def _certainty(trace: Trace, least: int) -> str:
    """How certain the steps are, and the step `least` that is so least."""
    return _(
        "Every step ends in a probability for each of the {count} tokens. The token of the sentence gets more than 0.5 "
        "in {sure} of {steps} steps; the least certain is step {number}: “{token}” gets {probability}.",
        count=f"{trace.logits.shape[-1]:,}",
        sure=int((trace.probabilities > 0.5).sum()),
        steps=len(trace.probabilities),
        number=least + 1,
        token=trace.target_out_labels[least],
        probability=_probability(float(trace.probabilities[least])),
    )


def draw_output(frame: PageFrame, trace: Trace) -> None:
    """Probabilities per step, candidates of one step, and the table that serves as input and output."""
    model, config = frame.model, frame.model.config
    least = int(trace.probabilities.argmin())
    point(_certainty(trace, least))
    controls, picture = controls_and_picture()
    with controls.columns((1, 1.6))[0]:
        step = _choose_step(trace, frame.options, least)
    with picture:
        left, right = st.columns((1.3, 1), gap="medium")
    with right:
        ids, values = candidates(trace, step, CANDIDATES)
        numbers = ids.tolist()
        target_id = trace.target_out_ids[step]
        drawn = figure.built(
            output.candidate_bars,
            trace.target_in_labels[step], shown(model, numbers), values.numpy(),
            numbers.index(target_id) if target_id in numbers else None, config.tied_output, config.output_bias,
        )  # fmt: skip
        figure.draw(drawn, "emb_candidates", "output-candidates", first=True, about=f"step-{step + 1}", trace=trace)
    with left:
        likeliest = trace.logits.softmax(-1).amax(-1)
        drawn = figure.built(output.step_bars, trace.target_out_labels, trace.probabilities.numpy(), likeliest.numpy())
        figure.draw(drawn, "emb_steps", "output-steps", on_pick=_pick(frame.options), first=True, trace=trace)
        thinned(drawn)
    paragraph(
        _("Click a bar to choose its step."),
        _(
            "The last vector of each step times the {count} rows of a table gives the logits, and their softmax gives "
            "the probability of every token to come next (section 3.4). {projection}"
        ).format(count=f"{config.output_size:,}", projection=projection(config)),
        quiet=True,
    )
    _sharing(frame, trace, target_id, shown(model, (target_id,)))


def _tables(sharing: Sharing, config: ModelConfig, parameters: int) -> str:
    """Which tables source, target and output use, and what separate tables would cost."""
    shared_table = _(
        "One table of {vocabulary} × {d_model} numbers is the input of the encoder, the input of the decoder and the "
        "output projection (section 3.4). Three tables would need {saved} more parameters; the whole model has {all}."
    )
    inputs = _(
        "One table of {vocabulary} × {d_model} numbers is the input of the encoder and the input of the decoder. The "
        "output projection has its own table; the paper shares one among all three (section 3.4). Three tables would "
        "need {saved} more parameters; the whole model has {all}."
    )
    target = _(
        "The source has a table of {vocabulary} × {d_model} numbers. Another one, of {output} × {d_model}, is the "
        "input of the decoder and the output projection. The paper shares one among all three (section 3.4), which "
        "needs one vocabulary for both languages. Three tables would need {saved} more parameters; the whole model "
        "has {all}."
    )
    three = _(
        "The source has a table of {vocabulary} × {d_model} numbers, the target one of {output} × {d_model}, and the "
        "output projection another one of that size. The paper shares one among all three (section 3.4). The whole "
        "model has {all} parameters."
    )
    text = {1: shared_table, 2: target if config.tied_output else inputs, 3: three}[sharing.tables]
    return text.format(
        vocabulary=f"{config.vocab_size:,}",
        output=f"{config.output_size:,}",
        d_model=config.d_model,
        saved=f"{sharing.saved:,}",
        all=f"{parameters:,}",
    )


def _sharing(frame: PageFrame, trace: Trace, token: int, label: Sequence[str]) -> None:
    """The row of a token at the input and at the output."""
    sharing = _sharing_of(frame.model, trace, token)
    config = frame.model.config
    figure.draw(
        figure.built(output.row_strip, label[0], sharing.entering.numpy(), sharing.leaving.numpy()),
        "emb_row",
        "output-row",
        about=label[0],
    )
    paragraph(_tables(sharing, config, frame.model.model.parameter_count()))
    difference = _("Input row and output row of this token: largest difference {difference}").format(
        difference=deviation(sharing.difference)
    )
    if config.tied_output:
        check(difference, sharing.difference == 0)
    else:
        paragraph(difference, quiet=True)
    product = f"{'E' if config.tied_output else 'W'}ᵀ{' + b' if config.output_bias else ''}"
    check(
        _(
            "decoder output × {product} in 64-bit arithmetic against the model's logits: largest deviation {deviation}"
        ).format(product=product, deviation=deviation(sharing.deviation)),
        sharing.deviation < 1e-4 * max(1.0, float(trace.logits.abs().max())),
    )
