"""What tests of imported models compare: batches, what decoders are fed, and what transformers' `generate` writes."""

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tests.support.build import sentences
from tests.support.refusal import refused
from transformer.attribution import METHODS, attribute
from transformer.checkpoints.beam_rule import BeamRule
from transformer.checkpoints.folder import CheckpointError
from transformer.checkpoints.importers import open_folder
from transformer.inference.pretrained import Pretrained
from transformer.inference.search import Hypothesis, beam, greedy
from transformer.interventions.sets import Interventions
from transformer.model.tap import OFF
from transformer.tracing.export import arrays, npz
from transformer.tracing.rerun import outputs_from
from transformer.tracing.trace import Trace
from transformer.view.page import html_page

CLOSE: dict[str, Any] = dict(atol=1e-5, rtol=1e-5)
SENTENCES = sentences()[:12]


def batch(model: Pretrained, texts: tuple[str, ...] = SENTENCES) -> tuple[Tensor, Tensor]:
    """Sources of several lengths, padded, and what tells padding: [batch, source] each."""
    rows = [model.encode(text) for text in texts]
    ids = torch.full((len(rows), max(map(len, rows))), model.config.pad_id)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
    return ids, (ids != model.config.pad_id).long()


def fed(model: Pretrained, count: int, length: int = 7) -> Tensor:
    """What a decoder is fed: the start token and any others but <pad>."""
    drawn = torch.randint(1, model.config.output_size, (count, length), generator=torch.Generator().manual_seed(5))
    others = (model.config.pad_id + drawn) % model.config.output_size
    return torch.cat((torch.full((count, 1), model.config.start_id), others), 1)


def logits_are_theirs(ours: Pretrained, theirs: Any, length: int = 7) -> None:
    """Also the encoder's output, of a padded batch."""
    source, mask = batch(ours)
    assert not mask.all()
    target = fed(ours, len(source), length)
    with torch.inference_mode():
        wanted = theirs(input_ids=source, attention_mask=mask, decoder_input_ids=target)
        torch.testing.assert_close(ours.model(source, target), wanted.logits, **CLOSE)
        memory = ours.model.encode(source)
    real = mask.bool()
    torch.testing.assert_close(memory[real], wanted.encoder_last_hidden_state[real], **CLOSE)


def attention_is_theirs(trace: Trace, theirs: Any) -> Any:
    """Also the logits. Returns what their model gives, with its hidden states."""
    with torch.inference_mode():
        wanted = theirs(
            input_ids=torch.tensor([trace.source_ids]),
            decoder_input_ids=torch.tensor([trace.target_in_ids]),
            output_attentions=True,
            output_hidden_states=True,
        )
    kinds = {"encoder_self": "encoder_attentions", "decoder_self": "decoder_attentions", "cross": "cross_attentions"}
    for kind, name in kinds.items():
        theirs_all = torch.stack([layer[0] for layer in wanted[name]])  # [layer, head, query, key]
        torch.testing.assert_close(getattr(trace, kind).weights, theirs_all, **CLOSE)
    torch.testing.assert_close(trace.logits, wanted.logits[0], **CLOSE)
    return wanted


def generated(theirs, source: Tensor, mask: Tensor, limit: int, **changes: object) -> list[list[int]]:
    """What `generate` writes, without the start token and the padding behind </s>."""
    config = theirs.config
    pad, start, end = config.pad_token_id, config.decoder_start_token_id, config.eos_token_id
    blocked = sorted({pad, start} - {end})
    with torch.inference_mode():
        found = theirs.generate(
            input_ids=source, attention_mask=mask, max_length=limit + 1, do_sample=False,
            **{"bad_words_ids": [[one] for one in blocked], **changes},
        )  # fmt: skip
    rows = []
    for row in found[:, 1:].tolist():
        rows.append(row[: row.index(end) + 1] if end in row else [one for one in row if one != pad])
    return rows


def greedy_is_theirs(ours: Pretrained, theirs: Any, limit: int, **settings: object) -> list[Hypothesis]:
    """With a cache and without. Returns what is written."""
    source, mask = batch(ours)
    wanted = generated(theirs, source, mask, limit, num_beams=1, **settings)
    for cached in (True, False):
        found = greedy(ours.model, source, limit, cached, constraints=ours.rule.constraints)
        assert [list(one.ids) for one in found] == wanted
    return found


def beam_is_theirs(
    ours: Pretrained, theirs: Any, beams: int, alpha: float, rule: BeamRule | None = None, **settings: object
) -> None:
    source, mask = batch(ours)
    wanted = generated(theirs, source, mask, 17, num_beams=beams, length_penalty=alpha, **settings)
    found = beam(ours.model, source, beams, alpha, 17, rule=rule or ours.rule)
    assert [list(one.ids) for one in found] == wanted


def refusal(folder: Path, *words: str) -> str:
    """The sentence with which a folder is refused."""
    return refused(lambda: open_folder(folder), CheckpointError, *words)


def switches_do_as_they_say(ours: Pretrained) -> None:
    source, target = SENTENCES[0], SENTENCES[1]
    plain = ours.trace(source, target)
    for text in ("causal=off", "scaling=off", "zero=cross.1.1", "skip=encoder.1.self", "skip=decoder.1.ff"):
        off = ours.trace(source, target, interventions=Interventions.parse(text))
        already = text == "scaling=off" and not ours.config.scaling
        assert off.logits.isfinite().all() and torch.equal(off.logits, plain.logits) == already, text
        changed = not torch.equal(off.encoder_output, plain.encoder_output)
        assert changed == ("encoder" in text or (text == "scaling=off" and not already)), text
        future = off.decoder_self.weights.triu(1).any()
        assert bool(future) == (text == "causal=off"), text
        if text.startswith("zero"):
            assert not off.cross.head_outputs[0, 0].any() and off.cross.head_outputs[0, 1:].any() == (
                ours.config.heads > 1
            )


def a_later_start_gives_the_same_output(ours: Pretrained) -> None:
    """As patching runs the rest of a pass."""
    trace = ours.trace(SENTENCES[0], SENTENCES[1])
    for stack, layers in (("encoder", ours.config.encoder_layers), ("decoder", ours.config.decoder_layers)):
        for layer in range(layers):
            found = outputs_from(ours.model, trace, stack, layer, 1, len(trace.target_in), OFF)[0]
            torch.testing.assert_close(ours.model.project(found), trace.logits, **CLOSE)


def attributions_are_finite_and_sum(ours: Pretrained) -> None:
    trace = ours.trace(SENTENCES[0], SENTENCES[1])
    for name in METHODS:
        with warnings.catch_warnings():  # with random weights the integral over the path may not settle
            warnings.filterwarnings("ignore", "integrated gradients")
            rows = attribute(ours, trace, name)
        joined = rows.joined()
        assert joined.shape == (len(trace.target_out), len(trace.source_ids) + len(trace.target_in)), name
        assert joined.isfinite().all() and rows.prefix.triu(1).abs().max() < 1e-4, name
        if rows.shares:
            torch.testing.assert_close(joined.sum(-1), torch.ones_like(joined[:, 0]), **CLOSE)


def exports_hold_the_trace(ours: Pretrained) -> None:
    trace = ours.trace(SENTENCES[0], SENTENCES[1])
    with np.load(io.BytesIO(npz(trace)), allow_pickle=False) as file:
        wanted = {name: array for name, array in arrays(trace).items() if name != "index.json"}
        assert {*file.files} - {"index.json"} == wanted.keys()
        for name, array in wanted.items():
            assert np.array_equal(file[name], array), name
    assert SENTENCES[0] in html_page(trace)


WORKS = (
    a_later_start_gives_the_same_output, switches_do_as_they_say, attributions_are_finite_and_sum,
    exports_hold_the_trace,
)  # fmt: skip
