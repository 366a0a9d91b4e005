"""Texts, switches and links made up at random; see tests/fuzz."""

from __future__ import annotations

import pytest

from tests.fuzz import links, switches, texts
from tests.fuzz.common import parts, repeat

pytestmark = pytest.mark.slow  # many cases

PARTS = parts(4)


@pytest.mark.filterwarnings("ignore::transformer.OutsideWarning")
@pytest.mark.parametrize("part", PARTS)
def test_any_text_is_read_traced_and_exported(part: int) -> None:
    repeat("texts", texts.case, range(part * 400, part * 400 + 400))


@pytest.mark.parametrize("part", PARTS)
def test_any_switch_is_set_or_refused_in_one_sentence(part: int) -> None:
    repeat("switches", switches.case, range(part * 600, part * 600 + 600))


@pytest.mark.parametrize("part", PARTS)
def test_any_link_gives_a_valid_state(part: int) -> None:
    repeat("links", links.case, range(part * 800, part * 800 + 800))
