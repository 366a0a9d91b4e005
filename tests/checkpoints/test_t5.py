"""T5 folders: every number as `transformers.T5ForConditionalGeneration` computes it, every text as `T5Tokenizer` cuts
it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

import transformer
from tests.support.build import sentences
from tests.support.t5 import KINDS, t5_folder
from transformer.inference.pretrained import Pretrained
from transformer.inference.search import beam, greedy
from transformer.model.config import ModelConfig
from transformer.model.positions import RelativeBias

CLOSE = dict(atol=1e-5, rtol=1e-5)
SENTENCES = sentences()[:12]


@pytest.fixture(scope="module", params=sorted(KINDS))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Pretrained, object, Path]:
    """Our model, theirs, and the folder."""
    folder = tmp_path_factory.mktemp("t5") / request.param
    theirs = t5_folder(folder, request.param)
    return transformer.load(folder), theirs, folder


def batch(model: Pretrained, texts: tuple[str, ...] = SENTENCES) -> tuple[Tensor, Tensor]:
    """Sources of several lengths, padded, and what tells padding: [batch, source] each."""
    rows = [torch.tensor(model.encode(text)) for text in texts]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=model.config.pad_id)
    return ids, (ids != model.config.pad_id).long()


def fed(model: Pretrained, count: int, length: int = 17) -> Tensor:
    """What a decoder is fed: the start token and any others but <pad>; more than have a bucket of their own."""
    others = torch.randint(1, model.config.output_size, (count, length), generator=torch.Generator().manual_seed(5))
    return torch.cat((torch.full((count, 1), model.config.start_id), others), 1)


def test_logits_are_theirs_for_padded_batches(pair) -> None:
    ours, theirs, _ = pair
    source, mask = batch(ours)
    assert not mask.all()
    target = fed(ours, len(source))
    with torch.inference_mode():
        wanted = theirs(input_ids=source, attention_mask=mask, decoder_input_ids=target)
        torch.testing.assert_close(ours.model(source, target), wanted.logits, **CLOSE)
        memory = ours.model.encode(source)
    real = mask.bool()
    torch.testing.assert_close(memory[real], wanted.encoder_last_hidden_state[real], **CLOSE)


def test_every_attention_and_every_state_of_a_trace_is_theirs(pair) -> None:
    ours, theirs, _ = pair
    trace = ours.trace(SENTENCES[0], " ".join(SENTENCES[1:6]))
    assert len(trace.target_in) > ours.config.farthest or ours.config.farthest == 128
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
    for name, stack, begin in (
        ("encoder_hidden_states", trace.encoder_ff, trace.source_embedding),
        ("decoder_hidden_states", trace.decoder_ff, trace.target_embedding),
    ):
        states = torch.stack([state[0] for state in wanted[name][:-1]])  # the last one is normed
        torch.testing.assert_close(torch.cat((begin[None], stack.leaves[:-1])), states, **CLOSE)
    assert trace.target_in_ids[0] == theirs.config.decoder_start_token_id and trace.target_in[0] == "<pad>"


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 10), (12, 9), (7, 20)])
def test_buckets_are_theirs(both_ways: bool, buckets: int, farthest: int) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    distances = torch.arange(-300, 301)
    config = ModelConfig(9, d_model=6, heads=3, positions="relative", buckets=buckets, farthest=farthest)
    wanted = T5Attention._relative_position_bucket(distances, both_ways, buckets, farthest)
    assert torch.equal(RelativeBias(config, both_ways).buckets(distances), wanted)


def generated(theirs, source: Tensor, mask: Tensor, limit: int, **changes: object) -> list[list[int]]:
    """What `generate` writes, without the start token and the padding behind </s>."""
    with torch.inference_mode():
        found = theirs.generate(
            input_ids=source, attention_mask=mask, max_length=limit + 1, do_sample=False, bad_words_ids=[[0]], **changes
        )
    rows = found[:, 1:].tolist()
    return [row[: row.index(1) + 1] if 1 in row else [one for one in row if one] for row in rows]


@pytest.mark.parametrize("limit", [3, 21])
def test_greedy_output_is_theirs(pair, limit: int) -> None:
    ours, theirs, _ = pair
    source, mask = batch(ours)
    wanted = generated(theirs, source, mask, limit, num_beams=1)
    for cached in (True, False):
        found = greedy(ours.model, source, limit, cached, constraints=ours.rule.constraints)
        assert [list(one.ids) for one in found] == wanted
    assert limit < 9 or len({len(row) for row in wanted}) > 1  # they end in different places


@pytest.mark.slow
@pytest.mark.parametrize(("beams", "alpha"), [(4, 1.0), (3, 0.0)])
def test_beam_output_is_theirs(pair, beams: int, alpha: float) -> None:
    ours, theirs, _ = pair
    source, mask = batch(ours)
    wanted = generated(theirs, source, mask, 17, num_beams=beams, length_penalty=alpha)
    found = beam(ours.model, source, beams, alpha, 17, rule=ours.rule)
    assert [list(one.ids) for one in found] == wanted
