"""A Korean page has the English term in brackets where its text first uses the Korean one."""

import re

import pytest

from pages.registry import pages
from tests.support.app import app_test, linked
from tests.support.pseudo import html_texts
from tests.support.terms import terms

TERMS = terms("ko")
INTRODUCED = {term.translated: term.english[0] for term in TERMS if term.introduced}
SENTENCE = re.compile(r"[다요까][.?]")
# Names of heads, sub-layers and methods are filled into sentences.
NAME = re.compile(
    r"\S+ 어텐션 \d+층 \d+번 헤드|(?:인코더|디코더) \d+층의 (?:\S+ 어텐션|순방향 신경망)|그래디언트 × \S+"
)
WORDS = sorted((term.translated for term in TERMS), key=len, reverse=True)
FIRST = re.compile(rf"({'|'.join(WORDS)})(?:\*\*)?(?:\(([a-z -]+))?")


def read(page: str, part: str) -> list[str]:
    """The paragraphs of running text as the page draws them, top to bottom."""
    app = app_test(page, **linked(part), lang="ko").run()
    assert not app.exception
    found: list[str] = []
    for node in app.main:
        if node.type == "html":
            found += html_texts(node.proto.body)
        elif node.type == "markdown":
            found.append(node.value)
    return [text for text in found if SENTENCE.search(text)]


@pytest.mark.slow
@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize("page", [page.name for page in pages()])
def test_the_first_use_of_a_term_has_the_english_one(page: str) -> None:
    content = next(one.content for one in pages() if one.name == page)
    first: dict[str, tuple[str, str]] = {}
    for part in content.parts() or ("",):
        for text in read(page, part):
            text = NAME.sub(" ", text)
            for match in FIRST.finditer(text):
                if match[1] in INTRODUCED:
                    around = text[max(0, match.start() - 60) : match.end() + 30]
                    first.setdefault(match[1], (match[2] or "", around))
    assert {term: text for term, (english, text) in first.items() if english != INTRODUCED[term]} == {}
