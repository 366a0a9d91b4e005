"""Recordings of how heads formed: the numbers are those of the states they came from."""

import dataclasses
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.build import sentences, tiny_config, tiny_tokenizer
from transformer.__main__ import main
from transformer.inference.pretrained import Pretrained, load
from transformer.training import recording
from transformer.training.loop import Trainer
from transformer.training.recording import Recording, record, states
from transformer.training.settings import Settings, TrainingError

PAIRS = [(text, text) for text in sentences()[:30]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    settings = Settings(steps=4, batch_tokens=100, warmup=2, save_every=4, validate_every=4, snapshots=3)
    trainer = Trainer(folder, tiny_config(vocab_size=67), tiny_tokenizer(), PAIRS, PAIRS[:5], settings)
    trainer.run()
    trainer.export(folder / "checkpoint")
    return folder


@pytest.fixture(scope="module")
def final(run: Path) -> Pretrained:
    return load(run / "checkpoint")


def test_weights_are_those_of_each_state(run: Path, final: Pretrained, tmp_path: Path) -> None:
    found = record(run, final, [("ka lo", "nu"), ("mi", "")], PAIRS[:5])
    assert found.steps == (0, 1, 4) and found.sentences[0] == ("ka lo", "nu")
    assert found.sentences[1] == ("mi", final.translate("mi").text)
    for place, (step, model) in enumerate(states(run, final)):
        assert step == found.steps[place]
        trace = model.trace("ka lo", "nu")
        for kind in ("encoder_self", "decoder_self", "cross"):
            weights = trace.attention(kind).weights
            assert found.weights[kind][0].shape == (3, *weights.shape)
            assert np.abs(found.weights[kind][0][place] / 255 - weights.numpy()).max() <= 0.5 / 255 + 1e-6
        assert found.translations[place] == (model.translate("ka lo").text, model.translate("mi").text)
    assert not np.array_equal(found.weights["cross"][0][0], found.weights["cross"][0][2])
    assert all(0 < one["loss"] < 10 and 0 <= one["bleu"] <= 100 for one in found.scores)
    (tmp_path / "learning.npz").write_bytes(found.to_bytes())
    again = Recording.from_file(tmp_path / "learning.npz")
    for field in dataclasses.fields(Recording):
        if field.name != "weights":
            assert getattr(again, field.name) == getattr(found, field.name)
    for kind, arrays in found.weights.items():
        assert all(np.array_equal(a, b) for a, b in zip(arrays, again.weights[kind], strict=True))


def test_the_last_state_is_the_checkpoint(run: Path, final: Pretrained) -> None:
    *_, (_, last) = states(run, final)
    for name, parameter in final.model.named_parameters():
        assert torch.equal(parameter, last.model.get_parameter(name))


def test_the_command_takes_the_examples(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "dev.tsv").write_text("ka lo\tka lo\n")
    command = ["record", "--checkpoint", str(run / "checkpoint"), "--run", str(run)]
    command += ["--validation", str(tmp_path / "dev.tsv")]
    assert main(command) == 2 and "has no examples.json" in capsys.readouterr().err
    for damaged in ("[", '{"source": "ka"}', '[{"target": "ka"}]', "[3]"):
        (run / "checkpoint" / "examples.json").write_text(damaged)
        assert main(command) == 2 and "is not a list of examples with a source each" in capsys.readouterr().err
    (run / "checkpoint" / "examples.json").write_text('[{"source": "ka"}, {"source": "ka"}, {"source": "lo mi"}]')
    assert main(command) == 0
    assert "3 snapshots, 2 sentences" in capsys.readouterr().out
    assert len(Recording.from_file(run / "checkpoint" / "learning.npz").sentences) == 2


def test_a_toy_task_is_scored_by_exact_answers(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "checkpoint" / "examples.json").write_text('[{"source": "ka", "target": "ka"}]')
    recipe = tmp_path / "toy.toml"
    recipe.write_text('[data]\ntask = "copy"\ncount = 60\nlengths = [2, 3]\nseed = 1\nalphabet = "aeiklmnorstuvz"\n')
    command = ["record", "--checkpoint", str(run / "checkpoint"), "--run", str(run), "--output", str(tmp_path / "new")]
    assert main(command) == 2 and main([*command, "--recipe", str(recipe), "--validation", "x.tsv"]) == 2
    assert capsys.readouterr().err.count("either sentence pairs with --validation, or the recipe of a toy task") == 2
    assert main([*command, "--recipe", str(recipe)]) == 0
    found = Recording.from_file(tmp_path / "new")
    assert found.measure == "exact" and [set(one) for one in found.scores] == [{"loss", "exact"}] * 3
    like = load(run / "checkpoint")
    written = [model.translate("ka").text for _, model in states(run, like)]
    scores = record(run, like, [("ka", "ka")], [("ka", written[-1])], "exact").scores
    assert [one["exact"] for one in scores] == [100.0 * (text == written[-1]) for text in written]


def test_runs_without_snapshots_or_of_other_models_give_messages(run: Path, final: Pretrained, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="has no snapshots; train with --snapshots 12"):
        list(states(tmp_path, final))
    (tmp_path / "snapshots").mkdir()
    (tmp_path / "snapshots" / "00000001.safetensors").write_bytes(b"x")
    with pytest.raises(TrainingError, match="has no snapshot of checkpoint"):
        list(states(tmp_path, final))


def test_a_recording_that_contradicts_itself_gives_a_message(run: Path, final: Pretrained, tmp_path: Path) -> None:
    good = record(run, final, [("ka lo", "nu"), ("mi", "re")], PAIRS[:5])
    cross = good.weights["cross"]
    for words, changes in {
        "increasing whole numbers": {"steps": (0, 4, 1)},
        "increasing whole": {"steps": (0, True, 4)},
        "are not increasing": {"steps": ()},
        "0 sentences": {"sentences": (), "translations": ((), (), ())},
        "not a text of at most 2,000 characters": {"translations": (("a" * 2001, "b"), *good.translations[1:])},
        "some states lack a score": {"scores": good.scores[1:]},
        "or a translation": {"translations": (("a",), *good.translations[1:])},
        "a loss or score": {"scores": ({"loss": float("nan"), "bleu": 1.0}, *good.scores[1:])},
        "not a recording: 'bleu'": {"scores": ({"loss": 1.0}, *good.scores[1:])},
        "one byte per state": {"weights": {**good.weights, "cross": (cross[0][1:], cross[1])}},
        "an array of cross": {"weights": {**good.weights, "cross": (cross[0].astype(np.float32), cross[1])}},
    }.items():
        (tmp_path / "learning.npz").write_bytes(dataclasses.replace(good, **changes).to_bytes())
        with pytest.raises(ValueError, match=r"learning\.npz is not a recording") as error:
            Recording.from_file(tmp_path / "learning.npz")
        assert words in str(error.value)
    half = dataclasses.replace(good, sentences=(("ka \ud800", "nu"), good.sentences[1]))
    with pytest.raises(ValueError, match="half of a surrogate pair"):  # JSON can say what UTF-8 cannot
        half._checked()


def test_a_false_recording_gives_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small archives: one that unpacks to more than is read, shapes no memory holds, an object that is a pickle."""
    monkeypatch.setattr(recording, "LARGEST_UNPACKED", 10_000)
    header = "{'descr': '|u1', 'fortran_order': False, 'shape': (%s,), }"
    objects = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    entries = {
        "unpacked it takes": b"\x93NUMPY\x01\x00" + bytes(10_000),
        "is not a recording": b"\x93NUMPY\x01\x00\x76\x00" + (header % (10**30)).ljust(118).encode() + bytes(9),
        "learning.npz": b"\x93NUMPY\x01\x00\x76\x00" + (header % (10**13)).ljust(118).encode() + bytes(9),
        "allow_pickle": b"\x93NUMPY\x01\x00\x76\x00" + objects.ljust(118).encode() + bytes(9),
    }
    for words, data in entries.items():
        with zipfile.ZipFile(tmp_path / "learning.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
            file.writestr("index.json.npy", data)
        with pytest.raises(ValueError, match=r"learning\.npz is not a recording") as error:
            Recording.from_file(tmp_path / "learning.npz")
        assert words in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 500
    (tmp_path / "learning.npz").unlink()
    with (tmp_path / "learning.npz").open("wb") as file:
        file.truncate(recording.LARGEST + 1)
    with pytest.raises(OSError, match="larger than 20,000,000 bytes"):
        Recording.from_file(tmp_path / "learning.npz")
