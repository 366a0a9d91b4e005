"""Answers that the open model gives: against the trace by hand, and refusals in one sentence."""

import math

import pytest

from tests.support.build import tiny_pretrained
from transformer.lessons.answers import FUNCTIONS, AnswerError, check_arguments
from transformer.lessons.questions import Computed, Question, in_words, is_right
from transformer.tracing.trace import Trace

MODEL = tiny_pretrained()


@pytest.fixture(scope="module")
def trace() -> Trace:
    return MODEL.trace("ka lo mi vu", "lo mi ka")


def compute(trace: Trace, function: str, **arguments: int | float | str) -> object:
    check_arguments(function, arguments)
    return Computed(function, arguments).answer(MODEL, trace)


def test_weights_and_tokens_are_those_of_the_trace(trace: Trace) -> None:
    weights = trace.cross.weights[1, 0]
    column = int(weights[2].argmax())
    place = {"kind": "cross", "layer": 2, "head": 1, "row": 3}
    assert compute(trace, "largest_key", **place) == trace.source_labels[column]
    assert compute(trace, "largest_cell", **place) == f"3,{column + 1}"
    assert compute(trace, "weight", **place, column=column + 1) == pytest.approx(float(weights[2, column]))
    read = trace.source_labels[int(trace.encoder_self.weights[1, 0, -1].argmax())]
    assert compute(trace, "largest_key", kind="encoder_self", layer=2, head=1, row="</s>") == read
    assert compute(trace, "row_sum", **place) == pytest.approx(1, abs=1e-6)
    assert compute(trace, "even_weight", side="source") == 1 / len(trace.source_ids)
    p = weights[2].double()
    assert compute(trace, "row_entropy", **place) == pytest.approx(float(-(p * p.log()).sum() / math.log(len(p))))
    assert compute(trace, "output_token", step=2) == trace.target_out_labels[1]
    assert compute(trace, "fed_token", step=2) == trace.target_in_labels[1]
    assert compute(trace, "probability", step=2) == pytest.approx(float(trace.probabilities[1]))
    *written, end = zip(trace.probabilities.tolist(), trace.target_out_labels, strict=True)
    assert end[1] == "</s>" and compute(trace, "least_certain") == min(written)[1]
    assert compute(trace, "token_count", side="source") == len(trace.source_ids)
    by_label = compute(
        trace, "largest_key", kind="cross", layer=1, head=1, row=trace.target_in_labels[1], reading="fed"
    )
    assert by_label == trace.source_labels[int(trace.cross.weights[0, 0, 1].argmax())]


def test_the_mask_hides_what_comes_later(trace: Trace) -> None:
    steps = len(trace.target_out_ids)
    assert [compute(trace, "zeros_by_mask", row=row) for row in range(1, steps + 1)] == [*range(steps - 1, -1, -1)]


def test_shapes_and_sizes(trace: Trace) -> None:
    config, (source, target) = MODEL.config, (len(trace.source_ids), len(trace.target_in_ids))
    d_k = config.d_model // config.heads
    assert compute(trace, "shape", tensor="cross.weights") == (1, config.heads, target, source)
    assert compute(trace, "shape", tensor="encoder_self.queries") == (1, config.heads, source, d_k)
    assert compute(trace, "shape", tensor="encoder_output") == (1, source, config.d_model)
    assert compute(trace, "scale") == math.sqrt(d_k) and compute(trace, "size", name="d_k") == d_k
    assert compute(trace, "size", name="parameters") == MODEL.model.parameter_count()


def test_switches_change_what_they_should(trace: Trace) -> None:
    with_scaling = compute(trace, "mean_largest_weight", kind="encoder_self")
    without = compute(trace, "mean_largest_weight", kind="encoder_self", switches="scaling=off")
    assert isinstance(without, float) and isinstance(with_scaling, float) and without > with_scaling
    assert compute(trace, "translation") == MODEL.translate("ka lo mi vu").text


def test_numbers_of_the_paper(trace: Trace) -> None:
    assert compute(trace, "path_length", layer="attention", tokens=20) == 1
    assert compute(trace, "path_length", layer="recurrent", tokens=20) == 20
    assert compute(trace, "steps_in_turn", layer="recurrent", tokens=20) == 21  # the inputs at once, then each state
    assert compute(trace, "learning_rate", step=4000, d_model=512, warmup=4000) == pytest.approx(512**-0.5 * 4000**-0.5)
    assert compute(trace, "bleu", hypothesis="a b c d e", reference="a b c d e") == pytest.approx(100)


def test_heads_by_offset_are_those_that_show_it(trace: Trace) -> None:
    weights = trace.encoder_self.weights
    rows = range(1, weights.shape[-1])
    wanted = {
        f"{layer + 1}.{head + 1}"
        for layer in range(weights.shape[0])
        for head in range(weights.shape[1])
        if sum(int(weights[layer, head, row].argmax()) == row - 1 for row in rows) / len(rows) >= 0.3
    }
    assert compute(trace, "heads_on", kind="encoder_self", offset="previous", least=0.3) == wanted


REFUSED = {
    "no such layer": ("row_sum", {"kind": "cross", "layer": 9, "head": 1, "row": 1}, "no layer 9, head 1; .*2 layers"),
    "no such token": ("largest_key", {"kind": "cross", "layer": 1, "head": 1, "row": "zz"}, "no row is named 'zz'"),
    "no such row": ("row_sum", {"kind": "cross", "layer": 1, "head": 1, "row": 99}, "no row 99; there are 6"),
    "no such kind": ("row_sum", {"kind": "crossed", "layer": 1, "head": 1, "row": 1}, "unknown attention kind"),
    "one visible token": ("row_entropy", {"kind": "decoder_self", "layer": 1, "head": 1, "row": 1}, "one token only"),
    "no such tensor": ("shape", {"tensor": "cross.mask"}, "no tensor is named 'cross.mask'"),
    "no such size": ("size", {"name": "depth"}, "no size is named 'depth'"),
    "no such side": ("token_count", {"side": "left"}, "choose source or target"),
    "no such offset": ("heads_on", {"kind": "cross", "offset": "far", "least": 0.5}, "choose previous, same or next"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_an_answer_that_is_not_there_is_refused_in_one_sentence(trace: Trace, name: str) -> None:
    function, arguments, message = REFUSED[name]
    with pytest.raises(AnswerError, match=message):
        compute(trace, function, **arguments)


def test_every_function_is_documented_and_takes_numbers_and_texts() -> None:
    for name, function in FUNCTIONS.items():
        assert function.__doc__, name
    with pytest.raises(AnswerError, match="must be a number"):
        check_arguments("heads_on", {"kind": "cross", "offset": "same", "least": "half"})
    with pytest.raises(AnswerError, match="a whole number or a text"):
        check_arguments("row_sum", {"kind": "cross", "layer": 1, "head": 1, "row": 1.5})


def test_what_is_pressed_is_named_in_words() -> None:
    assert in_words("2.5", "head") == "layer 2, head 5" and in_words("3,2", "cell") == "row 3, column 2"
    assert in_words("3", "row") == "row 3" and in_words("2", "token") == "column 2"
    assert in_words(frozenset({"3.1", "2.5"}), "head") == "layer 2, head 5; layer 3, head 1"
    assert in_words("2.5") == in_words("2.5", "choose") == "2.5" and in_words("<b>", "head") == "<b>"


def test_a_question_about_a_row_of_the_decoder_needs_the_output() -> None:
    def asks(function: str, **arguments: str | int) -> bool:
        return Question("number", "?", Computed(function, arguments)).asks_for_a_step

    assert asks("largest_key", kind="cross", row=2) and asks("zeros_by_mask", row=1)
    assert not asks("largest_key", kind="encoder_self", row=2) and not asks("row_sum", kind="cross", row=2)
    assert Question("text", "?", Computed("translation")).asks_for_a_translation
    assert not asks("scale") and not Question("number", "?", 3.0).asks_for_a_step
    assert Question("number", "?", Computed("zeros_by_mask", {"row": 1})).asks_for_the_mask
    assert not Question("number", "?", Computed("row_entropy", {"row": 1})).asks_for_the_mask


def test_what_counts_as_right() -> None:
    assert is_right(Question("choose", "?"), "cat", "cat") and not is_right(Question("choose", "?"), "dog", "cat")
    number = Question("number", "?", tolerance=0.05)
    assert is_right(number, "0.52", 0.5) and is_right(number, "0,52", 0.5) and not is_right(number, "0.56", 0.5)
    assert not is_right(number, "about half", 0.5)
    assert is_right(Question("number", "?"), "0.3", 0.1 + 0.2)  # without a tolerance only rounding is forgiven
    assert is_right(number, "０．５", 0.5) and is_right(number, ".5", 0.5) and is_right(number, ",5", 0.5)
    assert is_right(number, "\u22120.5", -0.5) and is_right(number, "－０，５", -0.5) and not is_right(number, ".", 0.5)
    assert is_right(Question("shape", "?"), "［１，８］", (1, 8))
    assert is_right(Question("shape", "?"), "[1, 8, 5,7]", (1, 8, 5, 7)) and not is_right(
        Question("shape", "?"), "8, 5", (1, 8)
    )
    assert is_right(Question("head", "?"), "2.5", frozenset({"2.5", "3.1"})) and not is_right(
        Question("head", "?"), "1.1", frozenset({"2.5"})
    )
    assert is_right(Question("order", "?"), ("a", "b"), ("a", "b")) and not is_right(
        Question("order", "?"), ("b", "a"), ("a", "b")
    )
    assert is_right(Question("text", "?"), "because", "an example") is None
