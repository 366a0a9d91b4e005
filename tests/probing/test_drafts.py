"""One pass over drafts gives what translating again gives."""

from dataclasses import replace

import pytest

from tests.support.build import tiny_pretrained
from transformer.inference import drafts as inference_drafts
from transformer.inference.drafts import Ids
from transformer.inference.pretrained import Pretrained
from transformer.inference.search import output_limit
from transformer.model.transformer import Transformer
from transformer.probing import drafts
from transformer.probing.drafts import loss_and_outputs, outputs
from transformer.probing.importance import all_heads, without
from transformer.training.evaluation import surprise

PAIRS = [("ka lo mi", "re sta vu"), ("lo", "vu"), ("mi mi ka lo", "sta"), ("ka", "re re sta vu vu")]


def numbered(model: Pretrained) -> list[tuple[Ids, Ids]]:
    end = model.config.end_id
    encode = model.tokenizer.encode
    return [((*encode(source), end), (*encode(target), end)) for source, target in PAIRS]


@pytest.fixture
def model() -> Pretrained:
    return tiny_pretrained()


def test_the_loss_is_that_of_the_evaluation(model: Pretrained) -> None:
    nats, tokens, _ = surprise(model, PAIRS)
    loss, found = loss_and_outputs(model, numbered(model), {})
    assert loss == pytest.approx(nats / tokens, abs=1e-6) and found == {}


@pytest.mark.parametrize("batch", [1, 3000])
def test_whatever_the_draft_the_outputs_are_those_of_greedy_search(
    model: Pretrained, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Right drafts, those of a model without some heads, those of another source, and empty ones."""
    monkeypatch.setattr(inference_drafts, "BATCH", batch)
    sources = [source for source, _ in numbered(model)]
    wanted = outputs(model, dict.fromkeys(sources, ()))
    assert [model.tokenizer.decode(wanted[source]) for source in sources] == [
        one.text for one in model.translate_all([s for s, _ in PAIRS])
    ]
    changed = without(model, all_heads(model.config)[::2])
    others = outputs(changed, dict.fromkeys(sources, ()))
    assert others != wanted
    for drafted in (
        wanted,
        others,
        dict(zip(sources, [wanted[source] for source in sources[1:] + sources[:1]], strict=True)),
        {source: (model.config.end_id,) for source in sources},
    ):
        assert loss_and_outputs(model, numbered(model), drafted)[1] == wanted
        assert loss_and_outputs(changed, numbered(model), drafted)[1] == others


def test_an_output_at_the_limit_is_not_decoded_again(model: Pretrained, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [source for source, _ in numbered(model)]
    wanted = outputs(model, dict.fromkeys(sources, ()))
    cut = {s: out for s, out in wanted.items() if out[-1] != model.config.end_id}
    assert all(len(out) == output_limit(model.model, len(source)) for source, out in cut.items())
    asked: list[Ids] = []
    monkeypatch.setattr(drafts, "outputs", lambda _, begun: asked.extend(begun) or {})
    assert loss_and_outputs(model, numbered(model), wanted)[1] == wanted and asked == []


def test_without_the_causal_mask_every_sentence_is_decoded(model: Pretrained) -> None:
    config = replace(model.config, causal=False)
    network = Transformer(config)
    network.load_state_dict(model.model.state_dict())
    leaking = replace(model, model=network.eval())
    sources = [source for source, _ in numbered(leaking)]
    wanted = outputs(leaking, dict.fromkeys(sources, ()))
    assert loss_and_outputs(leaking, numbered(leaking), wanted)[1] == wanted
    assert wanted == {source: leaking.outputs([source])[0] for source in sources}
