"""The part Compare: two sentences, two models, or a training state, with one scale and a difference."""

import functools
import json
import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.attribution.compare import recording_of
from tests.support.app import array, components, messages, open_link, page_text

pytestmark = pytest.mark.usefixtures("bundled")
open_compare = functools.partial(open_link, "attribution", part="compare", checkpoint="en-de")


def maps(app: AppTest) -> list[np.ndarray]:
    """The numbers of every figure on the page; NaN where masked."""
    figures = [json.loads(json.loads(one.json)["figure"]) for one in components(app, "figure")]
    return [array(one["data"][-1]["z"]) for one in figures]


def test_two_sentences_of_equal_length_have_a_difference() -> None:
    app = open_compare(source="I see a dog.", second="I see a cat.", cell_head="encoder_self.2.1")
    assert not messages(app)
    first, second, difference = maps(app)
    model = transformer.load("en-de")
    for found, text in ((first, "I see a dog."), (second, "I see a cat.")):
        weights = model.trace(text).encoder_self.weights[1, 0]
        for row, wanted in zip(found, weights.tolist(), strict=True):
            assert row == pytest.approx(wanted, abs=1e-4)
    for row, old, new in zip(difference, first, second, strict=True):
        assert row == pytest.approx([b - a for a, b in zip(old, new, strict=True)], abs=2e-4)
    one, other, apart = scales(app)
    assert one == other and apart[0] == -apart[1] and apart[1] >= max(abs(x) for row in difference for x in row)


@pytest.mark.parametrize(("rows", "reading"), [("predicted", "the token predicted"), ("fed", "the token fed in")])
def test_the_weight_that_changes_most_is_named_by_how_its_row_is_read(rows: str, reading: str) -> None:
    model = transformer.load("en-de")
    first, second = (model.trace(text) for text in ("I see a dog.", "I see a cat."))
    change = (second.cross.weights[3, 5] - first.cross.weights[3, 5]).abs()
    query, key = divmod(int(change.argmax()), change.shape[1])
    label = (first.target_out_labels if rows == "predicted" else first.target_in_labels)[query]
    text = page_text(open_compare(source="I see a dog.", second="I see a cat.", cell_head="cross.4.6", rows=rows))
    same = page_text(open_compare(source="I see a dog.", second="I see a dog.", cell_head="cross.4.6", rows=rows))
    assert re.search(r"none of its \d+ weights changes", same)
    blank = open_compare(source="I see a dog.", second=" ")
    assert "Type a second sentence" in page_text(blank) and not maps(blank)
    assert f"from “{label}” ({reading}) to “{first.source_labels[key]}” changes most, by {change.max():.2f}" in text


def scales(app: AppTest) -> list[tuple[float, float]]:
    """The smallest and the largest number of the colour scale of every figure."""
    found = []
    for one in components(app, "figure"):
        figure = json.loads(json.loads(one.json)["figure"])
        drawn, axis = figure["data"][-1], figure["layout"].get("coloraxis", {})
        found.append((drawn["zmin"], drawn["zmax"]) if "zmin" in drawn else (axis["cmin"], axis["cmax"]))
    return found


def test_sentences_of_other_lengths_stand_side_by_side_on_one_scale() -> None:
    app = open_compare(source="I see a dog.", second="No.", cell_head="encoder_self.2.1")
    assert not messages(app)
    model = transformer.load("en-de")
    for found, text in zip(maps(app), ("I see a dog.", "No."), strict=True):
        weights = model.trace(text).encoder_self.weights[1, 0].tolist()
        assert [pytest.approx(row, abs=1e-4) for row in weights] == [list(row) for row in found]
    first, second = scales(app)
    assert first == second and first[0] == 0 and first[1] >= max(max(row) for row in maps(app)[1])


def test_a_training_state_is_what_was_recorded() -> None:
    model = transformer.load("en-de")
    recording = recording_of(model)
    assert recording is not None
    source, target = recording.sentences[0]
    app = open_compare(
        source=source, target=target or "", beside="training", state=str(recording.steps[1]), cell_head="cross.3.2"
    )
    assert not messages(app)
    shown = maps(app)[1]
    title = json.loads(json.loads(components(app, "figure")[1].json)["figure"])["layout"]["title"]["text"]
    assert title == f"en-de at step {recording.steps[1]}, layer 3, head 2"
    assert shown[0] == pytest.approx((recording.weights["cross"][0][1, 2, 1, 0] / 255).tolist(), abs=1e-4)
    other = open_compare(source="A sentence of my own.", beside="training")
    assert "recorded for this model&#x27;s examples only" in messages(other)


def test_another_model_shows_the_same_pair() -> None:
    app = open_compare(checkpoint="reverse", source="abc", beside="checkpoint", model_b="sort", cell_head="cross.1.1")
    app = open_compare(
        checkpoint="reverse", source="abc", beside="checkpoint", model_b="reverse-gelu", cell_head="cross.2.4"
    )
    assert not messages(app)
    gelu, pair = transformer.load("reverse-gelu"), transformer.load("reverse").trace("abc")
    weights = gelu.trace("abc", pair.target_text).cross.weights[1, 3]
    assert maps(app)[1][0] == pytest.approx(weights[0].tolist(), abs=1e-4)


def test_the_second_sentence_may_have_a_target_of_its_own() -> None:
    second = {"second": "I see a cat.", "second_target": "Ich sehe die Katze."}
    app = open_compare(source="I see a dog.", cell_head="cross.4.6", **second)
    assert not messages(app)
    trace = transformer.load("en-de").trace(*second.values())
    for row, wanted in zip(maps(app)[1], trace.cross.weights[3, 5].tolist(), strict=True):
        assert row == pytest.approx(wanted, abs=1e-4)
