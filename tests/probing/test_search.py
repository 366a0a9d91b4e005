"""Searching heads and neurons: every hit is a cell of a trace, and none is missing."""

import pytest

import transformer
from tests.support.build import tiny_pretrained
from transformer.cancellation import Stopped
from transformer.model.tap import KINDS
from transformer.probing.search import (
    MOST_LINES,
    SearchError,
    lines_of,
    read,
    read_lines,
    search_attention,
    search_neuron,
)

PAIRS = [("I see a dog.", "Ich sehe einen Hund."), ("A dog sees me.", "Ein Hund sieht mich.")]


@pytest.mark.parametrize("kind", ["encoder_self", "decoder_self", "cross"])
def test_hits_of_a_head_are_the_cells_of_its_traces(kind: str) -> None:
    model = transformer.load("en-de")
    found = search_attention(model, PAIRS, kind, 1, 2, 0.2)
    traces = [model.trace(*pair) for pair in PAIRS]
    cells = {
        (number, row, column)
        for number, trace in enumerate(traces)
        for row, column in (trace.attention(kind).weights[1, 2] >= 0.2).nonzero().tolist()
    }
    assert {(hit.pair, hit.row, hit.column) for hit in found.hits} == cells and found.count == len(cells)
    assert [hit.value for hit in found.hits] == sorted((hit.value for hit in found.hits), reverse=True)
    assert found.rows == sum(trace.attention(kind).weights.shape[2] for trace in traces)
    assert sum(count for _, count in found.pairs) == found.count
    reads = tuple(read(model, PAIRS, [f"{one}.weights" for one in KINDS]))
    assert search_attention(model, PAIRS, kind, 1, 2, 0.2, reads=reads) == found


def test_words_narrow_the_search_in_both_readings() -> None:
    model = transformer.load("en-de")
    everything = search_attention(model, PAIRS, "cross", 3, 5, 0.3)
    named = search_attention(model, PAIRS, "cross", 3, 5, 0.3, "hund", "DOG ")
    assert named.count and {hit.words for hit in named.hits} == {("hund", "dog")}
    assert named.count == sum(hit.words == ("hund", "dog") for hit in everything.hits)
    fed = search_attention(model, PAIRS, "cross", 3, 5, 0.0, "hund", "dog", "fed")
    predicted = search_attention(model, PAIRS, "cross", 3, 5, 0.0, "hund", "dog")
    rows = {(hit.pair, hit.row) for hit in predicted.hits}
    assert {(hit.pair, hit.row - 1) for hit in fed.hits} == rows  # the same words, one step later


def test_a_word_stands_for_words_like_it() -> None:
    model, pairs = transformer.load("en-de"), [("A cat sees a dog.", "Eine Katze sieht einen Hund.")]

    def words(wanted: str) -> set[str]:
        return {hit.words[1] for hit in search_attention(model, pairs, "cross", 3, 5, 0.0, "", wanted).hits}

    assert words("") == {"a", "cat", "sees", "dog", ".", ""} and words("*") == words("") - {""}
    assert words("S*") == words("se*s") == {"sees"} and words("a*, DOG,") == {"a", "dog"}
    assert words("d.g") == words("do") == set() and words(".") == {"."}


def test_hits_of_a_neuron_are_its_activations() -> None:
    model = transformer.load("en-de")
    trace = model.trace(*PAIRS[0])
    activation = trace.encoder_ff.activation[0]
    neuron = int(activation.amax(0).argmax())
    least = float(activation[:, neuron].max()) / 2
    found = search_neuron(model, PAIRS[:1], "encoder", 0, neuron, least)
    assert [hit.row for hit in sorted(found.hits, key=lambda hit: hit.row)] == (
        (activation[:, neuron] >= least).nonzero()[:, 0].tolist()
    )
    assert found.hits[0].value == pytest.approx(float(activation[:, neuron].max()), rel=1e-4)
    assert not search_neuron(model, PAIRS[:1], "decoder", 0, 0, 1e9).count
    reads = tuple(read(model, PAIRS[:1], ("encoder_ff.activation",), 0))
    assert search_neuron(model, PAIRS[:1], "encoder", 0, neuron, least, reads=reads) == found


def test_lines_without_a_target_are_translated() -> None:
    model = transformer.load("en-de")
    pairs = read_lines(model, "I see a dog.\tEin Hund.\nHello!\r\n\n")
    assert pairs == [("I see a dog.", "Ein Hund."), ("Hello!", model.translate("Hello!").text)] and pairs[1][1]


def test_blank_lines_are_left_out_wherever_they_are() -> None:
    text = "\n \nka\tlo\n\r\n\t \nmi\tnu\n\n"
    assert read_lines(tiny_pretrained(), text) == [("ka", "lo"), ("mi", "nu")]
    assert len(lines_of("ka\n\n" * MOST_LINES)) == 2 * MOST_LINES - 1  # only lines with text count


@pytest.mark.parametrize(
    "text, message",
    [
        ("\n \n", "the text is empty"),
        ("ka\n" * (MOST_LINES + 1), "has 5,001 lines; at most 5,000"),
        ("ka\n\n\tlo", "line 3: the source text is empty"),
        ("\n \t\n" + "ka" * 600, "line 3 has 1,200 characters"),
        ("ka" * 600, "line 1 has 1,200 characters"),
    ],
)
def test_a_text_that_cannot_be_searched_gets_one_sentence(text: str, message: str) -> None:
    with pytest.raises(SearchError, match=message):
        read_lines(tiny_pretrained(), text)


def test_places_that_do_not_exist_are_named_and_a_search_stops() -> None:
    model = transformer.load("en-de")
    with pytest.raises(SearchError, match="head 9 does not exist; there are 8"):
        search_attention(model, PAIRS, "cross", 0, 8, 0.5)
    with pytest.raises(SearchError, match="unknown kind 'self'"):
        search_attention(model, PAIRS, "self", 0, 0, 0.5)
    with pytest.raises(SearchError, match="layer 0 does not exist"):
        search_neuron(model, PAIRS, "encoder", -1, 0, 0.5)
    with pytest.raises(Stopped):
        search_attention(model, PAIRS, "cross", 0, 0, 0.5, progress=lambda done, total: False)
