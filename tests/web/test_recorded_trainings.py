"""The recorded trainings of the site: every run once, and for each language what the page Training says of them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.payloads import array, unpack
from transformer.live_training.finding_texts import headline
from transformer.live_training.presets import OWN, PRESETS, look_for, names
from transformer.live_training.recordings import recorded_runs, recording
from transformer.texts import in_language
from transformer.view.languages import load_language
from transformer.web.training import write_trainings

CODES = ("en", "ko")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site") / "trainings"
    write_trainings(made, map(load_language, CODES))
    return made


def presets(folder: Path, code: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / f"{code}.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", PRESETS)
def test_a_file_has_every_frame_of_a_run(folder: Path, name: str) -> None:
    run = recording(name)
    assert run is not None
    header, data = unpack(gzip.decompress((folder / f"{run.id}.pack.gz").read_bytes()))
    (packed,) = header["runs"]
    assert packed["id"] == run.id and packed["recording"] and packed["stage"] == "done" and packed["from"] == 0
    assert [frame["step"] for frame in packed["frames"]] == [frame.step for frame in run.frames]
    assert array(packed["weights"], data).tobytes() == b"".join(frame.weights for frame in run.frames)


def test_the_menu_is_that_of_the_page_without_own_pairs(folder: Path) -> None:
    found = presets(folder, "en")
    assert [preset["name"] for preset in found] == [name for name in names() if name != OWN]
    files = {path.name for path in folder.iterdir()} - {f"{code}.json" for code in CODES}
    assert {f"{run}.pack.gz" for preset in found for run in preset["runs"]} == files
    for preset in found:
        assert preset["runs"] == [run.id for run in recorded_runs(preset["name"])]
        assert len(preset["labels"]) == preset["place"]["run"] == len(preset["runs"])
        assert [finding["run"] for finding in preset["findings"]] == preset["runs"][-1:]


def test_texts_are_in_the_language_of_their_file(folder: Path) -> None:
    english, korean = (presets(folder, code) for code in CODES)
    for one, other in zip(english, korean, strict=True):
        assert one["place"] == other["place"] and one["runs"] == other["runs"]
        with in_language(load_language("ko")):
            assert other["look_for"] == look_for(one["name"]) != one["look_for"]
            assert other["headline"] == headline(one["name"]) != one["headline"]
        for finding, told in zip(one["findings"], other["findings"], strict=True):
            assert finding["verdict"] == told["verdict"] and finding["happened"] != told["happened"]


def test_the_same_files_are_written_again(folder: Path, tmp_path: Path) -> None:
    write_trainings(tmp_path, [load_language("en")])
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes(), path.name
