"""How the heads of a checkpoint formed, from a recording of its training, and which of its sentences can be shown."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from transformer.analysis.formation import Forming, formation, recorded
from transformer.analysis.heads import HeadStatistics, read_word_list
from transformer.inference.pretrained import InputError, Pretrained
from transformer.probing.probes import GOLD, PROBES, direction
from transformer.probing.roles import splitter, word_list
from transformer.texts import UserError
from transformer.tracing.trace import Trace
from transformer.training.recording import Recording


@dataclass(frozen=True)
class Formed:
    """tokens: `spelt` of every recorded sentence, None where this model now gives other tokens; statistics, formings:
    over the other sentences, what every head did at each state, and when heads formed."""

    recording: Recording
    tokens: tuple[tuple[tuple[str, ...], ...] | None, ...]
    statistics: dict[str, HeadStatistics]
    formings: tuple[Forming, ...]


def spelt(trace: Trace) -> tuple[tuple[str, ...], ...]:
    """All tokens of a trace; traces with the same tokens have the same rows and columns."""
    return trace.source_tokens, trace.target_in, trace.target_out


def read_formation(
    recording: Recording,
    model: Pretrained,
    limit: int,
    turn: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Formed:
    """How the heads formed. Takes 0.4 s for en-de. limit: tokens of each side; turn: entered around every pass.

    Raises UserError if no recorded sentence has the tokens of this model.
    """
    tokens: list[tuple[tuple[str, ...], ...] | None] = []
    traces = []
    for index, (source, target) in enumerate(recording.sentences):
        try:
            with turn():
                trace = model.trace(source, target, limit=limit)
            traces.append(
                recorded({kind: arrays[index] for kind, arrays in recording.weights.items()}, trace, splitter(model))
            )
        except (InputError, ValueError):  # the tokenizer, a size or the limit has changed since the recording
            tokens.append(None)
        else:
            tokens.append(spelt(trace))
    if not traces:
        raise UserError("no recorded sentence matches the tokens of this model now")
    words = word_list(model, recording.sentences)
    if (of := direction(model.languages)) in GOLD:  # also the words of the bundled model's examples
        files = (PROBES / f"{of}.{name}.tsv" for name in ("words", "examples.words"))
        words = read_word_list("\n".join(file.read_text(encoding="utf-8") for file in files))
    return Formed(recording, tuple(tokens), *formation(traces, words))
