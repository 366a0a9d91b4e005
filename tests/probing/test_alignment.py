"""Alignment error rates of a model's heads: from matrices that are made up, stored, and of two models together."""

import dataclasses
from collections.abc import Iterator

import pytest

import transformer
from tests.support.build import tiny_pretrained
from tests.support.reports import Reports
from transformer.analysis.alignment import AlignmentError, Gold, Link, Score, read_gold, words_of
from transformer.analysis.heads import read_word_list
from transformer.cancellation import Stopped
from transformer.probing import alignment
from transformer.probing.alignment import (
    AlignmentScores,
    Source,
    align,
    from_json,
    measure_alignment,
    symmetric,
    to_json,
)
from transformer.probing.probes import GOLD, PROBES, gold_pairs, opposite


@pytest.fixture(scope="module")
def few() -> AlignmentScores:
    return measure_alignment(transformer.load("en-de"), gold_pairs()[:12])


@pytest.mark.parametrize("of", GOLD)
def test_the_gold_pairs(of: str) -> None:
    golds = gold_pairs(of)
    assert len(golds) >= 150 and len({gold.source for gold in golds}) == len(golds)
    for gold in golds:
        assert gold.sure and gold.sure <= gold.possible
        assert max(i for i, _ in gold.possible) < len(words_of(gold.source))
        assert max(j for _, j in gold.possible) < len(words_of(gold.target))


def test_the_words_of_korean_are_those_of_its_gold_links() -> None:
    linked: dict[str, set[str]] = {}
    for gold in gold_pairs("ko-en"):
        sources, targets = words_of(gold.source), words_of(gold.target)
        for i, j in gold.sure:
            if sources[i].isalnum() and targets[j][0].isalnum():
                linked.setdefault(sources[i], set()).add(targets[j].casefold())
    assert read_word_list((PROBES / "ko-en.words.tsv").read_text(encoding="utf-8")) == linked


@pytest.mark.parametrize(
    ("languages", "others", "back"),
    [
        (("English", "German"), ("de", "en"), True),
        (("Korean", "English"), ("eng", "kor"), True),
        (("English", "German"), ("English", "German"), False),
        (("letters", "letters, reversed"), ("letters, reversed", "letters"), True),
        (("letters", "letters, reversed"), ("letters", "letters, reversed"), False),
    ],
)
def test_a_model_translates_back_however_its_languages_are_named(
    languages: tuple[str, str], others: tuple[str, str], back: bool
) -> None:
    assert opposite(languages, others) is back


def test_every_map_is_scored_and_the_bounds_hold(few: AlignmentScores) -> None:
    config = transformer.load("en-de").config
    maps = config.decoder_layers * (config.heads + 1) + 1
    assert len(few.scores) == 2 * 2 * maps and few.pairs == 12
    best = few.winner()
    assert best.head is not None and few.scores[best].aer == min(
        score.aer for source, score in few.scores.items() if source.measure == "weights" and source.head is not None
    )
    assert few.best.aer <= few.scores[best].aer < few.diagonal.aer


def test_links_of_one_map_have_its_score(few: AlignmentScores) -> None:
    model, best, golds = transformer.load("en-de"), few.winner(), gold_pairs()[:12]
    links = list(align(model, [(gold.source, gold.target) for gold in golds], best))
    hits = sum(len(found & gold.sure) + len(found & gold.possible) for found, gold in zip(links, golds, strict=True))
    made = sum(map(len, links))
    assert few.scores[best].aer == pytest.approx(1 - hits / (made + sum(len(gold.sure) for gold in golds)))
    assert few.scores[best].links == made
    assert list(align(model, [("Hi", " ")], best)) == [frozenset()]


def test_stored_scores_are_those_of_a_model_of_this_size(few: AlignmentScores) -> None:
    again = from_json(to_json(few), 4, 8)
    assert again is not None and again.pairs == 12
    for source, score in few.scores.items():
        assert dataclasses.astuple(again.scores[source]) == pytest.approx(dataclasses.astuple(score), abs=1e-4)
    assert from_json(to_json(few), 4, 4) is None and from_json("{}", 4, 8) is None and from_json("", 4, 8) is None


def test_symmetric_links_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both say a-x; only one says b-y, next to it: the union grows by it."""
    gold = Gold("a b", "x y", frozenset({(0, 0), (1, 1)}), frozenset({(0, 0), (1, 1)}))
    links = {("a b", "x y"): frozenset({(0, 0), (1, 1)}), ("x y", "a b"): frozenset({(0, 0)})}
    monkeypatch.setattr(alignment, "fits", lambda model, text, side: True)
    monkeypatch.setattr(alignment, "align", lambda model, pairs, source: [links[pair] for pair in pairs])
    model, source = transformer.load("reverse"), Source("weights", "fed", 0, 0)
    done = Reports()
    found = symmetric(model, source, model, source, [gold], done)
    assert found == Score(0.0, 1.0, 1.0, 2) and done == [(1, 1)]


def test_symmetric_links_stop_between_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the third pair: no other one is read."""
    read: list[str] = []

    def links(model: object, pairs: list[tuple[str, str]], source: Source) -> Iterator[frozenset[Link]]:
        for text, _ in pairs:
            read.append(text)
            yield frozenset()

    monkeypatch.setattr(alignment, "align", links)
    model, source, golds = transformer.load("en-de"), Source("weights", "fed", 0, 0), gold_pairs()[:5]
    with pytest.raises(Stopped):
        symmetric(model, source, model, source, golds, lambda done, total: done < 3)
    assert read == [text for gold in golds[:3] for text in (gold.source, gold.target)]


def test_symmetric_links_that_cannot_be_scored_get_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    model, source = transformer.load("en-de"), Source("weights", "fed", 0, 0)
    with pytest.raises(AlignmentError, match="none of the 0 pairs has a sure link and fits both models; choose"):
        symmetric(model, source, model, source, [])
    long = read_gold("a " * 900 + "\ta\t0-0\n")
    with pytest.raises(AlignmentError, match="none of the 1 pairs has a sure link and fits both models; choose"):
        symmetric(model, source, model, source, long)
    monkeypatch.setattr(alignment, "align", lambda model, pairs, source: iter([frozenset()] * len(pairs)))
    with pytest.raises(AlignmentError, match="the two models agree on no link"):
        symmetric(model, source, model, source, gold_pairs()[:3])


def test_a_map_that_does_not_exist_gets_one_sentence() -> None:
    model = tiny_pretrained()
    with pytest.raises(ValueError, match="unknown reading 'x'; choose predicted or fed"):
        Source("weights", "x")
    for source, said in (
        (Source("weights", "fed", 9, 0), "no layer 9; there are 2"),
        (Source("norm", "fed", 0, 3), "no head 3; "),
    ):
        with pytest.raises(ValueError, match=said):
            next(alignment.align(model, [("ka lo", "mi")], source))


def test_the_document_shows_a_line_of_the_file() -> None:
    files = (PROBES / f"en-de.alignments.{end}" for end in ("md", "tsv"))
    document, lines = (file.read_text(encoding="utf-8").splitlines() for file in files)
    example = next(line for line in document if "<TAB>" in line)
    line = example.strip().replace("<TAB>", "\t")
    assert line in lines and len(read_gold(line)) == 1


def test_a_measurement_stops() -> None:
    with pytest.raises(Stopped):
        measure_alignment(transformer.load("en-de"), gold_pairs()[:3], progress=lambda done, total: False)
    with pytest.raises(AlignmentError, match="none of the 0 pairs has a sure link"):
        measure_alignment(transformer.load("en-de"), [])
