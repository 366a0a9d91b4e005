"""What tests of imported models compare: batches, what decoders are fed, and what transformers' `generate` writes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tests.support.build import sentences
from transformer.inference.pretrained import Pretrained
from transformer.tracing.trace import Trace

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
