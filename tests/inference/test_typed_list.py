"""The list of what people type: its templates, and what counts as right, copied or made up."""

import collections
import unicodedata

import pytest

from benchmarks.typed import (
    LONGEST,
    SHORTEST,
    Typed,
    bare,
    clock_times,
    copied,
    exact_table,
    expand,
    joined,
    listed,
    made_up,
    near,
    overlap,
    rows,
    runs_away,
    typed_list,
)
from transformer.inference.pretrained import load

LIST = typed_list()


def test_templates_by_hand() -> None:
    assert list(expand("Ja.")) == ["Ja."]
    assert list(expand("{Guten |}Tag{!|.}")) == ["Guten Tag!", "Guten Tag.", "Tag!", "Tag."]
    linked = list(expand("{1:Hast du|Haben Sie} {1:dein|Ihr} {Auto|Rad}?"))
    assert linked == ["Hast du dein Auto?", "Hast du dein Rad?", "Haben Sie Ihr Auto?", "Haben Sie Ihr Rad?"]


@pytest.mark.parametrize("wrong", ["{1:a|b} {1:c}", "{a|b", "a|b", "a}"])
def test_a_broken_template_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="different numbers|outside a group"):
        list(expand(wrong))


def test_the_lists_have_different_sentences_the_longer_one_twenty_kinds_of_fifteen() -> None:
    assert len({sentence.source for sentence in LIST}) == 300
    assert set(collections.Counter(sentence.kind for sentence in LIST).values()) == {15}
    assert len({sentence.kind for sentence in LIST}) == 20
    blind = listed("blind.tsv")
    assert len({sentence.source for sentence in blind}) == 200
    for sentence in LIST + blind:
        for text in (sentence.source, *sentence.accepted):
            assert text and text == unicodedata.normalize("NFC", " ".join(text.split())), sentence.source


def test_the_list_of_signs_has_ten_kinds_of_twenty_different_inputs() -> None:
    signs = listed("symbols.tsv")
    assert len({sentence.source for sentence in signs}) == 200
    assert list(collections.Counter(sentence.kind for sentence in signs).values()) == [20] * 10
    accepted = {sentence.source: sentence.accepted for sentence in signs}
    assert accepted["</s>"] == {"</s>"} and accepted["(Applause)"] == {"(Applaus)", "(Beifall)"}
    assert {"3,20 €", "€3.20"} < accepted["€3.20"] and all(accepted.values())


def test_clock_times_may_be_told_in_more_than_one_way() -> None:
    times = {sentence.source: sentence.accepted for sentence in clock_times()}
    assert len(times) == 48
    assert times["half past twelve"] == {"halb eins", "halb eins.", "Halb eins", "Halb eins."}
    assert {"dreiviertel neun", "Viertel vor neun."} < times["quarter to nine"]
    assert "zehn nach drei" in times["ten past three"] and "ein Uhr" in times["one o'clock"]


def test_right_translations_are_counted_by_kind() -> None:
    model = load("en-de")
    hello, never = Typed("greeting", "Hello!", frozenset({model.translate("Hello!").text})), frozenset({"never"})
    table = exact_table(model, "", [hello, Typed("greeting", "Thank you.", never), Typed("word", "Bread", never)], 0.3)
    found = [(*row.cells, row.good) for row in table.rows]
    assert found == [("greeting", "2", "1 (50%)", None), ("word", "1", "0 (0%)", None), ("all", "3", "1 (33%)", True)]


def test_every_name_stands_once_in_its_sentence() -> None:
    names = rows("names.tsv")
    assert len(names) == len({name for _kind, name, _sentence in names}) == 200
    for _kind, name, sentence in names:
        assert copied(name, sentence) and sentence.count(name) == 1


def test_a_name_is_copied_letter_by_letter() -> None:
    assert copied("Zorvik", "Ich heiße Zorvik.") and copied("XR-2400", "Der XR-2400 ist neu.")
    assert not copied("Zorvik", "Ich heiße Zorwik.") and not copied("Zorvik", "Zorviks Haus")


def test_long_inputs_have_the_wanted_number_of_tokens() -> None:
    texts = joined(["a b c", "d e f g h i j k l"], str.split, 20)
    assert len(texts) == 20 and len(set(texts)) > 10
    assert all(SHORTEST <= len(text.split()) <= LONGEST for text in texts)
    assert texts == joined(["a b c", "d e f g h i j k l"], str.split, 20)


def test_made_up_words() -> None:
    sentence = Typed("test", "Zorvik waits.", frozenset({"Zorvik wartet."}))
    words = {"haus", "tür", "arbeit", "zeit", "der"}

    def known(word: str) -> bool:
        return word.lower() in words

    assert made_up(sentence, "Zorvik wartet Haustür Arbeitszeit der", known) == []
    assert made_up(sentence, "Zorvik wertet Angewissung", known) == ["wertet", "Angewissung"]


def test_what_runs_away() -> None:
    model = load("en-de")
    assert runs_away(model, "Hello.", "Ja ja ja ja ja ja.") and not runs_away(model, "Hello.", "Hallo.")
    assert not runs_away(model, "no no no no no", "nein nein nein nein nein")
    assert runs_away(model, "Hello.", " ".join(f"Wort{number}" for number in range(200)))


def test_a_pair_like_a_sentence_by_hand() -> None:
    sentence = Typed("test", "He is 1.80 meters tall.", frozenset({"Er ist 1,80 Meter groß."}))
    assert overlap("he is 1 80 meters tall", "he is 1 92 meters tall") == pytest.approx(10 / 12)
    assert near(sentence, [(bare("He is 1.92 meters tall."), bare("Er ist 1,92 Meter groß."))])
    assert near(sentence, [(bare("His height is 1.80 m."), bare("er ist 1,80 Meter groß"))])
    assert not near(sentence, [(bare("He is very tall."), bare("Er ist sehr groß."))])  # 6 of 10 words
