"""A lesson on paper: its stops with QR codes, questions and room to write; the answers are a document of their own.

Both are HTML for the browser's print: A4, readable in black and white, without scripts and without the network. Texts
of lesson files are data: escaped, and of Markdown only what marks up text, no pictures and no links.
"""

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlencode

import segno
from markdown_it import MarkdownIt

from transformer.lessons.lesson import Lesson, Stop
from transformer.lessons.questions import PRESSED, Asked, Computed, Question, in_words, with_meaning
from transformer.texts import UserError, _, reader_language, translate

ROOM, SHORT = 3, 16  # lines to write an answer in words on; characters of an option that stands beside others


@dataclass(frozen=True)
class Setting:
    """What a stop is about where its view names nothing else: a model's name, and the sentence pair as typed."""

    checkpoint: str
    source: str
    target: str = ""


Evaluate = Callable[[Question, Setting], Asked]


@dataclass(frozen=True)
class Entry:
    """A stop on paper. link: opens it with its setting; asked, answer: its question for the open model and the right
    answer, as text; problem: why the open model has no answer."""

    number: int
    stop: Stop
    setting: Setting
    link: str
    asked: Asked = field(default_factory=Asked)
    answer: str = ""
    problem: str = ""

    @property
    def computed(self) -> bool:
        """Whether another sentence may have another answer."""
        question = self.stop.question
        return question is not None and any(isinstance(one, Computed) for one in (question.options, question.answer))


def settings(lesson: Lesson, start: Setting, opening: Callable[[str], Setting]) -> Iterator[Setting]:
    """The setting of every stop for a person who goes from the first to the last: what a stop does not name stays.
    opening: the setting that a model opens with."""
    now = start
    for stop in lesson.stops:
        named = dict(stop.view.params)
        if named.get("checkpoint", now.checkpoint) != now.checkpoint:
            now = opening(named["checkpoint"])
        if "source" in named:
            now = Setting(now.checkpoint, named["source"], named.get("target", ""))
        yield now


def entries(
    lesson: Lesson, server: str, start: Setting, opening: Callable[[str], Setting], evaluate: Evaluate
) -> tuple[Entry, ...]:
    """The stops as they are printed. server: the app's address; evaluate: a question for a setting."""
    made = []
    for number, (stop, setting) in enumerate(zip(lesson.stops, settings(lesson, start, opening), strict=True), start=1):
        named = dict(stop.view.params)
        params = {"lesson": lesson.name, "stop": str(number)}
        params |= {} if "checkpoint" in named else {"checkpoint": setting.checkpoint}
        params |= {} if "source" in named else {"source": setting.source}
        params |= {"target": setting.target} if setting.target and "source" not in named else {}
        asked, answer, problem = Asked(), "", ""
        if stop.question is not None:
            try:
                asked = evaluate(stop.question, setting)
                answer = "" if asked.right is None else in_words(asked.right, stop.question.kind)
            except UserError as error:
                problem = str(error)
        link = f"{server}?{urlencode(params)}"
        made.append(Entry(number, stop, setting, link, asked, answer, problem))
    return tuple(made)


def worksheet(lesson: Lesson, server: str, rows: tuple[Entry, ...]) -> str:
    """The sheet for students."""
    link = f"{server}?{urlencode({'lesson': lesson.name})}"
    lines = [
        f'<p class="names"><span>{_escape(_("Name"))}</span><span>{_escape(_("Date"))}</span></p>',
        f"<p>{_escape(translate(lesson.about))}</p>" if lesson.about else "",
        f"<p>{_escape(_('The lesson on a screen:'))} <b>{_escape(link)}</b>. "
        f"{_escape(_('A code opens its stop. Predict first, then look.'))}</p>",
    ]
    return _document(translate(lesson.title), "".join(lines), "".join(map(_stop, rows)))


def answer_sheet(lesson: Lesson, rows: tuple[Entry, ...]) -> str:
    """The sheet for the teacher: the answers to the questions of `worksheet`."""
    title = _("Answers: {lesson}", lesson=translate(lesson.title))
    note = _("Answers computed by the model hold for the sentence beside them; another sentence may have others.")
    heads = "".join(f"<th>{_escape(text)}</th>" for text in (_("No."), _("Question"), _("Right answer")))
    body = "".join(_answer(row, row.stop.question) for row in rows if row.stop.question is not None)
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    return _document(title, f"<p>{_escape(note)}</p>", table)


def _escape(text: str) -> str:
    return html.escape(" ".join(text.split()))


@cache
def markdown() -> MarkdownIt:
    """Emphasis, code and lists; links and pictures stay text, so that a sheet fetches nothing."""
    return MarkdownIt("commonmark", {"html": False}).disable(["link", "image", "autolink", "reference"])


def _code(link: str) -> str:
    """The QR code of a link, which a screen can press, too."""
    try:
        drawn = segno.make(link, micro=False, error="m").svg_inline(
            dark="#000", light="#fff", border=4, omitsize=True, svgclass=None
        )
    except segno.DataOverflowError:
        says = _("The link of this stop is too long for a code. Open the lesson instead.")
        return f'<p class="code">{_escape(says)}</p>'
    label = _escape(_("QR code of this stop"))
    return f'<a class="code" href="{html.escape(link)}" aria-label="{label}">{drawn}</a>'


def _sentence(setting: Setting) -> str:
    pair = (
        setting.source if not setting.target else _("{source} → {target}", source=setting.source, target=setting.target)
    )
    return f"<small>{_escape(_('Sentence: {sentence}', sentence=pair))}</small>"


def _output(row: Entry) -> str:
    """What a question is about and paper does not show: the tokens that it counts, or the translation."""
    if row.asked.pair is not None:
        return f"<p>{_escape(_('The model translates it: {translation}', translation=row.asked.pair[1]))}</p>"
    if not row.asked.tokens or row.stop.question is None:
        return ""
    tokens = "".join(f"<li>{_escape(with_meaning(*token))}</li>" for token in row.asked.tokens)
    return f'<p>{_escape(row.stop.question.names_tokens)}</p><ol class="tokens">{tokens}</ol>'


def _stop(row: Entry) -> str:
    number = row.stop.section
    section = f"<small>{_escape(_('Section {number} of the paper', number=number))}</small>" if number else ""
    text = f"<div>{markdown().render(translate(row.stop.text))}</div>"
    head = f"<h2>{row.number}. {_escape(translate(row.stop.title))}</h2>{section}"
    asked = _question(row, row.stop.question) if row.stop.question is not None else _lines(2)
    return f'<section class="stop">{_code(row.link)}{head}{text}{asked}</section>'


def _lines(count: int) -> str:
    return '<p class="line"></p>' * count


def _boxes(options: list[str]) -> str:
    """Options with a box to tick or to number; short ones, as tokens are, stand side by side."""
    boxes = "".join(f"<li>{_escape(option)}</li>" for option in options)
    return f'<ul class="boxes{"" if max(map(len, options)) > SHORT else " short-ones"}">{boxes}</ul>'


def _question(row: Entry, question: Question) -> str:
    ask = f"<p><b>{_escape(translate(question.ask))}</b></p>{_sentence(row.setting) if row.computed else ''}"
    ask += _output(row)
    options, meanings = row.asked.options, row.asked.meanings
    if question.kind == "choose" and options:
        why = f'<p class="short wide">{_escape(_("Why?"))}</p>'
        told = [with_meaning(translate(one), meanings.get(one, "")) for one in options]
        return f'<div class="question">{ask}{_boxes(told)}{why}</div>'
    if question.kind == "order" and options:
        hint = _escape(_("Number them in order."))
        return f'<div class="question">{ask}<p>{hint}</p>{_boxes(sorted(map(translate, options)))}</div>'
    places = {
        "head": _("Layer and head:"),
        "cell": _("Row and column:"),
        "row": _("Number of the row:"),
        "token": _("Number of the column:"),
        "shape": _("Shape, such as [1, 8, 5, 5]:"),
        "number": _("Number:"),
    }
    if question.kind in places:
        return f'<div class="question">{ask}<p class="short">{_escape(places[question.kind])}</p></div>'
    return f'<div class="question">{ask}{_lines(ROOM)}</div>'


def _answer(row: Entry, question: Question) -> str:
    if row.problem:
        answer = _("No answer here: {reason}.", reason=row.problem)
    elif not row.answer:
        answer = _("No single answer is right.")
    elif question.kind == "text":
        answer = _("For example: {answer}", answer=translate(row.answer))
    elif question.kind == "number" and question.tolerance:
        answer = _("{answer}, ±{tolerance:g} counts as right", answer=row.answer, tolerance=question.tolerance)
    elif question.kind in PRESSED or question.kind == "shape" or isinstance(question.answer, Computed):
        answer = row.answer
    else:
        answer = " → ".join(map(translate, row.asked.options)) if question.kind == "order" else translate(row.answer)
    why = f"<br><small>{_escape(translate(question.why))}</small>" if question.why else ""
    where = f"<br>{_sentence(row.setting)}" if row.computed else ""
    return (
        f"<tr><td>{row.number}</td><td>{_escape(translate(question.ask))}{where}</td>"
        f"<td><b>{_escape(answer)}</b>{why}</td></tr>"
    )


_STYLE = """
@page{size:A4;margin:15mm 16mm 18mm;@bottom-right{content:counter(page) " / " counter(pages);font:9pt sans-serif}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:178mm;color:#000;background:#fff;font:10.5pt/1.4 system-ui,"Segoe UI",sans-serif;
overflow-wrap:anywhere}
:lang(ko){word-break:keep-all;overflow-wrap:break-word}
h1{font-size:17pt;line-height:1.2;margin:0 0 2mm}h2{font-size:12pt;line-height:1.25;margin:0}
p{margin:1.2mm 0}small{font-size:9pt}code{font-family:ui-monospace,monospace;font-size:.95em}
ul{margin:1mm 0;padding-left:6mm}
.tokens{display:flex;flex-wrap:wrap;gap:0 9mm;margin:1mm 0;padding-left:6mm}
.names{display:flex;gap:8mm}.names span{flex:2;padding-top:5mm;border-bottom:.3mm solid #000}.names span+span{flex:1}
.stop{border-top:.3mm solid #000;padding:3mm 0;margin-top:3mm;break-inside:avoid;display:flow-root}
.code{float:right;width:32mm;margin:0 0 1mm 5mm}.code svg{display:block;width:100%}
.question{margin-top:2mm}
.boxes{list-style:none;padding:0}.short-ones{columns:4 28mm;column-gap:6mm}
.boxes li{break-inside:avoid;padding:.4mm 0 .4mm 6mm;text-indent:-6mm}
.boxes li::before{content:"";display:inline-block;width:3.4mm;height:3.4mm;margin-right:2.6mm;border:.3mm solid #000;
vertical-align:-.4mm}
.line{height:8mm;margin:0;border-bottom:.2mm solid #555;clear:both}
.short{display:flex;align-items:flex-end;gap:2mm;min-height:7mm;max-width:100mm}
.wide{max-width:none}.short::after{content:"";flex:1;border-bottom:.2mm solid #555}
table{width:100%;border-collapse:collapse}thead{display:table-header-group}tr{break-inside:avoid}
th,td{border:.2mm solid #000;padding:1.5mm 2mm;text-align:left;vertical-align:top}
th:first-child,td:first-child{width:14mm}
@media screen{body{padding:8mm}}
"""


def _document(title: str, lead: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="{html.escape(reader_language().code)}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{_escape(title)}</h1>{lead}</header>\n<main>{body}</main>\n</body>\n</html>\n"
    )
