"""The shared style of figures."""

from tests.support.figures import in_theme
from transformer.figures.training import training_curve

ROWS = [
    {"step": "500", "loss": "4.5", "validation_loss": "4.0", "validation_bleu": "3.5"},
    {"step": "1000", "loss": "3.5", "validation_loss": "3.0", "validation_bleu": ""},
]


def test_the_training_curve_shows_every_number_and_skips_what_is_missing() -> None:
    for theme in ("light", "dark"):
        loss, validation, bleu = in_theme(training_curve, theme)(ROWS).data
        assert list(loss.x) == [500, 1000] and list(loss.y) == [4.5, 3.5]
        assert list(validation.y) == [4.0, 3.0] and (list(bleu.x), list(bleu.y)) == ([500], [3.5])
        assert bleu.yaxis == "y2"


def test_a_column_without_values_has_no_line_and_no_axis() -> None:
    assert not training_curve([]).data
    figure = training_curve([{**row, "validation_bleu": ""} for row in ROWS])
    assert [line.name for line in figure.data] == ["training loss", "validation loss"]
    assert "yaxis2" not in figure.to_dict()["layout"]
