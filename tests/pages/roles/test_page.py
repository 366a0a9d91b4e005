"""The Head roles page as a script: every head with its role, its evidence, and what a model without probes says."""

import functools
import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest

import transformer
from pages.roles.overview import MEASURES, NEAR, _says, cell_names, measured, role_meanings, shipped
from pages.runtime.shared import register
from tests.support.app import ROOT, address, components, messages, open_link, page_text
from tests.support.build import tiny_pretrained
from transformer.analysis.roles import ROLES
from transformer.checkpoints.folder import save_checkpoint
from transformer.figures.style import DARK, ROLE
from transformer.files import Packed
from transformer.interventions.sets import layers_of
from transformer.probing.probes import probe_pairs
from transformer.texts import in_language
from transformer.tracing.trace import KINDS
from transformer.view.languages import languages, load_language

pytestmark = pytest.mark.usefixtures("bundled")
open_roles = functools.partial(open_link, "roles")


def test_the_page_says_its_question_while_heads_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.roles.overview.task.result", lambda *_given, **_named: None)
    monkeypatch.setattr("pages.roles.overview.shipped", lambda _model: None)
    app = open_roles(checkpoint="en-de")
    assert "What does each head attend to most?" in page_text(app)
    assert not components(app, "headgrid")


@pytest.mark.parametrize("name", transformer.available())
def test_the_heads_of_every_bundled_model_ship_measured(name: str) -> None:
    model = transformer.load(name)
    found = shipped(model)
    assert found is not None
    stored = json.loads((model.path / "heads.json").read_text(encoding="utf-8"))
    for kind, of_kind in found.items():
        layers, heads = of_kind.confidence.shape
        for layer, head in itertools.product(range(layers), range(heads)):
            role = of_kind.role(layer, head)
            assert (role and role.name) == stored[kind]["role"][layer][head]
            assert role is None or len(of_kind.evidence(role.name, layer, head)[0]) == 3


def test_measurements_of_another_model_are_not_shown() -> None:
    model = transformer.load("reverse")
    for text in ("[]", "{}", "no JSON", (transformer.load("en-de").path / "heads.json").read_text(encoding="utf-8")):
        other = replace(model, packed=Packed("other", {"heads.json": text.encode()}))
        register(other, text)
        assert shipped(other) is None


@pytest.mark.slow
def test_the_grid_shows_what_was_measured() -> None:
    app = open_roles(checkpoint="en-de", head="encoder_self.2.1")
    assert not messages(app)
    model = transformer.load("en-de")
    found = measured(model)
    grid = json.loads(components(app, "headgrid")[0].json)
    assert [panel["kind"] for panel in grid["panels"]] == list(KINDS)
    counts: Counter[str] = Counter()
    for panel in grid["panels"]:
        for layer, row in enumerate(panel["cells"]):
            for head, cell in enumerate(row):
                role = found[panel["kind"]].role(layer, head)
                counts[role.name if role else ""] += 1
                assert cell.get("tone") == (role and role.name)
                assert cell["text"] == (f"{100 * role.share:.0f}%" if role else "–")
                assert cell.get("note") == (role and cell_names()[role.name])
    assert {key["tone"]: key["count"] for key in grid["keys"]} == counts
    assert f"Each cell is one of {counts.total()} attention heads" in page_text(app)
    assert counts["resting"] / counts.total() == pytest.approx(1 / 2, abs=NEAR)
    assert "Half of all heads idle, looking at the start or end token." in page_text(app)
    assert grid["chosen"] == [0, 1, 0]
    rows = grid["saved"]["rows"]
    assert len(rows) == 1 + sum(layers_of(model.config, kind) * model.config.heads for kind in KINDS)
    of_kind = found["encoder_self"]
    role = of_kind.role(1, 0)
    assert role is not None
    # The strongest evidence first, then the weakest; every link opens its sentence.
    evidence = [*itertools.chain(*of_kind.evidence(role.name, 1, 0))]
    pairs = probe_pairs(model) or []
    queries = [parse_qs(one.proto.query_string) for one in app.get("page_link")]
    shown = [query for query in queries if query.get("layer") == ["2"] and query.get("head") == ["1"]]
    assert len(evidence) == 6 and [(query["source"][0], query["target"][0]) for query in shown] == [
        pairs[index] for index, _ in evidence
    ]
    shares = [share for _, share in evidence]
    assert min(shares[:3]) > max(shares[3:])
    # Where a head does the same in all sentences, none is called the least.
    assert "Where it does so least" in page_text(app)
    assert "Where it does so least" not in page_text(open_roles(checkpoint="en-de", head="encoder_self.1.7"))
    # Every share of the head stands beside its baseline.
    text = page_text(app)
    for one in of_kind.of(1, 0):
        row = f"{100 * one.share:.0f}% ± {196 * one.error:.0f} {100 * one.baseline:.0f}%"
        assert f"{role_meanings()[one.name]} {row}" in text
    assert {round(100 * one.baseline) for one in of_kind.of(1, 0)} >= {0, 12, 32}
    # In the plane every head stands where its divergences from the others put it.
    (plane,) = json.loads(json.loads(components(app, "figure")[0].json)["figure"])["data"]
    assert pytest.approx(of_kind.plane().numpy(), abs=1e-4) == np.array([plane["x"], plane["y"]]).T
    near, far = of_kind.divergence[0].argsort()[[1, -1]].tolist()
    places = np.array([plane["x"], plane["y"]]).T
    assert np.hypot(*(places[near] - places[0])) < np.hypot(*(places[far] - places[0]))


@pytest.mark.slow
@pytest.mark.parametrize("colour", MEASURES[1:])
def test_the_grid_can_show_a_measure(colour: str) -> None:
    app = open_roles(checkpoint="reverse", colour=colour, head="cross.2.1")
    assert not messages(app)
    grid = json.loads(components(app, "headgrid")[0].json)
    value = float(getattr(measured(transformer.load("reverse"))["cross"], colour)[1, 0])
    cell = grid["panels"][2]["cells"][1][0]
    assert abs(float(cell["text"]) - value) <= 0.051 and cell["tone"] == "cross" and 0 <= cell["level"] <= 1
    assert address(app)["colour"] == colour and address(app)["head"] == "cross.2.1"


def test_every_role_has_short_words_and_a_colour() -> None:
    assert set(ROLES) == set(role_meanings()) == set(ROLE)
    for name, others in itertools.product(("", *ROLES), (0, 1, 3)):
        assert len(_says({name: 4, "of other heads": others}).split()) <= 12
    for language in map(load_language, languages()):
        with in_language(language):
            for role, meaning in role_meanings().items():
                name = cell_names()[role]
                assert meaning.startswith(name) and len(name) <= 6  # letters that a cell has room for on a phone
    css = (ROOT / "frontend" / "src" / "headgrid" / "headgrid.css").read_text(encoding="utf-8")
    for name, colour in ROLE.items():
        assert f'[data-tone="{name}"] {{ --tone: light-dark({colour}, {DARK[colour]}); }}' in css


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("roles", "There is no probe set from Latin to Greek"),
        ("importance", "There is no probe set from Latin to Greek"),
        ("alignment", "aligned by hand are for English to German"),
    ],
)
def test_a_model_of_other_languages_is_not_measured(folder: Path, part: str, said: str) -> None:
    tiny = tiny_pretrained()
    save_checkpoint(folder / "tiny", tiny.model, tiny.tokenizer, ("Latin", "Greek"))
    assert said in page_text(open_roles(part=part, checkpoint="tiny"))


def test_a_head_that_the_model_lacks_is_said() -> None:
    assert "asks for head &#x27;cross.9.9&#x27;" in messages(open_roles(checkpoint="reverse", head="cross.9.9"))
