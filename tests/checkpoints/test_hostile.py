"""The pages with checkpoints from anywhere: what they say of themselves is shown as text, in bounds, or not at all."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save
from streamlit.testing.v1 import AppTest

import transformer
from pages.frame import state
from pages.frame.examples import examples
from pages.runtime.shared import clear_caches
from tests.fuzz import folders, marian, pages
from tests.support.app import address, app_test, checkpoints, model_sizes, state_of
from transformer.checkpoints.folder import LARGEST_BESIDE, LARGEST_JSON, METRICS
from transformer.view.examples import MOST

pytestmark = pytest.mark.slow  # many cases

GOOD = json.loads(folders.base()[folders.EXAMPLES])[0]


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What one test's folders held is not another's."""
    clear_caches()
    yield
    clear_caches()


def page_of(parent: Path, name: str = "model", asked: dict[str, str] | None = None, **files: bytes) -> AppTest:
    """A page of a good checkpoint in which these files are exchanged."""
    folders.write(parent / "mine", {**folders.base(), **files})
    with pages.surroundings(parent):
        app = app_test(name, checkpoint="mine", **(asked or {})).run()
    pages.check(app)
    return app


def captions(app: AppTest) -> str:
    return " ".join(one.value for one in app.caption)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"[", b"\xff", b"{}", b"7", b"[7, null, [], {}]", b"[" * 100_000, b"x" * (LARGEST_JSON + 1),
        json.dumps([{**GOOD, "source": 7}]).encode(), json.dumps([{**GOOD, "title": "\ud800"}]).encode(),
        json.dumps([{**GOOD, "look": "x" * 3_000}]).encode(), b'[{"title": "a"}]',
    ],
)  # fmt: skip
def test_invalid_examples_are_skipped(data: bytes, tmp_path: Path) -> None:
    page_of(tmp_path, "heads", {"source": "ka lo"}, **{folders.EXAMPLES: data})
    assert examples(transformer.load(tmp_path / "mine")) == ()


@pytest.mark.parametrize(
    "view", [7, [], "x", {"kind": {"a": []}}, {"layer": 10**400, "head": None, "cell": [1, 2]}, None]
)
def test_an_example_with_an_odd_view_is_shown(view: Any, tmp_path: Path) -> None:
    data = json.dumps([GOOD | {"view": view}] + [7] * 3).encode()
    app = page_of(tmp_path, "heads", **{folders.EXAMPLES: data})
    assert app.text_input(key="source").value == GOOD["source"]


def test_examples_are_bounded(tmp_path: Path) -> None:
    folders.write(tmp_path / "mine", {**folders.base(), folders.EXAMPLES: json.dumps([GOOD] * 500).encode()})
    assert len(examples(transformer.load(tmp_path / "mine"))) == MOST


def test_a_card_is_bounded_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    app = page_of(tmp_path, **{folders.CARD: b"# Card\n\n![x](https://a.example/x.png) <img src=x> ![y][z] \xff"})
    (shown,) = [one.value for one in app.markdown if "Card" in one.value]
    assert "![" not in shown and "!\\[x](https" in shown and "\ufffd" in shown
    long = page_of(tmp_path / "long", **{folders.CARD: b"x" * (LARGEST_BESIDE[folders.CARD] + 1)})
    assert "The model card (README.md) cannot be read: it is larger than 100,000 bytes." in captions(long)


def test_a_log_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    app = page_of(tmp_path, **{folders.LOG: b"step,loss\n" + b"1,2\n" * LARGEST_BESIDE[folders.CARD]})
    assert "The training.csv of this checkpoint cannot be read." in captions(app)


def test_scores_of_any_size_leave_the_page_standing(tmp_path: Path) -> None:
    app = page_of(tmp_path, **{METRICS: b'{"bleu": 1' + b"0" * 400 + b', "chrf": 4.04, "exact": NaN}'})
    values = model_sizes(app)
    assert values["chrF"] == "4.0" and "sacreBLEU" not in values


def test_a_folder_whose_name_is_no_text_leaves_the_menu_alone(tmp_path: Path) -> None:
    folders.write(tmp_path / "mine", dict(folders.base()))
    odd = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(odd)
    (Path(os.fsdecode(odd)) / "config.json").write_bytes(b"{}")
    with pages.surroundings(tmp_path):
        app = app_test("model").run()
    pages.check(app)
    names = checkpoints(app)
    assert "mine" in names and all(name.encode("utf-8") for name in names)


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_text_of_any_length_is_refused_before_it_is_read(side: str, tmp_path: Path) -> None:
    long = "ka " * 30_000
    app = page_of(tmp_path, "heads", {"source": "ka lo", side: long})
    (said,) = pages.messages(app)
    limit = 24 * state.CHARACTERS_A_TOKEN  # of the tokens that these pages allow
    assert f"The {side} text has 90,000 characters. At most {limit:,} are allowed; shorten it." in said
    assert app.text_input(key=side).value == long  # what was typed stays
    assert len(address(app)[side]) == limit + 1
    app.text_input(key=side).set_value(long * 100).run()
    assert len(state_of(app).source + state_of(app).target) < state.LONGEST_TEXT + 10


def test_long_unknown_words_are_quoted_with_their_first_characters(tmp_path: Path) -> None:
    app = page_of(tmp_path, "heads", {"source": "\u0f40" * 700 + " ka", "target": "lo"})
    (said,) = pages.messages(app)
    assert "read as &lt;unk&gt;: " + "\u0f40" * 20 + "…<" in said


def test_long_languages_of_a_marian_folder_are_cut_and_long_pieces_refused(tmp_path: Path) -> None:
    files, tensors = marian.base()
    weights = {"model.safetensors": save(tensors)}
    said = json.dumps({"source_lang": "a\x1b\n" + "b" * 99, "target_lang": 7, "separate_vocabs": False}).encode()
    folders.write(tmp_path / "mine", {**files, **weights, "tokenizer_config.json": said})
    assert transformer.load(tmp_path / "mine").languages == ("a " + "b" * 38, "target")
    table = json.loads(files["vocab.json"])
    table["x" * 1_001] = table.pop("ka", table.pop("\u2581ka", 9))
    folders.write(tmp_path / "long", {**files, **weights, "vocab.json": json.dumps(table).encode()})
    with pytest.raises(transformer.CheckpointError, match="a piece of the vocabulary has 1,001 characters"):
        transformer.load(tmp_path / "long")
