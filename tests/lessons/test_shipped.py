"""What the shipped lessons say is true of the shipped model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import transformer
from pages.registry import pages
from transformer.attribution import METHODS
from transformer.inference.pretrained import Pretrained
from transformer.lessons import Computed, Lesson, Question, parse_lesson
from transformer.lessons.answers import FUNCTIONS
from transformer.lessons.questions import is_right
from transformer.probing.alignment import gold_pairs
from transformer.probing.probes import probe_pairs
from transformer.tracing.trace import Trace

FOLDER = Path(__file__).resolve().parents[2] / "lessons"
LESSONS = {
    path.stem: parse_lesson(path.read_text(encoding="utf-8"), path.stem, [page.path for page in pages()])
    for path in sorted(FOLDER.glob("*.toml"))
}
QUESTIONS = [
    pytest.param(question, stop.view.params, id=f"{name}-{number}")
    for name, lesson in LESSONS.items()
    for number, stop in enumerate(lesson.stops, start=1)
    if (question := stop.question) is not None
]
SENTENCES = ("Yesterday I bought a new car.", "The dog sees the cat.", "Where do you live?")


@pytest.fixture(scope="module")
def model() -> Pretrained:
    return transformer.load("en-de")


@pytest.fixture(scope="module")
def traces(model: Pretrained) -> list[Trace]:
    return [model.trace(sentence) for sentence in SENTENCES]


def answers(model: Pretrained, trace: Trace, question: Question) -> tuple[tuple[str, ...], object]:
    right = question.answer_for(model, trace)
    return question.options_for(model, trace), right


def test_three_lessons_ship_with_twenty_five_questions_or_more() -> None:
    assert set(LESSONS) == {"attention-in-10-minutes", "paper-in-45-minutes", "reading-heads"}
    assert sum(len(lesson.questions) for lesson in LESSONS.values()) >= 25
    assert len(LESSONS["paper-in-45-minutes"].stops) >= 14


@pytest.mark.parametrize(("question", "params"), QUESTIONS)
def test_a_question_has_a_right_answer_for_any_sentence(
    model: Pretrained, traces: list[Trace], question: Question, params: tuple[tuple[str, str], ...]
) -> None:
    for trace in traces:
        options, right = answers(model, trace, question)
        if question.kind == "choose":
            assert right in options and len(options) > 1
        if question.kind in ("head", "cell"):
            assert right  # somebody can find one
        given = next(iter(right)) if isinstance(right, frozenset) else right
        text = (
            given if isinstance(given, str) else ", ".join(map(str, given)) if isinstance(given, tuple) else str(given)
        )
        assert is_right(question, text, right) is (None if question.kind == "text" else True)


def test_half_of_the_questions_change_with_the_sentence(model: Pretrained, traces: list[Trace]) -> None:
    asked = [question for lesson in LESSONS.values() for question in lesson.questions]
    changing = [one for one in asked if len({repr(answers(model, trace, one)) for trace in traces}) > 1]
    assert 2 * len(changing) >= len(asked), f"{len(changing)} of {len(asked)}"


def test_every_view_names_the_model_that_the_lesson_speaks_of() -> None:
    for lesson in LESSONS.values():
        for stop in lesson.stops:
            assert dict(stop.view.params).get("checkpoint") == "en-de" or stop.view.page in (
                "paper",
                "training",
                "anatomy",
            )


def by_title(name: str, title: str) -> Question:
    found = next(stop.question for stop in LESSONS[name].stops if stop.title == title)
    assert found is not None
    return found


def test_the_model_without_attention_fails_on_long_inputs() -> None:
    file = Path(transformer.__file__).parents[1] / "pages" / "anatomy" / "recorded.json"
    recorded = json.loads(file.read_text(encoding="utf-8"))
    column = recorded["lengths"].index(16)
    assert max(run[column] for run in recorded["no-attention"]["exact"]) < 0.1
    assert min(run[column] for name in ("attention", "transformer") for run in recorded[name]["exact"]) > 0.95
    assert by_title("paper-in-45-minutes", "What attention replaced").answer == "fewer than one in ten"


def test_without_scaling_the_largest_weights_grow(model: Pretrained, traces: list[Trace]) -> None:
    for trace in traces:
        for kind in ("encoder_self", "decoder_self", "cross"):
            before, after = (
                Computed("mean_largest_weight", {"kind": kind, "switches": switches}).answer(model, trace)
                for switches in ("", "scaling=off")
            )
            assert isinstance(before, float) and isinstance(after, float) and after > before


def test_the_learning_rate_is_largest_at_the_end_of_the_warm_up(model: Pretrained, traces: list[Trace]) -> None:
    rates = {
        step: FUNCTIONS["learning_rate"](model, traces[0], step, 512, 4000) for step in (1, 3999, 4000, 4001, 100_000)
    }
    assert max(rates, key=lambda step: rates[step]) == 4000


def test_numbers_in_the_texts(model: Pretrained) -> None:
    texts = " ".join(stop.text for lesson in LESSONS.values() for stop in lesson.stops)
    assert f"{len(gold_pairs())} sentence pairs" in texts and f"Over {len(probe_pairs(model))} sentences" in texts
    assert len(METHODS) == 9 and "Nine methods" in texts


def test_lessons_are_read_again_after_they_were_written() -> None:
    from transformer.lessons import to_toml

    for name, lesson in LESSONS.items():
        assert isinstance(lesson, Lesson) and parse_lesson(to_toml(lesson), name) == lesson
