"""Every page with the relatives of BART: each part opens, and its sentences are true of that model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.support.app import every_part, failed_checks, messages
from tests.support.families import KINDS

pytestmark = pytest.mark.slow  # every part with every model

ALL = ("bart", "m2m")  # these two have all that is new in the model
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
