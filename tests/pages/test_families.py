"""The languages of models of the families of BART are chosen on the page."""

import pytest

from pages.frame.sentence import LANGUAGE_MENUS
from tests.support.app import messages, open_variant

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("variants")]


def test_the_languages_of_a_model_for_many_are_chosen_on_the_page() -> None:
    app = open_variant("nllb", source="ka lo", target="")
    menus = [app.selectbox(key=key) for key in LANGUAGE_MENUS]
    assert [menu.value for menu in menus] == ["eng_Latn", "deu_Latn"]
    menus[1].set_value("kor_Hang").run()
    assert not app.exception and not messages(app)
    assert app.query_params["checkpoint"] == "nllb@eng_Latn-kor_Hang"
    assert [field.value for field in app.text_input] == ["ka lo", ""]
    assert "nllb: eng_Latn → kor_Hang" in app.selectbox(key="checkpoint").options
    app = open_variant("nllb@kor_Hang-eng_Latn~cross.1.1", source="ka lo", target="")
    assert not messages(app)
    assert "xx" in messages(open_variant("nllb@xx-eng_Latn"))


def test_a_model_of_two_languages_has_no_menus_of_languages() -> None:
    assert not {menu.key for menu in open_variant("bart").selectbox} & set(LANGUAGE_MENUS)
