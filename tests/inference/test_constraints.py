"""What a search may not write or has to write; tests/checkpoints/test_marian.py compares it with transformers."""

from dataclasses import replace

import pytest
import torch

from tests.support.build import tiny_pretrained
from transformer.checkpoints.beam_rule import BeamRule
from transformer.checkpoints.constraints import FREE, Constraints
from transformer.inference.pretrained import Pretrained
from transformer.inference.sampling import Sampling
from transformer.inference.steps import continuations
from transformer.probing.drafts import loss_and_outputs
from transformer.probing.probes import probe

TEXTS = ["ka lo mi", "lo", "mi mi ka lo"]
ONCE = Constraints(n_gram=1)


def constrained(constraints: Constraints) -> Pretrained:
    return replace(tiny_pretrained(), rule=BeamRule(constraints=constraints))


def barred(constraints: Constraints, *ids: int, full: bool = False) -> set[int]:
    """Of tokens 0 to 9, which cannot follow these ids; </s> is 9."""
    scores = torch.zeros(10)
    constraints.apply(scores, ids, 9, full)
    return {token for token, score in enumerate(scores.tolist()) if score == -torch.inf}


def test_each_constraint_by_hand() -> None:
    words = Constraints(barred=((4,), (5, 6), (5, 5, 7)))
    assert barred(words) == {4} and barred(words, 5) == {4, 6} and barred(words, 5, 5) == {4, 6, 7}
    assert barred(ONCE, 3, 4) == {3, 4}
    assert barred(Constraints(n_gram=2), 3, 4, 3) == {4} and barred(Constraints(n_gram=2), 3, 4) == set()
    assert barred(Constraints(n_gram=3), 3, 4, 5, 3, 4) == {5}
    assert barred(Constraints(shortest=2), 1) == {9} and barred(Constraints(shortest=2), 1, 1) == set()
    first = Constraints(first=2, barred_first=(3,))
    assert barred(first) == set(range(10)) - {2} and barred(first, 2) == {3} and barred(first, 2, 2) == set()
    last = Constraints(last=9)
    assert barred(last, 1, full=True) == set(range(9)) and barred(last, 1) == set() and not last.before_the_limit
    scores = torch.tensor([2.0, -2.0, 1.0])
    Constraints(repetition=2.0).apply(scores, [1, 0, 1], 9)
    assert scores.tolist() == [1.0, -4.0, 1.0]


@pytest.mark.parametrize("constraints", [ONCE, Constraints(repetition=0.2, last=3), Constraints(first=7)])
def test_every_way_to_translate_follows_them(constraints: Constraints) -> None:
    model, plain = constrained(constraints), constrained(FREE)
    wanted = [model.translate(text).tokens for text in TEXTS]
    assert wanted != [plain.translate(text).tokens for text in TEXTS]
    sources = [model.encode(text) for text in TEXTS]
    assert [tuple(model.tokenizer.pieces(ids)) for ids in model.outputs(sources)] == wanted
    assert [found[0].tokens for found in model.n_best_all(TEXTS, 1)] == wanted
    assert [model.trace(text).target_out for text in TEXTS] == wanted
    texts = tuple(model.translate(text).text for text in TEXTS)
    assert probe(model, [(text, "ka") for text in TEXTS]).texts == texts
    for text, tokens in zip(TEXTS, wanted, strict=True):
        (found,) = continuations(model, text)
        assert tuple(model.tokenizer.pieces(found.hypothesis.ids)) == tokens
    pairs = [(tuple(source), tuple(source)) for source in sources]
    drafts = dict(zip(map(tuple, sources), plain.outputs(sources), strict=True))
    assert [*loss_and_outputs(model, pairs, drafts)[1].values()] == model.outputs(sources)


def test_no_search_writes_a_token_twice_where_it_may_not() -> None:
    model = constrained(ONCE)
    for text in TEXTS:
        for found in (*model.n_best(text, 4), model.translate(text, sample=Sampling(seed=3))):
            assert len(set(found.tokens)) == len(found.tokens)
    begun = tuple(model.tokenizer.pieces(model.tokenizer.encode("ka ka")))  # a forced beginning may
    found = model.translate(TEXTS[0], beam=3, prefix="ka ka").tokens
    assert found[: len(begun)] == begun and len(set(found)) == len(found) - len(begun) + len(set(begun))
