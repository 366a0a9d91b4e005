"""A checkpoint is removed, replaced or damaged while the app runs: there is one message, typed text is kept, no picture
mixes two checkpoints, and the page works again when the folder is whole."""

import functools
import gc
import json
import os
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.components import payloads
from pages.runtime import cache, shared
from tests.support.app import address, kept, messages, open_link, pictures
from tests.support.build import tiny_model, tiny_pretrained
from transformer.checkpoints.folder import save_checkpoint

pytestmark = pytest.mark.slow  # many cold pages

SOURCE = "ka lo mi"
LINK = {"source": SOURCE, "kind": "encoder_self", "layer": "2", "head": "3"}


def save_tiny(path: Path, seed: int = 1) -> Path:
    """Write a tiny checkpoint; another seed gives other weights of the same shapes with the same tokenizer."""
    tiny = tiny_pretrained()
    model = tiny_model(seed, vocab_size=len(tiny.tokenizer))
    save_checkpoint(path, model, tiny.tokenizer, tiny.languages)
    return path


def exchange(path: Path, seed: int) -> None:
    """Replace the checkpoint at once, as `mv` does."""
    save_tiny(path.with_name("new"), seed)
    path.rename(path.with_name(f"old-{seed}"))
    path.with_name("new").rename(path)


@pytest.fixture(autouse=True)
def folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("HEADSCOPE_MAX_TOKENS")
    return folder / "tiny"


open_app = functools.partial(open_link, "heads", **LINK)


def shown(app: AppTest) -> str:
    """The id of the trace that the picture shows; it depends on every attention weight."""
    return str(kept(app, payloads.Sent).names["explorer"]["pack"][0][0])


def expected(folder: Path) -> str:
    return transformer.load(folder).trace(SOURCE).id


def shows_link(app: AppTest, folder: Path) -> bool:
    """Whether the page shows the link's picture, of the checkpoint as it is in its folder now."""
    here = {name: address(app).get(name) for name in LINK} == LINK
    return not app.exception and not messages(app) and pictures(app) == 1 and here and shown(app) == expected(folder)


def test_another_can_be_chosen_while_one_is_gone(folder: Path) -> None:
    app = open_app()
    folder.rename(folder.with_name(".away"))
    app.run()
    menu = app.selectbox("checkpoint")
    assert menu.value == "tiny" and "reverse: letters → reversed" in menu.options
    app = menu.select("reverse").run()
    assert not app.exception and not messages(app) and pictures(app) == 1
    assert address(app)["checkpoint"] == "reverse"


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        ("", "gone", "The checkpoint &#x27;tiny&#x27; is no longer in its folder. Put it back and reload"),
        ("config.json", "gone", "is no longer in its folder"),
        ("config.json", "garbled", "config.json"),
        ("model.safetensors", "cut", "model.safetensors"),
        ("model.safetensors", "garbled", "model.safetensors"),
        ("tokenizer.model", "gone", "tokenizer.model"),
        ("tokenizer.model", "cut", "SentencePiece"),
    ],
)
def test_what_is_damaged_gives_one_sentence_until_it_is_repaired(
    folder: Path, name: str, damage: str, said: str
) -> None:
    app, path = open_app(), folder / name
    assert shows_link(app, folder)
    away = folder.with_name(".away")
    path.rename(away)
    if damage != "gone":
        data = away.read_bytes()
        path.write_bytes(data[: len(data) // 2] if damage == "cut" else b"\xff" * len(data))
    app.run()
    assert messages(app).count("hs-error") == 1 and said in messages(app)
    assert not app.exception and not pictures(app) and address(app)["source"] == SOURCE
    away.rename(path)
    assert shows_link(app.run(), folder)


def test_a_link_opened_while_the_folder_is_gone_is_applied_later(folder: Path) -> None:
    (folder / "tokenizer.model").rename(folder.parent / "tokenizer")
    app = open_app(checkpoint="tiny")
    assert "tokenizer.model is missing" in messages(app) and not app.exception
    (folder.parent / "tokenizer").rename(folder / "tokenizer.model")
    assert shows_link(app.run(), folder)


def test_a_replaced_checkpoint_is_read_again_and_not_mixed(folder: Path) -> None:
    app, ids = open_app(), []
    for seed in (2, 3):
        assert shows_link(app, folder)
        ids.append(shown(app))
        exchange(folder, seed)
        app.run()
    assert shows_link(app, folder) and len({*ids, shown(app)}) == 3  # the same sentence: no old trace is used again
    shutil.rmtree(folder)
    folder.with_name("old-3").rename(folder)  # the second one, back again
    assert shows_link(app.run(), folder) and shown(app) == ids[1]


def test_changed_examples_of_a_folder_are_read_again(folder: Path) -> None:
    def titles(title: str) -> list[str]:
        (folder / "examples.json").write_text(json.dumps([{"title": title, "look": "here", "source": "ka"}]))
        model = cache.load("tiny", str(folder))
        from pages.frame.examples import examples

        return [example.title for example in examples(model)]

    assert (titles("first"), titles("a second")) == (["first"], ["a second"])


def test_a_checkpoint_that_changes_during_reading_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = transformer.load

    def late(*given: object) -> object:
        loaded = load(*given)  # type: ignore[arg-type]
        monkeypatch.setattr(transformer, "load", load)
        exchange(folder, 4)
        return loaded

    monkeypatch.setattr(transformer, "load", late)
    app = open_app()
    assert "tiny changed while it was being read; reload the page when the change is complete" in messages(app)
    assert shows_link(app.run(), folder)


def test_a_changed_folder_has_another_stamp(folder: Path) -> None:
    first = cache.stamp(str(folder))
    assert first == cache.stamp(str(folder)) != ""
    stamps = {first}
    weights = folder / "model.safetensors"
    before = weights.stat()
    weights.write_bytes(weights.read_bytes()[::-1])  # as long as before, and as old
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))
    stamps.add(cache.stamp(str(folder)))
    (folder / "README.md").write_text("a card")
    stamps.add(cache.stamp(str(folder)))
    (folder / "README.md").rename(folder / "card.md")
    stamps.add(cache.stamp(str(folder)))
    assert len(stamps) == 4
    (folder / ".model.safetensors.partial").write_text("being written")
    assert cache.stamp(str(folder)) in stamps
    assert cache.stamp(str(folder / "none")) == cache.stamp(str(weights)) == ""


def test_an_evicted_model_is_freed_with_its_results(folder: Path) -> None:
    """Only the last state is cached, however often a checkpoint is replaced."""
    states = set()
    for seed in range(2, 9):
        exchange(folder, seed)
        cache.load("tiny", str(folder))
        states.add(cache.stamp(str(folder)))
    gc.collect()
    assert len(states) == 7
    assert len(states & set(shared._stamps.values())) == 1
