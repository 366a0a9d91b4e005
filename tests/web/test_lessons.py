"""The lessons of a site: the files hold what the lessons say, and the browser computes what Python computes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support import node
from transformer.inference.pretrained import Pretrained, load
from transformer.lessons import Computed
from transformer.lessons.answers import FUNCTIONS, AnswerError
from transformer.lessons.questions import in_words
from transformer.texts import UserError, in_language, translate
from transformer.view.languages import load_language
from transformer.web.lessons import CONSTANT, lessons, markdown_tree, write_lessons

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = "lesson/testing/answers.js"
HEAD = {"kind": "cross", "layer": 2, "head": 1}
SENTENCES = [("stone", ""), ("abcabc", "cb"), ("a", "")]
ASKED = [
    *(Computed("largest_key", {**HEAD, "kind": kind, "row": 2}) for kind in ("encoder_self", "decoder_self", "cross")),
    Computed("largest_key", {**HEAD, "row": "</s>"}),
    Computed("largest_key", {**HEAD, "row": "<s>", "reading": "fed"}),
    Computed("largest_cell", {**HEAD, "row": 1}),
    Computed("weight", {**HEAD, "row": 2, "column": 1}),
    Computed("weight", {**HEAD, "row": 1, "column": "</s>"}),
    Computed("row_sum", {**HEAD, "row": 1}),
    Computed("even_weight", {"side": "target"}),
    Computed("zeros_by_mask", {"row": 1}),
    Computed("row_entropy", {**HEAD, "row": 2}),
    *(Computed("heads_on", {"kind": kind, "offset": offset, "least": 0.3})
      for kind in ("encoder_self", "decoder_self", "cross") for offset in ("previous", "same", "next")),
    *(Computed("token_count", {"side": side}) for side in ("source", "target")),
    Computed("output_token", {"step": 2}),
    Computed("fed_token", {"step": 2}),
    Computed("probability", {"step": 1}),
    Computed("least_certain"),
    Computed("source_tokens"),
    Computed("target_tokens"),
    *(Computed("shape", {"tensor": tensor}) for tensor in ("cross.weights", "encoder_self.values", "logits")),
    *(Computed("size", {"name": name}) for name in ("all_heads", "d_k", "vocab_size")),
    Computed("scale"),
    *(Computed("mean_largest_weight", {"kind": kind, "switches": switches})
      for kind in ("cross", "decoder_self") for switches in ("", "scaling=off", "zero=cross.1 pad=2")),
    *(Computed("translation", {"switches": switches}) for switches in ("", "zero=cross.2", "causal=off pad=1")),
]  # fmt: skip
REFUSED = [
    (Computed("largest_key", {**HEAD, "row": 99}), "no_row"),
    (Computed("output_token", {"step": 0}), "no_row"),
    (Computed("largest_key", {**HEAD, "row": "zz"}), "no_label"),
    (Computed("row_sum", {"kind": "cross", "layer": 9, "head": 1, "row": 1}), "no_head"),
    (Computed("row_entropy", {**HEAD, "kind": "decoder_self", "row": 1}), "one_token"),
]
NEED_SERVER = [Computed("size", {"name": "parameters"}), Computed("translation", {"switches": "positions=shuffle.1"})]


@pytest.fixture(scope="module")
def model() -> Pretrained:
    return load("reverse")


@pytest.fixture(scope="module")
def found(model: Pretrained) -> list[list[dict[str, Any]]]:
    """What the browser answers for each sentence."""
    asked = [
        {"function": one.function, "arguments": dict(one.arguments)}
        for one in (*ASKED, *(one for one, _ in REFUSED), *NEED_SERVER)
    ]
    given = [{"source": source, "target": target, "asked": asked} for source, target in SENTENCES]
    said = node.written(SCRIPT, model.path, given=given)
    answers: list[list[dict[str, Any]]] = json.loads(said)
    return answers


def plain(answer: object) -> Any:
    """An answer as JSON has it."""
    if isinstance(answer, frozenset):
        return sorted(answer)
    return list(answer) if isinstance(answer, tuple) else answer


def test_the_browser_computes_the_answers_that_python_computes(
    model: Pretrained, found: list[list[dict[str, Any]]]
) -> None:
    for (source, target), answers in zip(SENTENCES, found, strict=True):
        trace = model.trace(source, target or None)
        for computed, theirs in zip(ASKED, answers, strict=False):
            answer = computed.answer(model, trace)
            if isinstance(answer, float):
                assert theirs["answer"] == pytest.approx(answer, abs=1e-5), (source, computed)
            else:
                assert theirs == {"answer": plain(answer), "words": in_words(answer)}, (source, computed)


def test_an_answer_that_is_not_there_is_refused_in_the_browser_too(
    model: Pretrained, found: list[list[dict[str, Any]]]
) -> None:
    trace = model.trace(SENTENCES[0][0])
    for (computed, why), theirs in zip(REFUSED, found[0][len(ASKED) :], strict=False):
        assert theirs == {"error": why}
        with pytest.raises(AnswerError):
            computed.answer(model, trace)
    assert found[0][-len(NEED_SERVER) :] == [{"error": "needs_server"}] * len(NEED_SERVER)


def test_every_function_is_compared_or_computed_when_the_lesson_is_written() -> None:
    assert {one.function for one in ASKED}.isdisjoint(CONSTANT)
    assert {one.function for one in ASKED} | set(CONSTANT) == set(FUNCTIONS)


def test_numbers_are_read_alike_in_words(found: list[list[dict[str, Any]]]) -> None:
    numbers = [one for answers in found for one in answers if isinstance(one.get("answer"), int | float)]
    assert len(numbers) > 20
    for one in numbers:
        assert one["words"] == in_words(float(one["answer"]))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("site") / "lessons"
    names = write_lessons(folder, [load_language("en"), load_language("ko")], ["en-de", "ko-numbers"])
    assert names == ["en.json", "ko.json"] == sorted(path.name for path in folder.iterdir())
    return {Path(name).stem: json.loads((folder / name).read_text(encoding="utf-8")) for name in names}


def test_a_lesson_needs_the_models_that_it_speaks_of(tmp_path: Path) -> None:
    english = [load_language("en")]
    assert write_lessons(tmp_path, english, ["ko-numbers", "reverse"]) == ["en.json"]
    assert [one["name"] for one in json.loads((tmp_path / "en.json").read_bytes())] == ["numbers-in-korean"]
    assert write_lessons(tmp_path / "none", english, ["reverse"]) == [] and not (tmp_path / "none").exists()


def questions(lesson: dict[str, Any]) -> list[dict[str, Any]]:
    return [stop["question"] for stop in lesson["stops"] if stop["question"]]


def test_the_files_hold_what_the_lessons_say(written: dict[str, list[dict[str, Any]]]) -> None:
    for lesson, english, korean in zip(lessons(), written["en"], written["ko"], strict=True):
        assert (english["name"], english["title"], english["minutes"]) == (lesson.name, lesson.title, lesson.minutes)
        assert korean["title"] == load_language("ko").translations[lesson.title]
        for stop, one, other in zip(lesson.stops, english["stops"], korean["stops"], strict=True):
            assert (one["page"], one["params"]) == (stop.view.page or "heads", dict(stop.view.params))
            assert {**one, "title": 0, "text": 0, "question": 0} == {**other, "title": 0, "text": 0, "question": 0}
            assert other["text"] != one["text"]
        for question, one, other in zip(lesson.questions, questions(english), questions(korean), strict=True):
            assert (one["ask"], one["kind"], one["said"]) == (question.ask, question.kind, {})
            assert (one["options"], one["answer"]) == (other["options"], other["answer"])
            assert bool(one["tokens"]) is question.asks_for_a_step
            fixed = () if isinstance(question.options, Computed) else question.options
            with in_language(load_language("ko")):
                assert other["said"] == {text: translate(text) for text in fixed if translate(text) != text}


def test_an_answer_that_depends_on_its_arguments_alone_is_a_number(written: dict[str, list[dict[str, Any]]]) -> None:
    steps, bleu = [
        one["answer"] for lesson in written["en"] for one in questions(lesson) if isinstance(one["answer"], float)
    ]
    assert steps == 20 and bleu == pytest.approx(70.71, abs=0.01)  # 6 of 8 words, 5 of 7 pairs, 4 of 6, 3 of 5


def test_markdown_becomes_a_tree_of_elements() -> None:
    assert markdown_tree("One **bold** `<s>`\nline.") == [
        ["p", "One ", ["strong", "bold"], " ", ["code", "<s>"], " ", "line."]
    ]
    assert markdown_tree("- a\n- *b*") == [["ul", ["li", "a"], ["li", ["em", "b"]]]]
    assert markdown_tree("1. a\n\n2. b") == [["ol", ["li", ["p", "a"]], ["li", ["p", "b"]]]]
    assert markdown_tree("[l](u) ![i](u) <b>\\*") == [["p", "[l](u) ![i](u) <b>*"]]


def test_a_lesson_of_the_server_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text("title = 3", encoding="utf-8")
    monkeypatch.setenv("HEADSCOPE_LESSONS", str(tmp_path))
    with pytest.raises(UserError, match=r"mine\.toml cannot be read: line 1"):
        lessons()
