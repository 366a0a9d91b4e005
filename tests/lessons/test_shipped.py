"""What the shipped lessons say is true of the shipped model."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import transformer
from pages.registry import pages
from pages.results.table2 import rows
from transformer.attribution import METHODS
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.lessons import Computed, Lesson, Link, Question, Stop, parse_lesson
from transformer.lessons.answers import FUNCTIONS
from transformer.lessons.questions import is_right
from transformer.live_training.findings import numbers
from transformer.live_training.recordings import recording
from transformer.probing.probes import gold_pairs, probe_pairs
from transformer.text.numerals import read_numeral
from transformer.tracing.trace import Trace
from transformer.view.languages import load_language

FOLDER = Path(__file__).resolve().parents[2] / "lessons"
LESSONS = {
    path.stem: parse_lesson(path.read_text(encoding="utf-8"), path.stem, [page.path for page in pages()])
    for path in sorted(FOLDER.glob("*.toml"))
}
QUESTIONS = [
    pytest.param(name, question, id=f"{name}-{number}")
    for name, lesson in LESSONS.items()
    for number, stop in enumerate(lesson.stops, start=1)
    if (question := stop.question) is not None
]
SENTENCES = ("Yesterday I bought a new car.", "The dog sees the cat.", "Where do you live?")
KOREAN = "numbers-in-korean"
MODELS = {name: "ko-numbers" if name == KOREAN else "en-de" for name in LESSONS}  # lesson -> model that it speaks of
NUMBERS = ("이만 삼천오백육", "사억 육", "54321")


@pytest.fixture(scope="module")
def model() -> Pretrained:
    return transformer.load("en-de")


@pytest.fixture(scope="module")
def traces(model: Pretrained) -> list[Trace]:
    return [model.trace(sentence) for sentence in SENTENCES]


@pytest.fixture(scope="module")
def settings(model: Pretrained, traces: list[Trace]) -> dict[str, tuple[Pretrained, list[Trace]]]:
    """For each lesson its model, and sentences for it."""
    numbers = transformer.load("ko-numbers")
    found = {"en-de": (model, traces), "ko-numbers": (numbers, [numbers.trace(text) for text in NUMBERS])}
    return {name: found[model_name] for name, model_name in MODELS.items()}


def answers(model: Pretrained, trace: Trace, question: Question) -> tuple[tuple[str, ...], object]:
    right = question.answer_for(model, trace)
    return question.options_for(model, trace), right


def test_four_lessons_ship_with_thirty_questions_or_more() -> None:
    assert set(LESSONS) == {"attention-in-10-minutes", "numbers-in-korean", "paper-in-45-minutes", "reading-heads"}
    assert sum(len(lesson.questions) for lesson in LESSONS.values()) >= 30
    assert len(LESSONS["paper-in-45-minutes"].stops) >= 14


@pytest.mark.parametrize(("name", "question"), QUESTIONS)
def test_a_question_has_a_right_answer_for_any_sentence(
    settings: dict[str, tuple[Pretrained, list[Trace]]], name: str, question: Question
) -> None:
    model, traces = settings[name]
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


def test_half_of_the_questions_change_with_the_sentence(
    settings: dict[str, tuple[Pretrained, list[Trace]]],
) -> None:
    asked = [(*settings[name], question) for name, lesson in LESSONS.items() for question in lesson.questions]
    changing = [
        question
        for model, traces, question in asked
        if len({repr(answers(model, trace, question)) for trace in traces}) > 1
    ]
    assert 2 * len(changing) >= len(asked), f"{len(changing)} of {len(asked)}"


def test_every_view_names_the_model_that_the_lesson_speaks_of() -> None:
    for name, lesson in LESSONS.items():
        for stop in lesson.stops:
            assert dict(stop.view.params).get("checkpoint") == MODELS[name] or stop.view.page in (
                "paper",
                "training",
                "anatomy",
            )


def sentence_of(title: str) -> str:
    """The sentence that is open at a stop of the lesson on the paper: that of the last stop that names one."""
    sentence = ""
    for stop in LESSONS["paper-in-45-minutes"].stops:
        sentence = dict(stop.view.params).get("source", sentence)
        if stop.title == title:
            break
    return sentence


def text_of(title: str) -> str:
    return next(stop.text for stop in LESSONS["paper-in-45-minutes"].stops if stop.title == title)


def by_title(name: str, title: str) -> Question:
    found = next(stop.question for stop in LESSONS[name].stops if stop.title == title)
    assert found is not None
    return found


def looks(trace: Trace, layer: int, head: int) -> dict[str, str]:
    """For each token that is predicted, the source token at which a head of cross-attention looks most."""
    rows = trace.cross.weights[layer - 1, head - 1]
    return {
        label: trace.source_labels[int(row.argmax())] for label, row in zip(trace.target_out_labels, rows, strict=True)
    }


def test_the_model_without_attention_fails_on_long_inputs() -> None:
    file = Path(transformer.__file__).parents[1] / "pages" / "anatomy" / "recorded.json"
    recorded = json.loads(file.read_text(encoding="utf-8"))
    column = recorded["lengths"].index(16)
    assert max(run[column] for run in recorded["no-attention"]["exact"]) < 0.1
    assert min(run[column] for name in ("attention", "transformer") for run in recorded[name]["exact"]) > 0.95
    asked = by_title("paper-in-45-minutes", "What attention replaced")
    assert asked.answer == "fewer than one in ten"
    assert recorded["trained"] == 16 and "up to 16 letters" in asked.why


def test_without_scaling_the_largest_weights_grow(model: Pretrained, traces: list[Trace]) -> None:
    for trace in traces:
        for kind in ("encoder_self", "decoder_self", "cross"):
            before, after = (
                Computed("mean_largest_weight", {"kind": kind, "switches": switches}).answer(model, trace)
                for switches in ("", "scaling=off")
            )
            assert isinstance(before, float) and isinstance(after, float) and after > before


def test_the_word_that_is_said_to_be_cut_is_cut_in_the_sentence_of_its_stop(model: Pretrained) -> None:
    trace = model.trace(sentence_of("Words become tokens"))
    assert trace.source_labels[5:7] == ("guitar", "s")
    assert "s" not in model.trace(sentence_of("The whole model")).source_labels  # the stop before does not show it
    # A shape is only clear if no two of its sizes are the same.
    assert len({1, len(trace.source_labels), model.config.heads, model.config.d_model // model.config.heads}) == 4
    assert trace.target_out_labels[1] == "habe" and trace.target_out_labels.count("gekauft") == 1
    found = re.findall(r"layer (\d+), head (\d+)", by_title("paper-in-45-minutes", "One head looks").why)
    shown, other = (looks(trace, int(layer), int(head)) for layer, head in found)
    assert [label for label, at in shown.items() if at == "bought"] == ["habe"]
    assert other["habe"] == other["gekauft"] == "bought"


def test_what_gives_an_answer_away_is_covered() -> None:
    """But for questions whose answer the view does not have: it has to be multiplied or divided."""
    stops = LESSONS["paper-in-45-minutes"].stops
    training = next(stop for stop in stops if stop.title == "Learning to attend")
    assert dict(training.view.params) == {"step": "0"}  # the recording waits at its first step


@pytest.mark.parametrize("name", ["attention-in-10-minutes", "paper-in-45-minutes"])
def test_a_covered_picture_is_not_spoken_of_as_if_it_were_seen(name: str) -> None:
    seen = re.compile(r"\b(?:(?:the picture|the table|the page)(?! that opens)|this head)\b", re.IGNORECASE)
    covered = [stop for stop in LESSONS[name].stops if stop.question is not None and stop.question.cover]
    words = [f"{stop.text} {stop.question.ask}".replace("at the top of the page", "") for stop in covered]  # type: ignore[union-attr]
    assert len(words) > 1 and [text for text in words if seen.search(text)] == []


# -- no view before its question ---------------------------------------------------------------------------------------

READ_OFF = ("largest_key", "largest_cell", "weight", "row_entropy")  # from the picture of one head
WITHOUT_TOKENS = ("paper", "training", "results", "roles", "lessons")  # pages that do not show the sentence's tokens


def opened(lesson: Lesson) -> Iterator[tuple[Stop, str]]:
    """Every stop with the sentence that is open there: its own, or that of the last stop that names one."""
    sentence = ""
    for stop in lesson.stops:
        sentence = dict(stop.view.params).get("source", sentence)
        yield stop, sentence


def gives_away(view: Link, question: Question, own: Link) -> bool:
    """Whether an open view shows the right answer of a question, if both have one sentence; own: its stop's view."""
    params = dict(view.params)
    asked = question.answer
    if view == own and not (isinstance(asked, Computed) and asked.function == "translation"):  # of a changed model
        return True
    if not isinstance(asked, Computed):
        return False
    arguments = {name: str(value) for name, value in asked.arguments.items()}
    if asked.function in READ_OFF:
        head = {name: arguments[name] for name in ("kind", "layer", "head")}
        return view.page in ("", "lab") and head.items() <= params.items()
    if asked.function == "zeros_by_mask":
        return view.page in ("", "lab") and params.get("kind") == "decoder_self"
    if asked.function == "least_certain":
        return view.page in ("decoding", "attribution")
    if asked.function == "token_count":
        return view.page not in WITHOUT_TOKENS and params.get("zoom") != "model" and params.get("part") != "before"
    if asked.function == "translation":
        return view.page == "lab" and set(arguments["switches"].split("&")) <= {f"{k}={v}" for k, v in view.params}
    return False


def given_away(lesson: Lesson) -> list[tuple[str, str]]:
    """The covered questions whose answer an earlier stop has shown, or whose stop's text says it."""
    found, seen = [], list[tuple[Stop, str]]()
    for stop, sentence in opened(lesson):
        if stop.question is not None and stop.question.cover:
            for earlier, before in seen:
                if before == sentence and gives_away(earlier.view, stop.question, stop.view):
                    found.append((earlier.title, stop.title))
            words = {word for word in re.findall(r"\w+", sentence) if word.isascii()} | set(
                re.findall("[가-힣]", sentence)
            )
            looks = [
                part for part in re.split(r"[.?]\s", stop.text) if re.search(r"\blook(?:s|ed)? (?:most )?at\b", part)
            ]
            if any(word in re.findall(r"\w+", part) for part in looks for word in words - {"the", "in"}):
                found.append(("the text", stop.title))
        seen.append((stop, sentence))
    return found


@pytest.mark.parametrize("name", LESSONS)
def test_no_stop_shows_what_a_later_one_asks_to_predict(name: str) -> None:
    assert given_away(LESSONS[name]) == []


def test_a_lesson_that_gives_an_answer_away_is_found() -> None:
    first, second, *_ = LESSONS["attention-in-10-minutes"].stops
    same = replace(first, view=Link.parse(str(first.view).replace("The+children+are+playing+in+the+garden.", "x")))
    lesson = replace(LESSONS[KOREAN], stops=(same, replace(second, view=same.view)))
    assert given_away(lesson) == [(first.title, second.title)]
    said = replace(second, text="Every word looks at its translation: the second row at bought.")
    assert given_away(replace(lesson, stops=(first, said))) == [("the text", second.title)]


def test_questions_beside_an_open_view_are_about_what_one_looks_for_or_computes_from_it() -> None:
    shown = {
        name: [stop.title for stop in one.stops if stop.question and not stop.question.cover]
        for name, one in LESSONS.items()
    }
    assert shown == {
        "attention-in-10-minutes": ["Many heads", "No looking ahead"],
        KOREAN: ["Words for numbers"],
        "paper-in-45-minutes": ["The whole model", "Weights"],
        "reading-heads": ["Roles, with a baseline", "Does a head matter?"],
    }


def test_korean_lessons_name_parts_of_the_app_as_they_are_labelled_in_korean() -> None:
    korean = load_language("ko").translations
    texts = [
        text
        for lesson in LESSONS.values()
        for stop in lesson.stops
        for text in (stop.text, *([stop.question.ask, stop.question.why] if stop.question else []))
    ]
    named = [(text, name) for text in texts for name in re.findall("“([^”]*)”", text) if name in korean]
    assert {"The encoding", "After attention", "How is this cell computed?"} <= {name for _, name in named}
    assert [name for text, name in named if f"“{korean[name]}”" not in korean[text]] == []


def test_one_english_verb_becomes_two_german_words(model: Pretrained) -> None:
    stop = LESSONS["attention-in-10-minutes"].stops[1]
    params = dict(stop.view.params)
    trace = model.trace(params["source"])
    columns = looks(trace, int(params["layer"]), int(params["head"]))
    assert "“bought”" in stop.question.why and columns["habe"] == columns["gekauft"] == "bought"  # type: ignore[union-attr]
    assert trace.target_out_labels.index("habe") == 1


def test_the_first_two_rows_of_the_head_that_is_shown_look_at_words(traces: list[Trace]) -> None:
    """A sentence typed at such a stop asks for the largest cell of one of them."""
    for name in ("attention-in-10-minutes", "paper-in-45-minutes", "reading-heads"):
        assert "&layer=3&head=2&" in (FOLDER / f"{name}.toml").read_text(encoding="utf-8")
    for trace in traces:
        assert "</s>" not in list(looks(trace, 3, 2).values())[:2]


def test_most_short_sentences_do_not_need_cross_attention_of_layer_3(model: Pretrained, traces: list[Trace]) -> None:
    asked = by_title("reading-heads", "Does a head matter?")
    assert "For most short sentences it is the same" in asked.why
    same = [asked.answer_for(model, trace) == trace.target_text for trace in traces]
    assert sum(same) > len(traces) / 2


def test_a_cell_that_a_stop_presses_can_be_seen(settings: dict[str, tuple[Pretrained, list[Trace]]]) -> None:
    cells = [(name, stop.cell) for name, lesson in LESSONS.items() for stop in lesson.stops if stop.cell is not None]
    assert {name for name, _ in cells} >= {"attention-in-10-minutes", KOREAN}
    for name, cell in cells:
        model, traces = settings[name]
        for trace in traces:
            row, column = str(cell.answer(model, trace)).split(",")
            place = {**cell.arguments, "row": int(row), "column": int(column)}
            assert float(FUNCTIONS["weight"](model, trace, **place)) > 0.3  # type: ignore[arg-type]


def test_numbers_in_the_texts(model: Pretrained) -> None:
    texts = " ".join(stop.text for lesson in LESSONS.values() for stop in lesson.stops)
    assert f"{len(gold_pairs())} sentence pairs" in texts and f"Over {len(probe_pairs(model))} sentences" in texts
    assert len(METHODS) == 9 and "Nine methods" in texts


def test_every_sentence_about_one_row_holds(model: Pretrained, traces: list[Trace]) -> None:
    """Rows sum to 1; a row of the decoder sees itself and what comes before; a head has d_model / heads numbers for
    each token; the scores are divided by the root of that; the layers times the heads, three times."""
    config = model.config
    asked = {title: by_title("paper-in-45-minutes", title) for title in ("Weights", "The mask")}
    for trace in traces:
        assert asked["Weights"].answer_for(model, trace) == pytest.approx(1 / len(trace.source_labels))
        assert float(trace.cross.weights.double().sum(-1).sub(1).abs().max()) < 1e-6
        assert asked["The mask"].answer_for(model, trace) == len(trace.target_out_ids) - 3
        assert (
            by_title("attention-in-10-minutes", "No looking ahead").answer_for(model, trace)
            == len(trace.target_out_ids) - 1
        )
        shape = by_title("paper-in-45-minutes", "Queries, keys and values").answer_for(model, trace)
        assert shape == (1, config.heads, len(trace.source_ids), config.d_model // config.heads)
    assert config.encoder_layers == config.decoder_layers
    heads = by_title("paper-in-45-minutes", "The whole model").answer_for(model, traces[0])
    assert heads == 3 * config.encoder_layers * config.heads
    whole, why = text_of("The whole model"), by_title("paper-in-45-minutes", "The whole model").why
    assert f"{config.encoder_layers} layers each" in whole and f"{config.heads} **heads**" in whole
    assert why.startswith(f"{config.encoder_layers} layers × {config.heads} heads × 3 attentions")
    d_k = config.d_model // config.heads
    assert f"two lists of {d_k} numbers" in text_of("Weights") and f"√{d_k}" in text_of("Weights")
    assert f"here {d_k}." in text_of("Why divide by √dₖ?")
    assert f"{config.d_model} numbers" in (split := text_of("Queries, keys and values"))
    assert f"{config.heads} heads" in split
    shape = by_title("paper-in-45-minutes", "Queries, keys and values").why
    assert f"{config.d_model} ÷ {config.heads} = {d_k} numbers" in shape
    assert config.activation == "relu" and config.norm == "post" and config.residual  # "The rest of a layer"


def test_scores_of_lists_that_are_four_times_as_long_are_twice_as_large() -> None:
    assert by_title("paper-in-45-minutes", "Why divide by √dₖ?").answer == "about twice as large"
    random = torch.Generator().manual_seed(0)
    scores = [(torch.randn(2, 20_000, length, generator=random).prod(0)).sum(-1) for length in (64, 256)]
    assert float(scores[1].std() / scores[0].std()) == pytest.approx(2, abs=0.05)


def test_a_model_that_learned_with_the_mask_is_confused_by_later_tokens(model: Pretrained) -> None:
    for sentence in (*SENTENCES, sentence_of("Without the mask: the leak")):
        trace = model.trace(sentence)
        without = model.trace(sentence, trace.target_text, interventions=Interventions.parse("causal=off"))
        assert without.probabilities.log().mean() < trace.probabilities.log().mean()


def test_beam_search_finds_what_greedy_search_cannot_go_back_for(model: Pretrained) -> None:
    sentence = sentence_of("Beam search")
    assert sentence == sentence_of("Writing the translation")
    greedy, right = model.trace(sentence), "Er hat einen festen Glauben."
    assert greedy.target_text == "Er hat eine Firma Glaube." and FUNCTIONS["least_certain"](model, greedy) == "Glaub"
    assert model.translate(sentence, beam=4).text == right
    both = (greedy, model.trace(sentence, right))
    names = (("eine", "Firma", "Glaub"), ("einen", "fest", "en", "Glauben"))
    text, asked = text_of("Beam search"), by_title("paper-in-45-minutes", "Beam search")
    steps, products = [], []
    for trace, tokens in zip(both, names, strict=True):
        assert trace.target_out_labels[2 : 2 + len(tokens)] == tokens
        numbers = [f"{p:.2f}" for p in trace.probabilities[2 : 2 + len(tokens)].tolist()]
        assert all(f"({number})" in text or f"probability {number}" in text for number in numbers)
        steps.append(" × ".join(numbers))
        products.append(math.prod(map(float, numbers)))
    wrong, better = products
    assert asked.why.startswith(f"{steps[1]} = {better:.3f} is more than {steps[0]} = {wrong:.3f}.")
    assert better > wrong and asked.answer == "“einen festen Glauben”"


def test_the_lesson_names_the_scores_that_the_model_recorded(model: Pretrained) -> None:
    asked = by_title("paper-in-45-minutes", "Comparing scores")
    parts = model.metrics["subsets"]
    assert f"BLEU {parts['all']['bleu']:.1f} " in asked.ask
    assert f"{parts['short']['bleu']:.1f}, its long ones {parts['long']['bleu']:.1f}" in asked.why
    assert asked.answer == "These two numbers cannot tell."


def test_the_most_likely_token_is_taken_and_the_table_of_costs_holds(model: Pretrained, traces: list[Trace]) -> None:
    for trace in traces:
        assert trace.logits.argmax(-1).tolist() == list(trace.target_out_ids)
    assert FUNCTIONS["path_length"](model, traces[0], "attention", 20) == 1
    in_turn = {FUNCTIONS["steps_in_turn"](model, traces[0], "attention", tokens) for tokens in (20, 200)}
    assert len(in_turn) == 1  # all tokens at the same time, however many
    assert by_title("paper-in-45-minutes", "What it costs").answer_for(model, traces[0]) == 20
    right = by_title("paper-in-45-minutes", "A score for translations").answer_for(model, traces[0])
    assert isinstance(right, float) and 40 < right < 80  # neither all nor nothing


def test_the_results_of_the_paper_are_those_of_its_table() -> None:
    *others, base, big = rows()
    assert (base[2], big[2]) == (27.3, 28.4) and base[3] and big[3] and not any(row[3] for row in others)
    assert all(base[2] > row[2] and base[1] < row[1] for row in others)


def test_a_small_model_learns_where_to_look_and_one_without_a_mask_to_copy() -> None:
    whole, unmasked = (
        numbers(found.opening, found.frames) for name in ("reverse", "no-mask") if (found := recording(name))
    )
    assert whole.entropy_first > 0.85 and whole.entropy < 0.6 and (whole.exact or 0) > 0.95
    assert (unmasked.forced or 0) > 0.95 and unmasked.exact is not None and unmasked.exact < 0.1


def test_some_heads_align_the_token_predicted_and_some_the_token_fed() -> None:
    heads = json.loads((Path(transformer.load("en-de").path) / "heads.json").read_text(encoding="utf-8"))["cross"]
    pairs = [
        pair
        for predicted, fed in zip(heads["aligned_out"], heads["aligned_in"], strict=True)
        for pair in zip(predicted, fed, strict=True)
    ]
    assert any(predicted > 2 * fed > 0 for predicted, fed in pairs)
    assert any(fed > 2 * predicted > 0 for predicted, fed in pairs)


def test_lessons_are_read_again_after_they_were_written() -> None:
    from transformer.lessons import to_toml

    for name, lesson in LESSONS.items():
        assert isinstance(lesson, Lesson) and parse_lesson(to_toml(lesson), name) == lesson


# -- Korean numerals --------------------------------------------------------------------------------------------------


def test_what_the_lesson_on_numbers_says_of_each_stop(settings: dict[str, tuple[Pretrained, list[Trace]]]) -> None:
    model, stops = settings[KOREAN][0], LESSONS[KOREAN].stops
    right = {}
    for stop in stops:
        trace = model.trace(dict(stop.view.params)["source"])
        assert stop.question is not None
        right[stop.title] = stop.question.answer_for(model, trace)
    assert right == {
        "Words for numbers": 9,
        "A digit and its word": "삼",
        "A zero that nobody says": "백",
        "Many zeros": 10,
        "Does this head matter?": "4000000066",
        "And back: which unit?": "</s>",
    }
    trace = model.trace("이만 삼천오백육")
    assert trace.target_text == "23506"
    assert trace.source_labels[int(trace.cross.weights[1, 3, 0].argmax())] == "이"  # the row of 2
    zeros = model.trace("사억 육")
    assert zeros.target_text == "400000006" and zeros.cross.weights[1, 0, 1:8].argmax(-1).tolist() == [1] * 7
    back = model.trace("54321")
    looks = [
        dict(zip(back.target_out_labels, back.cross.weights[1, head].argmax(-1).tolist(), strict=True))
        for head in (0, 3)
    ]
    assert back.target_out_labels[:2] == ("오", "만")
    assert looks[0]["만"] == looks[1]["천"] == looks[1]["백"] == 5  # the end token


def test_without_one_head_a_zero_is_wrong_and_without_the_one_that_looks_at_the_unit_none_is(
    settings: dict[str, tuple[Pretrained, list[Trace]]],
) -> None:
    model = settings[KOREAN][0]
    needed, seen = (Interventions.parse(f"zero=cross.{head}") for head in ("1.1", "2.1"))
    assert model.translate("사억 육", interventions=needed).text == "4000000066"
    assert model.translate("사억 육", interventions=seen).text == "400000006"
    other = model.trace("사억 육").cross.weights[1, 1].argmax(-1)  # another head
    assert other[1:7].tolist() == [4] * 6  # the end token
    for text in ("십일만", "오백만 칠"):  # named in the lesson to be copied
        assert model.translate(text).text == str(read_numeral(text))
