"""The written vocabulary of the small Korean model, its constructions, and the check of pairs against both."""

import re
from collections import Counter
from pathlib import Path

import pytest

from recipes.ko_en.check import FOLDER, main, make_kiwi, odd_columns, read_table, stems_of, tagged

VOCABULARY = read_table("vocabulary.tsv")
STEMS = frozenset(row["stem"] for row in VOCABULARY)


@pytest.fixture(scope="module")
def kiwi():  # type: ignore[no-untyped-def]
    pytest.importorskip("kiwipiepy")
    return make_kiwi(VOCABULARY)


def test_every_stem_is_listed_once_and_homonyms_are_numbered_from_one() -> None:
    times = Counter(row["stem"] for row in VOCABULARY)
    senses = {stem: [row["sense"] for row in VOCABULARY if row["stem"] == stem] for stem in times}
    assert all(senses[stem] == ([""] if n == 1 else [str(k + 1) for k in range(n)]) for stem, n in times.items())
    assert all(row["english"] and row["topic"] and row["kind"] for row in VOCABULARY)
    assert all(row["stem"].endswith("다") for row in VOCABULARY if row["kind"] in ("verb", "adjective"))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["나는 가요."], "needs a Korean and an English column"),
        (["나는 가요.", ""], "odd spaces: ''"),
        (["나는  가요.", "I go."], "odd spaces: '나는  가요.'"),
        (["\u1102\u1161는 가요.", "I go."], "not NFC: '\u1102\u1161는 가요.'"),
        (["나는 가요.", "I ‘go’."], "odd characters '‘’': I ‘go’."),
        (["나는 가요", "I go."], "no final . ? or !: 나는 가요"),
        (["가요?", "I go."], "question mark on one side only"),
        (["가요.", "I go.", "I go."], "the same translation twice"),
    ],
)
def test_odd_columns_are_reported(columns: list[str], message: str) -> None:
    assert message in odd_columns(columns)


def test_a_sound_line_has_nothing_to_report() -> None:
    assert odd_columns(["3시에 만나요.", "I meet him at 3 o'clock.", "I will meet her at 3 o'clock."]) == []


@pytest.mark.parametrize(
    ("sentence", "inside"),
    [
        ("어제 친구하고 한국어를 공부했어요.", ["어제", "친구", "한국어", "공부하다"]),
        ("도서관에서 책을 빌릴 수 있어요.", ["도서관", "책", "빌리다", "있다"]),
        ("할머니께서 커피를 드세요.", ["할머니", "커피", "드시다"]),
        ("김민수 씨는 스물다섯 살입니다.", ["김", "민수", "씨", "살"]),
        ("제 방은 깨끗하지 않다.", ["저", "방", "깨끗하다"]),
    ],
)
def test_content_words_map_to_dictionary_forms(kiwi, sentence: str, inside: list[str]) -> None:  # type: ignore[no-untyped-def]
    assert stems_of(kiwi.tokenize(sentence), STEMS) == (inside, [])


def test_words_outside_the_vocabulary_are_named(kiwi) -> None:  # type: ignore[no-untyped-def]
    assert stems_of(kiwi.tokenize("그 늙은 펭귄이 구름다리를 건넜다."), STEMS)[1] == ["늙다", "펭귄", "구름다리"]


@pytest.mark.parametrize("row", read_table("constructions.tsv"), ids=lambda row: row["name"])
def test_the_example_of_a_construction_matches_its_pattern_and_stays_inside(kiwi, row: dict[str, str]) -> None:  # type: ignore[no-untyped-def]
    tokens = kiwi.tokenize(row["example_ko"])
    assert re.search(row["pattern"], tagged(tokens)) and stems_of(tokens, STEMS)[1] == []
    assert odd_columns([row["example_ko"], row["example_en"]]) == []


def test_the_pairs_of_the_guide_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("kiwipiepy")
    lines = [line for line in (FOLDER / "WRITING.md").read_text(encoding="utf-8").splitlines() if "\t" in line]
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert len(lines) == 25 and main([str(pairs)]) == 0, capsys.readouterr().out


def test_a_repeated_source_and_an_unknown_word_fail_with_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("kiwipiepy")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("비가 와요.\tIt rains.\n비가 와요!\tIt rains!\n펭귄이 와요.\tA penguin comes.\n", encoding="utf-8")
    assert main([str(pairs), "--constructions"]) == 1
    out = capsys.readouterr().out
    assert f"{pairs}:2: source repeats {pairs}:1" in out and f"{pairs}:3: 펭귄 is not in the vocabulary" in out
    assert "3 pairs, 2 distinct sources, 2 problems" in out
    assert re.search(r"^ +3 subject marker$", out, re.MULTILINE)
