"""The list of meanings: how words are found, what a file may hold, and that it covers every sentence that ships."""

import functools
import json
import unicodedata

import pytest

import transformer
from pages.frame.state import START
from tests.support.build import tiny_pretrained
from tests.view.test_pack import unpack
from transformer.analysis.tokens import word_labels, word_numbers
from transformer.lessons import parse_lesson
from transformer.paths import app_folder
from transformer.text.meanings import CODES, FILE, LARGEST, MOST, Meanings, load_meanings, parse_meanings
from transformer.text.numerals import number_of
from transformer.texts import Language, in_language
from transformer.tracing.trace import Trace
from transformer.training.tasks import TASKS
from transformer.view.languages import load_language
from transformer.view.pack import full_pack, meanings
from transformer.view.state import View

HEAD = "language\tword\tsentence\ten\tko\n"
LIST = parse_meanings(
    HEAD
    + "de\tSie\t\tyou\t당신\n"
    + "de\tsie\t\tthey\t그들\n"
    + "de\tsie\tSie sah sie.\tshe\t그녀\n"
    + "en\tthe\t\t\t그\n"
    + "en\tI\t\t\t나\n"
)


def test_a_word_is_found_in_its_sentence_first_and_in_capitals_too() -> None:
    words = ("Sie", "sah", "sie", "SIE")
    assert LIST.of("German", words, "Sie sah sie.", "en") == ["you", None, "she", "she"]
    assert LIST.of("German", words, "Sah Sie sie?", "ko") == ["당신", None, "그들", "그들"]
    assert LIST.of("English", ("THE", "The", "i", "I"), "", "ko") == ["그", "그", None, "나"]


def test_readers_of_a_language_get_no_meanings_of_its_words_and_others_english_ones() -> None:
    assert LIST.of("English", ("the",), "", "en") is None
    assert LIST.of("eng", ("the",), "", "ko") == ["그"]
    assert LIST.of("German", ("Sie",), "", "fr") == ["you"]
    assert LIST.of("English", ("the",), "", "fr") is None
    assert LIST.of("letters", ("a",), "", "ko") is None
    assert load_meanings().of("digits or Korean numerals", ("개",), "", "en") == ["items"]
    assert load_meanings().of("Korean", ("개",), "", "en") is None  # in a sentence also a dog


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "line 1: the columns are"),
        ("language\tword\ten\tko\n", "line 1: the columns are"),
        (HEAD + "de\tja\t\tyes\n", "line 2: 4 cells under 5 headings"),
        (HEAD + "fr\toui\t\tyes\t네\n", "line 2: unknown language 'fr'"),
        (HEAD + "de\t\t\tyes\t네\n", "line 2: .*no word"),
        (HEAD + f"de\tja\t\t{'y' * 41}\t네\n", "line 2: .*over 40 characters"),
        (HEAD + f"de\tja\t{'y' * 401}\tyes\t네\n", "line 2: over 400 characters"),
        (HEAD + "de\tja\t\t yes\t네\n", "line 2: .*spaces around a cell"),
        (HEAD + "de\tja\t\ty\u202ees\t네\n", "line 2: .*odd characters"),
        (HEAD + "de\tja\t\tyes\t\n", "line 2: 'ja' needs a meaning in every language but its own"),
        (HEAD + "en\tyes\t\tyes\t네\n", "line 2: 'yes' needs a meaning in every language but its own"),
        (HEAD + "de\tja\t\tyes\t네\n" * 2, "line 3: 'ja' is there twice"),
        (HEAD + "de\tja\t\tyes\t네\n" * (MOST + 1), "10,001 rows; at most 10,000 are allowed"),
    ],
)
def test_a_damaged_list_says_which_line(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_meanings(text)


@functools.cache
def shipped() -> tuple[Trace, ...]:
    """Every sentence that ships for the translator and for the model of numerals: of their examples, of the lessons,
    and the one the app starts with; with the given target or the model's own output."""
    return *sentences_of("en-de", (START, "")), *sentences_of("ko-numbers")


def sentences_of(name: str, *more: tuple[str, str]) -> list[Trace]:
    model = transformer.load(name)
    examples = json.loads((app_folder() / "checkpoints" / name / "examples.json").read_text(encoding="utf-8"))
    pairs = {*more} | {(example["source"], example.get("target", "")) for example in examples}
    for path in (app_folder() / "lessons").glob("*.toml"):
        for stop in parse_lesson(path.read_text(encoding="utf-8"), path.stem).stops:
            params = dict(stop.view.params)
            if params.get("checkpoint") == name and "source" in params:
                pairs.add((params["source"], params.get("target", "")))
    return [model.trace(source, target) if target else model.trace(source) for source, target in sorted(pairs)]


def words_of(trace: Trace) -> list[tuple[str, str, str]]:
    """(language, word, sentence) of every word of a trace that has a letter."""
    sides = (
        (CODES[trace.languages[0]], trace.source_tokens, trace.source_labels, trace.source_text),
        (CODES[trace.languages[1]], trace.target_out, trace.target_out_labels, trace.target_text),
    )
    return [
        (language, word, sentence)
        for language, tokens, labels, sentence in sides
        for word in word_labels(labels, word_numbers(tokens, labels))
        if word != "</s>" and any(letter.isalpha() for letter in word)
    ]


def test_every_word_of_every_shipped_sentence_has_a_meaning() -> None:
    found = load_meanings()
    assert found.readers == ("en", "ko")
    words = {word for trace in shipped() for word in words_of(trace)}
    assert len(words) > 200  # of 19 pairs of sentences
    assert [word for word in sorted(words) if found.row(*word) is None] == []


def test_every_row_of_the_list_is_about_a_shipped_word() -> None:
    words = [word for trace in shipped() for word in words_of(trace)]
    in_sentences = {load_meanings().row(*word) for word in words}
    forms = {
        (language, form) for language, word, _ in words for form in (word, word[:1].lower() + word[1:], word.lower())
    }
    unused = [
        (language, word, sentence)
        for language, word, sentence in load_meanings().rows
        if ((language, word, sentence) not in in_sentences if sentence else (language, word) not in forms)
    ]
    assert unused == []


def test_the_list_that_ships_is_small_and_in_order() -> None:
    path = app_folder() / "locale" / FILE
    assert path.stat().st_size < LARGEST / 10
    keys = list(load_meanings().rows)
    assert keys == sorted(keys, key=lambda key: (key[0] != "en", key[1].casefold(), key[1], key[2]))


def test_a_picture_carries_the_meanings_of_its_words_in_the_readers_language() -> None:
    trace = transformer.load("en-de").trace("The dog sees the cat.", "Der Hund sieht die Frau.")
    korean = load_language("ko")
    with in_language(korean):
        told = unpack(full_pack(trace, View()))[0]["meanings"]
        assert unpack(full_pack(trace, View(), entry="lab"))[0]["meanings"] is None
    assert told["source"] == ["그", "개", "보다", "그", "고양이", None, None]
    assert told["target_in"] == [None, "그", "개", "보다", "그", "여자", None]
    assert told["target_out"] == ["그", "개", "보다", "그", "여자", None, None]
    english = unpack(full_pack(trace, View()))[0]["meanings"]
    assert english["source"] is None and english["target_out"][4] == "woman"


def test_a_korean_numeral_means_its_number_to_readers_of_other_languages() -> None:
    assert {CODES[name] for name in TASKS["ko-numbers"].languages} == {"ko"}
    rows = {word: told for (language, word, _), told in load_meanings().rows.items() if language == "ko"}
    assert len(rows) > 9
    assert (rows.pop("열두")["en"], rows.pop("개")["en"]) == ("12", "items")  # of 열두 개, which is one number
    assert (rows.pop("100일")["en"], rows.pop("년")["en"]) == ("100 days", "year")  # of 100일 년, a mistake
    assert all(told["en"] == f"{number_of(word):,}" and not told["ko"] for word, told in rows.items())
    trace = transformer.load("ko-numbers").trace("이만 삼천오백육")
    told = unpack(full_pack(trace, View()))[0]["meanings"]
    assert told["source"] == ["20,000", "3,506", None] and set(told["target_out"]) == {None}
    with in_language(load_language("ko")):
        assert unpack(full_pack(trace, View()))[0]["meanings"] is None


def test_decomposed_text_gets_the_meanings_of_its_sentence() -> None:
    rows = load_meanings().rows
    language, word, sentence = next(key for key in rows if key[0] == "de" and not key[2].isascii())
    trace = transformer.load("en-de").trace("Yes.", unicodedata.normalize("NFD", sentence))
    assert trace.target_text == sentence
    with in_language(load_language("ko")):
        told = meanings(trace, {"target_out": [word]})
    assert told is not None and told["target_out"] == [rows[language, word, sentence]["ko"]]


def test_a_model_of_other_languages_has_no_meanings() -> None:
    with in_language(Language("ko")):
        assert unpack(full_pack(tiny_pretrained().trace("ka lo", "mi"), View()))[0]["meanings"] is None


def test_a_list_without_rows_tells_nothing() -> None:
    assert Meanings(("en",), {}).of("German", ("ja",), "", "en") is None
