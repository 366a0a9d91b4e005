"""Runs while they train, packed for the browser: every frame once, bounded answers, and nothing that a browser sends is
trusted."""

import base64
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.payloads import array, unpack
from tests.support.training_runs import MadeUp, Sizes, a_run
from transformer.live_training.experiment import Experiment
from transformer.view import training_messages, training_pack
from transformer.view.training_messages import COMMANDS, LARGEST_FILE, FileError, ViewerMessage, read_file, read_message
from transformer.view.training_pack import training_pack as pack

SMALL = Sizes(layers=2, heads=3, tokens=4, steps=60)
IDS = ("a", "b")
TRAINING = Path(__file__).parents[2] / "frontend" / "src" / "training"


def held(data: bytes) -> dict[str, tuple[int, list[dict[str, Any]], list[bytes]]]:
    """Run id -> index of the first frame, frames, and their attention as bytes, as the browser takes them."""
    header, blob = unpack(data)
    found = {}
    for about in header["runs"]:
        rows = [] if about["weights"] is None else [row.tobytes() for row in array(about["weights"], blob)]
        found[about["id"]] = (about["from"], about["frames"], rows)
    return found


def test_every_frame_is_sent_once_and_unchanged() -> None:
    run = a_run(0, SMALL)
    have, steps, weights = 0, [], []
    for until in (0, 7, 8, SMALL.steps):
        run.stopped = run.opening.recorded[min(until, len(run.opening.recorded) - 1)]
        start, frames, rows = held(pack([run], {run.id: have}, {}))[run.id]
        assert start == have and len(frames) == len(rows)
        steps += [one["step"] for one in frames]
        weights += rows
        have += len(frames)
    assert steps == list(run.opening.recorded) and weights == [one.weights for one in run.every]
    first = np.frombuffer(weights[5], np.uint8)
    assert np.array_equal(first, np.concatenate([one.ravel() for one in run.every[5].attention(run.opening).values()]))


def test_a_frame_brings_its_numbers_and_texts() -> None:
    run = a_run(2, SMALL)
    assert len(run.frames) == len(run.every) and run.stage == "done"
    header, _ = unpack(pack([run], {}, {"labels": {run.id: "<b>no</b> positions"}}, number=17))
    assert header["number"] == 17
    (about,) = header["runs"]
    assert about["label"] == "<b>no</b> positions" and about["recorded"] == len(about["frames"]) == len(run.every)
    names = ("stage", "place", "reason", "error", "step", "limit")
    assert {name: about[name] for name in names} == {name: getattr(run, name) for name in names}
    assert (about["steps"], about["seed"], about["causal"]) == (60, 3, True)
    for sent, frame in zip(about["frames"], run.every, strict=True):
        assert sent["outputs"] == list(frame.outputs) and sent["predicted"] == list(frame.predicted)
        for name in ("loss", "validation_loss", "forced", "exact"):
            value = getattr(frame, name)
            assert sent[name] is None if value is None else math.isclose(sent[name], value, abs_tol=1e-6)
    for name, value in about["opening"].items():
        assert value == json.loads(json.dumps(getattr(run.opening, name)))


def test_browsers_without_frames_get_the_opening() -> None:
    run = a_run(0, SMALL)
    assert unpack(pack([run], {}, {}))[0]["runs"][0]["opening"]
    assert unpack(pack([run], {run.id: 1}, {}))[0]["runs"][0]["opening"] is None
    assert unpack(pack([run], None, {}))[0]["runs"][0]["opening"] is None
    run.stopped = -1  # known, but no frame yet
    assert unpack(pack([run], None, {}))[0]["runs"][0]["opening"]
    run.opening = None  # type: ignore[assignment]
    about = unpack(pack([run], {}, {}))[0]["runs"][0]
    assert about["opening"] is None and about["frames"] == [] and about["weights"] is None and about["recorded"] == 0


def test_without_an_ask_or_after_the_last_frame_no_frame_travels() -> None:
    run = a_run(0, SMALL)
    for have in (None, {run.id: 10**6}):
        start, frames, rows = held(pack([run], have, {}))[run.id]
        assert start == len(run.every) and frames == rows == []


def test_an_answer_is_bounded_and_the_next_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [a_run(number, SMALL) for number in (0, 1, 2)]
    size = runs[0].opening.frame_bytes
    monkeypatch.setattr(training_pack, "MOST", 10 * size)
    have = {run.id: 0 for run in runs}
    got: dict[str, list[bytes]] = {run.id: [] for run in runs}
    for _ in range(100):
        answer = held(pack(runs, have, {}))
        assert sum(len(rows) for _, _, rows in answer.values()) <= 10
        for name, (start, frames, rows) in answer.items():
            assert start == have[name] and len(frames) == len(rows)
            have[name] += len(rows)
            got[name] += rows
        if all(have[run.id] == len(run.every) for run in runs):
            break
    assert got == {run.id: [one.weights for one in run.every] for run in runs}


def test_a_frame_larger_than_an_answer_travels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [a_run(number, SMALL) for number in (0, 1)]
    monkeypatch.setattr(training_pack, "MOST", 5)
    answer = held(pack(runs, {}, {}))
    assert [len(rows) for _, _, rows in answer.values()] == [1, 0]


def test_a_run_that_ends_meanwhile_is_done_only_with_its_last_frame() -> None:
    """The run's thread adds the last frame, then says that the run has ended: the order of reading matters."""
    run = a_run(0, SMALL)

    class Ends(MadeUp):
        reads = 0

        @property
        def frames(self) -> list[Any]:
            type(self).reads += 1
            return self.every if self.reads > 1 else self.every[:-1]

        @property
        def stage(self) -> str:  # type: ignore[override]
            return "done" if self.reads else "training"

        @stage.setter
        def stage(self, value: str) -> None:
            pass

    ends = Ends(run.id, run.experiment, run.opening, run.every)
    (about,) = unpack(pack([ends], {}, {}))[0]["runs"]
    assert about["stage"] == "training" or about["recorded"] == len(run.every)


def test_numbers_that_json_has_no_word_for_are_none() -> None:
    run = a_run(0, SMALL)
    run.every = [replace(run.every[0], loss=float("nan"), validation_loss=float("inf"), exact=1.0)]
    (about,) = unpack(pack([run], {}, {}))[0]["runs"]
    (frame,) = about["frames"]
    assert frame["loss"] is None and frame["validation_loss"] is None and frame["exact"] == 1.0
    assert b"NaN" not in pack([run], {}, {})


def test_the_page_can_add_entries() -> None:
    header, _ = unpack(pack([], {}, {"findings": [{"run": "x", "title": "ü"}], "labels": {"x": "y"}, "big": True}))
    assert header["more"] == {"findings": [{"run": "x", "title": "ü"}], "big": True} and header["runs"] == []


def test_an_experiment_has_the_packed_attributes() -> None:
    run = a_run(0, SMALL)
    run.experiment = Experiment(steps=60, seed=5, causal=False)  # type: ignore[assignment]
    (about,) = unpack(pack([run], {}, {}))[0]["runs"]
    assert (about["steps"], about["seed"], about["causal"]) == (60, 5, False)


# -- what a browser sends ------------------------------------------------------------------------------------------


def test_an_ask_contains_the_frame_counts_of_the_browser() -> None:
    assert read_message({"have": {"a": 3.0, "b": 0, "gone": 7}, "n": 12}, None, IDS) == ViewerMessage(
        {"a": 3, "b": 0}, 12
    )
    assert read_message({"have": {"a": 3}, "n": 12}, None, IDS).have == {"a": 3, "b": 0}
    assert read_message(None, None, IDS) == ViewerMessage()


@pytest.mark.parametrize("do", COMMANDS)
def test_a_command_names_a_run_and_precedes_an_ask(do: str) -> None:
    command = {"run": "b", "do": do, "have": {"a": 1, "b": 2}, "n": 13}
    assert read_message({"have": {}, "n": 12}, command, IDS) == ViewerMessage({"a": 1, "b": 2}, 13, "b", do)


@pytest.mark.parametrize(
    "command",
    [{"run": "c", "do": "stop"}, {"run": "a", "do": "rm"}, {"run": ["a"], "do": "stop"}, {"run": "a", "do": {}}, {}],
)
def test_an_invalid_command_is_ignored(command: Any) -> None:
    found = read_message(None, {**command, "n": 5, "have": {}}, IDS)
    assert (found.run, found.do, found.number) == ("", "", 5)


@pytest.mark.parametrize("bad", ["x", 7, ["ask"], {"have": "all", "n": "1"}, {"have": ["a"]}, {"have": None, "n": -1}])
def test_an_invalid_request_is_ignored(bad: Any) -> None:
    assert read_message(bad, bad, IDS) == ViewerMessage()


@pytest.mark.parametrize("count", ["3", -1, 1.5, float("nan"), float("inf"), 10**400, True, None, [1]])
def test_an_invalid_frame_count_skips_its_run(count: Any) -> None:
    assert read_message({"have": {"a": count, "b": 2}, "n": count}, None, IDS) == ViewerMessage({"b": 2}, 0)


def test_a_file_is_read() -> None:
    data = bytes(range(256))
    file = read_file({"name": "../x.zip", "data": base64.b64encode(data).decode()})
    assert file is not None and file.data == data and file.name == "../x.zip"
    assert read_file(None) is None and read_file([1]) is None
    empty = read_file({"name": "x" * 999, "data": ""})
    assert empty is not None and empty.data == b"" and len(empty.name) == 200


@pytest.mark.parametrize("value", [{}, {"name": 1, "data": ""}, {"name": "x", "data": 5}, {"name": "x", "data": "%%%"},
                                   {"name": "x", "data": "ü"}, {"name": "x", "data": "abc"}])  # fmt: skip
def test_an_invalid_file_is_refused(value: Any) -> None:
    with pytest.raises(FileError, match="choose it again"):
        read_file(value)


def test_a_file_is_bounded_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    largest = base64.b64encode(b"\0" * LARGEST_FILE).decode()
    file = read_file({"name": "x", "data": largest})
    assert file is not None and len(file.data) == LARGEST_FILE
    monkeypatch.setattr(training_messages.base64, "b64decode", None)
    with pytest.raises(FileError, match="more than 16 MB"):
        read_file({"name": "x", "data": largest + "AAAA"})
