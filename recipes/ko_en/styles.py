"""The same sentence in the other styles of Korean: 해요, 합니다, 한다 and 해. The English stays as it is.

kiwipiepy analyses the sentence and conjugates its last word. Left alone is what would mean something else in another
style: commands and proposals, a plain present of 해 (it may be a command), forms of address, texts of two sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kiwipiepy import Kiwi, Token

POLITE = ("해요", "합니다")  # say 저 for I; the others say 나
PLAIN = {"저": "나", "제": "내", "저희": "우리"}
HUMBLE = {"나": "저", "내": "제"}
# Endings, as kiwipiepy writes them (a final consonant apart), and the style that they show.
STATEMENTS = {
    **dict.fromkeys(("어요", "에요", "예요"), "해요"),
    **dict.fromkeys(("습니다", "ᆸ니다"), "합니다"),
    **dict.fromkeys(("다", "ᆫ다", "는다"), "한다"),
    **dict.fromkeys(("어", "야"), "해"),
}
QUESTIONS = {
    "습니까": "합니다",
    "ᆸ니까": "합니다",
    **{end: of for end, of in STATEMENTS.items() if of in ("해요", "해")},
}
SHORT = {
    long: long.removesuffix("요") for long in ("ᆯ게요", "을게요", "네요", "지요", "ᆯ까요", "을까요", "ᆯ래요", "을래요")
} | {"죠": "지"}
FUTURE = {"해요": "거예요", "합니다": "겁니다", "한다": "것이다", "해": "거야"}  # after -ㄹ
ADDRESS = re.compile(
    r"(^|\s)(네|아니요|응|아니|야|여보세요|안녕\w*|너\w{0,2}|넌|널|네가|니가|저기요)(?=[\s.?!]|$)|씨|,|'\w*[.?]$"
)
ORDER = re.compile(r"(Please|Let's|Shall|Why don't|Could|Would|Don't|Can you|Will you)\b|.*\bplease\b")
STATES = ("있", "없", "싶", "같")  # their 한다 is the plain form


def with_pronouns(text: str, tokens: Sequence[Token], words: Mapping[str, str]) -> str:
    """The text with other words for I and my; the tokens are its own."""
    for token in reversed(tokens):
        old = next((word for word in sorted(words, key=len, reverse=True) if text.startswith(word, token.start)), "")
        if token.tag == "NP" and token.form in ("저", "저희", "나") and old:
            text = text[: token.start] + words[old] + text[token.start + len(old) :]
    return text


def endings(tokens: Sequence[Token], is_question: bool, verbs: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Style and ending, for what stands before an ending."""
    last = tokens[-1]
    if last.tag == "EP":  # 었, 겠
        yield from (("해요", "어요"), ("합니다", "습니까" if is_question else "습니다"), ("한다", "다"), ("해", "어"))
        return
    is_noun, tag = last.tag in ("VCP", "VCN"), last.tag.partition("-")[0]
    if last.form in ("않", "못하") and tag == "VX":  # verb or adjective like the word that it negates
        tag = next(
            (one.tag.partition("-")[0] for one in reversed(tokens[:-1]) if one.tag[:2] in ("VV", "VA", "XS")), "VV"
        )
    is_verb = last.form not in STATES and (tag in ("VV", "XSV", "VX") or f"{last.form}다" in verbs)
    yield "해요", "에요" if is_noun else "어요"
    yield "합니다", "ᆸ니까" if is_question else "ᆸ니다"
    yield "한다", "ᆫ다" if is_verb else "다"
    yield "해", "야" if is_noun else "어"


def restyled(korean: str, english: Sequence[str], kiwi: Kiwi, verbs: frozenset[str]) -> dict[str, str]:
    """Style -> the sentence in it, without its own style. english: its translations; verbs: that are no adjectives."""
    tokens = kiwi.tokenize(korean)
    before, end, is_question = tokens[:-2], tokens[-2], korean.endswith("?")
    own = "해요" if end.form in SHORT else (QUESTIONS if is_question else STATEMENTS).get(end.form)
    is_odd = [token.tag for token in tokens].count("EF") != 1 or end.tag != "EF" or before[-1].form in ("시", "으시")
    if own is None or is_odd or ADDRESS.search(korean) or any(map(ORDER.match, english)):
        return {}
    begin = korean.rfind(" ") + 1
    word = [(token.form, token.tag) for token in before if token.start >= begin]
    others = [("해", SHORT[end.form])] if end.form in SHORT else list(endings(before, is_question, verbs))
    if not word or (own == "해" and not is_question and dict(others)["한다"] == "ᆫ다"):  # a command?
        return {}
    found = {}
    for style, ending in others:
        if style == own or (is_question and style == "한다"):
            continue
        said = kiwi.join([*word, (ending, "EF")]).replace(" ", "")
        said = re.sub("(계|주무|드)셔요", r"\1세요", said)
        if word[0][0] in ("거", "것") and before[-1].tag == "VCP":
            said = FUTURE[style].replace("니다", "니까" if is_question else "니다")
        if said.endswith("에요") and said[-3:-2] not in ("이", "니"):
            said = f"{said[:-2]}예요"
        text = korean[:begin]
        if (style in POLITE) != (own in POLITE):
            text = with_pronouns(
                text, [one for one in before if one.start < begin], HUMBLE if style in POLITE else PLAIN
            )
        found[style] = text + said + korean[-1]
    return found
