"""What a checkpoint says about itself: sizes, scores, training log, model card."""

import re
from collections.abc import Mapping, Sequence

import streamlit as st

from pages.components import figure
from pages.components.checkpoint_zip import download_button
from pages.components.sentences import INDEX, paragraph
from pages.components.training_log import training_log
from pages.frame.messages import message
from pages.runtime import session_models
from transformer.checkpoints.folder import CARD, CARDS, LARGEST_BESIDE
from transformer.figures.training import training_curve
from transformer.inference.pretrained import Pretrained
from transformer.model.config import ModelConfig
from transformer.probing.importance import name_of
from transformer.texts import _, comma_list, reader_language, semicolon_list, translate

PAPER = 65_000_000  # parameters of the paper's base model, Table 3


def _is_toy(model: Pretrained) -> bool:
    """Whether its task has one right answer: then it reports exact matches, and no BLEU, because its words are
    letters."""
    return isinstance(model.metrics.get("exact"), int | float) and "bleu" not in model.metrics


def sizes(model: Pretrained) -> list[tuple[str, str, str]]:
    """The size of this model beside that of the paper's base model (Table 3), and the scores that the checkpoint
    reports: name, this model, the paper."""
    config, metrics = model.config, model.metrics
    rows = [
        (_("parameters"), f"{model.model.parameter_count():,}", _("65 million")),
        (_("layers"), f"{config.encoder_layers} + {config.decoder_layers}", "6 + 6"),
        (_("heads per layer"), f"{config.heads} × {config.d_head}", "8 × 64"),
        ("d_model · d_ff", f"{config.d_model} · {config.d_ff}", "512 · 2048"),
        (_("vocabulary"), f"{config.vocab_size:,}", _("about 37,000")),
    ]
    if config.target_vocab_size is not None:
        rows[-1:] = [
            (_("vocabulary of the source"), f"{config.vocab_size:,}", _("about 37,000")),
            (_("of the target"), f"{config.target_vocab_size:,}", _("the same")),
        ]
    for name, key in (("sacreBLEU", "bleu"), ("chrF", "chrf"), (_("perplexity"), "perplexity")):
        if isinstance(metrics.get(key), int | float):
            paper = _("27.3 (another test set)") if key == "bleu" else "–"
            rows.append((name, f"{metrics[key]:.1f}", paper))
    if _is_toy(model):
        rows.append((_("exact match"), _percent(metrics["exact"]), "–"))
    return rows


def summary(model: Pretrained) -> str:
    """What this model does, and its size beside the paper's, in one sentence."""
    count = model.model.parameter_count()
    size = PAPER / count
    text = (
        _("From {source} to {target}: the Transformer of 2017 at 1/{times} of its size, with {count} weights.")
        if size >= 1
        else _("From {source} to {target}: the Transformer of 2017 at {times} × its size, with {count} weights.")
    )
    size = max(size, 1 / size)
    source, target = map(translate, model.languages)
    return text.format(
        source=source, target=target, times=f"{size:,.0f}" if size >= 1.5 else f"{size:.1f}",
        count=_("{count} million", count=f"{count / 1e6:,.0f}") if count >= 1e6 else f"{count:,}",
    )  # fmt: skip


def quality(model: Pretrained) -> str:
    """How good its outputs are, in words; "" without a score."""
    bleu = model.metrics.get("bleu")
    if _is_toy(model):
        return _("Of its test inputs, {share} come out exactly right.", share=_percent(model.metrics["exact"]))
    if not isinstance(bleu, int | float):
        return ""
    return _("On test sentences its BLEU is {bleu} of 100.", bleu=f"{bleu:.1f}")


def _percent(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


def comparable(model: Pretrained) -> None:
    """That two BLEU scores on different test sets are not comparable; nothing without a score."""
    bleu, sentences = (model.metrics.get(name) for name in ("bleu", "sentences"))
    if not isinstance(bleu, int | float):
        return
    text = (
        _(
            "BLEU {bleu} is on this model's own {sentences} test sentences. The paper's 27.3 (base) and 28.4 (big) are "
            "on newstest2014, longer sentences from the news. Two scores on different test sets cannot be compared."
        )
        if isinstance(sentences, int)
        else _(
            "BLEU {bleu} is on this model's own test sentences. The paper's 27.3 (base) and 28.4 (big) are on "
            "newstest2014, longer sentences from the news. Two scores on different test sets cannot be compared."
        )
    )
    paragraph(text.format(bleu=f"{bleu:.1f}", sentences=f"{sentences:,}" if isinstance(sentences, int) else ""))


def signature(model: Pretrained) -> None:
    """How sacreBLEU computed the score, if it is known."""
    found = model.metrics.get("bleu_signature")
    if isinstance(found, str):
        paragraph(_("sacreBLEU's signature: {signature}.", signature=found[:200]), quiet=True)


def differences(config: ModelConfig) -> list[str]:
    """The differences of this architecture from the paper's, a few words each."""
    texts = [
        (config.biases, _("a bias in every projection of attention")),  # the formulas of section 3.2.2 have none
        (not config.biases, _("no biases in the feed-forward networks")),
        (config.activation == "gelu", _("GELU instead of max(0, ·)")),
        (config.activation == "gelu_new", _("GELU, approximated by tanh, instead of max(0, ·)")),
        (config.activation == "swish", _("swish instead of max(0, ·)")),
        (config.gated, _("gated feed-forward networks, whose activations are multiplied by xV")),
        (config.norm == "pre", _("LayerNorm before each sub-layer")),
        (config.rms_norm, _("RMSNorm, which subtracts no mean and adds no β, in place of LayerNorm")),
        (config.norm == "none", _("no LayerNorm")),
        (not config.residual, _("no residual connections")),
        (not config.causal, _("no causal mask: decoder self-attention sees later tokens")),
        (config.positions == "learned", _("learned positions")),
        (config.positions == "none", _("no positions")),
        (config.positions == "relative", _("relative positions, a number added to each score of self-attention")),
        (
            config.positions == "sinusoidal" and config.layout == "halves",
            _("sinusoidal positions with all sines before all cosines"),
        ),
        (config.d_head != config.d_model // config.heads, _("heads that are not d_model / h wide")),
        (
            config.positions == "sinusoidal" and config.layout == "fairseq",
            _("sinusoidal positions with all sines before all cosines and other wavelengths, counted from 2"),
        ),
        (config.separate_positions, _("a table of positions for each side")),
        (config.embedding_norm, _("LayerNorm after the embeddings")),
        (not config.scaling, _("scores that are not divided by √dₖ")),
        (not config.embedding_scale, _("embeddings that are not multiplied by √d_model")),
        (config.target_vocab_size is not None, _("an embedding table for each side")),
        (not config.tied_output, _("an output matrix of its own")),
        (config.output_bias, _("a bias on every logit")),
        (config.start_id == config.pad_id, _("decoding that starts with the padding token")),
        (config.start_id == config.end_id, _("decoding that starts with </s>")),
    ]
    return [text for holds, text in texts if holds]


def architecture(model: Pretrained) -> None:
    """Differences from the paper."""
    text = _("Built as in the paper, except for: {differences}.")
    paragraph(text.format(differences=semicolon_list(differences(model.config))))


def notes(model: Pretrained) -> None:
    """What the files of another project's folder do not say, and what was noted when the model was read."""
    if model.family:
        sentence = _(
            "A folder of the kind {family}, opened as it is: configuration, weights and tokenizer. These files do not "
            "say who trained the model on what, how well it translates and under which licence it may be used; its "
            "README.md may say so. Headscope's licence does not cover it."
        )
        message(sentence.format(family=model.family), "note")
    for note in model.notes:
        message(str(note))


def heads_left_out(name: str, model: Pretrained) -> None:
    """For a model without some heads: which they are."""
    whole = session_models.whole_name(name)
    if whole != name:
        heads = comma_list(name_of(head) for head in session_models.heads_left_out(name, model.config))
        sentence = _(
            "This is {whole} with the output of these heads at 0: {heads}. Scores, training log and model card are of "
            "the whole model; choose {whole} in the menu to see them."
        )
        paragraph(sentence.format(whole=whole, heads=heads))


def download(name: str) -> None:
    """For a model of this session: a note that it is, and its zip."""
    model = session_models.own_models().get(name)
    data = model.data if model is not None else None
    if data is not None:
        with st.container(horizontal=True, vertical_alignment="center", key="hs-own"):
            download_button(name, data, "own_zip")
            paragraph(
                _(
                    "Only you can see it: it lives in this session, and disappears when you reload the page or close "
                    "its tab."
                )
            )


def course(rows: Sequence[Mapping[str, str]]) -> str:
    """How loss and BLEU changed from the first validation to the last; "" where they do not both get better."""

    def ends(name: str) -> tuple[float, float]:
        values = [float(row[name]) for row in rows if row.get(name)] or [0.0]
        return values[0], values[-1]

    (first, last), (low, high) = ends("validation_loss"), ends("validation_bleu")
    if not last < first:  # a log may have NaN
        return ""
    text = (
        _(
            "While it trained, its validation loss (how wrong it is) fell from {first} to {last}, and its "
            "BLEU (how close to a person's translation) rose from {low} to {high}."
        )
        if high > low
        else _("While it trained, its validation loss (how wrong it is) fell from {first} to {last}.")
    )
    return text.format(first=f"{first:.1f}", last=f"{last:.1f}", low=f"{low:.0f}", high=f"{high:.0f}")


def curve(model: Pretrained) -> None:
    """Loss over the training, and BLEU of a translation model, if the checkpoint has its log; and how good it is."""
    told, drawn, missing = "", None, _("This checkpoint has no log of its training (training.csv).")
    try:
        rows = training_log(model)
        if rows is not None:
            if _is_toy(model):
                rows = [{**row, "validation_bleu": ""} for row in rows]
            drawn, told = figure.built(training_curve, rows), course(rows)
    except (ValueError, KeyError, TypeError):
        missing = _("The training.csv of this checkpoint cannot be read.")
    paragraph(told, quality(model))
    if drawn is None:
        st.caption(missing)
    else:
        figure.draw(drawn, "training", "training", first=True, about=model.name)


def tamed(markdown: str) -> str:
    """The Markdown of a card for this page, without HTML and pictures: a checkpoint may come from anywhere, and a
    picture on another server would tell that server who looks at it. Headings stand one level below the page's own,
    pictures are text, d_model has a subscript where no text is LaTeX already. Comments in code are no headings.
    Pictures are replaced in code too, because Markdown may not read it as code."""
    code = re.compile(r"(^ {0,3}(?:`{3,}|~{3,})[\s\S]*?(?:^ {0,3}(?:`{3,}|~{3,})|\Z)|`[^`\n]*`)", re.MULTILINE)
    # Markdown would read the front matter as a heading, so it is shown as code.
    front = re.match(r"---[ \t]*\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|\Z)", markdown)
    if front and "```" not in front[1]:
        markdown = f"```yaml\n{front[1]}\n```\n\n{markdown[front.end() :]}"
    parts = code.split(markdown)
    for index in range(0, len(parts), 2):  # every second part is code
        text = re.sub(r"^( {0,3}#{1,5})(?=[ \t])", r"\1#", parts[index], flags=re.MULTILINE)
        parts[index] = text if "$" in markdown else INDEX.sub(r"$\1_\\text{\2}$", text)
    return "".join(parts).replace("![", "!\\[")


def lead(text: str) -> str:
    """The first paragraph after the title of a card; "" if something else stands there."""
    found = re.match(r"\s*#[^\n]*\n\s*(\w.*?)(?=\n\s*\n|\Z)", text, re.DOTALL)
    return found[1] if found else ""


def card(model: Pretrained) -> str:
    """The model card, in the reader's language if the checkpoint has it; "" and a caption if there is none."""
    translated = CARDS.get(reader_language().code, CARD)
    try:
        text = model.beside(translated, LARGEST_BESIDE[CARD]) or model.beside(CARD, LARGEST_BESIDE[CARD])
    except OSError as error:
        st.caption(_("The model card (README.md) cannot be read: {reason}.", reason=error.strerror))
        return ""
    if text is None:
        st.caption(_("This checkpoint has no model card (README.md)."))
        return ""
    return text.decode("utf-8", "replace")
