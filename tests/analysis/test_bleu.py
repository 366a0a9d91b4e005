"""BLEU taken apart: a case by hand, and sacreBLEU's own digits."""

import random
import unicodedata
from typing import Any

import pytest
import sacrebleu

from transformer.analysis.bleu import bleu, chrf
from transformer.texts import UserError

WORDS = [
    *["der", "die", "Katze", "Hund", "sieht", "schläft", ".", ",", "nicht", "heute", "und", "3,5", "„", "“"],
    "Müller's",
    "EU-weit",
]


def test_by_hand() -> None:
    # Papineni et al. 2002, example 2: "the" seven times; the reference has two, so two count.
    found = bleu("the the the the the the the", ["the cat is on the mat"])
    first = found.orders[0]
    assert (first.matched, first.total) == (2, 7) and first.ngrams[0].count == 7 and first.ngrams[0].clipped == 2
    assert found.lit(1) == (True, True, *[False] * 5)
    # Nothing of length 2 to 4 matches: a half, a quarter, an eighth of one (sacreBLEU's "exp").
    assert [order.precision for order in found.orders[1:]] == [100 / (2 * 6), 100 / (4 * 5), 100 / (8 * 4)]
    assert found.brevity_penalty == 1


def test_decomposed_letters_count_as_composed_ones() -> None:
    text = "Das Mädchen öffnet früh die Tür."
    apart = unicodedata.normalize("NFD", text)
    for one, other in ((text, apart), (apart, text)):
        assert bleu(one, [other]) == bleu(text, [text]) and chrf(one, [other]) == chrf(text, [text])


def test_equal_texts_score_100() -> None:
    for text in ("Das ist ein Haus.", "a b c d e f g", "Ja."):
        assert bleu(text, [text]).score == chrf(text, [text]) == 100
    assert sacrebleu.sentence_bleu("a b c d e f g", ["a b c d e f g"]).score > 100  # else `min` is no longer needed


def test_words_that_only_look_alike_are_named() -> None:
    reference = "Das Haus ist fein ."
    assert bleu(reference, [reference]).alike() == bleu("Das Auto ist fein .", [reference]).alike() == ()
    for hypothesis in ("Das Ha\u00adus ist fein .", "Das Ha\u200bus ist fein ."):
        found = bleu(hypothesis, [reference])
        assert (
            found.alike() == (hypothesis.split()[1],)
            and found.score == sacrebleu.sentence_bleu(hypothesis, [reference]).score
        )
    assert bleu("Das Haus ist \ufb01n .", ["Das Haus ist fin ."]).alike() == ("\ufb01n",)


def test_equal_to_sacrebleu_to_the_last_digit() -> None:
    draw = random.Random(1)

    def sentence() -> str:
        return " ".join(draw.choices(WORDS, k=draw.randint(1, 12)))

    def changed(text: str) -> str:
        """Some words of a sentence left out or replaced, so that long n-grams match too."""
        words = [draw.choice(WORDS) if draw.random() < 0.15 else word for word in text.split() if draw.random() < 0.9]
        return " ".join(words) or text

    longest = 0
    for number in range(200):
        references = [sentence() for _ in range(draw.randint(1, 4))]
        hypothesis = changed(references[-1]) if number % 2 else sentence()
        found, wanted = bleu(hypothesis, references), sacrebleu.sentence_bleu(hypothesis, references)
        assert found.score == min(wanted.score, 100) and found.brevity_penalty == wanted.bp
        assert [order.matched for order in found.orders] == wanted.counts[: len(found.orders)]
        if wanted.score:  # else sacreBLEU gives zeros
            assert [order.precision for order in found.orders] == wanted.precisions[: len(found.orders)]
        assert found.signature.startswith(f"nrefs:{len(references)}|")
        longest += len(found.orders) == 4 and found.orders[3].matched > 0
        assert chrf(hypothesis, references) == sacrebleu.sentence_chrf(hypothesis, references).score
    assert longest >= 30  # many pairs whose score no smoothing made


def test_lit_tokens_are_those_of_matched_groups() -> None:
    found = bleu("a b c d x", ["a b c", "c d"])
    assert found.lit(2) == (True, True, True, True, False)
    assert found.lit(3) == (True, True, True, False, False) and found.lit(4) == (False,) * 5


@pytest.mark.parametrize("hypothesis", ["", " ", "<skipped>"])
def test_a_hypothesis_without_a_token_scores_zero_as_in_sacrebleu(hypothesis: str) -> None:
    found = bleu(hypothesis, ["a b", "c"])
    assert (found.score, found.brevity_penalty, found.orders, found.length) == (0, 0, (), 1)
    assert sacrebleu.sentence_bleu(hypothesis, ["a b", "c"]).score == 0
    assert chrf(hypothesis, ["a b", "c"]) == sacrebleu.sentence_chrf(hypothesis, ["a b", "c"]).score


@pytest.mark.parametrize("score", [bleu, chrf])
@pytest.mark.parametrize(
    "references, said",
    [(["", " "], "no reference"), (["b"] * 5, "at most 4"), ("b", "references must be a list of texts")],
)
def test_what_cannot_be_scored_is_said(score: Any, references: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        score("a", references)
