"""Sampling: temperature, top-k, top-p and seed; the distribution before and after each."""

import math
from typing import Any

import torch
from torch import Tensor

from pages.components.sentences import part_layout, point
from pages.decoding import payload, step
from pages.frame.frame import PageFrame
from pages.frame.state import max_tokens
from pages.runtime import cache
from transformer.inference.pretrained import Pretrained
from transformer.inference.sampling import Sampling
from transformer.inference.steps import Step
from transformer.texts import _
from transformer.tracing.trace import Trace

OPTIONS = ("temperature", "top_k", "top_p", "seed")
DRAWN = 6  # translations
KEY = "decoding_samples"


def after_each_rule(model: Pretrained, sample: Sampling, logits: Tensor, step: Step) -> list[dict[str, Any]]:
    """What is left of a distribution after temperature, then top-k, then top-p: probabilities of the step's tokens, and
    of all others together. logits: [vocab]; value: the rule's, None where it is off."""
    log_probs = logits.log_softmax(-1)
    log_probs[model.config.unwritten] = -math.inf
    ids = torch.tensor(step.ids, device=logits.device)
    temperature, top_k, top_p = sample.temperature, sample.top_k, sample.top_p
    rules = [
        ("temperature", None if temperature == 1 else temperature, Sampling(temperature)),
        ("top_k", top_k or None, Sampling(temperature, top_k)),
        ("top_p", None if top_p == 1 else top_p, sample),
    ]
    left = []
    for name, value, so_far in rules:
        probabilities = so_far.narrow(log_probs).exp()
        shown = probabilities[ids]
        rest = probabilities.index_fill(0, ids, 0).sum().item()  # not 1 less the shown: that would rarely be exactly 0
        left.append({"name": name, "value": value, "p": shown.tolist(), "rest": rest})
    return left


def draw(frame: PageFrame, trace: Trace) -> None:
    model, options, limit = frame.model, frame.options, max_tokens()
    source = trace.source_text
    step.merge_browser(frame, KEY)
    head, controls, picture = part_layout(near=True)
    first, *fields = controls.columns([3, 1, 1, 1, 1], vertical_alignment="bottom")
    with first:
        begin = step.begin_field(frame, source)
    with fields[0]:
        help_ = _("The logits are divided by it: below 1 likely tokens become likelier, above 1 all become alike.")
        temperature = options.fraction("temperature", _("Temperature"), 0.1, 5.0, 1.0, 0.1, "%.1f", help=help_)
    with fields[1]:
        help_ = _("Draw from the k most probable tokens; 0: from all.")
        top_k = options.number("top_k", _("Top-k (0: all)"), 0, 1000, 0, help=help_)
    with fields[2]:
        help_ = _("Draw from the most probable tokens that together have at least this probability; 1: from all.")
        top_p = options.fraction("top_p", _("Top-p (1: all)"), 0.05, 1.0, 1.0, 0.05, "%.2f", help=help_)
    with fields[3]:
        help_ = _("Of the random numbers: the same seed gives the same translations.")
        seed = options.number("seed", _("Seed"), 0, 100_000, 0, help=help_)
    sample = Sampling(temperature, top_k, top_p, seed)
    found = payload.continued(model, source, (begin,) * DRAWN, limit, sample)
    line, number = step.position(options, found)
    ids = found[line].hypothesis.ids
    logits = cache.trace_output(model, source, ids, limit).logits[number]
    rules = after_each_rule(model, sample, logits, found[line].steps[number])
    different = len({model.tokenizer.decode(one.hypothesis.ids) for one in found})
    with head:
        text = _(
            "Sampling draws every token at random, by its probability: here {count} samples with {different} different "
            "texts. A low temperature keeps to what is likely; a high one gives more variety, and more errors."
        )
        if different == 1:
            text = _(
                "Sampling draws every token at random, by its probability: here all {count} samples have the same "
                "text. A low temperature keeps to what is likely; a high one gives more variety, and more errors."
            )
        point(text.format(count=DRAWN, different=different))
    numbers = {
        "source": source,
        "lines": [payload.line(model, one, len(begin)) for one in found],
        "at": {"line": line, "step": number},
        "bars": payload.bars(model, found[line].steps[number], ids[:number], rules),
        **payload.attention(model, source, ids, number, limit),
    }
    with picture:
        step.picture(frame, KEY, ("at",), numbers)
