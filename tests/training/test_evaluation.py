"""Scores of parts of a test set, by hand."""

import unicodedata

import pytest
import sacrebleu

import transformer
from transformer.text.bleu_tokenizers import tokenizer_for
from transformer.text.sacrebleu import BLEU, CHRF, score
from transformer.training.evaluation import LONG, SHORT, columns, counts, evaluate, subsets, total


def source(words: int) -> str:
    return " ".join(["a"] * words)


def test_subsets_are_by_words_and_by_references() -> None:
    sources = [source(SHORT), source(SHORT + 1), source(LONG), source(LONG + 1)]
    hypotheses = ["a b c d e", "f g h i j", "k l m n o", "p q r s t"]
    references = [["1 2 3 4 5", "a b c d e"], *([text] for text in hypotheses[1:])]
    found = subsets(sources, hypotheses, references)
    assert {name: part["sentences"] for name, part in found.items()} == {
        "all": 4, "one_reference": 4, "short": 1, "middle": 2, "long": 1,
    }  # fmt: skip
    assert {name: part["words"] for name, part in found.items()} == {
        "all": 34, "one_reference": 34, "short": 6, "middle": 17, "long": 11,
    }  # fmt: skip
    # With the first reference only, 3 of 4 sentences match in all their n-grams: each precision is 3/4.
    scores = {name: score(BLEU(), part["bleu"])[0] for name, part in found.items()}
    assert scores.pop("one_reference") == pytest.approx(75)
    assert list(scores.values()) == pytest.approx([100] * 4)


def test_a_part_without_sentences_is_left_out() -> None:
    assert list(subsets(["a b"], ["x"], [["x"]])) == ["all", "one_reference", "short"]


def test_decomposed_references_score_as_composed_ones_and_are_counted() -> None:
    model = transformer.load("en-de")
    pairs = [
        ("The girl sleeps.", "Das Mädchen schläft."),
        ("The door is open.", "Die Tür ist offen."),
        ("No.", "Nein."),
    ]
    apart = [(source, unicodedata.normalize("NFD", target)) for source, target in pairs]
    found, wanted = (evaluate(model, given).to_dict() for given in (apart, pairs))
    assert wanted["exact"] == 1 and (found.pop("decomposed"), wanted.pop("decomposed")) == (2, 0)
    assert found | {"seconds": 0} == wanted | {"seconds": 0}


def test_korean_is_scored_by_its_own_tokens_and_without_four_in_a_row_bleu_says_nothing() -> None:
    model = transformer.load("ko-numbers")
    pairs = [(number, model.translate(number).text) for number in ("17", "48", "203", "951", "3006", "81")]
    pairs[0], pairs[1] = ("17", "십팔"), (pairs[1][0], pairs[1][1] + " ")  # exact is letter by letter
    texts = [one.text for one in model.translate_all([source for source, _ in pairs])]
    references = [[target for _, target in pairs]]
    for tokenize in (None, "char", "13a"):
        found = evaluate(model, pairs, tokenize=tokenize)
        used = tokenize or tokenizer_for("Korean")
        assert found.exact == 4 / 6 and f"|tok:{used}" in found.bleu_signature
        assert found.bleu == sacrebleu.corpus_bleu(texts, references, tokenize=used).score
        assert (found.bleu > 0) is (found.four_grams > 0) is (used != "13a"), used


def test_the_sum_of_parts_is_the_score_of_the_whole() -> None:
    model = transformer.load("en-de")
    groups = [
        ("The dog sleeps.", ["Der Hund schläft.", "Der Hund ist am Schlafen."]),
        ("I like this old house very much.", ["Ich mag dieses alte Haus sehr."]),
        (" ", ["Nichts."]),
        ("The woman sees a man with a big red car in front of her house.", ["Die Frau sieht einen Mann mit Auto."]),
    ]
    parts = total([counts(model, groups[:1]), counts(model, groups[1:3]), counts(model, groups[3:])])
    whole = evaluate(model, [(source, target) for source, targets in groups for target in targets])
    texts = [one.text for one in model.translate_all([source for source, _ in groups])]
    references = columns([texts for _, texts in groups])
    for metric, found, signature in (
        (BLEU(), whole.bleu, whole.bleu_signature), (CHRF(), whole.chrf, whole.chrf_signature)
    ):  # fmt: skip
        assert found == metric.corpus_score(texts, references).score and signature == str(metric.get_signature())
    assert (whole.sentences, whole.references, whole.untranslated, whole.unmeasured) == (4, 5, 1, 1)
    assert whole.subsets["all"]["bleu"] == whole.bleu and whole.subsets["all"]["words"] == sum((3, 7, 0, 15)) / 4
    for name, value in whole.to_dict().items():
        if name == "perplexity":  # other batches
            assert parts.perplexity == pytest.approx(value, rel=1e-5)
        elif name != "seconds":
            assert getattr(parts, name) == value, name
