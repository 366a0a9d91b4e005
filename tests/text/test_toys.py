"""What the toy models read, and what is said of other texts."""

import unicodedata
import warnings

import pytest

import transformer
from transformer.text.numerals import SPELLINGS
from transformer.text.toys import TOYS, outside
from transformer.training.tasks import TASKS, task_pairs

NUMERALS = TASKS["ko-numbers"].languages


def test_every_toy_reads_what_its_task_draws() -> None:
    assert {task.languages for task in TASKS.values()} == set(TOYS)
    for name, task in TASKS.items():
        for source, _ in task_pairs(name, 300, (1, 12), 1):
            assert outside(source, task.languages) is None, source


@pytest.mark.parametrize(
    ("task", "read", "others"),
    [
        ("reverse", ("ka lo mi", "ABC", "ａｂｃ"), ("a?b", "12", "가", "naïve", "a-b")),
        ("sort", ("3141", "１２"), ("3.14", "-3", "3 1", "a")),
        ("ko-numbers", (*filter(None, SPELLINGS.values()), "１２만"), ("안녕", "3.14", "-3", "1조", "만만", "12 ab")),
    ],
)
def test_what_a_toy_reads_and_what_not(task: str, read: tuple[str, ...], others: tuple[str, ...]) -> None:
    languages = TASKS[task].languages
    assert [text for text in read if outside(unicodedata.normalize("NFD", text), languages)] == []
    assert [text for text in others if not outside(text, languages)] == []
    assert outside(" ", languages) is None and outside("3.14", ("English", "German")) is None


def test_a_translation_of_a_text_outside_warns_and_of_others_does_not() -> None:
    model = transformer.load("ko-numbers")
    told = r"'3\.14': This text is outside what this model reads: whole numbers below 10\^12"
    for work in (model.translate, model.n_best, lambda text: model.translate_all(["12", text])):
        with pytest.warns(transformer.OutsideWarning, match=told) as found:
            work("3.14")
        assert [one.filename for one in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.translate("12").text == "십이"
