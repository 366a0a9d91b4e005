"""What the Model page says first: what a model does, how large and how good it is, and the first words of its card."""

from dataclasses import replace

import pytest

import transformer
from pages.model import card
from tests.support.app import app_test, page_text
from tests.support.build import tiny_pretrained
from transformer.checkpoints.folder import CARDS


@pytest.mark.parametrize(
    "name, said",
    [
        ("en-de", "From English to German: the Transformer of 2017 at 1/3 of its size, with 20 million weights."),
        ("sort", "From digits to sorted: the Transformer of 2017 at 1/386 of its size, with 168,320 weights."),
    ],
)
def test_a_model_is_what_it_does_and_how_large_it_is(name: str, said: str) -> None:
    assert card.summary(transformer.load(name)) == said


def test_quality_is_said_in_words() -> None:
    tiny = tiny_pretrained()
    assert card.quality(replace(tiny, metrics={})) == ""
    assert "BLEU is 52.6 of 100" in card.quality(replace(tiny, metrics={"bleu": 52.64, "exact": 0.3}))
    assert "99.99% come out exactly right" in card.quality(replace(tiny, metrics={"exact": 0.99987}))


def test_the_course_of_a_training_is_said_in_words() -> None:
    rows = [
        {"validation_loss": "3.43", "validation_bleu": "10.9"},
        {"loss": "1"},
        {"validation_loss": "0.95", "validation_bleu": "53.5"},
    ]
    # 0.95 in float is a little less.
    fell = "While it trained, its validation loss (how wrong it is) fell from 3.4 to 0.9"
    assert card.course(rows) == f"{fell}, and its BLEU (how close to a person's translation) rose from 11 to 54."
    assert card.course([{**row, "validation_bleu": ""} for row in rows]) == f"{fell}."
    assert card.course(rows[::-1]) == card.course([]) == ""
    assert card.course([{"validation_loss": "nan"}, {"validation_loss": "nan"}]) == ""


@pytest.mark.parametrize(
    "text, found",
    [
        ("# Title\n\nTwo lines\nof *text*.\n\nmore", "Two lines\nof *text*."),
        ("# Title\nall", "all"),
        ("# Title\n\n| a |\n|---|\n", ""),
        ("# Title\n\n![picture](x)\n\ntext", ""),
        ("---\nlicense: mit\n---\n# Title\n\ntext", ""),
        ("no title", ""),
        ("", ""),
    ],
)
def test_the_lead_is_the_first_paragraph_after_the_title(text: str, found: str) -> None:
    assert card.lead(text) == found


@pytest.mark.parametrize("name", CARDS.values())
def test_the_cards_of_en_de_say_first_how_many_pairs_it_learned_from(name: str) -> None:
    text = (transformer.load("en-de").path / name).read_text(encoding="utf-8")
    pairs = [int(count.replace(",", "")) for count in ("177,083", "8,226") if count in text]
    assert len(pairs) == 2 and f"{sum(pairs):,}" in card.lead(text)


def test_the_page_shows_what_the_model_writes_and_the_way_to_it() -> None:
    app = app_test("model", checkpoint="en-de").run()
    assert "The man who called me yesterday is my brother. → Der Mann, der mich gestern angerufen hat" in page_text(app)
    (link,) = (one.proto for one in app.get("page_link") if one.proto.label == "See how it wrote this →")
    assert "source=The+man+who+called+me" in link.query_string
