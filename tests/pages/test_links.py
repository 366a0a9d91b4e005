"""Old links: each still opens what it asks for."""

import functools
import re
from pathlib import Path

import pytest

import transformer
from pages.frame.state import CHECKPOINT, SOURCE, TARGET, read_switches
from pages.registry import pages
from tests.support.app import ROOT, address, app_test, messages
from tests.support.page_lists import parsed
from transformer.interventions.sets import Interventions, layers_of
from transformer.model.config import ModelConfig
from transformer.tracing.trace import KINDS
from transformer.view.state import View, view_from_params

PAGES = {page.path: page for page in pages()}
LINKS = Path(__file__).with_name("links.txt").read_text(encoding="utf-8").splitlines()[1:]
DOCUMENTS = (ROOT / "transformer" / "model" / "README.md", ROOT / "docs" / "paper.md")
WRITTEN = sorted({link for one in DOCUMENTS for link in re.findall(r"\]\((/[^)]*)\)", one.read_text(encoding="utf-8"))})


@functools.cache
def config_of(checkpoint: str) -> ModelConfig:
    return transformer.load(checkpoint).config


def one_of_each_part() -> list[str]:
    """For every part of every page, the link with the most parameters."""
    links: dict[tuple[str, str], str] = {}
    for link in sorted(LINKS, key=lambda link: len(parsed(link)[1])):
        path, params = parsed(link)
        links[path, params.get("part", "")] = link
    return sorted(links.values())


@pytest.mark.parametrize("link", [*LINKS, *(link for link in WRITTEN if link not in LINKS)])
def test_every_parameter_of_a_link_is_understood(link: str) -> None:
    path, params = parsed(link)
    content = PAGES[path].content
    config = config_of(params.get(CHECKPOINT, "en-de"))
    own_params = {name: params.pop(name) for name in content.names if name in params}
    assert own_params.get("part", next(iter(content.parts()), "")) in (*content.parts(), "")
    view, complaints = view_from_params(params, {kind: layers_of(config, kind) for kind in KINDS}, config.heads)
    assert not complaints and not read_switches(params, config)[1]
    known_names = {CHECKPOINT, SOURCE, TARGET, "big", *Interventions.PARAMS, *View().to_params(), *view.to_params()}
    assert set(params) <= known_names


@pytest.mark.slow
@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize("link", one_of_each_part())
def test_a_link_to_every_part_opens_without_a_complaint(link: str) -> None:
    path, params = parsed(link)
    app = app_test(PAGES[path].name, **params).run()
    assert not app.exception and "The link asks" not in messages(app)
    shown = address(app)
    assert {name: shown[name] for name in params if name in shown} == {
        name: text for name, text in params.items() if name in shown
    }
