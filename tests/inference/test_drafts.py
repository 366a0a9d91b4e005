"""Whatever drafts it, the translation is that of greedy search: the same tokens, with the same probabilities."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from tests.inference.test_search import END, lively_model, variants
from tests.support.build import padded_sources, sentences, tiny_pretrained
from transformer.inference import drafts
from transformer.inference.drafts import Ids, check, greedy_from_drafts, one_pass_will_do
from transformer.inference.pretrained import Pretrained
from transformer.inference.search import Hypothesis, greedy
from transformer.interventions.sets import Interventions
from transformer.model.transformer import Transformer

LENGTHS = (7, 4, 2, 5, 3)


class Careless:
    """Drafts what greedy search writes, with another token in some places. asked: the beginnings it was given."""

    def __init__(self, model: Transformer, wrong: float) -> None:
        self.model, self.rng, self.wrong = model, random.Random(1), wrong
        self.asked: list[Sequence[Ids]] = []

    def __call__(self, sources: Sequence[Ids], prefixes: Sequence[Ids], limit: int) -> list[Ids]:
        self.asked.append(prefixes)
        written = []
        for source, prefix in zip(sources, prefixes, strict=True):
            (right,) = greedy(self.model, torch.tensor([source]), limit, prefixes=[prefix])
            ids = [id if self.rng.random() > self.wrong else self.rng.randrange(3, 40) for id in right.ids]
            ids[: len(prefix)] = prefix
            written.append(tuple(ids[: ids.index(END) + 1] if END in ids else ids))
        return written


def same(ours: Sequence[Hypothesis], wanted: Sequence[Hypothesis]) -> None:
    assert [(one.ids, one.complete) for one in ours] == [(one.ids, one.complete) for one in wanted]
    for one, other in zip(ours, wanted, strict=True):
        assert one.log_probs == pytest.approx(other.log_probs, abs=5e-5)


@variants
@pytest.mark.parametrize("wrong", [0.0, 0.2, 1.0])
def test_any_draft_gives_greedy_search(changes, wrong, monkeypatch):
    """Also with padding, a limit that cuts outputs off, and beginnings, up to one token less than the limit."""
    monkeypatch.setattr(drafts, "BATCH", 10)
    model, source = lively_model(2, **changes), padded_sources(2, LENGTHS)
    for limit, prefixes in ((20, None), (6, [(), (5, 9, 6), (8,), (4, 4, 9, 6, 5), ()])):
        found = greedy_from_drafts(model, Careless(model, wrong), source, limit, prefixes)
        same(found, greedy(model, source, limit, prefixes=prefixes))


def written(seed: int = 2) -> tuple[Transformer, Tensor, Hypothesis]:
    """A model, a source, and an output of at least four tokens."""
    model, source = lively_model(seed), padded_sources(seed, (7,))
    (found,) = greedy(model, source, 12)
    assert len(found.ids) > 3
    return model, source, found


def spoil(ids: Ids, place: int) -> Ids:
    """The same ids with another one at this place."""
    return (*ids[:place], 4 + (ids[place] + 1) % 30, *ids[place + 1 :])


def test_a_right_draft_is_checked_once_and_a_wrong_one_is_drafted_again_from_the_right_token():
    model, source, wanted = written()
    for drafted, asked in (([wanted.ids], [()]), ([spoil(wanted.ids, 2), wanted.ids], [(), wanted.ids[:3]])):
        given: list[Ids] = []

        def draft(sources: object, prefixes: Sequence[Ids], limit: int, given=given, drafted=drafted) -> list[Ids]:
            given.extend(prefixes)
            return [drafted.pop(0)]

        same(greedy_from_drafts(model, draft, source, 12), [wanted])
        assert given == asked and not drafted


def test_what_is_written_by_hand():
    """A wrong second token: the first one agrees, the right second one follows, and what comes after does not count."""
    model, source, right = written()
    pair, spoiled = tuple(source[0].tolist()), spoil(right.ids, 1)
    every, some, forced = check(model, [(pair, right.ids), (pair, spoiled), (pair, spoiled)], [0, 0, 2])
    assert every.written == right.ids and every.log_probs == pytest.approx(right.log_probs, abs=1e-5)
    assert some.written == right.ids[:2]
    assert forced.written[:2] == spoiled[:2] and len(forced.written) > 2
    leaking = lively_model(2, causal=False)
    assert [one.written for one in check(leaking, [(pair, right.ids), (pair, spoiled)], [0, 2])] == [(), spoiled[:2]]


def test_where_two_tokens_are_equally_probable_steps_tell(monkeypatch):
    """Every output twice in the table: a pass cannot tell which of the two steps write."""
    model, source = lively_model(2), padded_sources(2, LENGTHS)
    model.output_table[22:40] = model.output_table[4:22] + 1e-7
    wanted = greedy(model, source, 12)
    assert all(set(one.ids) - {END} for one in wanted)
    calls = []

    def counted(*given, prefixes, **named):
        calls.append(prefixes)
        return greedy(*given, prefixes=prefixes, **named)

    monkeypatch.setattr(drafts, "greedy", counted)
    assert greedy_from_drafts(model, lambda *_: [one.ids for one in wanted], source, 12) == wanted
    assert calls == [[()] * len(LENGTHS)]


def test_numbers_that_are_none_go_the_same_way_as_without_a_draft():
    model, source = lively_model(1), padded_sources(1, LENGTHS)
    model.decoder[0].feed_forward.outer.bias.fill_(torch.nan)
    found = greedy_from_drafts(model, lambda sources, *_: [(5, END)] * len(sources), source, 5)
    assert [one.ids for one in found] == [one.ids for one in greedy(model, source, 5)]
    assert all(torch.tensor(one.log_probs).isnan().all() for one in found)


def test_what_one_pass_may_not_replace():
    model = lively_model(1)
    assert one_pass_will_do(model)
    hook = model.decoder[1].register_forward_hook(lambda *_: None)
    assert not one_pass_will_do(model)
    hook.remove()
    assert one_pass_will_do(model)
    model.decoder[0].feed_forward = type("Mine", (torch.nn.Module,), {"__module__": "mine"})()
    assert not one_pass_will_do(model)
    assert not one_pass_will_do(lively_model(1, causal=False)) and not one_pass_will_do(lively_model(1).train())


def drafting(model: Pretrained, draft: drafts.Draft) -> Pretrained:
    """The same model, with what drafts its translations."""
    drafted = replace(model)
    drafted._draft.append(draft)
    return drafted


@pytest.mark.parametrize("wrong", [0.0, 0.2])
def test_every_greedy_translation_of_a_model_may_come_from_drafts(wrong):
    plain, texts = tiny_pretrained(), [*sentences()[:8], " "]
    careless = Careless(plain.model, wrong=wrong)
    model, prefix = drafting(plain, careless), texts[1].split()[0]
    for text in texts[:4]:
        for given in ({}, {"prefix": prefix}, {"limit": 3 + len(plain.encode(text))}):
            ours, wanted = model.translate(text, **given), plain.translate(text, **given)
            assert ours == replace(wanted, probabilities=ours.probabilities)
            assert ours.probabilities == pytest.approx(wanted.probabilities, rel=1e-4)
        ours, wanted = model.trace(text), plain.trace(text)
        assert ours.target_out_ids == wanted.target_out_ids and torch.equal(ours.logits, wanted.logits)
        assert ours.own and ours.complete == wanted.complete
    assert [one.ids for one in model.translate_all(texts)] == [one.ids for one in plain.translate_all(texts)]
    numbered = [plain.encode(text) for text in texts[:8]]
    assert model.outputs(numbered) == plain.outputs(numbered)
    assert ([model._drafted(ids, None) for ids in numbered] == plain.outputs(numbered)) == (wrong == 0)
    before = len(careless.asked)
    switches = Interventions.parse("zero=cross.1")
    edits = {"decoder.0.cross.head_outputs": torch.zeros_like}
    for given in ({"interventions": switches}, {"edits": edits}):
        assert model.translate(texts[0], **given) == plain.translate(texts[0], **given)
        assert model.trace(texts[0], **given).target_out_ids == plain.trace(texts[0], **given).target_out_ids
    assert model.translate(texts[0], beam=3) == plain.translate(texts[0], beam=3)
    assert model.outputs(numbered * 2) == plain.outputs(numbered * 2)  # many rows come sooner without
    hook = plain.model.decoder[0].register_forward_hook(lambda *_: None)
    assert model.translate(texts[0]) == plain.translate(texts[0])
    hook.remove()
    assert len(careless.asked) == before
