"""Where does a head put much weight on a word, and where does a neuron fire: in the probe set, or in a text of one's
own."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from pages.components import task
from pages.components.descriptions import stack_name
from pages.components.file_field import file_field
from pages.components.one_head import choose_head, kind_names
from pages.components.probing import pairs_of
from pages.components.sentences import paragraph, point
from pages.components.translation import table
from pages.frame.frame import PageFrame
from pages.frame.messages import capital, message
from pages.frame.state import add_notices
from pages.runtime.session import reported
from pages.runtime.shared import SharedCache, identity, shared
from pages.runtime.texts import plain_markdown
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import layers_of
from transformer.model.tap import STACKS
from transformer.probing.search import (
    LONGEST,
    MOST_LINES,
    READINGS,
    Found,
    Hit,
    Read,
    SearchError,
    lines_of,
    read,
    read_lines,
    search_attention,
    search_neuron,
)
from transformer.texts import _
from transformer.tracing.trace import KINDS
from transformer.training.data import Pair
from transformer.view.training_messages import FileError, read_file

OPTIONS = ("what", "head", "least", "from", "to", "row_reading", "stack", "layer", "neuron", "fires")
OWN, FILE = "roles_own_text", "roles_file"
SHOWN = 12  # examples
MOST_CHARACTERS = MOST_LINES * LONGEST // 5
Result = tuple[tuple[Pair, ...], Found]
JOBS: SharedCache[Result] = SharedCache("searches of texts")


@dataclass(frozen=True)
class Question:
    """what: "head" or "neuron"; place: kind or stack, layer, head or neuron, the numbers from 0; the others as in
    `transformer.probing.search`."""

    what: str
    place: tuple[str, int, int]
    least: float
    start: str
    end: str
    reading: str

    def answer(
        self,
        model: Pretrained,
        pairs: tuple[Pair, ...],
        progress: task.Progress = lambda done, total: True,
        reads: tuple[Read, ...] | None = None,
    ) -> Found:
        name, layer, number = self.place
        if self.what == "neuron":
            return search_neuron(model, pairs, name, layer, number, self.least, self.start, progress, reads)
        return search_attention(
            model, pairs, name, layer, number, self.least, self.start, self.end, self.reading, progress, reads
        )


@shared(queued=True)
def weights_of_heads(model: Pretrained) -> tuple[Read, ...]:
    """The probe set with the weights of every head: 3 MB for en-de."""
    return tuple(read(model, pairs_of(model), [f"{kind}.weights" for kind in KINDS]))


@shared(queued=True)
def activations(model: Pretrained, stack: str, layer: int) -> tuple[Read, ...]:
    """The probe set with what every neuron of a layer gives out: 6 MB for en-de."""
    return tuple(read(model, pairs_of(model), (f"{stack}_ff.activation",), layer))


@shared()
def in_probe_set(model: Pretrained, question: Question) -> Found:
    stack, layer, _number = question.place
    reads = activations(model, stack, layer) if question.what == "neuron" else weights_of_heads(model)
    return question.answer(model, pairs_of(model), reads=reads)


def draw(frame: PageFrame) -> None:
    head = st.container()
    names = {"head": _("A head"), "neuron": _("A neuron")}
    what = frame.options.labelled("what", _("Search"), names)
    question = _head_question(frame) if what == "head" else _neuron_question(frame)
    with frame.options.panel("own", _("Search a text of your own")):
        label = _("One sentence a line, at most {count}; a translation may follow after a tab", count=f"{MOST_LINES:,}")
        own = st.text_area(label, key=OWN, height=160, max_chars=MOST_CHARACTERS)
        label = _("Search a text file of up to {count} lines", count=f"{MOST_LINES:,}")
        file_field(FILE, label, ".txt,.tsv", _file_chosen)
    if own.strip():
        result = _in_text(frame.model, question, own)
    else:
        pairs = pairs_of(frame.model)
        if not pairs:
            point(_("Type a text of your own to search: there is no probe set for this model's languages."), head)
            return
        result = (pairs, in_probe_set(frame.model, question))
    if result is None:
        point(_("Where does this head, or this neuron, find something? Search a whole text."), head)
        return
    point(_says(question, *result), head)
    _shown(frame, question, *result)


def _file_chosen() -> None:
    """Callback: put the text of a file into the field, or say why not and leave the field as it is."""
    try:
        file = read_file(reported(FILE, "file"))
        if file is None:
            return
        try:
            text = file.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise SearchError("byte {byte:,} is not UTF-8; save the file as UTF-8", byte=error.start + 1) from error
        if "\0" in text:
            raise SearchError("it has a zero byte; choose a text file")
        lines = lines_of(text)
        if len(text) > MOST_CHARACTERS:
            raise SearchError(
                "the text has {count:,} characters; at most {most:,} are searched, so shorten it",
                count=len(text),
                most=MOST_CHARACTERS,
            )
    except (FileError, SearchError) as error:
        add_notices(_("The file cannot be searched: {error}.", error=error))
        return
    st.session_state[OWN] = "\n".join(lines)


def _head_question(frame: PageFrame) -> Question:
    options = frame.options
    first, second, third = st.columns([2, 1, 1], vertical_alignment="bottom")
    with first:
        head = choose_head(options, "head", frame.model.config)
    least = options.at(second).fraction("least", _("Weight of at least"), 0.01, 1.0, 0.5, 0.05, "%.2f")
    reading = READINGS[0]
    with third:
        if head[0] != "encoder_self":
            readings = {"predicted": _("token predicted"), "fed": _("token fed in")}
            label = _("A decoder row is read by the")
            reading = str(options.choose("row_reading", label, READINGS, READINGS[0], readings.__getitem__))
    left, right = st.columns(2)
    start = options.at(left).text("from", _("From the word (a row; walk*: any ending; empty: any)"), 40)
    end = options.at(right).text("to", _("To the word (a column; walk*: any ending; empty: any)"), 40)
    return Question("head", head, least, start, end, reading)


def _neuron_question(frame: PageFrame) -> Question:
    config, options = frame.model.config, frame.options
    columns = st.columns(5, vertical_alignment="bottom")
    stack = str(options.at(columns[0]).choose("stack", _("Stack"), STACKS, STACKS[0], stack_name))
    layer = options.at(columns[1]).number("layer", _("Layer"), 1, max(1, layers_of(config, stack)), 1)
    neuron = options.at(columns[2]).number("neuron", _("Neuron"), 1, config.d_ff, 1)
    fires = options.at(columns[3]).fraction("fires", _("Activation of at least"), 0.0, 1000.0, 0.5, 0.1, "%.1f")
    start = options.at(columns[4]).text("from", _("On the word (walk*: any ending; empty: any)"), 40)
    return Question("neuron", (stack, layer - 1, neuron - 1), fires, start, "", READINGS[0])


def _in_text(model: Pretrained, question: Question, text: str) -> Result | None:
    def work(progress: task.Progress) -> Result:
        pairs = tuple(read_lines(model, text, lambda done, total: progress(done, 2 * total)))
        found = question.answer(model, pairs, lambda done, total: progress(len(pairs) + done, 2 * len(pairs)))
        return pairs, found

    try:
        lines_of(text)  # what it refuses is said before the viewer starts the search
        return _searched(model, question, text, work)
    except SearchError as error:
        message(capital(error) + ".", "error")
        return None


def _searched(
    model: Pretrained, question: Question, text: str, work: Callable[[task.Progress], Result]
) -> Result | None:
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
    lines = sum(map(bool, map(str.strip, lines_of(text))))
    label = _("Search {count} lines", count=f"{lines:,}")
    return task.result(JOBS, (model.name, identity(model), question, digest), label, work)


def _says(question: Question, pairs: tuple[Pair, ...], found: Found) -> str:
    name, layer, number = question.place
    values = {
        "count": f"{found.count:,}", "rows": f"{found.rows:,}", "sentences": f"{len(pairs):,}", "layer": layer + 1,
        "number": number + 1, "least": f"{question.least:g}",
    }  # fmt: skip
    if question.what == "neuron":
        text = _(
            "Neuron {number} of {stack} layer {layer} is at least {least} on {count} of {rows} tokens in {sentences} "
            "sentences."
        )
        return text.format(**values, stack=stack_name(name))
    text = _(
        "{kind}, layer {layer}, head {number}, has {count} weights of at least {least} in {rows} rows of {sentences} "
        "sentences."
    )
    return text.format(**values, kind=kind_names()[name])


def _shown(frame: PageFrame, question: Question, pairs: tuple[Pair, ...], found: Found) -> None:
    if not found.count:
        paragraph(_("Nothing was found. Lower the smallest value, or leave a word empty."))
        return
    left, right = st.columns([2, 3], gap="medium")
    with left:
        rows = [
            (f"{start or '–'} → {end or '–'}" if question.what == "head" else start or "–", f"{count:,}")
            for (start, end), count in found.pairs[:SHOWN]
        ]
        st.html(table((_("most frequent"), _("how often")), rows, "hs-roles-shares"))
        paragraph(_("–: a token that belongs to no word, such as </s>."), quiet=True)
    with right:
        paragraph(_("The largest values; press one to open its sentence."))
        for hit in found.hits[:SHOWN]:
            _link(frame, question, pairs[hit.pair], hit)


def _link(frame: PageFrame, question: Question, pair: Pair, hit: Hit) -> None:
    name, layer, number = question.place
    source, target = pair
    words = " → ".join(word or "–" for word in hit.words if word or question.what == "head")
    text = plain_markdown(f"{hit.value:.2f} · {words} · {source}")
    if question.what == "neuron":
        page = "feedforward"
        params = {"part": "neurons", "stack": name, "layer": str(layer + 1), "token": str(hit.row + 1),
                  "neuron": str(number + 1)}  # fmt: skip
    else:
        page = "heads"
        cell = f"{hit.row + 1},{(hit.column or 0) + 1}"
        params = {"kind": name, "layer": str(layer + 1), "head": str(number + 1), "cell": cell}
    st.page_link(frame.link_to(page), label=text, query_params={"source": source, "target": target, **params})
