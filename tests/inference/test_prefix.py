"""A forced beginning, and the n best translations."""

from dataclasses import replace

import pytest
import torch

import transformer
from tests.inference.test_search import END, SEEDS, _forced, lively_model, variants
from tests.support.build import padded_sources, sentences, tiny_pretrained
from transformer.checkpoints.beam_rule import length_penalty
from transformer.inference.pretrained import InputError, _different
from transformer.inference.sampling import Sampling
from transformer.inference.search import beam, greedy, n_best
from transformer.interventions.sets import Interventions
from transformer.texts import UserError


@variants
@pytest.mark.parametrize("write", [greedy, beam])
def test_its_own_beginning_changes_nothing(write, changes):
    model, source = lively_model(1, **changes), padded_sources(1, (7, 4, 5))
    free = write(model, source, limit=12)
    forced = write(model, source, limit=12, prefixes=[h.ids[: len(h.ids) // 2] for h in free])
    for ours, own in zip(forced, free, strict=True):
        if write is greedy:
            assert ours.ids == own.ids and ours.log_probs == pytest.approx(own.log_probs, abs=1e-5)
        else:  # a beam that holds only this beginning loses nothing of it
            assert ours.ids[: len(own.ids) // 2] == own.ids[: len(own.ids) // 2]
            penalty = [h.score / length_penalty(len(h.ids), 0.6) for h in (ours, own)]
            assert penalty[0] >= penalty[1] - 1e-4


@variants
@pytest.mark.parametrize("seed", SEEDS[:3])
def test_after_another_beginning_the_most_probable_tokens_follow(changes, seed):
    model, source = lively_model(seed, **changes), padded_sources(seed, (7,))
    prefix = [5, 9, 6]
    (found,) = greedy(model, source, 12, prefixes=[prefix])
    probs, every = _forced(model, source, found.ids)
    every[:, [0, 2]] = -torch.inf
    assert list(found.ids[:3]) == prefix and every.argmax(-1).tolist()[3:] == list(found.ids[3:])
    assert found.log_probs == pytest.approx(probs.tolist(), abs=1e-4)


@variants
def test_a_beginning_fed_at_once_equals_one_fed_step_by_step(changes):
    """Also where it ends a translation, and each row goes on after another number of tokens."""
    model, source = lively_model(1, **changes), padded_sources(1, (7, 4, 5, 3))
    prefixes = [[5, 9, 6, 8], [8, END], [4, 4, 9], [6, 5, 9, 8, 6, 5]]
    at_once, alone = (greedy(model, source, 12, cached, prefixes=prefixes) for cached in (True, False))
    for ours, plain, prefix in zip(at_once, alone, prefixes, strict=True):
        assert ours.ids == plain.ids and list(ours.ids[: len(prefix)]) == prefix
        assert ours.log_probs == pytest.approx(plain.log_probs, abs=5e-5) and ours.complete == (ours.ids[-1] == END)
    assert at_once[1].ids == (8, END)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_n_best_begin_with_that_of_beam_search_and_fall(seed, alpha):
    model, source = lively_model(seed), padded_sources(seed, (7, 4))
    for many, best in zip(n_best(model, source, 5, alpha, 12), beam(model, source, 5, alpha, 12), strict=True):
        assert many[0] == best and 1 <= len(many) <= 5 and len({h.ids for h in many}) == len(many)
        values = [h.score / length_penalty(len(h.ids), alpha) for h in many]
        assert values == sorted(values, reverse=True)
        assert all(h.ids[-1] == END or len(h.ids) == 12 for h in many)


def test_a_text_to_begin_with() -> None:
    model = tiny_pretrained()
    text, prefix = sentences()[0], sentences()[1].split()[0]
    found = model.translate(text, prefix=prefix)
    assert found.text.startswith(prefix) and found.tokens[: len(model.tokenizer.encode(prefix))] == tuple(
        model.tokenizer.pieces(model.tokenizer.encode(prefix))
    )
    assert model.translate(text, beam=3, prefix=prefix).text.startswith(prefix)
    assert found.score == pytest.approx(sum(torch.tensor(found.probabilities).log().tolist()), abs=1e-4)
    many = model.n_best(text, 3)
    assert many[0] == model.translate(text, 3) and len({one.tokens for one in many}) == len(many)


def test_the_score_that_ranks_is_equation_14_of_wu_et_al() -> None:
    model, text = tiny_pretrained(), sentences()[0]
    many = model.n_best(text, 4, 0.7)
    assert many == sorted(many, key=lambda one: -one.normalised)
    for one in [*many, *model.n_best_all([text], 4, 0.7)[0], model.translate(text, alpha=0.7)]:
        assert one.normalised == pytest.approx(one.score / ((5 + len(one.tokens)) / 6) ** 0.7)
    assert model.translate(text, 4).penalty == length_penalty(len(model.translate(text, 4).tokens), model.alpha)


def test_batches_with_beginnings_and_samples_are_as_one_by_one() -> None:
    model, texts = tiny_pretrained(), sentences()[:4]
    prefixes = [texts[1].split()[0], "", texts[0].split()[0], ""]
    for beams in (1, 3):
        together = model.translate_all(texts, beams, prefixes=prefixes)
        assert [one.ids for one in together] == [
            model.translate(text, beams, prefix=prefix).ids for text, prefix in zip(texts, prefixes, strict=True)
        ]
    sample = Sampling(temperature=0.7, seed=4)
    together = model.translate_all(texts, sample=sample)
    alone = [model.translate(text, sample=sample) for text in texts]
    assert [one.ids for one in together] == [one.ids for one in alone]
    assert [one.score for one in together] == pytest.approx([one.score for one in alone], abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "beam, n, switches", [(1, None, "zero=cross.1"), (3, None, "paint=2+:1_3@cross"), (4, None, ""), (4, 3, "")]
)
def test_the_n_best_of_a_batch_are_those_of_each_text_alone(beam: int, n: int | None, switches: str) -> None:
    model, texts, on = tiny_pretrained(), [*sentences()[:5], " ", sentences()[6]], Interventions.parse(switches)
    prefixes = [texts[1].split()[0], "", "", texts[0].split()[0], "", "", ""]
    together = model.n_best_all(texts, beam, 0.5, interventions=on, n=n, prefixes=prefixes)
    first = model.translate_all(texts, beam, 0.5, interventions=on, prefixes=prefixes)
    assert [many[0].ids for many in together] == [one.ids for one in first]
    for text, prefix, many in zip(texts, prefixes, together, strict=True):
        alone = model.n_best(text, beam, 0.5, interventions=on, n=n, prefix=prefix)
        assert [(one.text, one.tokens, one.complete) for one in many] == [
            (one.text, one.tokens, one.complete) for one in alone
        ]
        for ours, one in zip(many, alone, strict=True):
            assert ours.probabilities == pytest.approx(one.probabilities, rel=1e-3, abs=1e-6)


def test_the_n_best_are_different_texts_and_an_empty_one_only_alone() -> None:
    model = transformer.load("en-de")
    texts = ["?", "...", "The cat is sleeping."]
    for text, many in zip(texts, model.n_best_all(texts, 8, n=8), strict=True):
        written = [one.text for one in many]
        assert len(set(written)) == 8 and all(written) and written == [one.text for one in model.n_best(text, 8, n=8)]
        assert [one.normalised for one in many] == sorted((one.normalised for one in many), reverse=True)
        found = [one.text for one in model.n_best(text, 8)]
        assert found[0] == written[0] == model.translate(text, 8).text and len(found) < 8
    first = model.translate("Hello.")
    blank, other = replace(first, text=""), replace(first, text="", probabilities=(0.5,))
    assert _different([blank, first, other, first]) == [first] and _different([other, blank]) == [other]


def test_a_translation_says_whether_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """With as many tokens as the source, en-de has no room for what it says to "Stop."."""
    monkeypatch.setattr("transformer.inference.search.EXTRA_LENGTH", 0)
    model = transformer.load("en-de")
    limit = len(model.encode("Stop."))
    for count in (1, 4):
        cut, whole = model.n_best_all(["Stop.", "Hello."], count)
        assert len(cut) == 1 and not cut[0].complete and len(cut[0].tokens) == limit
        assert cut[0].tokens[-1] != "</s>" and all(one.complete and one.tokens[-1] == "</s>" for one in whole)


def test_a_wrong_beginning_gives_one_sentence() -> None:
    model, text = tiny_pretrained(), sentences()[0]
    with pytest.raises(InputError, match="^the beginning '漢字' has characters that this model cannot write; leave"):
        model.translate(text, prefix="漢字")
    with pytest.raises(InputError, match=r"^the beginning has \d+ tokens with </s>; a translation"):
        model.translate(text, prefix=f"{text} " * 60)
    with pytest.raises(InputError, match="^text 2: the beginning '漢' has characters"):
        model.translate_all([text, text], prefixes=["", "漢"])
    with pytest.raises(UserError, match="^there are 2 texts and 1 prefixes; give one for each text, or none"):
        model.translate_all([text, text], prefixes=[""])
    with pytest.raises(UserError, match="^sampling has no beams; give beam=1, or no sample"):
        model.translate(text, beam=2, sample=Sampling())
