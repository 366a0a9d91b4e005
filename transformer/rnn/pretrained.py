"""A loaded recurrent checkpoint: translate and trace. Its folder: see `transformer.checkpoints.folder`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from transformer.checkpoints.folder import CheckpointError, read_checkpoint
from transformer.checks import expect
from transformer.inference.pretrained import Translation, numbered, readable
from transformer.rnn.config import RecurrentConfig
from transformer.rnn.decoding import greedy
from transformer.rnn.model import RecurrentModel
from transformer.rnn.trace import RecurrentTrace, trace_pass
from transformer.text.tokenizer import AnyTokenizer
from transformer.texts import Text, any_of

ARCHITECTURE = "headscope-recurrent"
# In another folder than the Transformers, which the app offers in its menu.
BUNDLED = Path(__file__).resolve().parent / "checkpoints"


@dataclass(frozen=True)
class Recurrent:
    """A recurrent model with its tokenizer, shared and never changed; like `Pretrained` for a Transformer.

    name: folder name; languages: of source and target; metrics: scores the checkpoint reports.
    """

    name: str
    path: Path
    model: RecurrentModel
    tokenizer: AnyTokenizer
    languages: tuple[str, str]
    metrics: Mapping[str, Any]

    def __repr__(self) -> str:
        parameters = sum(parameter.numel() for parameter in self.model.parameters())
        return f"Recurrent({self.name!r}: {self.languages[0]} to {self.languages[1]}, {parameters:,} parameters)"

    @property
    def config(self) -> RecurrentConfig:
        return self.model.config

    def token_limit(self, limit: int | None = None) -> int:
        """Largest number of tokens per side, including </s>: the configuration's max_positions, or a smaller limit."""
        return min(self.config.max_positions, limit or self.config.max_positions)

    def encode(self, text: str, side: str = "source", limit: int | None = None) -> list[int]:
        """Ids of the text, ending in </s>. Raises InputError if it is blank or longer than `token_limit(limit)`."""
        return [*numbered(self.tokenizer, text, side, self.token_limit(limit)), self.config.end_id]

    def translate(self, text: str, limit: int | None = None) -> Translation:
        """The model's greedy translation. Raises InputError."""
        source = torch.tensor([self.encode(text, limit=limit)], device=self.model.device)
        best = greedy(self.model, source, self.token_limit(limit))[0]
        probabilities = tuple(torch.tensor(best.log_probs, dtype=torch.float64).exp().tolist())
        pieces = tuple(self.tokenizer.pieces(best.ids))
        return Translation(self.tokenizer.decode(best.ids), best.ids, pieces, probabilities, best.complete)

    def trace(self, source: str, target: str | None = None, *, limit: int | None = None) -> RecurrentTrace:
        """Every tensor that the model computes for a pair of texts.

        target: the text to trace (teacher forcing); None or blank: the model's own translation. limit: tokens allowed
        per side. Raises InputError.
        """
        expect(target, (str, type(None)), "target", Text("a text, or None for the model's own translation"))
        source_ids = self.encode(source, "source", limit)
        read = torch.tensor([source_ids], device=self.model.device)
        own = target is None or not target.strip()
        if own:
            out = list(greedy(self.model, read, self.token_limit(limit))[0].ids)
            target = self.tokenizer.decode(out)
            out_labels = readable(self.tokenizer.pieces(out))
        else:
            out = self.encode(target or "", "target", limit)
            out_labels = readable([*self.tokenizer.surfaces(target or ""), "</s>"])
        fed = [self.config.start_id, *out[:-1]]
        tensors = trace_pass(self.model, read, *(torch.tensor([ids], device=self.model.device) for ids in (fed, out)))
        return RecurrentTrace(
            checkpoint=self.name,
            languages=self.languages,
            source_text=source,
            target_text=target or "",
            own=own,
            complete=out[-1] == self.config.end_id,
            source_ids=tuple(source_ids),
            target_in_ids=tuple(fed),
            target_out_ids=tuple(out),
            source_tokens=tuple(self.tokenizer.pieces(source_ids)),
            target_in=tuple(self.tokenizer.pieces(fed)),
            target_out=tuple(self.tokenizer.pieces(out)),
            source_labels=readable([*self.tokenizer.surfaces(source), "</s>"]),
            target_in_labels=("<s>", *out_labels[:-1]),
            target_out_labels=out_labels,
            **tensors,
        )


def load(name: str | Path, device: torch.device | str = "cpu") -> Recurrent:
    """A bundled recurrent checkpoint by its name, or another one by the path of its folder.

    device: where it computes; traces are returned on the CPU. Raises CheckpointError.
    """
    bundled = {path.name: path for path in sorted(BUNDLED.glob("*")) if path.is_dir()}
    path = bundled.get(str(name), Path(name))
    if not path.is_dir():
        raise CheckpointError(
            "unknown recurrent checkpoint {name!r}; give the path of a folder, or choose {names}",
            name=str(name)[:200],
            names=any_of(bundled, str(name)),
        )
    saved = read_checkpoint(path, ARCHITECTURE, RecurrentConfig.from_dict, RecurrentModel)
    return Recurrent(saved.name, saved.path, saved.model.to(device), saved.tokenizer, saved.languages, saved.metrics)
