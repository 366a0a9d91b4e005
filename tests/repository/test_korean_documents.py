"""A Korean document says what the English one beside it says: same headings, code, links, tables and numbers."""

import re
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.repository.test_documents import DOCUMENTS, LINK, ROOT
from tests.support.terms import terms
from transformer.view.languages import load_language

KOREAN = [path for path in DOCUMENTS if path.name.endswith(".ko.md")]
FENCED = re.compile(r"^```\w*\n.*?^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^ {4}.*\n)+", re.MULTILINE)
COMMENT = re.compile(r"(?:^| +)# .*$", re.MULTILINE)
INLINE = re.compile(r"`[^`]*`")
CARDS = [path for path in KOREAN if path.parent.parent.name == "checkpoints"]
NUMBER = re.compile(r"\d+(?:[.,]\d+)*%?")


def english(path: Path) -> Path:
    return path.with_name(path.name.replace(".ko.md", ".md"))


def code_blocks(text: str) -> list[str]:
    """Every block of code without its comments, which may be in Korean."""
    found = [*FENCED.finditer(text), *INDENTED.finditer(FENCED.sub("", text))]
    return [COMMENT.sub("", match[0]).rstrip() for match in found]


def prose(text: str) -> str:
    """Without code blocks and targets of links, and without the line that leads to the other language; the lines of a
    paragraph joined."""
    text = re.sub(r"^.*(?:\[English\]|\[한국어\])\(.*\n", "", text, flags=re.MULTILINE)
    text = LINK.sub("]", INDENTED.sub("", FENCED.sub("", text)))
    return re.sub(r"(?<=\S)\n(?=[^\s|#\d-])", " ", text)


def numbers(text: str, least: int) -> Counter[str]:
    """The numbers of the prose with so many signs at least; "8.4 million" is another number in Korean."""
    text = re.sub(r"[\d.]+ million|[\d.,]+만", "", INLINE.sub("", prose(text)).replace("zero", "0"))
    return Counter(number for number in NUMBER.findall(text) if len(number) >= least)


@pytest.mark.parametrize("path", KOREAN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_korean_document_is_the_english_one_in_korean(path: Path) -> None:
    ours, theirs = (one.read_text(encoding="utf-8") for one in (path, english(path)))
    assert re.search("[가-힣]", ours)
    assert code_blocks(ours) == code_blocks(theirs)
    for shape in (r"^#+(?= )", r"^\|.*\|$", r"^(?:- |\d\. )"):  # headings, rows of tables, items of lists
        lines = [re.findall(shape, prose(text), re.MULTILINE) for text in (ours, theirs)]
        assert [re.sub(r"[^|#]+", "", line) for line in lines[0]] == [re.sub(r"[^|#]+", "", line) for line in lines[1]]
    assert Counter(INLINE.findall(prose(ours))) == Counter(INLINE.findall(prose(theirs)))
    least = 1 if path in CARDS else 2  # "two cores" may be "코어 2개", but not in a card
    assert numbers(ours, least) == numbers(theirs, least)


@pytest.mark.parametrize("path", KOREAN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_korean_document_has_the_links_of_the_english_one(path: Path) -> None:
    """In the same number, each to the Korean version of a document or picture that has one."""

    versions = {path, english(path)}

    def targets(document: Path) -> list[Path | str]:
        links = [link for link in LINK.findall(document.read_text(encoding="utf-8")) if not link.startswith("#")]
        found = [link if urlsplit(link).scheme else (document.parent / link).resolve() for link in links]
        return [target for target in found if target not in versions]

    def translated(target: Path | str) -> Path | str:
        korean = Path(target).with_suffix(f".ko{Path(target).suffix}")
        return korean if korean in KOREAN or (korean.suffix == ".png" and korean.exists()) else target

    assert Counter(targets(path)) == Counter(map(translated, targets(english(path))))
    for link in LINK.findall(path.read_text(encoding="utf-8")):
        if link.startswith("#"):
            headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            assert link[1:] in [heading.lower().replace(" ", "-") for heading in headings]


@pytest.mark.parametrize("name", ["README", "docs/teaching"])
def test_the_two_languages_of_a_document_are_linked(name: str) -> None:
    path = ROOT / f"{name}.md"
    if (ROOT / f"{name}.ko.md").exists():
        assert f"[한국어]({path.stem}.ko.md)" in path.read_text(encoding="utf-8")
        assert f"[English]({path.name})" in (ROOT / f"{name}.ko.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", KOREAN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_korean_document_uses_the_terms_of_the_catalogue(path: Path) -> None:
    text = prose(path.read_text(encoding="utf-8"))
    ordinary = {"주목", "셀"}
    assert [other for term in terms("ko") for other in term.others if other not in ordinary and other in text] == []


@pytest.mark.parametrize("path", KOREAN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_buttons_and_menus_are_named_as_the_app_names_them(path: Path) -> None:
    """What stands in *italics* or **bold**. Markdown reads no end of either between a mark and a letter, as in )*로."""
    shown = set(load_language("ko").translations.values())
    text = prose(path.read_text(encoding="utf-8"))
    assert re.findall(r".*[^\w\s*]\*+\w", re.sub(r"(^|\s)\*+", " ", text, flags=re.MULTILINE)) == []
    named = re.findall(r"(?<!\*)\*{1,2}([^*\n]+)\*{1,2}(?!\*)", text)
    assert [name for name in named if name not in shown] == []
