"""The Korean catalogue says the same term everywhere."""

import re

import pytest

from tests.support.english import english
from tests.support.terms import Term, terms
from transformer.view.languages import load_language

TERMS = terms("ko")
# What is not running text: the paper's name, quotations, code, options, formulas, shapes, files; and an idiom.
NOT_TEXT = re.compile(
    r"Attention Is All You Need|“[^”]*”|\$[^$]*\$|`[^`]*`|\{[^}]*\}|\[[^]]*\]|--[\w-]+|\b[A-Z]{2,}\b|\b\w+[._]\w[\w.]*|"
    r"softmax\(|\bin a row\b"
)


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.english[0])
def test_every_text_has_the_korean_term_where_the_english_one_stands(term: Term) -> None:
    """Or the English word as it is, where it names a command, an argument or a function."""
    word = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, term.english))})(?:e?s)?(?![\w-])", re.IGNORECASE)
    texts = []
    for text, found in load_language("ko").translations.items():
        if match := word.search(NOT_TEXT.sub(" ", text)):
            texts.append((text, found, match[0]))
    assert texts, "no text uses this term"
    assert [(text, found) for text, found, name in texts if term.translated not in found and name not in found] == []


def test_no_text_uses_another_term() -> None:
    """The other terms that stand for nothing else in Korean."""
    ordinary = {"주목", "셀"}
    others = {other: term.translated for term in TERMS for other in term.others if other not in ordinary}
    wrong = [
        (found, other, right)
        for found in load_language("ko").translations.values()
        for other, right in others.items()
        if other in found
    ]
    assert wrong == []


def test_no_translation_is_left_in_english() -> None:
    found = load_language("ko").translations.values()
    assert [text for text in found if english(re.sub(r"\{[^}]*\}|<[^>]*>", " · ", text))] == []


@pytest.mark.parametrize(
    "text, left",
    [
        ("Each row predicts its token", ["Each row predicts its token"]),
        ("헤드 3개: the last one 은", ["the last one"]),
        ("크로스 어텐션(cross-attention)과 교사 강요(그림 2, teacher forcing)", []),
        ("Rows of the decoder", ["Rows of the decoder"]),
        ("“Attention Is All You Need”(Vaswani et al. 2017, 3절), Och and Ney 2003", []),
        ("`python -m transformer`, $d_k and d_v$, 토큰 lomi nu ka, learning.npz", []),
        ("token", []),
    ],
)
def test_english_is_found_and_data_code_and_terms_are_not(text: str, left: list[str]) -> None:
    assert english(text) == left
