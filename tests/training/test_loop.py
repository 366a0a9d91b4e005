import csv
import dataclasses
import json
import math
import shutil

import pytest
import torch
from safetensors.torch import load_file

from tests.support.build import sentences, tiny_config, tiny_tokenizer
from transformer.checkpoints.folder import load_checkpoint
from transformer.model.config import ModelConfig
from transformer.training.evaluation import columns, corpus_bleu
from transformer.training.loop import Trainer
from transformer.training.settings import FIELDS, Settings, TrainingError, snapshot_steps
from transformer.training.store import Memory

CONFIG = tiny_config(vocab_size=67, dropout=0.1, attention_dropout=0.1, encoder_layers=1, decoder_layers=1)
COPY = [(text, text) for text in sentences()]
TRAIN, VALIDATION = COPY[:40], COPY[40:50]
SETTINGS = Settings(
    steps=12, batch_tokens=61, warmup=5, cooldown=3, save_every=4, validate_every=3, average=2, validation_sentences=3,
    snapshots=4, sampling=0.3,
)  # fmt: skip  # an epoch of `TRAIN` is longer than one part of an interrupted run and shorter than the run


def _trainer(folder, config=CONFIG, **changes):
    settings = dataclasses.replace(SETTINGS, **changes)
    return Trainer(folder, config, tiny_tokenizer(), TRAIN, VALIDATION, settings, ("A", "B"))


def _result(folder, trainer):
    """Everything a run leaves behind, without the time it took."""
    rows = csv.DictReader((folder / "training.csv").read_text().splitlines())
    log = [{k: v for k, v in row.items() if k != "seconds"} for row in rows]
    files = sorted([*folder.glob("states/*"), *folder.glob("snapshots/*"), *folder.glob("state-*")])
    tensors = {f"{file.name}: {name}": t for file in files for name, t in load_file(file).items()}
    state = json.loads((folder / "state.json").read_text())
    return log, tensors, {**state, "seconds": None}, {n: p.detach() for n, p in trainer.model.named_parameters()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run without interruption: its folder and what it left."""
    folder = tmp_path_factory.mktemp("whole")
    trainer = _trainer(folder)
    trainer.run()
    return folder, _result(folder, trainer)


def _same(found, wanted):
    assert found[0] == wanted[0] and found[2] == wanted[2]
    for ours, theirs in zip(found[1::2], wanted[1::2], strict=True):
        assert list(ours) == list(theirs)
        assert not [name for name in ours if not torch.equal(ours[name], theirs[name])]


def test_the_run_spans_epochs(whole):
    assert whole[1][2]["epoch"] >= 1 and whole[1][2]["step"] == 12


def test_in_memory_as_in_a_folder_and_no_file_is_written(tmp_path, whole, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trainer = _trainer(None)
    trainer.run(until=5)
    trainer.run()
    log, tensors, _, weights = whole[1]
    found = dict(trainer.model.named_parameters())
    assert not [name for name in weights if not torch.equal(found[name], weights[name])]
    rows = csv.DictReader(trainer.store.log_bytes().decode().splitlines())
    assert [{k: v for k, v in row.items() if k != "seconds"} for row in rows] == log
    kept = [f"{step:08}.safetensors: " for step in (8, 12)]
    for one, file in zip(trainer.store.kept(), kept, strict=True):
        assert all(torch.equal(tensor, tensors[file + name]) for name, tensor in one.items())
    assert not list(tmp_path.iterdir()) and Memory().log_bytes() == b"" and Memory().state() is None


@pytest.mark.parametrize("stops", [(1,), (4,), (6,), (11,), (3, 5, 10), tuple(range(1, 12))], ids=str)
def test_interrupted_and_resumed_equals_uninterrupted(tmp_path, whole, stops):
    for stop in stops:
        _trainer(tmp_path).run(until=stop)
        torch.rand(3)  # what others draw in between changes nothing
    trainer = _trainer(tmp_path)
    assert trainer.step == stops[-1]
    trainer.run()
    _same(_result(tmp_path, trainer), whole[1])


@pytest.mark.parametrize("crash", [2, 3, 6, 7, 9])
def test_a_crash_between_saved_states_changes_nothing(tmp_path, whole, crash):
    def die(entry):
        if entry.step == crash:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _trainer(tmp_path).run(die)
    trainer = _trainer(tmp_path)
    assert trainer.step == crash // 4 * 4
    trainer.run()
    _same(_result(tmp_path, trainer), whole[1])


def test_a_run_again_gives_the_same_and_another_seed_does_not(tmp_path, whole):
    again = _trainer(tmp_path / "again")
    again.run()
    _same(_result(tmp_path / "again", again), whole[1])
    other = _trainer(tmp_path / "other", seed=2)
    other.run()
    assert not torch.equal(other.model.embedding.weight, again.model.embedding.weight)


def test_a_finished_run_stays_finished(whole):
    reports = []
    _trainer(whole[0]).run(reports.append)
    assert not reports


def test_the_log(whole):
    rows = whole[1][0]
    assert ["step", "epoch", *FIELDS[2:]] == FIELDS
    assert [int(row["step"]) for row in rows] == [3, 6, 9, 12]
    for row in rows:
        assert float(row["validation_perplexity"]) == pytest.approx(2.718281828459045 ** float(row["validation_loss"]))
        assert 0 <= float(row["validation_bleu"]) <= 100 and float(row["loss"]) > 0


def test_a_report_after_every_step(tmp_path):
    reports = []
    _trainer(tmp_path).run(reports.append, until=4)
    assert [r.step for r in reports] == [1, 2, 3, 4]
    assert [r.validation_loss is None for r in reports] == [True, True, False, True]
    assert reports[4 - 1].learning_rate == pytest.approx((66 * 5) ** -0.5 * 4 / 5)


def test_saved_states_and_their_mean(tmp_path, whole):
    folder, (_, tensors, _, _) = whole
    assert sorted(p.name for p in (folder / "states").iterdir()) == ["00000008.safetensors", "00000012.safetensors"]
    assert sorted(p.name for p in folder.glob("state-*")) == ["state-12.safetensors"]
    trainer = _trainer(folder)
    trainer.export(tmp_path / "out")
    for name, parameter in trainer.model.named_parameters():
        mean = (tensors[f"00000008.safetensors: {name}"] + tensors[f"00000012.safetensors: {name}"]) / 2
        torch.testing.assert_close(parameter.detach(), mean, rtol=0, atol=1e-7)
    found = load_checkpoint(tmp_path / "out")
    assert found.languages == ("A", "B")
    assert torch.equal(found.model.embedding.weight, trainer.model.embedding.weight.detach().half().float())
    assert (tmp_path / "out" / "training.csv").read_bytes() == (folder / "training.csv").read_bytes()


def test_snapshots(whole):
    files = sorted((whole[0] / "snapshots").iterdir())
    assert [int(file.stem) for file in files] == snapshot_steps(12, 4) == [0, 1, 3, 12]
    first = load_file(files[0])["embedding.weight"]
    assert first.dtype == torch.float16 and first.float().std().item() == pytest.approx(66**-0.5, rel=0.05)


@pytest.mark.parametrize(
    ("steps", "count", "wanted"),
    [
        (100, 0, []), (100, 1, [100]), (100, 2, [0, 100]), (100, 3, [0, 1, 100]), (100, 4, [0, 1, 10, 100]),
        (10_000, 6, [0, 1, 10, 100, 1_000, 10_000]), (1, 5, [0, 1]), (3, 50, [0, 1, 2, 3]),
    ],
)  # fmt: skip
def test_snapshot_steps(steps, count, wanted):
    assert snapshot_steps(steps, count) == wanted


def test_nothing_to_average(tmp_path):
    with pytest.raises(TrainingError, match="no saved states to average"):
        _trainer(tmp_path).average()


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_copy_task_is_learned(tmp_path, precision):
    config = ModelConfig(67, 32, 64, 2, 1, 1, dropout=0.0, max_positions=32)
    copy = [(text, text) for text in sentences(1_200) if len(text) < 16]
    settings = Settings(
        steps=350, batch_tokens=400, peak_rate=1e-2, warmup=60, cooldown=150, save_every=350, validate_every=350,
        average=1, precision=precision, smoothing=0.1,
    )  # fmt: skip
    trainer = Trainer(tmp_path, config, tiny_tokenizer(), copy[30:], copy[:30], settings)
    reports = []
    trainer.run(reports.append)
    # Guessing pieces by their frequency costs about 3.4 nats; a copy that is learned next to nothing.
    assert reports[0].loss > 3 and reports[-1].validation_loss < 0.5
    texts = [text for text, _ in copy[:30]]
    assert sum(ours == text for ours, text in zip(trainer.translate(texts), texts, strict=True)) >= 15


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"steps": 0}, "steps is 0"), ({"steps": 1.5}, "steps is 1.5"), ({"batch_tokens": 1}, "batch_tokens"),
        ({"warmup": 0}, "warmup"), ({"average": 0}, "average"), ({"seed": -1}, "seed"), ({"save_every": True}, "save"),
        ({"smoothing": 1.0}, "smoothing"), ({"smoothing": -0.1}, "smoothing"), ({"clip": -1.0}, "clip"),
        ({"peak_rate": 0.0}, "peak_rate"), ({"sampling": -0.1}, "sampling"), ({"clip": math.nan}, "clip is nan"),
        ({"peak_rate": math.inf}, "peak_rate is inf"),
        ({"smoothing": "a"}, "smoothing is 'a'"), ({"gain": True}, "gain is True"),
        ({"sampling": None}, "sampling"), ({"precision": "float16"}, "precision"),
    ],
)  # fmt: skip
def test_settings_are_checked(changes, word):
    with pytest.raises(TrainingError, match=word):
        Settings(**changes)


def test_another_model_in_the_same_folder(whole):
    with pytest.raises(TrainingError, match="a model of other sizes; choose another folder"):
        _trainer(whole[0], dataclasses.replace(CONFIG, d_ff=41))


@pytest.mark.parametrize("damage", [b"", b"{}", b"[]", None], ids=["empty", "no fields", "list", "no tensors"])
def test_a_damaged_state_gives_a_message(tmp_path, damage):
    _trainer(tmp_path).run(until=1)
    if damage is None:
        (tmp_path / "state-1.safetensors").write_bytes(b"short")
    else:
        (tmp_path / "state.json").write_bytes(damage)
    with pytest.raises(TrainingError, match="cannot resume"):
        _trainer(tmp_path)


def test_empty_pairs_are_skipped_and_no_pairs_at_all_is_an_error(tmp_path):
    pairs = [("", "ka"), ("ka", ""), ("ka " * 99, "ka")]
    with pytest.raises(TrainingError, match="no sentence pair has text on both sides"):
        Trainer(tmp_path / "a", CONFIG, tiny_tokenizer(), pairs, VALIDATION, SETTINGS).run()
    Trainer(tmp_path / "b", CONFIG, tiny_tokenizer(), [*pairs, *TRAIN], VALIDATION, SETTINGS).run(until=1)


def test_missing_validation_pairs_give_a_message(tmp_path):
    with pytest.raises(TrainingError, match="validation"):
        Trainer(tmp_path, CONFIG, tiny_tokenizer(), TRAIN, [], SETTINGS)


def test_translation_takes_no_dropout(tmp_path):
    trainer = _trainer(tmp_path, dataclasses.replace(CONFIG, dropout=0.5))
    trainer.run(until=1)
    texts = [text for text, _ in TRAIN]
    assert trainer.translate(texts) == trainer.translate(texts) and len(trainer.translate(texts)) == 40
    assert trainer.translate([]) == []


def test_an_exploding_loss_gives_a_message(tmp_path):
    with pytest.raises(TrainingError, match="at step 2 the loss is nan .* start a new run with a lower peak_rate"):
        _trainer(tmp_path, peak_rate=1e30, clip=0.0).run()


@pytest.mark.parametrize("clip", [0.0, 1.0])
def test_a_gradient_that_explodes_reaches_no_weight(tmp_path, clip):
    trainer = _trainer(tmp_path, clip=clip)
    before = trainer.model.embedding.weight.detach().clone()
    trainer.model.embedding.weight.register_hook(lambda gradient: gradient * math.inf)
    with pytest.raises(TrainingError, match="at step 1 the loss is [0-9.]+ and the gradient norm (nan|inf)"):
        trainer.run()
    assert torch.equal(trainer.model.embedding.weight, before) and not (tmp_path / "state.json").exists()


def test_files_of_a_run_without_a_saved_state_are_removed(tmp_path, whole):
    for name in ("training.csv", "states/00000003.safetensors", "snapshots/00000007.safetensors"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"of another run")
    (tmp_path / ".state-3.safetensors.partial").write_bytes(b"half")
    trainer = _trainer(tmp_path)
    trainer.run()
    _same(_result(tmp_path, trainer), whole[1])
    assert not list(tmp_path.rglob("*.partial"))


def test_a_resumed_run_uses_the_requested_device(tmp_path, whole):
    """On the device "meta", which has shapes and no numbers and refuses to be mixed with another."""
    shutil.copytree(whole[0], tmp_path / "run")
    about = json.loads((tmp_path / "run" / "state.json").read_text())
    (tmp_path / "run" / "state.json").write_text(json.dumps({**about, "device": "meta"}))
    settings = dataclasses.replace(SETTINGS)
    trainer = Trainer(tmp_path / "run", CONFIG, tiny_tokenizer(), TRAIN, VALIDATION, settings, device="meta")
    kept = [tensor for state in trainer.optimizer.state.values() for tensor in state.values()]
    assert len(kept) == 3 * len(list(trainer.model.parameters()))
    assert {tensor.device.type for tensor in kept} == {"meta"}
    trainer.average()
    assert {parameter.device.type for parameter in trainer.model.parameters()} == {"meta"}


def test_references_as_sacrebleu_takes_them():
    assert columns([["a", "b"], ["c"], ["d", "e", "f"]]) == [["a", "c", "d"], ["b", "c", "e"], ["a", "c", "f"]]
    pytest.importorskip("sacrebleu")
    assert corpus_bleu(["ka lo mi nu re"], [["nu", "ka lo mi nu re"]]) == pytest.approx(100)
