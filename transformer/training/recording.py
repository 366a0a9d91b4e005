"""How heads formed: attention on a few sentences in log-spaced snapshots of a training run, eight bits per weight."""

from __future__ import annotations

import io
import itertools
import json
import math
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from transformer.files import read_own
from transformer.inference.pretrained import Pretrained
from transformer.model.transformer import Transformer
from transformer.short_repr import short_repr
from transformer.tracing.trace import KINDS
from transformer.training.data import Pair
from transformer.training.evaluation import evaluate
from transformer.training.settings import TrainingError

LARGEST, LARGEST_UNPACKED = 20_000_000, 64_000_000  # bytes; the recording of en-de takes 1 MB, unpacked 3
MOST, LONGEST = 100, 2_000  # sentences, and characters of a sentence, as in a checkpoint's examples
MEASURES = ("bleu", "exact")
DAMAGE = (  # errors that reading a damaged file may raise
    ValueError, KeyError, TypeError, AttributeError, EOFError, MemoryError, OverflowError, RecursionError,
    NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


@dataclass(frozen=True)
class Recording:
    """steps: of the snapshots, increasing; sentences: source and target, traced as given in every snapshot.

    weights[kind][sentence]: uint8 [step, layer, head, query, key], weight times 255, rounded.
    translations[step][sentence]: the snapshot's own translation. scores[step]: "loss" (nats per target token) and
    `measure` of greedy translations, "bleu" or "exact" (0 to 100), on the validation text.
    """

    steps: tuple[int, ...]
    sentences: tuple[Pair, ...]
    weights: dict[str, tuple[np.ndarray, ...]]
    translations: tuple[tuple[str, ...], ...]
    scores: tuple[dict[str, float], ...]

    __repr__ = short_repr

    @property
    def measure(self) -> str:
        """What the scores hold beside the loss, of MEASURES."""
        return next((name for name in MEASURES if name in self.scores[0]), MEASURES[0])

    def to_bytes(self) -> bytes:
        """As a compressed .npz: `index.json`, and one array per kind and sentence, such as "cross.0"."""
        about = {
            "steps": self.steps, "sentences": self.sentences, "translations": self.translations, "scores": self.scores,
            "axes": ["step", "layer", "head", "query", "key"], "unit": "weight times 255",
        }  # fmt: skip
        text = json.dumps(about, ensure_ascii=False).encode()
        arrays: dict[str, Any] = {"index.json": np.frombuffer(text, np.uint8)}
        arrays |= {f"{kind}.{n}": array for kind, found in self.weights.items() for n, array in enumerate(found)}
        written = io.BytesIO()
        np.savez_compressed(written, **arrays)
        return written.getvalue()

    def _checked(self) -> Recording:
        """The same recording. Raises ValueError if it contradicts itself."""
        steps, count = self.steps, len(self.sentences)
        whole = all(type(step) is int and 0 <= step < 10**9 for step in steps)
        if not steps or not whole or any(a >= b for a, b in itertools.pairwise(steps)):
            raise ValueError("its steps are not increasing whole numbers")
        if not 0 < count <= MOST:
            raise ValueError(f"it has {count} sentences; 1 to {MOST} are allowed")
        for texts in (*self.sentences, *self.translations):
            if not all(isinstance(text, str) and len(text) <= LONGEST for text in texts):
                raise ValueError(f"a sentence in it is not a text of at most {LONGEST:,} characters")
            if any(text != text.encode("utf-8", "replace").decode() for text in texts):
                raise ValueError("a sentence in it contains half of a surrogate pair")  # as JSON may
        if len(self.scores) != len(steps) or [len(texts) for texts in self.translations] != [count] * len(steps):
            raise ValueError("some states lack a score or a translation")
        for score in self.scores:
            values = [score[name] for name in ("loss", self.measure)]
            if not all(isinstance(value, int | float) and math.isfinite(value) for value in values):
                raise ValueError("a loss or score in it is not a number")
        for kind, arrays in self.weights.items():
            for array in arrays:
                if array.dtype != np.uint8 or array.ndim != 5 or array.shape[0] != len(steps) or not array.size:
                    raise ValueError(f"an array of {kind} does not have one byte per state, layer, head, query and key")
        return self

    @classmethod
    def from_file(cls, path: Path) -> Recording:
        """Read a file. Raises OSError if it cannot be read, ValueError if it is not a valid recording."""
        return cls.from_bytes(read_own(path, LARGEST), str(path))

    @classmethod
    def from_bytes(cls, data: bytes, name: str) -> Recording:
        """The same from the bytes of a file. name: its name in messages."""
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                if (size := sum(entry.file_size for entry in packed.infolist())) > LARGEST_UNPACKED:
                    raise ValueError(f"unpacked it takes {size:,} bytes; the limit is {LARGEST_UNPACKED:,}")
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                about: dict[str, Any] = json.loads(bytes(file["index.json"]).decode())
                sentences = tuple((source, target) for source, target in about["sentences"])
                weights = {kind: tuple(file[f"{kind}.{n}"] for n in range(len(sentences))) for kind in KINDS}
            translations = tuple(tuple(texts) for texts in about["translations"])
            return cls(tuple(about["steps"]), sentences, weights, translations, tuple(about["scores"]))._checked()
        except DAMAGE as error:
            reason = (str(error).splitlines() or ["it is damaged"])[0]  # NumPy's messages may be long
            raise ValueError(f"{name} is not a recording: {reason[:200]}") from error


def states(run: Path, like: Pretrained) -> Iterator[tuple[int, Pretrained]]:
    """The snapshots of a run as models, first to last, with the tokenizer of `like`. Raises TrainingError."""
    files = sorted((run / "snapshots").glob("*.safetensors"))
    if not files:
        raise TrainingError("{run} has no snapshots; train with --snapshots 12", run=run)
    for file in files:
        model = Transformer(like.config).to(like.model.device)
        try:
            model.load_state_dict({name: tensor.float() for name, tensor in load_file(file).items()})
        except (OSError, SafetensorError, RuntimeError) as error:
            raise TrainingError(
                "{file} has no snapshot of {name}; give the run that trained it", file=file, name=like.name
            ) from error
        model.requires_grad_(False).eval()
        yield (
            int(file.stem),
            Pretrained(like.name, like.path, model, like.tokenizer, like.languages, like.metrics),
        )


def record(
    run: Path, final: Pretrained, sentences: Sequence[Pair], validation: Sequence[Pair], measure: str = MEASURES[0]
) -> Recording:
    """Trace the sentences in every snapshot of a run.

    final: the final checkpoint of the run; it translates sentences without a target, once for all snapshots. measure:
    of MEASURES; "exact" for a toy task.
    """
    filled = tuple((source, target if target.strip() else final.translate(source).text) for source, target in sentences)
    for source, target in filled:
        if not target.strip():
            raise TrainingError(
                "{name} translates {source!r} as an empty text; give this example a target",
                name=final.name,
                source=source,
            )
    steps, texts, scores = [], [], []
    weights: dict[str, list[list[np.ndarray]]] = {kind: [[] for _ in filled] for kind in KINDS}
    for step, model in states(run, final):
        for number, (source, target) in enumerate(filled):
            trace = model.trace(source, target)
            for kind in KINDS:
                eight = (trace.attention(kind).weights * 255).round().to(torch.uint8).cpu()
                weights[kind][number].append(eight.numpy())
        evaluation = evaluate(model, validation)
        steps.append(step)
        texts.append(tuple(one.text for one in model.translate_all([source for source, _ in filled])))
        score = evaluation.bleu if measure == "bleu" else 100 * evaluation.exact
        scores.append({"loss": float(np.log(evaluation.perplexity)), measure: score})
    stacked = {kind: tuple(np.stack(states) for states in by_sentence) for kind, by_sentence in weights.items()}
    return Recording(tuple(steps), filled, stacked, tuple(texts), tuple(scores))
