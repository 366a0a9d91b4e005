"""The files of the site without a server; tests/browser/test_site.py opens them."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

import transformer
from tests.support.build import pretrained_variant
from tests.support.closed import closed_checkpoint
from tests.support.payloads import array, unpack
from transformer.__main__ import main
from transformer.analysis.tokens import word_labels, word_numbers
from transformer.checkpoints.folder import WORDS
from transformer.text.meanings import load_meanings
from transformer.view.anatomy_pack import facts, open_pack, trace_pack
from transformer.view.examples import read_examples
from transformer.view.languages import load_language, script_texts
from transformer.view.site_pages import SITE_PAGES
from transformer.view.state import View, view_from_params
from transformer.web import site
from transformer.web.anatomy import write_anatomy
from transformer.web.folder import about, export_folder
from transformer.web.site import LISTED, SiteError, write_site

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = re.compile(r'(?:href|src)="([^"]*)"')


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of two models."""
    folder = tmp_path_factory.mktemp("host") / "site"
    names = write_site(folder, [transformer.load("reverse"), transformer.load("en-de")], ["en", "ko"])
    assert {*names, LISTED} == files(folder)
    return folder


def test_every_page_refers_only_to_files_of_the_site(written: Path) -> None:
    for number, name in enumerate(SITE_PAGES):
        page = (written / name if number else written) / "index.html"
        links = REFERENCE.findall(page.read_text(encoding="utf-8"))
        assert any("site.js" in link for link in links) and any("site.css" in link for link in links)
        for link in links:
            if not link.startswith("data:"):
                target = (page.parent / link.split("?")[0]).resolve()
                assert not link.startswith("/") and "//" not in link
                assert target.is_file() and target.is_relative_to(written)


def test_no_file_names_this_machine(written: Path) -> None:
    for name in files(written):
        data = (written / name).read_bytes()
        assert str(ROOT).encode() not in data and str(written.parent).encode() not in data, name


def test_every_text_of_the_site_is_there_in_korean(written: Path) -> None:
    about = json.loads((written / "site.json").read_text(encoding="utf-8"))
    assert about["languages"] == {"en": "English", "ko": "한국어"}
    said = json.loads((written / "texts" / "ko.json").read_text(encoding="utf-8"))["texts"]
    known = load_language("ko").translations
    looks = {example["look"] for model in about["models"] for example in model["examples"]} - {""}
    wanted = {*script_texts("site"), *looks}
    assert looks and not wanted - known.keys()
    assert {text for text in wanted if known[text] != text} == wanted & said.keys()
    assert json.loads((written / "texts" / "en.json").read_text(encoding="utf-8"))["texts"] == {}


def test_what_a_toy_reads_is_said_in_korean(written: Path) -> None:
    models = json.loads((written / "site.json").read_text(encoding="utf-8"))["models"]
    texts = json.loads((written / "texts" / "ko.json").read_text(encoding="utf-8"))["texts"]
    reads = [model["about"]["reads"]["what"] for model in models if "reads" in model["about"]]
    assert len(reads) == 1 and texts[reads[0]] == load_language("ko").translations[reads[0]]


def test_what_words_mean_is_told_to_those_who_do_not_read_the_language(written: Path) -> None:
    meanings = {
        code: json.loads((written / "texts" / f"{code}.json").read_text(encoding="utf-8"))["meanings"]
        for code in ("en", "ko")
    }
    assert meanings["en"].keys() == {"German"} and meanings["ko"].keys() == {"English", "German"}
    trace = transformer.load("en-de").trace("The man who called me yesterday is my brother.")
    words = word_labels(trace.target_out_labels, word_numbers(trace.target_out, trace.target_out_labels))
    for code, word in ((code, word) for code in meanings for word in words):
        [told] = load_meanings().of("German", [word], trace.target_text, code) or [None]
        rows = meanings[code]["German"]
        row = next((rows[form] for form in (word, word[:1].lower() + word[1:], word.lower()) if form in rows), {})
        assert row.get(trace.target_text, row.get("")) == told


def test_the_first_picture_is_that_of_the_first_example(written: Path) -> None:
    model = transformer.load("reverse")
    example = read_examples(model)[0]
    trace = model.trace(example.source)
    about, data = unpack(gzip.decompress((written / "first.pack.gz").read_bytes()))
    assert about["texts"] == {} and about["tokens"]["target_out"] == list(trace.target_out)
    picture = array(about["kinds"]["cross"]["picture"], data)
    assert np.abs(picture / 255 - trace.cross.weights.numpy()).max() <= 0.5 / 255 + 1e-6
    [exact] = unpack(gzip.decompress((written / "first-head.pack.gz").read_bytes()))[0]["exact"]
    assert (exact["kind"], exact["layer"], exact["head"]) == (
        example.view.kind, example.view.layer, example.view.head
    )  # fmt: skip


def test_a_second_site_replaces_the_first_and_leaves_other_files(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("mine")
    folder = tmp_path / "site"
    before = write_site(folder, [transformer.load("reverse"), transformer.load("sort")], ["en", "ko"])
    (folder / "CNAME").write_text("heads.example.org")
    (folder / LISTED).write_text((folder / LISTED).read_text() + "\n../outside\n/etc/hosts\nmodels/../../outside")
    after = write_site(folder, [transformer.load("sort")], ["en"])
    assert "models/reverse/web.json" in before and "texts/ko.json" in before
    assert {*after, LISTED, "CNAME"} == files(folder)
    assert not (folder / "models" / "reverse").exists() and (tmp_path / "outside").read_text() == "mine"


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(SiteError, match="holds no site"):
        write_site(tmp_path, [transformer.load("sort")])
    assert files(tmp_path) == {"thesis.tex"}


def test_a_site_that_fails_leaves_the_folder_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "site"
    write_site(folder, [transformer.load("sort")], ["en"])
    before = {name: (folder / name).read_bytes() for name in files(folder)}

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(site, "_write_first", fail)
    with pytest.raises(OSError, match="disk full"):
        write_site(folder, [transformer.load("reverse")], ["en"])
    assert {name: (folder / name).read_bytes() for name in files(folder)} == before
    assert {path.name for path in tmp_path.iterdir()} == {"site"}


def test_models_of_one_name_and_unknown_languages_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match="two models have the name sort"):
        write_site(tmp_path / "site", [transformer.load("sort")] * 2)
    with pytest.raises(SiteError, match="no language 'kr'; choose en or ko"):
        write_site(tmp_path / "site", [transformer.load("sort")], ["kr"])
    assert not (tmp_path / "site").exists()


def test_links_are_read_and_written_as_the_browser_does() -> None:
    """frontend/src/state/params.test.js reads the same cases, of which each says what is unusual."""
    table = json.loads((ROOT / "frontend/src/state/params_cases.json").read_text(encoding="utf-8"))
    for one in table["cases"]:
        case = {"view": {}, "refused": [], **one, "written": View().to_params() | one.get("written", {})}
        view, notices = view_from_params(case["params"], table["layers"], table["heads"], View(**case.get("start", {})))
        assert view.to_browser() == {**View().to_browser(), **case["view"]}, case
        assert view.to_params() == case["written"] and list(view.to_params()) == list(case["written"])
        assert len(notices) == len(case["refused"])
        assert all(f"asks for {name} " in notice for name, notice in zip(case["refused"], notices, strict=True))


def test_a_closed_vocabulary_is_among_the_files_that_the_engine_reads(tmp_path: Path) -> None:
    model = transformer.load(closed_checkpoint(tmp_path))
    facts = export_folder(model, tmp_path / "site", packed=True)
    assert facts["words"] == WORDS in facts["files"]
    packed = (tmp_path / "site" / f"{WORDS}.gz").read_bytes()
    assert gzip.decompress(packed) == (model.path / WORDS).read_bytes()
    assert "words" not in about(transformer.load("ko-numbers"))


def test_a_single_file_refers_to_nothing_outside_itself(tmp_path: Path) -> None:
    file = tmp_path / "headscope.html"
    assert main(["site", str(file), "--checkpoint", "sort", "--language", "en", "--single-file"]) == 0
    text = file.read_text(encoding="utf-8")
    head = text[: text.index("<style>")]
    assert not [link for link in REFERENCE.findall(head) if not link.startswith("data:")]
    assert "script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:;" in head and "'self'" not in head
    assert not re.search(r"<(script|link)[^>]* (src|href)=\"(?!data:)", text)
    assert 'id="file:models/sort/model.safetensors.gz"' in text and {path.name for path in tmp_path.iterdir()} == {
        file.name
    }


def test_the_first_example_of_the_anatomy_is_there_before_the_engine(tmp_path: Path) -> None:
    model = transformer.load("reverse")
    write_anatomy(model, tmp_path)
    example = read_examples(model)[0]
    trace = model.trace(example.source, example.target or None)
    assert gzip.decompress((tmp_path / "anatomy.pack.gz").read_bytes()) == trace_pack(model, trace)
    assert gzip.decompress((tmp_path / "anatomy-open.pack.gz").read_bytes()) == open_pack(trace, 0, 0)


@pytest.mark.parametrize("longest", [64, 3])
def test_without_an_example_that_can_be_drawn_there_is_what_any_sentence_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, longest: int
) -> None:
    monkeypatch.setattr("transformer.web.anatomy.LONGEST", longest)
    model = pretrained_variant() if longest == 64 else transformer.load("reverse")
    write_anatomy(model, tmp_path)
    header, data = unpack(gzip.decompress((tmp_path / "anatomy.pack.gz").read_bytes()))
    known = facts(model)
    assert header["sort"] == "facts" and not data and header["boxes"].keys() == known["boxes"].keys()
    assert header["config"] == known["config"] and [path.name for path in tmp_path.iterdir()] == ["anatomy.pack.gz"]
