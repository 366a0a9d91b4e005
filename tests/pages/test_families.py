"""Every page with the relatives of BART: each part opens, and its sentences are true of that model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from pages.frame.sentence import LANGUAGE_MENUS
from tests.support.app import every_part, failed_checks, messages
from tests.support.families import KINDS

pytestmark = pytest.mark.slow  # every part with every model

ALL = ("bart", "mbart", "m2m", "pegasus")  # one of each family
SOME = [("heads", ""), ("anatomy", "flow"), ("embeddings", "residual"), ("positions", "encoding"), ("model", "")]


@pytest.mark.parametrize(
    ("kind", "page", "part"),
    [(kind, *part) for kind in ALL for part in every_part()]
    + [(kind, *part) for kind in KINDS if kind not in ALL for part in SOME],
)
def test_every_part_opens(open_variant: Callable[..., AppTest], kind: str, page: str, part: str) -> None:
    app = open_variant(kind, page, part)
    assert not app.exception and not messages(app)
    assert not failed_checks(app)


def test_the_languages_of_a_model_for_many_are_chosen_on_the_page(open_variant: Callable[..., AppTest]) -> None:
    app = open_variant("nllb", source="ka lo", target="")
    menus = [app.selectbox(key=key) for key in LANGUAGE_MENUS]
    assert [menu.value for menu in menus] == ["eng_Latn", "deu_Latn"]
    menus[1].set_value("kor_Hang").run()
    assert not app.exception and not messages(app)
    assert app.query_params["checkpoint"] == "nllb@eng_Latn-kor_Hang"
    assert [field.value for field in app.text_input] == ["ka lo", ""]
    assert "nllb: eng_Latn → kor_Hang" in app.selectbox(key="checkpoint").options
    app = open_variant("nllb@kor_Hang-eng_Latn~cross.1.1", source="ka lo", target="")
    assert not app.exception and not messages(app)
    assert "xx" in messages(open_variant("nllb@xx-eng_Latn"))


def test_a_model_of_two_languages_has_no_menus_of_languages(open_variant: Callable[..., AppTest]) -> None:
    assert not {menu.key for menu in open_variant("bart").selectbox} & set(LANGUAGE_MENUS)
