"""Damage to the weights and the tokenizer of a checkpoint; config.json and the rest are in test_checkpoint.py."""

import json
import struct

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.support.build import refusal, saved_checkpoint, sentences
from transformer.checkpoints.folder import TOKENIZER, WEIGHTS
from transformer.text.tokenizer import Tokenizer

EMBEDDING = "embedding.weight"


@pytest.fixture
def folder(tmp_path):
    return saved_checkpoint(tmp_path)


def _header(folder, change):
    """Rewrite the header of the safetensors file and leave the numbers as they are."""
    data = (folder / WEIGHTS).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    change(header)
    text = json.dumps(header).encode()
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size :])


def _tensors(folder, change):
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS)


@pytest.mark.parametrize("share", [0.0, 1e-5, 0.001, 0.1, 0.5, 0.9999])
def test_truncated_weights(folder, share):
    data = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(data[: int(len(data) * share)])
    refusal(folder, WEIGHTS, "not a complete safetensors file")


@pytest.mark.parametrize("data", [b"PK\x03\x04" + bytes(99), b"\x80\x04\x95" + bytes(99), b"\xff" * 99, b"{}" * 50])
def test_weights_of_another_kind(folder, data):
    (folder / WEIGHTS).write_bytes(data)
    refusal(folder, WEIGHTS, "not a complete safetensors file")


@pytest.mark.parametrize(
    "lie",
    [
        {"data_offsets": [0, 10**15]}, {"data_offsets": [-1, 8]}, {"data_offsets": [8, 0]}, {"shape": [10**9, 10**9]},
        {"shape": [2**63, 2]}, {"shape": [-67, -66]}, {"shape": [67, 65]}, {"dtype": "F64"}, {"dtype": "X"},
    ],
    ids=str,
)  # fmt: skip
def test_a_false_header_is_refused(folder, lie):
    _header(folder, lambda header: header[EMBEDDING].update(lie))
    refusal(folder, WEIGHTS, "not a complete safetensors file")


@pytest.mark.parametrize("size", [2**63, 2**40, 2**31, 10**6, 0])
def test_a_header_of_another_length(folder, size):
    data = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", size) + data[8:])
    refusal(folder, WEIGHTS, "not a complete safetensors file")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda t: t.pop(EMBEDDING),
            "model.safetensors has no tensor embedding.weight, but config.json needs it; take both files from the same "
            "checkpoint",
        ),
        (
            lambda t: [t.pop(name) for name in list(t) if name.startswith("decoder.1.cross_")],  # a layer without it
            "model.safetensors has no tensor decoder.1.cross_attention.key.bias, but config.json needs it; take both "
            "files from the same checkpoint",
        ),
        (
            lambda t: t.update(z=torch.zeros(2)),
            "model.safetensors has a tensor 'z' that does not belong to the model in config.json; take both files from "
            "the same checkpoint",
        ),
        (lambda t: t.update({"z" * 10**4: torch.zeros(2)}), "has a tensor 'zzz"),
        (
            lambda t: t.update({EMBEDDING: t[EMBEDDING].T.contiguous()}),
            "has shape [66, 67]; config.json needs [67, 66], so take both files from the same checkpoint",
        ),
        (
            lambda t: t.update({EMBEDDING: t[EMBEDDING][:5].contiguous()}),
            "has shape [5, 66]; config.json needs [67, 66]",
        ),
        (lambda t: t.update({EMBEDDING: t[EMBEDDING].to(torch.int8)}), "has type torch.int8; it must be float16"),
        (lambda t: t.update({EMBEDDING: t[EMBEDDING].long()}), "has type torch.int64; it must be float16"),
        (lambda t: t.update({EMBEDDING: t[EMBEDDING].double()}), "has type torch.float64; it must be float16"),
        (lambda t: t.update({EMBEDDING: t[EMBEDDING] > 0}), "has type torch.bool; it must be float16"),
        (
            lambda t: t[EMBEDDING][3].fill_(torch.nan),
            "model.safetensors: embedding.weight has values that are not finite numbers; copy the file again, or save "
            "the model at a step before its training diverged",
        ),
        (lambda t: t["decoder.1.cross_attention.key.bias"][:1].fill_(-torch.inf), "decoder.1.cross_attention.key.bias"),
    ],
)
def test_tensors_that_do_not_fit(folder, change, words):
    _tensors(folder, change)
    refusal(folder, WEIGHTS, words)


def test_a_tokenizer_of_another_size(folder):
    Tokenizer.train(sentences(), 59).save(folder / TOKENIZER)
    refusal(folder, "tokenizer and model do not match, 59 pieces against 67")


def test_a_damaged_tokenizer(folder):
    (folder / TOKENIZER).write_bytes((folder / TOKENIZER).read_bytes()[:1_000])
    refusal(folder, "not a SentencePiece model")
    with (folder / TOKENIZER).open("wb") as file:
        file.truncate(50_000_001)
    refusal(folder, "tokenizer.model is larger than 5,000,000 bytes")
