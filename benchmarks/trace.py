"""What recording costs: a full trace beside the same pass without one."""

from collections.abc import Callable, Sequence

import torch

from benchmarks.report import Table, load
from benchmarks.timing import ratio, take_turns, threads
from tests.support.sentences import ENGLISH, GERMAN, of_length
from transformer.inference.pretrained import Pretrained
from transformer.model.tap import FUSED, OFF
from transformer.tracing.trace import trace_pass

TARGETS = {20: 1.5, 64: 2.0, 128: 2.5}


def passes(model: Pretrained, tokens: int) -> dict[str, Callable[[], object]]:
    """The things that take turns: one pass over the same pair of texts, `tokens` a side, each in its own way."""
    source_text = of_length(model.tokenizer, tokens, 1, ENGLISH)
    target_text = of_length(model.tokenizer, tokens, 1, GERMAN)
    source = torch.tensor([model.encode(source_text)])
    target = torch.tensor([[model.config.start_id, *model.encode(target_text)[:-1]]])
    assert source.shape == target.shape == (1, tokens)
    return {
        "off": torch.inference_mode()(lambda: model.model(source, target, OFF)),
        "fused": torch.inference_mode()(lambda: model.model(source, target, FUSED)),
        "pass": lambda: trace_pass(model.model, source, target),
        "trace": lambda: model.trace(source_text, target_text),
    }


def measure(model: Pretrained, quick: bool = False, lengths: Sequence[int] = tuple(TARGETS)) -> list[Table]:
    table = Table(
        "Time of a full trace, relative to the same pass without recording (median / best)",
        ("tokens a side", "threads", "`trace_pass` : fused", "`model.trace(source, target)` : fused", "allowed",
         "`trace_pass` : faster of fused and explicit"),
        load(),
        notes=[
            "Fused: PyTorch's `scaled_dot_product_attention`, which never builds the weights. At these lengths the "
            "explicit arithmetic can be faster; the last column compares with the faster of the two. `model.trace` "
            "also tokenizes both texts and computes readable labels and the probabilities of the target."
        ],
    )  # fmt: skip
    for count in dict.fromkeys((1, torch.get_num_threads())):
        with threads(count):
            for tokens in lengths:
                times = take_turns(passes(model, tokens), 3 if quick else max(40, 6000 // tokens), 1 if quick else 5)
                fused, explicit, person = (ratio(times, *of) for of in (
                    ("pass", "fused"), ("pass", "off"), ("trace", "fused")))  # fmt: skip
                most = TARGETS.get(tokens, max(TARGETS.values()))
                faster = max(fused, explicit, key=lambda found: found.median)
                good = max(fused.median, person.median) <= most
                table.add(tokens, count, fused, person, f"{most} x", faster, good=good)
    return [table]
