"""The cost of recording a pass, and the cost of the tap when nothing is recorded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import torch

from benchmarks.plain import plain_copy
from benchmarks.report import Table, load
from benchmarks.sentences import ENGLISH, GERMAN, of_length
from benchmarks.timing import ratio, take_turns
from transformer.inference.pretrained import Pretrained
from transformer.model.tap import FUSED, OFF
from transformer.tracing.trace import trace_pass

TARGETS = {20: 1.5, 64: 2.0, 128: 2.5}
OFF_TARGET = 1.03


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def passes(model: Pretrained, tokens: int) -> dict[str, Callable[[], object]]:
    """The things that take turns: one pass over the same pair of texts, `tokens` a side, each in its own way."""
    source_text = of_length(model.tokenizer, tokens, 1, ENGLISH)
    target_text = of_length(model.tokenizer, tokens, 1, GERMAN)
    source = torch.tensor([model.encode(source_text)])
    target = torch.tensor([[model.config.start_id, *model.encode(target_text)[:-1]]])
    assert source.shape == target.shape == (1, tokens)
    plain = plain_copy(model.model)

    @torch.inference_mode()
    def run(forward: Callable[..., torch.Tensor], *rest: object) -> torch.Tensor:
        return forward(source, target, *rest)

    if not torch.equal(run(plain), run(model.model, OFF)):
        raise AssertionError("the plain copy of the model does not compute the same as the model; correct plain.py")
    return {
        "plain": lambda: run(plain),
        "off": lambda: run(model.model, OFF),
        "fused": lambda: run(model.model, FUSED),
        "pass": lambda: trace_pass(model.model, source, target),
        "trace": lambda: model.trace(source_text, target_text),
    }


def measure(model: Pretrained, quick: bool = False, lengths: Sequence[int] = tuple(TARGETS)) -> list[Table]:
    """A full trace against a fused pass that keeps nothing, and a pass with the tap off against one without taps."""
    traced = Table(
        "Time of a full trace, relative to the same pass without recording (median / best)",
        ("tokens a side", "threads", "`trace_pass` : fused", "`model.trace(source, target)` : fused", "allowed",
         "`trace_pass` : faster of fused and explicit"),
        load(),
    )  # fmt: skip
    idle = Table(
        "Time with the tap switched off, relative to a model without taps (median / best)",
        ("tokens a side", "threads", "off : no tap", "allowed", "fused : no tap"),
        traced.load,
    )
    for count in dict.fromkeys((1, torch.get_num_threads())):
        with threads(count):
            for tokens in lengths:
                rounds = 3 if quick else max(40, 6000 // tokens)
                times = take_turns(passes(model, tokens), rounds, warm=1 if quick else 5)
                fused, most = ratio(times, "pass", "fused"), TARGETS.get(tokens, max(TARGETS.values()))
                person = ratio(times, "trace", "fused")
                faster = max(fused, ratio(times, "pass", "off"), key=lambda found: found.median)
                off = ratio(times, "off", "plain")
                traced.add(
                    tokens, count, fused, person, f"{most} x", faster, good=max(fused.median, person.median) <= most
                )
                idle.add(
                    tokens, count, off, f"{OFF_TARGET} x", ratio(times, "fused", "plain"), good=off.median <= OFF_TARGET
                )
    traced.notes.append(
        "Fused: PyTorch's `scaled_dot_product_attention`, which never builds the weights. At these lengths the "
        "explicit arithmetic can be faster; the last column compares with the faster of the two. `model.trace` also "
        "tokenizes both texts and computes readable labels and the probabilities of the target."
    )
    idle.notes.append(
        "No tap: a copy of the model without any tap call in its forward passes (`plain.py`). Before the measurement, "
        "its logits are checked to equal the model's to the last bit."
    )
    return [traced, idle]
