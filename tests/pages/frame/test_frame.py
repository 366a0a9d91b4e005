"""The page frame as a script: everything a person or a link can do to it, without a browser."""

import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest

from pages.frame.state import Move, Session
from pages.registry import pages
from pages.runtime import session_models
from pages.runtime.shared import clear_caches
from tests.support.app import (
    EXAMPLE,
    address,
    figures,
    kept,
    messages,
    model_sizes,
    open_link,
    open_page,
    page_text,
    pictures,
    state_of,
    switch_page,
    written,
)
from tests.support.build import tiny_pretrained
from transformer.analysis.language import script
from transformer.checkpoints.folder import save_checkpoint
from transformer.lessons import Link
from transformer.text import words

open_app = functools.partial(open_page, "heads", target="")


def pick(app: AppTest, **values: Any) -> AppTest:
    """The browser's report after a click in the picture."""
    state = state_of(app)
    app.session_state["explorer"] = {"view": {**state.view.to_browser(), "revision": state.revision, **values}}
    return app.run()


def test_a_sentence_is_drawn_and_the_address_says_so() -> None:
    app = open_app()
    assert not messages(app) and pictures(app) == 1
    assert address(app) == {"checkpoint": "tiny", "source": "ka lo mi", "kind": "cross", "layer": "1", "head": "1"}
    app.text_input("source").input("re sta").run()
    app.text_input("target").input("vu").run()
    assert not app.exception and pictures(app) == 1
    assert address(app)["source"] == "re sta" and address(app)["target"] == "vu"


def test_a_link_reopens_the_same_state() -> None:
    params = {
        "checkpoint": "tiny", "source": "ka lo", "target": "mi nu", "kind": "encoder_self", "layer": "2", "head": "all",
        "summary": "max", "pieces": "words", "view": "lines", "cell": "2,1", "meanings": "on", "big": "1",
    }  # fmt: skip
    app = open_app(**params)
    assert not messages(app)
    assert address(app) == {name: text for name, text in params.items() if name != "big"}  # it is the viewer's
    assert state_of(app).view.big
    assert app.text_input("source").value == "ka lo" and app.text_input("target").value == "mi nu"


def test_a_click_in_the_picture_reaches_the_address_and_the_numbers() -> None:
    app = pick(open_app(), kind="decoder_self", layer=1, head=2)
    assert not app.exception
    assert (address(app)["kind"], address(app)["layer"], address(app)["head"]) == ("decoder_self", "2", "3")
    feed = next(e for e in app.get("bidi_component") if e.proto.component_name == "headscope.feed")
    assert b'"kind":"decoder_self","layer":1,"head":2' in feed.proto.bytes


def test_browser_reports_older_than_a_python_change_are_ignored() -> None:
    app = open_app()
    app.button("hs-big").click().run()
    assert state_of(app).view.big and "big" not in address(app)
    app = pick(app, revision=0, head=2)
    assert address(app)["head"] == "1"


ODD = ["漢字", "😀", "שלום", "a\x00b\x1b[0m", "<script>alert(1)</script>", "</s>", "$x^2$ **b** :red[x]", "a\ufffdb"]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_text_is_drawn_and_stays_text(text: str) -> None:
    app = open_app(source=text, target=text)
    assert pictures(app) == 1 and "<script>" not in written(app)
    for side in ("source", "target"):
        assert app.text_input(side).value == address(app)[side] == text


def test_unknown_characters_are_named() -> None:
    assert "Not in this model&#x27;s vocabulary, read as &lt;unk&gt;: 漢" in messages(open_app(source="ka 漢"), True)


def test_a_translation_cut_off_at_the_limit_says_so() -> None:
    assert "The translation was cut off at 40 tokens." in messages(open_app(), True)
    assert "cut off" not in messages(open_app(target="lo"), True)


LINKS = {"layer": "99", "head": "0", "kind": "sideways", "cell": "1", "threshold": "nan", "big": "yes",
         "checkpoint": "../../etc/passwd", "view": "<script>alert(1)</script>"}  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
def test_a_bad_link_is_reported_once_and_corrected(name: str) -> None:
    app = open_app(**{name: LINKS[name]})
    assert pictures(app) == 1
    assert f"The link asks for {'the checkpoint' if name == 'checkpoint' else name} " in messages(app)
    assert address(app).get(name) != LINKS[name] and "<script>" not in messages(app)
    assert not messages(app.run())


def test_a_cell_outside_the_picture_is_forgotten() -> None:
    assert "cell" not in address(open_app(cell="500,500"))


def test_no_checkpoint_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.runtime.cache.checkpoints", dict)
    app = open_app()
    assert "No checkpoint was found" in messages(app)


def test_a_missing_checkpoint_folder_gives_a_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADSCOPE_CHECKPOINT", str(tmp_path / "gone"))
    app = open_app()
    assert "there is no checkpoint" in messages(app)
    app.selectbox("checkpoint").select("tiny").run()
    assert not app.exception and pictures(app) == 1


def test_examples_set_sentence_and_place() -> None:
    app = open_app(target="lo", big="1")
    assert not [button for button in app.button if button.key == "example-0"]
    app.session_state["hs-examples-0"] = True  # opened
    app.run().button("example-0").click().run()
    assert not app.exception
    assert address(app) == {"checkpoint": "tiny", "source": "nu nu", "kind": "encoder_self", "layer": "2", "head": "2"}
    assert state_of(app).view.big
    looks = [html.proto.body for html in app.get("html") if 'class="hs-look-for' in html.proto.body]
    assert len(looks) == 1 and "Head 2 &lt;b&gt;looks back&lt;/b&gt;." in looks[0]


def test_the_chosen_head_survives_an_invalid_sentence() -> None:
    app = pick(open_app(), kind="encoder_self", head=1)
    app.text_input("source").input("").run()
    app.text_input("source").input("nu re ka").run()
    assert address(app)["kind"] == "encoder_self" and address(app)["head"] == "2"


def test_the_model_page_shows_the_checkpoints_metadata(folder: Path) -> None:
    (folder / "tiny" / "README.md").write_text("# Tiny <script>alert(1)</script>\n\nMade for tests.")
    (folder / "tiny" / "training.csv").write_text("step,loss,validation_loss,validation_bleu\n1,2.5,2.0,\n")
    (folder / "tiny" / "metrics.json").write_text('{"bleu": 12.34, "chrf": "n/a"}')
    app = switch_page(open_app(kind="encoder_self"), "model").run()
    values = model_sizes(app)
    assert values["parameters"] == f"{tiny_pretrained().model.parameter_count():,}" and values["sacreBLEU"] == "12.3"
    assert "chrF" not in values and values["heads per layer"] == "3 × 22"
    assert "12.3 is on this model's own test sentences. The paper's 27.3 (base) and 28.4 (big) are on" in page_text(app)
    assert list(figures(app)) == ["training"] and any("Made for tests." in text.value for text in app.markdown)
    assert not any(element.proto.allow_html for element in app.markdown)
    assert address(app)["kind"] == "encoder_self" and address(app)["source"] == "ka lo mi"


def test_the_model_card_is_in_the_readers_language_if_the_checkpoint_has_it(folder: Path) -> None:
    (folder / "tiny" / "README.md").write_text("Made for tests.")
    for expected in ("Made for tests.", "테스트용입니다."):  # of a checkpoint without and with a Korean card
        app = switch_page(open_app(lang="ko"), "model").run()
        assert [card.value for card in app.markdown if card.value[-1] == "."] == [expected]
        (folder / "tiny" / "README.ko.md").write_text("테스트용입니다.", encoding="utf-8")
    app = switch_page(open_app(lang="en"), "model").run()
    assert [card.value for card in app.markdown if card.value[-1] == "."] == ["Made for tests."]


def test_a_toys_curve_leaves_bleu_out_as_its_scores_do(folder: Path) -> None:
    (folder / "tiny" / "training.csv").write_text("step,loss,validation_loss,validation_bleu\n1,2.5,2.0,3.5\n")
    lines = {}
    for scores in ('{"exact": 0.999, "perplexity": 1.1}', '{"exact": 0.2, "bleu": 12.3}'):
        (folder / "tiny" / "metrics.json").write_text(scores)
        clear_caches()
        app = switch_page(open_app(), "model").run()
        lines[scores] = [line["name"] for line in figures(app)["training"]["data"]]
    toy, translation = lines.values()
    assert toy == ["training loss", "validation loss"] and translation == [*toy, "validation BLEU"]


def test_the_model_page_of_a_bare_checkpoint(folder: Path) -> None:
    (folder / "tiny" / "training.csv").write_text("step,loss\n???,1\n")
    app = switch_page(open_app(), "model").run()
    assert not app.exception
    captions = " ".join(caption.value for caption in app.caption)
    assert "cannot be read" in captions and "no model card" in captions


@pytest.fixture
def family(folder: Path) -> Path:
    """Beside `tiny`: `twin`, of the same two languages, and `toy`, of other languages, with an example."""
    tiny = tiny_pretrained()
    save_checkpoint(folder / "twin", tiny.model, tiny.tokenizer, tiny.languages)
    save_checkpoint(folder / "toy", tiny.model, tiny.tokenizer, ("letters", "reversed"))
    (folder / "toy" / "examples.json").write_text(json.dumps([{**EXAMPLE, "source": "vu ti"}]))
    return folder


def texts(app: AppTest) -> tuple[str, str]:
    return app.text_input(key="source").value, app.text_input(key="target").value


def test_another_model_of_the_same_languages_gets_the_same_sentence(family: Path) -> None:
    app = open_app(source="ka zen", target="mi")
    app.selectbox(key="checkpoint").select("twin").run()
    assert texts(app) == ("ka zen", "mi") and address(app)["checkpoint"] == "twin" and pictures(app) == 1
    assert texts(open_link("heads", checkpoint="toy")) == ("vu ti", "")  # without a sentence: its first example


def test_a_model_of_other_languages_starts_with_its_example_and_typed_text_is_kept(family: Path) -> None:
    app = open_app(source="ka zen", target="mi")
    app.selectbox(key="checkpoint").select("toy").run()
    assert texts(app) == ("vu ti", "")
    assert (address(app)["kind"], address(app)["layer"]) == ("encoder_self", "2")
    app.text_input(key="source").input("lo lo lo").run()
    app.selectbox(key="checkpoint").select("tiny").run()
    assert texts(app) == ("ka zen", "mi")
    app.selectbox(key="checkpoint").select("toy").run()
    assert texts(app) == ("lo lo lo", "")
    assert not app.exception and not messages(app)


def test_a_model_with_nan_is_one_sentence_and_what_was_typed_stays(family: Path) -> None:
    weights = family / "twin" / "model.safetensors"
    tensors = load_file(weights)
    tensors["decoder.0.cross_attention.query.weight"][0, 0] = torch.nan
    save_file(tensors, weights)
    app = open_app(source="ka zen", target="mi")
    app.selectbox(key="checkpoint").select("twin").run()
    assert not app.exception and said(app) == (
        "This checkpoint cannot be opened: model.safetensors: decoder.0.cross_attention.query.weight has values that "
        "are not finite numbers; copy the file again, or save the model at a step before its training diverged."
    )
    app.selectbox(key="checkpoint").select("tiny").run()
    assert texts(app) == ("ka zen", "mi") and pictures(app) == 1


def said(app: AppTest) -> str:
    """The texts of the messages, without tags."""
    return re.sub(r"<[^>]*>", "", messages(app)).strip()


def test_a_text_in_another_language_says_so_first() -> None:
    source = "Guten Morgen, wie geht es dir?"
    first = said(open_page("heads", checkpoint="en-de", source=source))
    assert first.startswith("This looks like German. This model reads English")
    assert "This model reads" not in messages(open_page("heads", checkpoint="en-de", source="Good morning."))


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_text_in_hangul_is_answered_in_korean_with_an_example(lang: str) -> None:
    app = open_page("heads", lang=lang, checkpoint="en-de", source="안녕하세요")
    first, *rest = said(app).split(". ")
    assert first == "이 모델은 영어만 읽습니다"
    assert ("This model reads English only" in rest) == (lang == "en")
    app.button(key="offer-example").click().run()
    assert script(texts(app)[0]) == "LATIN" and not messages(app) and not app.exception


@pytest.mark.parametrize(
    ("typed", "opened"), [("안녕하세요", "이만 삼천오백육"), ("십이만 삼", "십이만 삼"), ("육" * 60, "이만 삼천오백육")]
)
def test_a_text_in_hangul_is_offered_a_model_that_reads_numerals(
    typed: str, opened: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first example opens, or the text itself if the model can read it. No other bundled one reads Hangul here."""
    names = [name for name in session_models.names() if name != "ko-en"]
    monkeypatch.setattr("pages.runtime.session_models.names", lambda: names)
    app = open_page("heads", checkpoint="en-de", source=typed, target="")
    offer = app.button(key="offer-ko-numbers")
    assert offer.label == "Open ko-numbers, which reads digits or Korean numerals"
    offer.click().run()
    assert address(app)["checkpoint"] == "ko-numbers" and texts(app)[0] == opened and not app.exception
    assert not messages(app) and "offer-ko-numbers" not in {button.key for button in app.button}
    assert pictures(app) == 1
    app.selectbox(key="checkpoint").select("en-de").run()
    assert texts(app)[0] == typed  # typed for en-de


def test_a_text_in_hangul_is_offered_a_fetched_model(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["en-de", "ko-numbers", "opus-mt-ko-en", "opus-mt-en-de"]
    monkeypatch.setattr("pages.runtime.session_models.names", lambda: names)
    app = open_page("heads", checkpoint="en-de", source="안녕하세요", target="")
    offers = [button.label for button in app.button if (button.key or "").startswith("offer-")]
    assert offers[1:] == ["Open opus-mt-ko-en, which reads Korean sentences"]


def offered(app: AppTest) -> list[str]:
    """The models that are offered for the text."""
    return [button.label for button in app.button if (button.key or "").startswith("offer-")][1:]


@pytest.fixture
def closed(folder: Path) -> None:
    """`ko-en`, a tiny model that says it was taught two words of Korean."""
    tiny = tiny_pretrained()
    save_checkpoint(folder / "ko-en", tiny.model, tiny.tokenizer, ("Korean", "English"))
    parts = {"beginnings": {"noun": ["학교", "사과"]}, "endings": {"noun": ["", "를", "에"]}}
    (folder / "ko-en" / "words.json").write_text(words.written(["학교", "사과"], parts, ["봐요"]), encoding="utf-8")
    (folder / "ko-en" / "examples.json").write_text(json.dumps([EXAMPLE | {"source": "학교에"}]), encoding="utf-8")


@pytest.mark.usefixtures("closed")
def test_a_korean_sentence_is_offered_the_model_of_sentences_and_a_number_that_of_numerals() -> None:
    numerals, sentences = (
        "Open ko-numbers, which reads digits or Korean numerals",
        "Open ko-en, which reads Korean sentences",
    )
    for checkpoint, typed, offer in (
        ("en-de", "십이만 삼", numerals), ("en-de", "서른둘", numerals), ("en-de", "안녕하세요", sentences),
        ("reverse", "안녕하세요", sentences), ("ko-numbers", "안녕하세요", sentences),
    ):  # fmt: skip
        assert offered(open_page("heads", checkpoint=checkpoint, source=typed, target="")) == [offer]
    for checkpoint, typed in (("ko-numbers", "십이만 삼"), ("ko-numbers", "-3"), ("en-de", "Привет!")):
        assert not offered(open_page("heads", checkpoint=checkpoint, source=typed, target=""))


@pytest.mark.usefixtures("closed")
def test_a_model_with_a_closed_vocabulary_opens_with_the_text_and_names_words_outside_it() -> None:
    app = open_page("heads", checkpoint="en-de", source="학꾜를 봐요", target="")
    app.button(key="offer-ko-en").click().run()
    assert address(app)["checkpoint"] == "ko-en" and texts(app)[0] == "학꾜를 봐요" and not app.exception
    outside = "Not in this model&#x27;s vocabulary: "
    assert f"{outside}학꾜를 (near: 학교)" in messages(app, True)
    app.text_input("source").input("사과를 봐요").run()
    assert outside not in messages(app, True)


@pytest.mark.usefixtures("closed")
def test_a_model_of_korean_sentences_reads_no_other_letters() -> None:
    app = open_page("heads", checkpoint="ko-en", source="a school", target="")
    assert said(app) == "This model reads Korean only. It cannot read this text; its output means nothing."
    assert not messages(open_page("heads", checkpoint="ko-en", source="12", target=""))


@pytest.mark.usefixtures("closed")
def test_readers_of_korean_start_with_the_model_that_reads_their_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pages.runtime.session_models.names", lambda: ["en-de", "ko-numbers", "ko-en"])
    app = open_link("heads", lang="ko")
    assert (address(app)["checkpoint"], texts(app)[0]) == ("ko-en", "학교에") and not app.exception
    for asked in ({}, {"source": "Hello!"}, {"layer": "2"}, {"checkpoint": "en-de"}):
        link = {"lang": "ko" if asked else "en", **asked}
        assert address(open_link("heads", **link))["checkpoint"] == "en-de"


def test_a_text_that_is_no_numeral_is_offered_no_model_of_numerals_by_one() -> None:
    app = open_page("heads", checkpoint="ko-numbers", source="안녕하세요", target="")
    assert "10^12 미만의 수만 읽습니다" in said(app)
    assert "offer-ko-numbers" not in {button.key for button in app.button}
    app.button(key="offer-example").click().run()
    assert texts(app)[0] == "이만 삼천오백육" and not messages(app)


def test_a_text_of_unknown_letters_names_what_the_model_reads() -> None:
    outside = "This text is outside what this model reads: "
    for checkpoint, source, reads in (
        ("en-de", "Привет!", "This model reads English"), ("reverse", "Привет!", f"{outside}the letters a to z"),
        ("reverse", "a?b", outside), ("sort", "3.14", f"{outside}the digits 0 to 9."),
        ("ko-numbers", "-3", f"{outside}whole numbers below 10^12"),
    ):  # fmt: skip
        app = open_page("heads", checkpoint=checkpoint, source=source)
        assert said(app).startswith(reads)
        app.button(key="offer-example").click().run()
        assert not messages(app)


def test_a_text_longer_than_those_of_the_training_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_MAX_TOKENS", "128")
    long = " ".join(["We went home."] * 16)
    assert "Nearly all texts of the model&#x27;s training had at most 62" in messages(
        open_page("heads", checkpoint="en-de", source=long), True
    )


def test_the_header_links_every_page_and_names_the_open_one() -> None:
    found = written(open_app())
    for listed in pages():
        address = f'href="{listed.path or "./"}" data-page="{listed.path}"'
        links = re.findall(rf"<a {address}([^>]*)>{listed.title}</a>", found)
        assert len(links) == 2 and all(("aria-current" in link) == listed.first for link in links), listed
    assert "Explore: <b>Heads</b>" in found and "☰ Explore: Heads" in found


def test_a_pressed_link_opens_its_page_and_keeps_the_session() -> None:
    app = open_app()
    kept(app, Session).move = Move(Link("no such page"), "page")
    assert "hs-pages" in written(app.run()) and address(app)["source"] == "ka lo mi" and kept(app, Session).move is None
    kept(app, Session).move = Move(Link("lab"), "page")
    assert "Experiment: <b>Lab</b>" in written(app.run()) and app.text_input(key="source").value == "ka lo mi"
