"""A lesson on paper: which sentence each stop is about, what its code opens, and that texts stay texts."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest
import segno

from transformer.lessons import Computed, Question, parse_lesson
from transformer.lessons.answers import AnswerError
from transformer.lessons.questions import Asked
from transformer.lessons.worksheet import Entry, Setting, answer_sheet, entries, settings, worksheet
from transformer.texts import in_language
from transformer.view.languages import load_language

SERVER = "http://10.0.0.7:8501/"
LESSON = parse_lesson(
    """
title = "One <i>head</i>"
about = "For *a* first look."

[[stop]]
title = "Before any sentence"
view = "paper"
text = "Look <script>alert(1)</script> at **this**, [here](http://elsewhere) and ![there](http://elsewhere/x.png)."

[[stop]]
title = "Its own"
section = "3.2.1"
view = "?checkpoint=tiny&source=ka+lo"
text = "A."
[stop.question]
kind = "choose"
ask = "Which <b>token</b>?"
options = {function = "source_tokens"}
answer = {function = "largest_key", kind = "cross", layer = 1, head = 1, row = 1}

[[stop]]
title = "The same sentence"
view = "?checkpoint=tiny&kind=cross"
text = "B."
[stop.question]
kind = "number"
ask = "What is the sum?"
answer = 1
tolerance = 0.1
why = "They are shares."

[[stop]]
title = "Another model"
view = "?checkpoint=other"
text = "C."
[stop.question]
kind = "order"
ask = "What comes first?"
options = ["scores", "softmax", "sum"]

[[stop]]
title = "The end"
view = "training"
text = "D."
[stop.question]
kind = "text"
ask = "Why?"
""",
    "one",
)


def opening(name: str) -> Setting:
    return Setting(name, f"first of {name}")


def evaluate(question: Question, setting: Setting) -> Asked:
    if isinstance(question.answer, Computed):
        return Asked(("ka", "<lo>"), f"key of {setting.source}", (("<re>", "if"), ("sta", "")), meanings={"ka": "at"})
    return Asked(question.options if isinstance(question.options, tuple) else (), question.answer)


@pytest.fixture(scope="module")
def rows() -> tuple[Entry, ...]:
    return entries(LESSON, SERVER, Setting("tiny", "mi vu", "re"), opening, evaluate)


def test_what_a_stop_does_not_name_stays_as_for_a_person_who_goes_through() -> None:
    found = list(settings(LESSON, Setting("tiny", "mi vu", "re"), opening))
    assert found == [
        Setting("tiny", "mi vu", "re"),
        Setting("tiny", "ka lo"),
        Setting("tiny", "ka lo"),
        Setting("other", "first of other"),
        Setting("other", "first of other"),
    ]


def test_a_code_opens_its_stop_with_its_sentence(rows: tuple[Entry, ...]) -> None:
    params = [dict(parse_qsl(urlsplit(row.link).query)) for row in rows]
    assert params[0] == {"lesson": "one", "stop": "1", "checkpoint": "tiny", "source": "mi vu", "target": "re"}
    assert params[1] == {"lesson": "one", "stop": "2"}  # its view names all
    assert params[2] == {"lesson": "one", "stop": "3", "source": "ka lo"}
    sheet = worksheet(LESSON, SERVER, rows)
    for row in rows:
        drawn = segno.make(row.link, micro=False, error="m").svg_inline(
            dark="#000", light="#fff", border=4, omitsize=True, svgclass=None
        )
        assert drawn in sheet
    assert sheet.count("<svg") == 5 and f"{SERVER}?lesson=one" in sheet


def test_texts_of_a_lesson_are_escaped_and_fetch_nothing(rows: tuple[Entry, ...]) -> None:
    for page in (worksheet(LESSON, SERVER, rows), answer_sheet(LESSON, rows)):
        assert "One &lt;i&gt;head&lt;/i&gt;" in page and "Which &lt;b&gt;token&lt;/b&gt;?" in page
        assert "<script" not in page and "<img" not in page
        assert set(re.findall(r'href="([^"]*)"', page)) <= {row.link.replace("&", "&amp;") for row in rows}
    assert "&lt;script&gt;alert(1)&lt;/script&gt; at <strong>this</strong>" in worksheet(LESSON, SERVER, rows)


def test_the_sheet_asks_and_the_other_one_answers(rows: tuple[Entry, ...]) -> None:
    sheet, answers = worksheet(LESSON, SERVER, rows), answer_sheet(LESSON, rows)
    assert "<li>ka (at)</li><li>&lt;lo&gt;</li>" in sheet and "Section 3.2.1 of the paper" in sheet
    assert '<ol class="tokens"><li>&lt;re&gt; (if)</li><li>sta</li></ol>' in sheet  # a row is asked for by its number
    assert "key of" not in sheet and "They are shares" not in sheet
    assert "<b>key of ka lo</b>" in answers and "Sentence: ka lo" in answers
    assert "<b>1, ±0.1 counts as right</b><br><small>They are shares.</small>" in answers
    assert "<b>scores → softmax → sum</b>" in answers and "No single answer is right." in answers
    assert answers.count("<tr>") == 1 + len(LESSON.questions)


def test_a_question_without_an_answer_says_why() -> None:
    def refuse(question: Question, setting: Setting) -> Asked:
        raise AnswerError("there is no {what} {place}; there are {count}", what="row", place=9, count=3)

    rows = entries(LESSON, SERVER, Setting("tiny", "mi"), opening, refuse)
    assert "No answer here: there is no row 9; there are 3." in answer_sheet(LESSON, rows)
    assert worksheet(LESSON, SERVER, rows).count('class="line"') == 2 + 3 * 3  # choose and order, too, have no options


def test_a_link_too_long_for_a_code_is_said(rows: tuple[Entry, ...]) -> None:
    long = entries(LESSON, SERVER, Setting("tiny", "a" * 3000), opening, evaluate)
    sheet = worksheet(LESSON, SERVER, long)
    assert sheet.count("<svg") == 4 and "too long for a code" in sheet


def test_korean_sheets_have_korean_labels_and_break_lines_between_words(rows: tuple[Entry, ...]) -> None:
    with in_language(load_language("ko")):
        sheet, answers = worksheet(LESSON, SERVER, rows), answer_sheet(LESSON, rows)
    assert "<th>번호</th><th>문제</th><th>정답</th>" in answers  # the button of the same English word is a verb
    for page in (sheet, answers):
        assert '<html lang="ko">' in page and ":lang(ko){word-break:keep-all" in page
        labels = re.sub(r"<(style|svg).*?</\1>", "", page, flags=re.DOTALL)
        for text in ("Name", "Date", "Section", "Sentence", "The lesson", "Why?", "Answer", "Number"):
            assert text not in re.sub("<[^>]*>", " ", labels)
