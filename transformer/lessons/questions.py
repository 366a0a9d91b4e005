"""Questions: a prediction is made first, then compared with what the open model does."""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field

from transformer.inference.pretrained import Pretrained
from transformer.lessons.answers import FUNCTIONS, Answer
from transformer.texts import _
from transformer.tracing.trace import Trace

# choose: one of the options; number: within the tolerance; cell, head, row, token: pressed in the picture; order: the
# options in their right order; shape: such as 1, 8, 5, 5; text: free, with an example of a good answer.
KINDS = ("choose", "number", "cell", "head", "row", "token", "order", "shape", "text")
PRESSED = ("cell", "head", "row", "token")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d+)?|[.,]\d+)")
_PLACES = {  # what is pressed, as links and files write it
    "head": re.compile(r"(\d+)\.(\d+)"), "cell": re.compile(r"(\d+),(\d+)"),
    "row": re.compile(r"(\d+)"), "token": re.compile(r"(\d+)"),
}  # fmt: skip


@dataclass(frozen=True)
class Computed:
    """An answer that one of `answers.FUNCTIONS` gives; arguments: texts and numbers, by name."""

    function: str
    arguments: Mapping[str, int | float | str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((self.function, tuple(self.arguments.items())))

    def answer(self, model: Pretrained, trace: Trace) -> Answer:
        """Raises AnswerError if this model or sentence has no such layer, row or token."""
        return FUNCTIONS[self.function](model, trace, **self.arguments)


@dataclass(frozen=True)
class Question:
    """kind: one of KINDS. options: of "choose" and "order", or a function that gives them. answer: the right one, None
    for "text" without an example. tolerance: how far a number may be off. why: one sentence, shown with the answer.
    cover: whether what gives the answer away stays covered until somebody has answered."""

    kind: str
    ask: str
    answer: str | float | tuple[str, ...] | Computed | None = None
    options: tuple[str, ...] | Computed = ()
    tolerance: float = 0.0
    why: str = ""
    cover: bool = False

    @property
    def asks_for_a_step(self) -> bool:
        """Whether it names a row of the decoder, which nobody knows without the output."""
        answer = self.answer
        return (
            isinstance(answer, Computed)
            and "row" in answer.arguments
            and answer.function != "row_sum"  # the same for all rows
            and answer.arguments.get("kind") != "encoder_self"
        )

    @property
    def asks_for_the_mask(self) -> bool:
        """Whether it counts what the mask hides: columns, which are the tokens that the decoder is fed."""
        return isinstance(self.answer, Computed) and self.answer.function == "zeros_by_mask"

    @property
    def names_tokens(self) -> str:
        """What stands above the numbered tokens of `Asked.tokens`."""
        if self.asks_for_the_mask:
            return _("What the decoder is fed, token by token:")
        return _("What the model writes, token by token:")

    @property
    def asks_for_a_translation(self) -> bool:
        return isinstance(self.answer, Computed) and self.answer.function == "translation"

    def options_for(self, model: Pretrained, trace: Trace) -> tuple[str, ...]:
        """Raises AnswerError."""
        if isinstance(self.options, Computed):
            found = self.options.answer(model, trace)
            return tuple(map(str, found)) if isinstance(found, tuple) else (str(found),)
        return self.options

    def answer_for(self, model: Pretrained, trace: Trace) -> Answer | None:
        """The right answer for the open model and sentence. Raises AnswerError."""
        return self.answer.answer(model, trace) if isinstance(self.answer, Computed) else self.answer


@dataclass(frozen=True)
class Asked:
    """A question for the open model and sentence. right: None where nothing is right or wrong. tokens: where the
    question names a row of the decoder by its number alone, its tokens with their meanings: those it predicts, or,
    where the question is about the mask (`Question.asks_for_the_mask`), those it is fed. pair: the sentence and the
    model's translation, where the question is about another one. meanings: of options that are tokens. A meaning is
    for this reader, and left out where the list has none."""

    options: tuple[str, ...] = ()
    right: Answer | None = None
    tokens: tuple[tuple[str, str], ...] = ()
    pair: tuple[str, str] | None = None
    meanings: Mapping[str, str] = field(default_factory=dict)


def with_meaning(token: str, meaning: str) -> str:
    """A token as a list shows it: habe (have)."""
    return f"{token} ({meaning})" if meaning else token


def plain(text: str) -> str:
    """What is typed for numbers, in ASCII: full-width digits and signs, and the minus sign U+2212."""
    return unicodedata.normalize("NFKC", text).replace("\u2212", "-").strip()


def number_in(text: str) -> float | None:
    """A number as typed, with a point or a comma; None for another text."""
    text = plain(text)
    return float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else None


def numbers(text: str) -> tuple[float, ...]:
    """The numbers in a text: "[1, 8, 5, 5]" gives 1, 8, 5, 5. A comma between digits separates, followed by a space or
    not; a decimal number has a point."""
    return tuple(float(found) for found in re.findall(r"[+-]?\d+(?:\.\d+)?", plain(text)))


def in_words(answer: Answer | tuple[str, ...], kind: str = "") -> str:
    """An answer as people read it. kind: of its question; what is pressed in a picture is named: "2.5" is layer 2,
    head 5."""
    if isinstance(answer, frozenset):
        heads = sorted(answer, key=lambda one: [int(part) for part in re.findall(r"\d+", one)])
        return "; ".join(in_words(one, kind) for one in heads) or _("none")
    if isinstance(answer, str) and kind in _PLACES and (place := _PLACES[kind].fullmatch(answer)):
        first, second = (*place.groups(), "")[:2]
        return {
            "head": _("layer {first}, head {second}"),
            "cell": _("row {first}, column {second}"),
            "row": _("row {first}"),
            "token": _("column {first}"),
        }[kind].format(first=first, second=second)
    if isinstance(answer, tuple):
        return " → ".join(map(str, answer)) if isinstance(answer[0], str) else f"[{', '.join(map(str, answer))}]"
    return f"{answer:,.4g}" if isinstance(answer, int | float) else answer


def is_right(question: Question, given: str | tuple[str, ...], right: Answer | None) -> bool | None:
    """Whether an answer is right; None where there is no right and wrong.

    given: the text chosen, typed or pressed ("3,2" for a cell, "2.5" for layer 2, head 5), or for "order" the options
    in the order given.
    """
    if right is None or question.kind == "text":
        return None
    if question.kind == "order":
        return isinstance(right, tuple) and tuple(given) == tuple(map(str, right))
    text = given if isinstance(given, str) else ",".join(given)
    if question.kind == "shape":
        return isinstance(right, tuple) and numbers(text) == tuple(float(size) for size in right if size is not None)
    if isinstance(right, frozenset):
        return text.strip() in right
    if question.kind == "number":
        found = number_in(text)
        if found is None or isinstance(right, tuple):
            return False
        return abs(found - float(right)) <= question.tolerance + 1e-9
    return text.strip() == str(right).strip()
