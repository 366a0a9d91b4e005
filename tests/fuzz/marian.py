"""Marian folders with something wrong in them: tables, splitters, weights, and a file of torch that is a pickle."""

import functools
import io
import json
import pickle
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from hypothesis import strategies as st
from safetensors.torch import load, save

import transformer
from tests.fuzz import folders
from tests.fuzz.common import damaged_bytes, damaged_json, one_sentence
from tests.fuzz.folders import Damage
from tests.fuzz.pieces import damaged_pieces
from tests.support.marian import marian_folder
from transformer.checkpoints.folder import WEIGHTS, CheckpointError
from transformer.checkpoints.importers.generation import FOLLOWED, NAMED
from transformer.checkpoints.importers.tensors import PICKLED
from transformer.checkpoints.importers.tokenizers import SPLITTERS, TARGET_VOCABULARY, VOCABULARY
from transformer.inference.pretrained import CheckpointWarning, InputError
from transformer.text.piece_file import LONGEST_PIECE
from transformer.text.tokenizer import clean


@functools.cache
def base() -> tuple[dict[str, bytes], dict[str, torch.Tensor]]:
    """The files of a good folder but for its weights, and those, as Hugging Face names them."""
    with tempfile.TemporaryDirectory() as place:
        marian_folder(Path(place), "untied")
        files = {path.name: path.read_bytes() for path in Path(place).iterdir()}
    return files, dict(sorted(load(files.pop(WEIGHTS)).items()))  # `load` gives another order each time


@st.composite
def _pickled(draw: st.DrawFn, tensors: dict[str, torch.Tensor]) -> bytes:
    """A file of torch: honest, of other things than tensors, of tensors that share or lie, or with code in it."""
    name = draw(st.sampled_from(list(tensors)))
    tensor, bomb = tensors[name], folders.Bomb()
    kinds = [tensor.to(kind) for kind in (torch.int64, torch.float64, torch.complex64, torch.bool)]
    values = [torch.full_like(tensor, value) for value in (torch.nan, torch.inf, 3e38)]
    shapes = [torch.zeros(()), torch.zeros(1).expand(10**6, 8192), tensor.to_sparse()]
    found: Any = draw(
        st.sampled_from([tensor, *kinds, *values, *shapes, 7, None, [1.5], {"a": tensor}, "x", *[bomb] * 5]).map(
            lambda new: {**tensors, name: new}
        )
        | st.sampled_from(([1], tensor, {1: tensor}, {}, None, set(), bomb, {"a": bomb}))
    )
    if draw(st.integers(0, 9)) == 0:
        return pickle.dumps(found, protocol=draw(st.sampled_from((0, 2, 4))))
    written = io.BytesIO()
    torch.save(found, written, _use_new_zipfile_serialization=draw(st.booleans()))
    data = written.getvalue()
    return draw(damaged_bytes(data)) if draw(st.integers(0, 7)) == 0 else data


def _settings(data: bytes) -> st.SearchStrategy[bytes]:
    names = ("eos_token_id", "decoder_vocab_size", "share_encoder_decoder_embeddings", "tie_word_embeddings",
             "separate_vocabs", "source_lang", "added_tokens_decoder", "architectures", "sp_model_kwargs", *FOLLOWED,
             *NAMED)  # fmt: skip
    return damaged_json(data, names, (12, 40, 16_384, "relu", "gelu"))


def _table(data: bytes) -> st.SearchStrategy[bytes]:
    size = len(json.loads(data))
    return damaged_json(data, ("<unk>", "<pad>", "</s>", "", "x" * 5_000), (5, size, size - 1, -1))


@st.composite
def damages(draw: st.DrawFn) -> Damage:
    files, tensors = base()
    weights = draw(st.sampled_from((WEIGHTS, WEIGHTS, PICKLED)))
    files = {**files, weights: draw(_pickled(tensors)) if weights == PICKLED else save(tensors)}
    most = 0 if weights == PICKLED and draw(st.booleans()) else 2  # what else is wrong may be seen first
    names = draw(st.lists(st.sampled_from([name for name in files if name != PICKLED]), max_size=most, unique=True))
    for name in names:
        if name == WEIGHTS:
            changes = folders.damaged_header(files[name])
        elif name in SPLITTERS:
            changes = damaged_pieces(files[name])
        else:
            changes = _table(files[name]) if name == VOCABULARY else _settings(files[name])
        other = TARGET_VOCABULARY if name == VOCABULARY and draw(st.booleans()) else name
        files[other] = draw(st.one_of(changes, changes, changes, damaged_bytes(files[name])))
    exchanged = draw(st.sampled_from(list(files))) if draw(st.integers(0, 9)) == 0 else ""
    return Damage(files, tuple(names), {exchanged: draw(st.sampled_from(folders.OTHERS))} if exchanged else {})


def check(folder: Path, text: str, target: str | None) -> None:
    """Open the folder and use what it holds."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CheckpointWarning)
            model = transformer.load(folder)
        for note in model.notes:
            one_sentence(str(note))
        for source in ("ka lo mi", ">>deu<< é ﬁ 12 </s>", text):
            try:
                trace = model.trace(source, target, limit=12)
                assert len(trace.source_labels) == len(trace.source_ids) == len(trace.source_tokens)
                assert len(trace.target_out_labels) == len(trace.target_out_ids)
                assert all(len(one) <= 2_000 for one in trace.source_labels + trace.target_out_labels)
            except InputError as error:
                one_sentence(str(error))
        assert all(name and name == clean(name)[:40] for name in model.languages)
        assert max(map(len, model.tokenizer.pieces(range(len(model.tokenizer))))) <= LONGEST_PIECE
    except CheckpointError as error:
        one_sentence(str(error).replace(str(folder), ""))
