"""All recorded training states of one sentence for the browser, in the format of `pack`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import torch

from transformer.analysis.formation import Forming
from transformer.analysis.heads import OFFSETS, READINGS, HeadStatistics
from transformer.tracing.trace import Trace
from transformer.view.languages import browser_texts
from transformer.view.pack import Writer
from transformer.view.state import View

if TYPE_CHECKING:
    from transformer.training.recording import Recording

HABITS = (*OFFSETS, *READINGS)  # of `HeadStatistics`, in this order
SHOWN = 240  # characters of a state's translation; an untrained model writes up to its limit


def _percent(statistics: HeadStatistics) -> torch.Tensor:
    """[state, layer, head, habit] in whole percent; 255 means not measurable."""
    shares = torch.stack([getattr(statistics, name) for name in HABITS], -1)
    return torch.where(shares.isnan(), 255.0, 100 * shares).round().byte()


def formation_pack(
    recording: Recording,
    fitting: Sequence[object | None],
    statistics: Mapping[str, HeadStatistics],
    formings: Sequence[Forming],
    trace: Trace,
    here: int | None,
    view: View,
    revision: int,
) -> bytes:
    """The data of the slider: 13 states of 11 source and 14 target tokens in 4 layers of 8 heads take 200 KB.

    here: index of the recorded sentence that the trace shows; None if it shows another one, then no weights are sent.
    fitting: for every recorded sentence, None if it cannot be opened. statistics: by kind, [state, layer, head], over
    all recorded sentences. revision: the browser sends it back with each report.
    """
    writer = Writer()
    kinds: dict[str, Any] = {}
    writes: list[str] = []
    if here is not None:
        kinds = {kind: writer.add(torch.from_numpy(arrays[here])) for kind, arrays in recording.weights.items()}
        writes = [texts[here] for texts in recording.translations]
    return writer.finish(
        {
            "format": 1,
            "id": trace.id,
            "checkpoint": trace.checkpoint,
            "steps": recording.steps,
            "measure": recording.measure,
            "scores": [
                {"loss": round(scores["loss"], 4), "score": round(scores[recording.measure], 4)}
                for scores in recording.scores
            ],
            "writes": [text if len(text) <= SHOWN else text[:SHOWN] + "…" for text in writes],
            "kinds": kinds,
            "habits": {kind: writer.add(_percent(shares)) for kind, shares in statistics.items()} if kinds else {},
            "rows": {kind: [shares.rows, shares.links] for kind, shares in statistics.items()},
            "heads": {kind: len(arrays[0][0]) * len(arrays[0][0][0]) for kind, arrays in recording.weights.items()},
            "formings": [asdict(forming) for forming in formings],
            "sentences": [
                {"number": number, "source": source, "same": source == trace.source_text}
                for number, (source, _) in enumerate(recording.sentences)
                if fitting[number] is not None
            ],
            "step": view.training,
            "big": view.big,
            "texts": browser_texts("formation"),
            "revision": revision,
        }
    )
