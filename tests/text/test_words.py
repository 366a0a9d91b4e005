"""Which words of a text a model with a closed vocabulary was taught."""

import json
import unicodedata
import warnings
from pathlib import Path

import pytest

import transformer
from recipes.ko_en import words as recipe
from recipes.ko_en.check import read_table
from recipes.ko_en.text import LISTS, own_pairs
from tests.support import node
from tests.support.build import saved_checkpoint
from transformer.checkpoints.folder import WORDS
from transformer.text.numerals import COUNTED, NATIVE
from transformer.text.words import Words, alike, words_of

SCRIPT = "engine/testing/outside.js"
INSIDE, OUTSIDE = ([line.split("\t")[0] for line in file.read_text(encoding="utf-8").splitlines()] for file in LISTS)
ROWS = [
    {"stem": stem, "kind": kind}
    for stem, kind in {
        "학교": "noun", "사과": "noun", "친구": "noun", "우유": "noun", "마시다": "verb", "듣다": "verb",
        "춥다": "adjective", "모르다": "verb", "명": "counter", "공부하다": "verb",
    }.items()
]  # fmt: skip
TEXTS = (
    "학교에 가요.", "사과에 물을", "친구에 대해", "마셔요 들어요 추워요 몰라요", "공부를 마셨다", "학교를 사과를",
    "학교 사과 친구", "우유에 우유를 우유",
)  # fmt: skip


@pytest.fixture(scope="module")
def words() -> Words:
    return Words.read(recipe.collect(ROWS, TEXTS))


@pytest.fixture(scope="module")
def whole() -> str:
    """words.json of the bundled model, from its vocabulary and its pairs; collected in seconds."""
    return recipe.collect(read_table("vocabulary.tsv"), (korean for korean, *_ in own_pairs()))


@pytest.mark.parametrize(
    ("stem", "became"),
    [
        ("마시", ["마시", "마셔"]), ("가", ["가"]), ("춥", ["춥", "추우", "추와", "추워"]), ("듣", ["듣", "들"]),
        ("모르", ["모르", "몰라", "몰러", "모라", "모러"]), ("쓰", ["쓰", "싸", "써"]),
        ("공부하", ["공부하", "공부해"]), ("살", ["살", "사"]),
        ("그렇", ["그렇", "그러", "그래", "그럐"]), ("배우", ["배우", "배워"]),
    ],
)  # fmt: skip
def test_a_stem_has_every_form_it_takes(stem: str, became: list[str]) -> None:
    assert {unicodedata.normalize("NFC", form) for form in recipe.beginnings(stem)} == set(became)


def test_a_word_is_a_known_beginning_with_an_ending_seen_after_four(words: Words) -> None:
    assert words.words == tuple(row["stem"] for row in ROWS)
    assert words.outside("친구를 학교에! 마셔요 공부를") == []  # 를 follows four of the words, though never 친구
    assert words.outside("자전거를 친구처럼 타요, 타요") == ["자전거를", "친구처럼", "타요"]
    assert words.outside(unicodedata.normalize("NFD", "사과를 당근을")) == ["당근을"]


@pytest.mark.parametrize("number", ["3명", "12", "1,234명에", "스물한 명", "삼십오", "세명", "오에"])
def test_a_number_is_known_alone_and_before_what_counts(words: Words, number: str) -> None:
    assert not words.outside(number)
    assert words.outside("3자전거 삼자전거") == ["3자전거", "삼자전거"]


def test_every_native_numeral_is_known(words: Words) -> None:
    assert not words.outside(" ".join([*NATIVE, *COUNTED, "１２명"]))


def test_a_mistyped_word_has_the_right_one_near(words: Words) -> None:
    assert words.near("학꾜를") == ["학교"]  # one of five letters differs
    assert words.near("사괴") == ["사과"]
    assert words.near("마셔욤") == ["마시다"]
    assert words.near("듣엇어요") == ["듣다"] and words.near("춥은") == ["춥다"]  # short stems, with their consonant
    assert not words.near("들어스")
    assert not words.near("xyz") and not words.near("항구") and not words.near("국학교")
    assert not words.near("멱을")  # a word of one syllable is near to too many
    assert Words.read(
        recipe.collect([{"stem": stem, "kind": "noun"} for stem in ("친구", "친구들", "천국", "친척")], [])
    ).near("친귀들", most=3) == ["친구들", "친구"]


def test_the_share_of_equal_letters_is_that_of_the_best_beginning() -> None:
    assert alike("학교", "학꾜를") == 1 - 1 / 5
    assert alike("마시", "마셔요") == 1 - 1 / 4
    assert alike("사과", "사과") == 1
    assert alike("차", "나") == 0.5 and alike("차", "a") == 0


def test_what_is_told_of_a_text_names_a_few_words_and_those_near_them(words: Words) -> None:
    told = "Not in this model's vocabulary: "
    assert words.told("사괴와 학교에 당근이 있다") == f"{told}사괴와 (near: 사과), 당근이, 있다"
    assert words.told("학교에 가요") == words.told(" ") == ""
    assert words.told("당근 양파 버섯 새우 오징어 당근") == f"{told}당근, 양파, 버섯, 새우, …"
    assert words.told("가" * 10_000) == f"{told}{'가' * 40}"


def test_words_are_read_without_their_punctuation() -> None:
    assert words_of('"학교에, 가요?" ...') == ["학교에", "가요"]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"words": 1, "beginnings": {}, "endings": {}, "forms": []}', "[" * 100_000,
     '{"words": ["\\ud800"], "beginnings": {}, "endings": {}, "forms": []}',
     '{"words": [], "beginnings": {"noun": [1]}, "endings": {}, "forms": []}',
     json.dumps({"words": ["가"] * 10_001, "beginnings": {}, "endings": {}, "forms": []})],
    ids=range(9),
)  # fmt: skip
def test_a_list_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="words"):
        Words.read(text)


def test_a_model_without_a_readable_list_has_no_closed_vocabulary(tmp_path: Path, words: Words) -> None:
    model = transformer.load(saved_checkpoint(tmp_path))
    assert model.words is None and transformer.load("reverse").words is None
    (model.path / WORDS).write_text("{}")
    assert transformer.load(model.path).words is None
    (model.path / WORDS).write_text(recipe.collect(ROWS, TEXTS))
    assert transformer.load(model.path).words == words


def test_a_translation_of_a_text_with_other_words_warns_and_of_others_does_not(tmp_path: Path) -> None:
    folder = saved_checkpoint(tmp_path)
    (folder / WORDS).write_text(recipe.collect(ROWS, TEXTS))
    model = transformer.load(folder)
    told = r"'사괴를 마셔요': Not in this model's vocabulary: 사괴를 \(near: 사과\)$"
    for work in (model.translate, model.n_best, lambda text: model.translate_all(["사과를", text])):
        with pytest.warns(transformer.OutsideWarning, match=told) as found:
            work("사괴를 마셔요")
        assert [one.filename for one in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.translate("사과를 마셔요")


@pytest.mark.slow
def test_what_the_bundled_model_knows_is_told_from_what_it_does_not(whole: str) -> None:
    words = Words.read(whole)
    said = [word for text in INSIDE for word in words.outside(text)]
    assert len(said) <= 3, said  # of 1,463 words, none of which is outside
    found = [words.outside(text) for text in OUTSIDE]
    assert all(len(said) <= 1 for said in found)
    assert sum(map(bool, found)) >= 90  # the others are short: 꿀 is also a form of 꾸다


@pytest.mark.slow
def test_the_bundled_list_is_collected_from_the_vocabulary_and_the_pairs(whole: str) -> None:
    folder = Path(__file__).parents[2] / "checkpoints" / "ko-en"
    if not folder.is_dir():
        pytest.skip("ko-en is not bundled")
    assert (folder / WORDS).read_text(encoding="utf-8") == whole


@pytest.mark.slow
def test_the_page_tells_words_as_python_does(whole: str) -> None:
    odd = (
        "１２명 ㅋㅋ 뷁 学校 a_b ①번 “학꾜”를 school's 스물한명 3.5도 …",
        unicodedata.normalize("NFD", "학꾜에 참외를"),
        "가" * 50,
    )
    texts = ["학꾜를 사괴 칭구가 참외를 뷁", *odd, *INSIDE, *OUTSIDE]
    words = Words.read(whole)
    outside = [words.outside(text) for text in texts]
    asked = list(dict.fromkeys(word for found in outside for word in found))
    found = json.loads(node.written(SCRIPT, given={"words": json.loads(whole), "texts": texts, "asked": asked}))
    assert found["outside"] == outside
    assert found["near"] == [words.near(word) for word in asked]
    first = outside[0]
    assert found["told"] == {"named": [[word, words.near(word)] for word in first[:4]], "more": True}
