"""Switches as text, links and reports of the browser, made up at random."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import transformer
from pages.frame.options import _whole
from tests.fuzz import links
from tests.fuzz.common import NUMBERS, TEXTS, examples, mutated, one_sentence
from tests.support.build import VARIANTS, tiny_config
from transformer.inference.pretrained import InputError
from transformer.interventions.sets import InterventionError, Interventions

pytestmark = pytest.mark.slow  # many cases
MODEL = transformer.load("reverse")


@given(links.switch_params(), st.data())
@examples(600)
def test_any_switch_is_set_or_refused_in_one_sentence(asked: dict[str, str], data: st.DataObject) -> None:
    """As the parameters of a link, as the arguments of a command, and as one text."""
    words = [f"{name}={text}" for name, text in asked.items()]
    form = data.draw(st.sampled_from(("link", "command", "text")))
    try:
        if form == "link":
            found = Interventions.parse(asked)
        elif form == "command":
            found = Interventions.parse([*words, data.draw(TEXTS)])
        else:
            found = Interventions.parse(data.draw(mutated(" ".join(words))))
        links.check_switches(found)
        found.check(MODEL.config)
        if data.draw(st.integers(0, 4)) == 0:
            MODEL.trace("abc", limit=12, interventions=found)
    except (InputError, InterventionError) as error:
        one_sentence(str(error))


@given(st.sampled_from(sorted(links.NAMES)).flatmap(links.params), st.sampled_from(VARIANTS))
@examples(600)
def test_any_link_gives_a_valid_state(asked: dict[str, str], changes: dict[str, Any]) -> None:
    links.check_params(asked, tiny_config(**changes))


@given(links.REPORTS, st.sampled_from(VARIANTS))
@examples(500)
def test_any_report_of_a_browser_gives_a_valid_state(report: Any, changes: dict[str, Any]) -> None:
    """Whatever is reported becomes a view and a place of the model, and a place that exists stays where it is."""
    links.check_report(report, tiny_config(**changes))


@given(st.sampled_from(NUMBERS) | TEXTS | st.integers().map(str))
@examples(100)
def test_any_text_gives_a_whole_number(text: str) -> None:
    assert type(_whole(text, 7)) is int
