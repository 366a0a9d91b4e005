"""Recorded trainings: their files, that training again gives the same numbers, and what the Training page shows."""

import dataclasses
import io
import json
from typing import Any

import numpy as np
import pytest

from transformer.live_training import presets, record, recordings
from transformer.live_training.findings import judged, numbers, prediction
from transformer.live_training.frames import Frame
from transformer.live_training.presets import PARTNERS, PRESETS
from transformer.live_training.recordings import (
    RecordedRun,
    RecordingError,
    read_recording,
    recorded_reference,
    recorded_runs,
    recording,
    recording_bytes,
)
from transformer.view.training_pack import training_pack

TINY = dataclasses.replace(
    PRESETS["reverse"], alphabet=5, shortest=3, longest=3, layers=1, heads=2, d_model=8, d_ff=8, steps=6, batch=8
)


def named(name: str) -> RecordedRun:
    found = recording(name)
    assert found is not None, name
    return found


def test_a_recording_comes_back_from_its_file() -> None:
    made = record.record(TINY)
    data = recording_bytes(made)
    found = read_recording(data)
    assert (found.experiment, found.opening) == (made.experiment, made.opening)
    assert [frame.weights for frame in found.frames] == [frame.weights for frame in made.frames]
    for before, after in zip(made.frames, found.frames, strict=True):
        assert (after.step, after.outputs, after.predicted) == (before.step, before.outputs, before.predicted)
        assert after.exact == pytest.approx(before.exact, abs=1e-6) and after.seconds == 0.0
    assert data == recording_bytes(found)  # to the last byte


def file(header: Any, weights: np.ndarray, **more: np.ndarray) -> bytes:
    data = io.BytesIO()
    np.savez_compressed(data, header=np.frombuffer(json.dumps(header).encode(), np.uint8), weights=weights, **more)
    return data.getvalue()


def test_a_damaged_file_is_a_sentence() -> None:
    made = record.record(TINY)
    good = recording_bytes(made)
    with np.load(io.BytesIO(good)) as arrays:
        header, weights = json.loads(arrays["header"].tobytes()), arrays["weights"]
    assert read_recording(file(header, weights)).opening == made.opening
    pickled = io.BytesIO()
    np.savez_compressed(pickled, header=np.array([{}], dtype=object), weights=weights)
    twice = {**header, "frames": [header["frames"][0]] * len(header["frames"])}
    for data in (
        b"", b"x", good[:-30], pickled.getvalue(), file(header, weights, more=weights), file(header, weights[:-1]),
        file(header, weights[:, :-1]), file(header, weights.astype(float)), file({}, weights), file([], weights),
        file(twice, weights), file({**header, "experiment": {"steps": -1}}, weights),
        file({**header, "opening": {**header["opening"], "layers": 99}}, weights),
    ):  # fmt: skip
        with pytest.raises(RecordingError, match=r"recording"):
            read_recording(data)


def test_every_preset_has_a_small_recording_of_its_own() -> None:
    """One that was made before the preset was changed must be made again."""
    files = sorted(path.stem for path in recordings.FOLDER.iterdir())
    assert files == sorted(PRESETS)
    sizes = [path.stat().st_size for path in recordings.FOLDER.iterdir()]
    assert max(sizes) <= 150_000 and sum(sizes) <= 2_000_000
    for name, experiment in PRESETS.items():
        found = named(name)
        assert found.experiment == experiment and len(found.frames) == record.MOST, name
        assert found.frames[-1].step == experiment.steps and found.frames[-1].exact is not None


def test_the_recorded_runs_show_what_their_presets_are_for() -> None:
    for name in PRESETS:
        if other := PARTNERS.get(name):
            here, there = (numbers(found.opening, found.frames) for found in (named(name), named(other)))
            assert judged(*prediction(PRESETS[other], PRESETS[name]), there, here) is True, name


def close(mine: Frame, recorded: Frame) -> None:
    """The same step of the same run: another processor may round the last bits in another way."""
    assert mine.step == recorded.step
    for name in ("loss", "validation_loss", "forced", "exact"):
        assert getattr(mine, name) == pytest.approx(getattr(recorded, name), abs=2e-3), (name, mine.step)
    differences = np.frombuffer(mine.weights, np.uint8).astype(int) - np.frombuffer(recorded.weights, np.uint8)
    assert abs(differences).max() <= 2, mine.step


@pytest.mark.parametrize(
    "name",
    [
        "one-head",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("no-mask", "no-positions", "wide-unscaled")),
    ],
)
def test_training_a_preset_again_gives_its_recording(name: str) -> None:
    """Its first steps; `record` itself trains it to the end."""
    found = record.record(PRESETS[name], lambda step: step == 30)
    *again, _stopped = found.frames
    assert len(again) > 10 and found.opening == named(name).opening
    for mine, recorded in zip(again, named(name).frames, strict=False):
        close(mine, recorded)


# -- as the page shows them -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", presets.names())
def test_every_preset_plays_beside_its_reference(name: str) -> None:
    wanted = [] if name == presets.OWN else [*filter(None, [PARTNERS.get(name)]), name]
    assert [run.id for run in recorded_runs(name)] == [f"recorded-{one}" for one in wanted]
    assert training_pack(recorded_runs(name), {}, {})


def test_it_begins_with_the_head_that_shows_most() -> None:
    kind, layer, head = named("reverse").look_at
    weights = named("reverse").frames[-1].attention(named("reverse").opening)["cross"].max(-1).mean(-1)
    assert kind == "cross" and weights[layer, head] == weights.max()
    kind, layer, head = named("no-mask").look_at
    attention = named("no-mask").frames[-1].attention(named("no-mask").opening)[kind][layer, head]
    ahead = np.diagonal(attention, 1)  # row q at the token that it must predict
    assert kind == "decoder_self" and ahead.mean() > 200


@pytest.mark.parametrize(
    ("name", "changes", "reference"),
    [
        ("no-mask", {"seed": 7}, "reverse"), ("no-norm", {"seed": 7}, "pre-norm"), ("pre-norm", {}, "deep"),
        ("one-head", {}, "shallow"), ("reverse", {}, None), ("reverse", {"d_ff": 64}, "reverse"),
        ("reverse", {"d_ff": 64, "causal": False}, None), ("wide-unscaled", {"steps": 9}, None),
    ],
)  # fmt: skip
def test_a_live_run_is_compared_with_a_recorded_one(name: str, changes: dict[str, Any], reference: str | None) -> None:
    found = recorded_reference(dataclasses.replace(PRESETS[name], **changes))
    assert (found and found.id) == (reference and f"recorded-{reference}")
