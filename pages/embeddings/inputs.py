"""Embeddings: their lengths beside the positions, close neighbours, and their paths through the layers."""

import math
from collections.abc import Sequence

import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from pages.components import figure
from pages.components.descriptions import stack_name
from pages.components.pieces import numbered, shown, stack_labels
from pages.components.sentences import paragraph, part_layout, point
from pages.frame.frame import PageFrame
from pages.frame.messages import message
from pages.frame.options import Options
from pages.runtime.shared import shared
from transformer.analysis.embedding import Neighbours, Norms, neighbours, norms, plane, turned
from transformer.analysis.residual import states
from transformer.figures import embedding
from transformer.figures.embedding import signed
from transformer.inference.pretrained import Pretrained
from transformer.model.tap import SIDES, STACKS
from transformer.text.tokenizer import PIECE_MARK, SPECIALS
from transformer.texts import _
from transformer.tracing.trace import Trace

NEAREST = 12
NAMED = 3  # of the nearest tokens in the sentence about them
BIG = 1.3  # text size of figures in big-text mode
DROWNS = 2  # times as long: from here on the positions outweigh the words


def tokens(trace: Trace, side: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Ids and labels of the tokens of a side: of the target those that are predicted, with </s> last."""
    if side == "source":
        return trace.source_ids, trace.source_labels
    return trace.target_out_ids, trace.target_out_labels


def side_name(side: str) -> str:
    return {"source": _("source"), "target": _("target")}[side]


def layer_label(layer: int) -> str:
    return _("layer {layer}", layer=layer) if layer else _("embedding")


def thinned(drawn: figure.Built) -> None:
    """A sentence below a figure whose axis labels only some of its tokens."""
    for count, step in drawn.thinned:
        text = _("The axis labels one in {step} of the {count} tokens; point at the figure to read any other.")
        paragraph(text.format(count=count, step=step), quiet=True)


def choose_stack(options: Options) -> str:
    return str(options.segment("stack", _("Stack"), STACKS, STACKS[0], stack_name))


def _headline(norms: Sequence[Norms], scaled: bool = True) -> str:
    """One sentence that compares the lengths of words and positions in the source and the target. scaled: whether
    the model multiplies its embeddings by sqrt(d_model)."""
    if not all(math.isfinite(side.ratio) for side in norms):
        return _("This model adds no positions: the embedding stands alone.")
    source, target = norms
    if not scaled:
        sentence = _(
            "This model adds its embeddings without the factor. The words are {off} times as long as the positions in "
            "the source and {off_target} times in the target. With the paper's factor they would be {ratio} and "
            "{ratio_target} times as long."
        )
        off = [side.ratio_off for side in norms]
    elif all(side.ratio_off >= 1 for side in norms):
        sentence = _(
            "The words are longer than the positions with and without the factor: {off} times as long in the source "
            "and {off_target} times in the target without it, {ratio} and {ratio_target} times with it."
        )
        off = [side.ratio_off for side in norms]
    elif all(side.drowned >= DROWNS and side.ratio >= 1 for side in norms):
        sentence = _(
            "The factor before the embeddings keeps words above positions: without it the position vectors would be "
            "{off} times as long as the word vectors in the source and {off_target} times in the target. With it the "
            "word vectors are {ratio} and {ratio_target} times as long."
        )
        off = [side.drowned for side in norms]
    else:
        sentence = _(
            "Without the factor the positions would be {off} times as long as the words in the source and "
            "{off_target} times in the target. With it the words are {ratio} and {ratio_target} times as long as the "
            "positions."
        )
        off = [side.drowned for side in norms]
    numbers = {"off": off[0], "off_target": off[1], "ratio": source.ratio, "ratio_target": target.ratio}
    return sentence.format(**{name: _times(value) for name, value in numbers.items()})


def _times(ratio: float) -> str:
    """A ratio with two significant digits."""
    return f"{ratio:.2f}" if ratio < 0.995 else f"{ratio:.1f}"


def draw_norms(frame: PageFrame, trace: Trace) -> None:
    """Lengths of embeddings and encodings at the input of both stacks, with and without the factor sqrt(d_model)."""
    config = frame.model.config
    d_model, is_scaled = config.d_model, config.embedding_scale
    both = [norms(trace, side, config.embedding_factor) for side in SIDES]
    point(_headline(both, is_scaled))
    text = (
        _(
            "Section 3.4 multiplies every embedding by √{d_model} = {factor}, the root of its {d_model} dimensions, "
            "before section 3.5 adds the position encoding. If one of the two is much longer, the sum says little "
            "about the other. “Times as long” is the median over the tokens."
        )
        if is_scaled
        else _(
            "Section 3.4 multiplies every embedding by √d_model, here √{d_model} = {factor}, before section 3.5 adds "
            "the position encoding. This model was made without that factor. If one of the two is much longer, the "
            "sum says little about the other. “Times as long” is the median over the tokens."
        )
    )
    most = max(float(torch.cat((side_norms.scaled, side_norms.positions)).max()) for side_norms in both)
    for column, side, side_norms in zip(st.columns(2, gap="medium"), SIDES, both, strict=True):
        labels = trace.source_labels if side == "source" else trace.target_in_labels
        drawn = figure.built(
            embedding.norm_figure,
            labels,
            side_norms.row.numpy(),
            side_norms.scaled.numpy(),
            side_norms.positions.numpy(),
            side,
            most,
            is_scaled,
        )
        with column:
            figure.draw(drawn, f"emb_norms_{side}", f"embedding-norms-{side}", first=True, trace=trace)
            thinned(drawn)
    paragraph(text.format(d_model=d_model, factor=f"{math.sqrt(d_model):.4g}"), quiet=True)
    with frame.options.panel("factor", _("Why is there a factor?")):
        st.markdown(
            _(
                "The paper gives no reason. One table serves as input and as output projection. As an output its rows "
                "must be short, or the logits would be too large: Headscope's training starts with variance "
                "1/d for d dimensions, which is length 1. A sinusoidal encoding has length √(d / 2) at every position, "
                "because each pair of sine and cosine has length 1. Next to it a row of length 1 would hardly be "
                "visible."
            )
        )
        st.markdown(
            _(
                "**Factor off** only leaves the multiplication out of these numbers. The model was trained with the "
                "factor; a model trained without it could have learned longer rows."
            )
            if is_scaled
            else _(
                "**With the paper's factor** only adds the multiplication to these numbers. The model was trained "
                "without it, and could learn rows as long as it needed."
            )
        )


def _word(frame: PageFrame, word: str, side: str) -> tuple[int, ...]:
    """Ids of a typed word; none, and a message, if it has no readable character."""
    ids = tuple(frame.model.tokenizer_of(side).encode(word))
    if not ids:
        text = _("Your word has no readable character, so the tokens of the sentence are shown.")
        message(text)
    return ids


def _typed(model: Pretrained, word: str, ids: Sequence[int], side: str) -> tuple[str, ...]:
    """Labels of a typed word's pieces; an unknown piece is shown as it was typed."""
    covered = (piece.removeprefix(PIECE_MARK) for piece in model.tokenizer_of(side).surfaces(word))
    pairs = zip(shown(model, ids, side), ids, covered, strict=True)
    return tuple(text or label if token_id == model.config.unk_id else label for label, token_id, text in pairs)


def _specials(model: Pretrained) -> tuple[int, ...]:
    config = model.config
    return config.pad_id, config.unk_id, config.start_id, config.end_id


def _chosen(frame: PageFrame, trace: Trace, columns: Sequence[DeltaGenerator]) -> tuple[int, str, str]:
    """The chosen token, of the sentence or of a typed word: id, label, side."""
    left, middle, right = columns
    word = frame.options.at(right).text("word", _("or any word"), 80, placeholder=_("type a word"))
    side = str(frame.options.at(left).segment("side", _("Side"), SIDES, SIDES[0], side_name))
    ids: tuple[int, ...] = _word(frame, word, side) if word else ()
    unknown = frame.model.config.unk_id
    if ids:
        labels, name = _typed(frame.model, word, ids, side), _("Piece of the word")
        start = max(range(len(ids)), key=lambda index: (ids[index] == unknown, len(labels[index])))
    else:
        ids, labels = tokens(trace, side)
        name = _("Token of the sentence")
        # The longest word of the sentence is usually a content word.
        none = _specials(frame.model)
        start = max(range(len(ids)), key=lambda index: (ids[index] not in none) * len(labels[index]))
    token = frame.options.at(middle).index("token", name, numbered(labels), start)
    return ids[token], labels[token], side


@shared()
def _parts(model: Pretrained, side: str = "target") -> tuple[int, ...]:
    """Ids of pieces that are a single character or continue a word; empty if the vocabulary is letters."""
    tokenizer = model.tokenizer_of(side)
    pieces = tokenizer.pieces(range(len(tokenizer)))
    words = [piece.startswith(PIECE_MARK) and len(piece) > len(PIECE_MARK) + 1 for piece in pieces]
    if not any(words):
        return ()
    return tuple(
        token_id
        for token_id, (piece, word) in enumerate(zip(pieces, words, strict=True))
        if not word and piece not in SPECIALS
    )


def _nearest(label: str, labels: Sequence[str], nearest: Neighbours) -> str:
    """The nearest neighbours in one sentence."""
    sentence = _(
        "To the model a token is an arrow, its embedding. Tokens that are used alike often point the same way: nearest "
        "to “{token}” are {neighbours}."
    )
    pairs = zip(labels[:NAMED], nearest.cosines, strict=False)
    named = ", ".join(f"{neighbour} ({signed(cosine, 2)})" for neighbour, cosine in pairs)
    return sentence.format(token=label, neighbours=named)


def draw_neighbours(frame: PageFrame, trace: Trace) -> None:
    """The nearest tokens to a token by the cosine of their rows."""
    model, config = frame.model, frame.model.config
    about, controls, picture = part_layout()
    with controls:
        *columns, last = st.columns((1, 1.4, 1.4, 0.9), gap="small", vertical_alignment="bottom")
    token_id, label, side = _chosen(frame, trace, columns)
    rows_of = model.model.table(side)
    parts = _parts(model, side)
    words = bool(parts) and frame.options.at(last).toggle(
        "words", _("Words only"), True, help=_("leaves out single characters and pieces that continue a word")
    )
    with picture:
        if token_id == config.unk_id:
            message(
                _("“{token}” is not in this model's vocabulary. It is read as <unk>, whose row is shown.", token=label),
                "note",
            )
            (label,) = model.tokenizer_of(side).pieces([token_id])
        nearest = neighbours(rows_of, token_id, NEAREST, (*_specials(model), *(parts if words else ())))
        labels = shown(model, nearest.ids, side)
        drawn = figure.built(embedding.neighbour_bars, label, labels, nearest.cosines)
        figure.draw(drawn, "emb_neighbours", "embedding-neighbours", first=True, about=f"{side}-{label}")
    if labels:
        point(_nearest(label, labels, nearest), about)
    text = (
        _(
            "Every token of the vocabulary is one row of the embedding table (section 3.4). The cosine compares the "
            "directions of two rows: 1 is the same direction, 0 a right angle; for half of the vocabulary it is below "
            "{median}. Of the {count} rows, those of special tokens are left out. A piece that is rare in text gets "
            "hardly any training, so its row says little."
        )
        if config.target_vocab_size is None
        else _(
            "Every token of a vocabulary is one row of its embedding table (section 3.4). In this model source and "
            "target have separate tables, and words of one are not compared with words of the other; this is the "
            "table of the {side}. The cosine compares the directions of two rows: 1 is the same direction, 0 a right "
            "angle; for half of the vocabulary it is below {median}. Of the {count} rows, those of special tokens are "
            "left out. A piece that is rare in text gets hardly any training, so its row says little."
        )
    )
    more = _("“…” stands before a token that continues a word.")
    paragraph(
        text.format(count=f"{len(rows_of):,}", side=side_name(side), median=signed(nearest.median, 2)),
        more if any(neighbour.startswith("…") for neighbour in (label, *labels)) else "",
        quiet=True,
    )


def _turned(trace: Trace, stack: str) -> str:
    """How far the vectors have turned away from where they began."""
    cosines = turned(states(trace, stack))
    sentence = _(
        "Every layer turns the vectors of the {stack} further from where they began: their mean cosine with the input "
        "of the stack is {first} after layer 1 and {last} after layer {layers}."
    )
    if len(cosines) <= 2 or float(cosines[-1]) >= float(cosines[1]):
        sentence = _(
            "The layers turn the vectors of the {stack} away from where they began: their mean cosine with the input "
            "of the stack is {first} after layer 1 and {last} after layer {layers}."
        )
    return sentence.format(
        stack=stack_name(stack),
        first=signed(float(cosines[1]), 2),
        last=signed(float(cosines[-1]), 2),
        layers=len(cosines) - 1,
    )


def draw_map(frame: PageFrame, trace: Trace) -> None:
    """The tokens of a stack in two dimensions, at the input and after every layer."""
    about, controls, picture = part_layout()
    with controls:
        stack = choose_stack(frame.options)
    point(_turned(trace, stack), about)
    with picture:
        left, right = st.columns((1.6, 1), gap="medium")
    projected = plane(states(trace, stack))
    shares, best = (100 * projected.share).tolist(), (100 * projected.best).tolist()
    frame_index = frame.options.value("layer", 0, len(shares) - 1, len(shares) - 1)
    several = all(map(math.isfinite, shares))
    names = [_layer_and_variance(layer, share if several else None) for layer, share in enumerate(shares)]
    labels = stack_labels(trace, stack)
    grow = BIG if frame.state.view.big else 1.0
    drawn = figure.built(embedding.token_map, labels, projected.points.numpy(), names, stack, grow)
    with left:
        moved = figure.draw(drawn, "emb_map", f"embedding-map-{stack}", start=frame_index, first=True, trace=trace)
    if moved is not None:
        frame.options.report("layer", moved)
    with right:
        paragraph(
            _(
                "The vectors of the {stack} (its residual stream, section 3.1) before the first layer and after each "
                "layer, seen in the two directions in which the tokens spread most (principal components). All layers "
                "share these two directions, so a token that moves here has moved in the model; its path is dotted. "
                "At every layer the mean of the tokens is subtracted and the rest divided by s, the root mean square "
                "distance from the mean, because lengths differ from layer to layer."
            ).format(stack=stack_name(stack))
            if frame.model.config.residual
            else _(
                "The vectors of the {stack} before the first layer and after each layer, seen in the two directions "
                "in which the tokens spread most (principal components). No residual connection carries one into the "
                "next (section 3.1 has them). All layers share these two directions; the path of a token is dotted. "
                "At every layer the mean of the tokens is subtracted and the rest divided by s, the root mean square "
                "distance from the mean, because lengths differ from layer to layer."
            ).format(stack=stack_name(stack)),
            quiet=True,
        )
        if embedding.HIDDEN in drawn.text:
            paragraph(_("Labels without space are left out; point at a dot to read its token."), quiet=True)
        if not several:
            paragraph(_("One token alone has no spread: its point is the mean."))
            return
        paragraph(
            _(
                "This plane shows {low} to {high}% of the tokens' variance; the best plane for each single layer "
                "would show {best_low} to {best_high}%. The other {others} dimensions are not visible here.",
                low=f"{min(shares):.0f}", high=f"{max(shares):.0f}", best_low=f"{min(best):.0f}",
                best_high=f"{max(best):.0f}", others=f"{frame.model.config.d_model - 2:,}",
            )
        )  # fmt: skip


def _layer_and_variance(layer: int, share: float | None) -> str:
    """A point in a stack by name, with the percentage of variance seen there."""
    if share is None:
        return _("after layer {layer}", layer=layer) if layer else _("before layer 1")
    if layer:
        return _("after layer {layer} ({share}% of the variance)", layer=layer, share=f"{share:.0f}")
    return _("before layer 1 ({share}% of the variance)", share=f"{share:.0f}")
