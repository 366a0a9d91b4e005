"""Every page with T5 folders: each part opens, and its sentences are true of that model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.app import every_part, failed_checks, messages, page_text
from tests.support.t5 import t5_folder

pytestmark = [
    pytest.mark.slow,  # every part
    # Random weights: the integral over the path may not settle, and the page says so, too.
    pytest.mark.filterwarnings("ignore:integrated gradients:UserWarning"),
]


@pytest.fixture(scope="module")
def models(variants: Path) -> Path:
    """The folder of all variants, with two T5 models more."""
    for kind in ("1.0", "1.1"):
        t5_folder(variants / f"t5-{kind}", kind)
    return variants


@pytest.mark.parametrize(("page", "part"), every_part())
@pytest.mark.parametrize("kind", ["1.0", "1.1"])
def test_every_part_opens(models: Path, open_variant: Callable[..., AppTest], kind: str, page: str, part: str) -> None:
    app = open_variant(f"t5-{kind}", page, part)
    assert not app.exception and not messages(app)
    assert not failed_checks(app)
    assert "<s>" not in page_text(app)  # this model has no such token: its decoder is fed <pad> first
