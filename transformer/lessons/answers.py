"""The functions that a lesson file may name to have an answer computed from the open model and sentence.

A lesson file never executes anything: it names one of `FUNCTIONS` and gives numbers and texts. Layers, heads, steps and
rows are numbered from 1, as everywhere in the app. A row or a column is a number or the label of a token.
"""

import inspect
import math
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from transformer.analysis.attention import entropy
from transformer.analysis.bleu import bleu as bleu_of
from transformer.analysis.heads import head_statistics
from transformer.analysis.saturation import saturation
from transformer.checks import shown
from transformer.cost.complexity import Sizes, path, sequential
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.model.tap import KINDS
from transformer.texts import Text, UserError, any_of
from transformer.tracing.trace import Trace
from transformer.training.schedule import learning_rate as rate
from transformer.training.schedule import paper_peak

# str: a token or a text; float or int: a number; a tuple of ints: a shape; a frozenset: any of these is right
Answer = str | float | tuple[int, ...] | tuple[str, ...] | frozenset[str]
Place = int | str  # a row or a column
READINGS = ("predicted", "fed")


class AnswerError(UserError):
    """An answer that this model and sentence do not have: a layer, a row or a token that is not there."""


def labels_of(trace: Trace, kind: str, reading: str = "predicted") -> tuple[Sequence[str], Sequence[str]]:
    """Labels of the rows and of the columns of an attention. reading: whether a decoder row is named by the token it
    predicts or by the token it is fed."""
    rows = trace.target_in_labels if reading == "fed" else trace.target_out_labels
    columns = trace.target_in_labels if kind == "decoder_self" else trace.source_labels
    return (trace.source_labels if kind == "encoder_self" else rows), columns


def _index(place: Place, labels: Sequence[str], what: Text | str) -> int:
    """The index of a row or column, given by its number from 1 or by its label."""
    if isinstance(place, str):
        if place in labels:
            return labels.index(place)
        raise AnswerError(
            "no {what} is named {place}; there are {labels}", what=what, place=shown(place), labels=" ".join(labels)
        )
    if not 1 <= place <= len(labels):
        raise AnswerError("there is no {what} {place}; there are {count}", what=what, place=place, count=len(labels))
    return place - 1


def _weights(trace: Trace, kind: str, layer: int, head: int) -> Any:
    """[query, key] of one head."""
    if kind not in KINDS:
        raise AnswerError("unknown attention kind {kind}; choose {kinds}", kind=shown(kind), kinds=any_of(KINDS, kind))
    weights = trace.attention(kind).weights
    layers, heads = weights.shape[:2]
    if not (1 <= layer <= layers and 1 <= head <= heads):
        raise AnswerError(
            "there is no layer {layer}, head {head}; this model has {layers} layers of {heads} heads",
            layer=layer, head=head, layers=layers, heads=heads,
        )  # fmt: skip
    return weights[layer - 1, head - 1]


def largest_key(
    model: Pretrained, trace: Trace, kind: str, layer: int, head: int, row: Place, reading: str = "predicted"
) -> str:
    """The token with the largest weight in a row."""
    rows, columns = labels_of(trace, kind, reading)
    return columns[int(_weights(trace, kind, layer, head)[_index(row, rows, "row")].argmax())]


def largest_cell(
    model: Pretrained, trace: Trace, kind: str, layer: int, head: int, row: Place, reading: str = "predicted"
) -> str:
    """The cell with the largest weight of a row, as a link names it: "row,column"."""
    rows, _ = labels_of(trace, kind, reading)
    index = _index(row, rows, "row")
    return f"{index + 1},{int(_weights(trace, kind, layer, head)[index].argmax()) + 1}"


def weight(
    model: Pretrained,
    trace: Trace,
    kind: str,
    layer: int,
    head: int,
    row: Place,
    column: Place,
    reading: str = "predicted",
) -> float:
    """One weight of attention."""
    rows, columns = labels_of(trace, kind, reading)
    return float(_weights(trace, kind, layer, head)[_index(row, rows, "row"), _index(column, columns, "column")])


def row_sum(model: Pretrained, trace: Trace, kind: str, layer: int, head: int, row: Place) -> float:
    """What the weights of a row add up to."""
    rows, _ = labels_of(trace, kind)
    return float(_weights(trace, kind, layer, head)[_index(row, rows, "row")].double().sum())


def even_weight(model: Pretrained, trace: Trace, side: str) -> float:
    """Each weight of a row that looks evenly at all tokens of the source or of the target, with </s>."""
    return 1 / token_count(model, trace, side)


def zeros_by_mask(model: Pretrained, trace: Trace, row: Place) -> float:
    """How many weights of a row of the decoder's self-attention are 0 because the mask hides the later tokens."""
    index = _index(row, trace.target_out_labels, "row")
    return float(int((trace.decoder_self.weights[0, 0, index] == 0).sum()))


def row_entropy(model: Pretrained, trace: Trace, kind: str, layer: int, head: int, row: Place) -> float:
    """Entropy of a row as a share of the largest possible: 0 for one token, 1 for all tokens alike."""
    rows, _ = labels_of(trace, kind)
    index = _index(row, rows, "row")
    visible = int(trace.attention(kind).mask.expand_as(trace.attention(kind).weights)[layer - 1, head - 1, index].sum())
    if visible < 2:
        raise AnswerError("row {row} sees one token only, so it has no entropy; choose another row", row=row)
    return float(entropy(_weights(trace, kind, layer, head)[index].double())) / math.log(visible)


def heads_on(model: Pretrained, trace: Trace, kind: str, offset: str, least: float) -> frozenset[str]:
    """The heads whose largest weight is on the previous, the same or the next token in at least this share of the rows,
    as "layer.head"."""
    if offset not in ("previous", "same", "next"):
        raise AnswerError("unknown offset {offset}; choose previous, same or next", offset=shown(offset))
    table = head_statistics([trace])[kind]
    shares = getattr(table, offset)
    return frozenset(
        f"{layer + 1}.{head + 1}"
        for layer in range(shares.shape[0])
        for head in range(shares.shape[1])
        if float(shares[layer, head]) >= least
    )


def token_count(model: Pretrained, trace: Trace, side: str) -> float:
    """Tokens of the source or of the target, with </s>."""
    if side not in ("source", "target"):
        raise AnswerError("unknown side {side}; choose source or target", side=shown(side))
    return float(len(trace.source_ids if side == "source" else trace.target_out_ids))


def output_token(model: Pretrained, trace: Trace, step: int) -> str:
    """The token that a step predicts."""
    return trace.target_out_labels[_index(step, trace.target_out_labels, "step")]


def fed_token(model: Pretrained, trace: Trace, step: int) -> str:
    """The token that a step is fed."""
    return trace.target_in_labels[_index(step, trace.target_in_labels, "step")]


def probability(model: Pretrained, trace: Trace, step: Place) -> float:
    """The probability of the token that a step predicts."""
    return float(trace.probabilities[_index(step, trace.target_out_labels, "step")])


def least_certain(model: Pretrained, trace: Trace) -> str:
    """The output token with the smallest probability; the end token of a complete text does not count."""
    steps = len(trace.target_out_ids) - (1 if trace.complete and len(trace.target_out_ids) > 1 else 0)
    return trace.target_out_labels[int(trace.probabilities[:steps].argmin())]


def source_tokens(model: Pretrained, trace: Trace) -> tuple[str, ...]:
    """All source tokens: what to choose from."""
    return tuple(dict.fromkeys(trace.source_labels))


def target_tokens(model: Pretrained, trace: Trace) -> tuple[str, ...]:
    """All output tokens: what to choose from."""
    return tuple(dict.fromkeys(trace.target_out_labels))


def shape(model: Pretrained, trace: Trace, tensor: str) -> tuple[int, ...]:
    """The shape of a tensor of one layer, with the batch of one sentence in front: "cross.weights" is [batch, head,
    query, key], "cross.values" [batch, head, key, d_v], "encoder_output" [batch, token, d_model]."""
    field, _, name = tensor.partition(".")
    if field in KINDS and name in ("queries", "keys", "values", "scores", "weights", "head_outputs"):
        return (1, *getattr(trace.attention(field), name).shape[1:])
    if not name and field in ("source_embedding", "target_embedding", "encoder_output", "decoder_output", "logits"):
        return (1, *getattr(trace, field).shape)
    raise AnswerError(
        "no tensor is named {tensor}; choose encoder_output, decoder_output, logits, or queries, keys, values, scores "
        "or weights of encoder_self, decoder_self or cross, as cross.values",
        tensor=shown(tensor),
    )


def size(model: Pretrained, trace: Trace, name: str) -> float:
    """A size of the model: heads, d_model, d_k, d_ff, encoder_layers, decoder_layers, vocab_size or parameters."""
    config = model.config
    sizes = {
        "heads": config.heads, "d_model": config.d_model, "d_k": config.d_k or config.d_head,
        "d_ff": config.d_ff, "encoder_layers": config.encoder_layers, "decoder_layers": config.decoder_layers,
        "vocab_size": config.vocab_size, "parameters": model.model.parameter_count(),
        "all_heads": config.heads * (config.encoder_layers + 2 * config.decoder_layers),
    }  # fmt: skip
    if name not in sizes:
        raise AnswerError("no size is named {name}; choose {names}", name=shown(name), names=any_of(sizes, name))
    return float(sizes[name])


def scale(model: Pretrained, trace: Trace) -> float:
    """What the scores are divided by, the square root of d_k."""
    return math.sqrt(size(model, trace, "d_k"))


def mean_largest_weight(model: Pretrained, trace: Trace, kind: str, switches: str = "") -> float:
    """The mean over all rows, layers and heads of the largest weight, with switches such as "scaling=off"."""
    if kind not in KINDS:
        raise AnswerError("unknown attention kind {kind}; choose {kinds}", kind=shown(kind), kinds=any_of(KINDS, kind))
    return float(saturation(_switched(model, trace, switches).attention(kind)).largest.nanmean())


def translation(model: Pretrained, trace: Trace, switches: str = "") -> str:
    """The model's translation of the sentence, with switches such as "causal=off"."""
    return model.translate(trace.source_text, interventions=_interventions(switches)).text


def bleu(model: Pretrained, trace: Trace, hypothesis: str, reference: str) -> float:
    """BLEU of a text against one reference, as sacreBLEU computes it for a sentence."""
    return float(bleu_of(hypothesis, [reference]).score)


def path_length(model: Pretrained, trace: Trace, layer: str, tokens: int) -> float:
    """Steps from the first to the last of so many tokens through one kind of layer (Table 1)."""
    return float(path(layer, Sizes(n=tokens, d=512)))


def steps_in_turn(model: Pretrained, trace: Trace, layer: str, tokens: int) -> float:
    """Operations that have to wait for each other in one layer (Table 1, "sequential operations")."""
    return float(sequential(layer, Sizes(n=tokens, d=512)))


def learning_rate(model: Pretrained, trace: Trace, step: int, d_model: int, warmup: int) -> float:
    """The learning rate of section 5.3 at a step."""
    return rate(step, paper_peak(d_model, warmup), warmup, max(step, warmup) + 1)


def _interventions(switches: str) -> Interventions:
    return Interventions.parse(switches) if switches else Interventions()


def _switched(model: Pretrained, trace: Trace, switches: str) -> Trace:
    return model.retrace(trace, _interventions(switches)) if switches else trace


FUNCTIONS: Mapping[str, Callable[..., Answer]] = {
    function.__name__: function
    for function in (
        largest_key, largest_cell, weight, row_sum, even_weight, zeros_by_mask, row_entropy, heads_on, token_count,
        output_token, fed_token, probability, least_certain, source_tokens, target_tokens, shape, size, scale,
        mean_largest_weight, translation, bleu, path_length, steps_in_turn, learning_rate,
    )
}  # fmt: skip


def parameters(name: str) -> dict[str, tuple[type, ...]]:
    """What a function takes: name -> types, int, float or str. One that may be left out takes None, too."""
    function = FUNCTIONS[name]
    hints = typing.get_type_hints(function)
    found = list(inspect.signature(function).parameters.values())[2:]  # after model and trace
    return {
        one.name: (
            *(typing.get_args(hints[one.name]) or (hints[one.name],)),
            *(() if one.default is one.empty else (type(None),)),
        )
        for one in found
    }


def gives(name: str) -> object:
    """The type of a function's answers."""
    return typing.get_type_hints(FUNCTIONS[name])["return"]


def check_arguments(name: str, arguments: Mapping[str, object]) -> None:
    """Raises AnswerError unless the function exists and these are its arguments."""
    if name not in FUNCTIONS:
        raise AnswerError(
            "no function is named {name}; choose {names}", name=shown(name), names=any_of(FUNCTIONS, name)
        )
    known = parameters(name)
    for argument, value in arguments.items():
        if argument not in known:
            raise AnswerError(
                "{function} has no argument {name}; it has {names}",
                function=name, name=shown(argument), names=", ".join(known) or Text("none"),
            )  # fmt: skip
        allowed = [kind for kind in known[argument] if kind in _WORDS]
        if not isinstance(value, (*allowed, *((int,) if float in allowed else ()))) or isinstance(value, bool):
            raise AnswerError(
                "the argument {name} of {function} is {value}; it must be {allowed}",
                name=argument, function=name, value=shown(value),
                allowed=any_of([_WORDS[kind] for kind in allowed]),
            )  # fmt: skip
    missing = [one for one, kinds in known.items() if type(None) not in kinds and one not in arguments]
    if missing:
        raise AnswerError("{function} needs the argument {name}", function=name, name=missing[0])


_WORDS = {int: "a whole number", float: "a number", str: "a text"}
