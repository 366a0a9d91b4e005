"""What the site writes for the anatomy's drawing."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.support.build import pretrained_variant
from tests.support.payloads import unpack
from transformer.inference.pretrained import load
from transformer.view.anatomy_pack import facts, open_pack, trace_pack
from transformer.view.examples import read_examples
from transformer.web.anatomy import write_anatomy


def test_the_first_example_is_there_before_the_engine(tmp_path: Path) -> None:
    model = load("reverse")
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
    model = pretrained_variant() if longest == 64 else load("reverse")
    write_anatomy(model, tmp_path)
    header, data = unpack(gzip.decompress((tmp_path / "anatomy.pack.gz").read_bytes()))
    known = facts(model)
    assert header["sort"] == "facts" and not data and header["boxes"].keys() == known["boxes"].keys()
    assert header["config"] == known["config"] and [path.name for path in tmp_path.iterdir()] == ["anatomy.pack.gz"]
