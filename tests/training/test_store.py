"""Where a run keeps what it needs: in memory it ends with the very weights that it has in a folder."""

from __future__ import annotations

import csv
import io

import pytest
import torch

from tests.support.build import sentences, tiny_config, tiny_tokenizer
from transformer.training.loop import Trainer
from transformer.training.settings import FIELDS, Settings, TrainingError
from transformer.training.store import Folder, Memory

CONFIG = tiny_config(vocab_size=67, dropout=0.1, attention_dropout=0.1, encoder_layers=1, decoder_layers=1)
COPY = [(text, text) for text in sentences()]
SETTINGS = Settings(
    steps=12, batch_tokens=61, warmup=5, cooldown=3, save_every=3, validate_every=4, average=2, validation_sentences=0,
    snapshots=4, sampling=0.3,
)  # fmt: skip


def _trainer(folder) -> Trainer:
    return Trainer(folder, CONFIG, tiny_tokenizer(), COPY[:40], COPY[40:50], SETTINGS, ("A", "B"))


def _rows(data: bytes) -> list[dict[str, str]]:
    return [{**row, "seconds": ""} for row in csv.DictReader(io.StringIO(data.decode()))]


def test_in_memory_as_in_a_folder_and_no_file_is_written(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    in_folder = _trainer(tmp_path / "run")
    in_folder.run()
    written = sorted(tmp_path.rglob("*"))
    in_memory = _trainer(None)
    assert isinstance(in_folder.store, Folder) and isinstance(in_memory.store, Memory)
    in_memory.run(until=5)
    in_memory.run()
    for trainer in (in_folder, in_memory):
        trainer.average()
    found, wanted = (dict(trainer.model.named_parameters()) for trainer in (in_memory, in_folder))
    assert not [name for name in wanted if not torch.equal(found[name], wanted[name])]
    log = in_memory.store.log_bytes()
    assert _rows(log) == _rows(in_folder.store.log_bytes()) and log.decode().splitlines()[0] == ",".join(FIELDS)
    assert [row["step"] for row in _rows(log)] == ["4", "8", "12"]
    assert sorted(tmp_path.rglob("*")) == written


def test_only_the_last_states_are_kept_to_be_averaged() -> None:
    store = Memory()
    for step in (3, 6, 9):
        store.keep(step, {"w": torch.tensor([float(step)])}, 2)
    assert [weights["w"].item() for weights in store.kept()] == [6.0, 9.0]
    assert store.log_bytes() == b"" and store.state() is None


def test_averaging_without_states_gives_a_message() -> None:
    trainer = _trainer(None)
    with pytest.raises(TrainingError, match="run has no saved states to average; train first"):
        trainer.average()
