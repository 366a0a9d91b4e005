"""What the decoder chooses from at every step: the distribution over the next token, while it writes."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.inference.pretrained import Pretrained
from transformer.inference.sampling import Drawn, Sampling
from transformer.inference.search import Choose, Hypothesis, greedy, most_probable, output_limit
from transformer.tracing.finite import check_numbers

TOP = 20


@dataclass(frozen=True)
class Step:
    """The distribution over the next token.

    ids: of the most probable tokens, best first. probabilities: theirs. rest: of all others together but <pad> and <s>,
    which are never written. entropy: of the whole distribution, in nats. narrowed: probabilities of the same tokens in
    the distribution that sampling draws from; None without sampling.
    """

    ids: tuple[int, ...]
    probabilities: tuple[float, ...]
    rest: float
    entropy: float
    narrowed: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Continuation:
    """A hypothesis, and the distribution that each of its tokens was chosen from."""

    hypothesis: Hypothesis
    steps: tuple[Step, ...]


class StepRecorder:
    """Chooses as `choose` does, and keeps a `Step` of every distribution. steps: for each sentence, in order."""

    def __init__(self, choose: Choose, count: int, top: int = TOP, sampling: Sampling | None = None) -> None:
        self.choose, self.top, self.sampling = choose, top, sampling
        self.steps: list[list[Step]] = [[] for _ in range(count)]

    def __call__(self, log_probs: Tensor, rows: Sequence[int]) -> Tensor:
        """As `Choose`. Raises NotFiniteError."""
        check_numbers(log_probs)
        best = log_probs.topk(min(self.top, log_probs.shape[-1]), -1)
        probabilities = log_probs.double().exp()
        entropy = torch.special.entr(probabilities).sum(-1)
        chosen = probabilities.gather(-1, best.indices)
        rest = (probabilities.sum(-1) - chosen.sum(-1)).clamp(min=0)
        narrowed = None
        if self.sampling is not None:
            narrowed = self.sampling.narrow(log_probs).exp().gather(-1, best.indices).tolist()
        for index, row in enumerate(rows):
            self.steps[row].append(
                Step(
                    tuple(best.indices[index].tolist()),
                    tuple(chosen[index].tolist()),
                    rest[index].item(),
                    entropy[index].item(),
                    None if narrowed is None else tuple(narrowed[index]),
                )
            )
        return self.choose(log_probs, rows)


def continuations(
    model: Pretrained,
    source: str,
    prefixes: Sequence[Sequence[int]] = ((),),
    *,
    limit: int | None = None,
    top: int = TOP,
    sample: Sampling | None = None,
) -> list[Continuation]:
    """Decodes one source several times, each time after a forced beginning.

    prefixes: ids of the beginnings, each shorter than the limit. limit: as in `translate`. sample: draw the tokens
    after the beginning; the n-th translation has the seed sample.seed + n. Without it they are the most probable ones.
    Raises InputError, NotFiniteError.
    """
    ids = torch.tensor([model.encode(source, limit=limit)] * len(prefixes), device=model.model.device)
    allowed = output_limit(model.model, ids.shape[1], model.token_limit(limit))
    seeds = [sample.seed + number for number in range(len(prefixes))] if sample else []
    recorder = StepRecorder(Drawn(sample, seeds) if sample else most_probable, len(prefixes), top, sample)
    found = greedy(model.model, ids, allowed, prefixes=prefixes, choose=recorder, constraints=model.rule.constraints)
    return [Continuation(hypothesis, tuple(steps)) for hypothesis, steps in zip(found, recorder.steps, strict=True)]
