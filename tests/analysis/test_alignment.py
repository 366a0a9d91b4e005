"""Word alignment: gold files, tokens and words, links, the alignment error rate; solved by hand."""

import unicodedata

import pytest
import torch

from transformer.analysis.alignment import (
    AlignmentError,
    Gold,
    best_links,
    best_possible,
    diagonal_links,
    pharaoh,
    read_gold,
    read_links,
    score,
    symmetrised,
    token_words,
    word_matrix,
    words_of,
)

LINE = "I don't know.\tIch weiß nicht.\t0-0 1-2 1?1 2-1 3-3"


def test_words() -> None:
    assert words_of("I don't know, Dr. No: 3.5 „Ja“!") == (
        "I", "don't", "know", ",", "Dr", ".", "No", ":", "3.5", "„", "Ja", "“", "!",
    )  # fmt: skip


def test_a_gold_line() -> None:
    (gold,) = read_gold(f"# a comment\n\n{LINE}\n")
    assert gold.source_words == ("I", "don't", "know", ".") and gold.target_words == ("Ich", "weiß", "nicht", ".")
    assert gold.sure == {(0, 0), (1, 2), (2, 1), (3, 3)} and gold.possible == gold.sure | {(1, 1)}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a\tb", "line 1 has 2 columns"),
        ("a\tb\t0-x", "line 1: '0-x' is not a link; write i-j"),
        ("a\tb\t0-1", "line 1: the link 0-1 is out of range; the source has 1 words and the target 1, counted from 0"),
    ],
)
def test_a_broken_line_gets_one_sentence(line: str, message: str) -> None:
    with pytest.raises(AlignmentError, match=message):
        read_gold(line)


def test_the_word_of_every_token() -> None:
    words = ("don't", "know", ".")
    assert token_words(["▁don", "'", "t", "▁", "kn", "ow", "."], words) == [0, 0, 0, 1, 1, 1, 2]
    assert token_words(["▁don't", "▁know."], words) == [0, 1]  # most of its characters
    with pytest.raises(AlignmentError, match="the tokens have 3 characters and the words 10"):
        token_words(["▁abc"], words)
    with pytest.raises(AlignmentError, match=r"changes: \ufb01 \(U\+FB01\)"):
        token_words(["▁f", "in"], ("\ufb01n",))


def test_links_may_count_from_one_and_write_possible_ones_with_p() -> None:
    source, target, _ = LINE.split("\t")
    assert read_gold(f"{source}\t{target}\t1-1 2-3 2p2 3-2 4-4", first=1) == read_gold(LINE)
    assert read_links("1-1 2-3 2?2 3-2 4-4", [(source, target)], first=1) == read_gold(LINE)
    with pytest.raises(AlignmentError, match="the link 0-1 is out of range.*counted from 1"):
        read_gold(f"{source}\t{target}\t0-1", first=1)


def test_decomposed_text_has_the_same_words() -> None:
    text = "Das schöne Haus 한국어"
    assert words_of(unicodedata.normalize("NFD", text)) == words_of(text) == ("Das", "schöne", "Haus", "한국어")


def test_a_matrix_of_words() -> None:
    """Source: two words of two and one tokens and </s>; target: one word of two tokens, and </s>."""
    weights = torch.tensor([[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.2, 0.2], [0.0, 0.0, 0.0, 1.0]])
    found = word_matrix(weights, ["▁a", "b", "▁c"], ["▁x", "y"], ("ab", "c"), ("xy",), "predicted")
    torch.testing.assert_close(found, torch.tensor([[(0.3 + 0.6) / 2, (0.3 + 0.2) / 2]]))
    assert best_links(found) == {(0, 0)}
    fed = word_matrix(weights[None], ["▁a", "b", "▁c"], ["▁x", "y"], ("ab", "c"), ("xy",), "fed")
    torch.testing.assert_close(fed, torch.tensor([[[(0.6 + 0.0) / 2, 0.1]]]))


def test_the_error_rate_by_hand() -> None:
    (gold,) = read_gold(LINE)
    perfect = score([(gold.sure, gold)])
    assert (perfect.aer, perfect.precision, perfect.recall, perfect.links) == (0, 1, 1, 4)
    # Two sure links right, one possible, one wrong: |A and S| = 2, |A and P| = 3, |A| = 4, |S| = 4.
    found = score([(frozenset({(0, 0), (3, 3), (1, 1), (0, 2)}), gold)])
    assert found.aer == pytest.approx(1 - 5 / 8) and found.precision == 0.75 and found.recall == 0.5
    with pytest.raises(ValueError, match="no links"):
        score([(frozenset(), gold)])


def test_the_bounds() -> None:
    golds = read_gold(f"{LINE}\na b\tc\t0-0 1?0")
    assert best_possible(golds).aer == 0
    assert best_possible([Gold("a", "b c", frozenset({(0, 0)}), frozenset({(0, 0)}))]).aer == pytest.approx(1 - 2 / 3)
    assert diagonal_links(4, 2) == {(1, 0), (3, 1)} and diagonal_links(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}


def test_symmetrised_links() -> None:
    forward, backward = frozenset({(0, 0), (1, 1), (3, 2)}), frozenset({(0, 0), (2, 2), (1, 2)})
    # Both have (0, 0). Its neighbour (1, 1) has two free words; then (1, 2) brings target 2, (2, 2) and (3, 2) a source
    # word each.
    assert symmetrised(forward, backward) == {(0, 0), (1, 1), (1, 2), (2, 2), (3, 2)}
    assert symmetrised(frozenset({(0, 0), (5, 5)}), frozenset({(0, 0)})) == {(0, 0)}  # no neighbour
    assert symmetrised(forward, forward) == forward
    assert pharaoh({(2, 1), (0, 0)}) == "0-0 2-1"
