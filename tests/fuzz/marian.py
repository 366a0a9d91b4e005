"""Marian folders with something wrong in them: tables, splitters, weights, and a file of torch that is a pickle."""

from __future__ import annotations

import functools
import io
import json
import pickle
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

import transformer
from tests.fuzz import folders
from tests.fuzz.common import anything, one_sentence, text
from tests.fuzz.pieces import damaged_model
from tests.support.marian import pieces_of, splitter, vocabulary
from transformer.checkpoints.folder import CONFIG, WEIGHTS, CheckpointError
from transformer.checkpoints.importers.bart import BIAS, configure, names
from transformer.checkpoints.importers.generation import FOLLOWED, NAMED
from transformer.checkpoints.importers.marian import MARIAN
from transformer.checkpoints.importers.tensors import PICKLED
from transformer.checkpoints.importers.tokenizers import SPLITTERS, TARGET_VOCABULARY, VOCABULARY
from transformer.inference.pretrained import CheckpointWarning, InputError
from transformer.model.transformer import Transformer
from transformer.text.piece_file import LONGEST_PIECE
from transformer.text.tokenizer import clean

OTHERS = ("tokenizer_config.json", "generation_config.json")


@functools.cache
def base() -> tuple[dict[str, bytes], dict[str, torch.Tensor]]:
    """The files of a good folder but for its weights, and those, as Hugging Face names them."""
    source, target = splitter("unigram", 71), splitter("bpe", 59, True)
    table = vocabulary([*pieces_of(source), *pieces_of(target)], [">>deu<<"])
    about = {
        "model_type": "marian", "vocab_size": len(table), "pad_token_id": len(table) - 1, "eos_token_id": 0,
        "decoder_start_token_id": len(table) - 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
        "encoder_ffn_dim": 7, "decoder_ffn_dim": 7, "encoder_layers": 1, "decoder_layers": 1, "d_model": 12,
        "activation_function": "swish", "max_position_embeddings": 40, "scale_embedding": True,
    }  # fmt: skip
    config = configure(MARIAN, about, table, [BIAS])
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = Transformer(config)
    tensors = {theirs[0]: model.get_parameter(ours).detach().clone() for ours, theirs in names(config).items()}
    said = {"source_lang": "en", "target_lang": "de", "separate_vocabs": False}
    files = {
        CONFIG: json.dumps(about).encode(), VOCABULARY: json.dumps(table).encode(), SPLITTERS[0]: source,
        SPLITTERS[1]: target, OTHERS[0]: json.dumps(said).encode(),
        OTHERS[1]: json.dumps({"length_penalty": 1.0, "early_stopping": False, "num_beams": 4}).encode(),
    }  # fmt: skip
    return files, tensors


def _pickled(rng: random.Random, tensors: dict[str, Any], mark: Path) -> bytes:
    """A file of torch: honest, of other things than tensors, of tensors that share or lie, or with code in it."""
    name = rng.choice(list(tensors))
    kind = rng.randrange(8)
    found: Any = dict(tensors)
    if kind == 0:
        found[name] = rng.choice((7, None, [1.5], {"a": tensors[name]}, "x"))
    elif kind == 1:
        found = rng.choice(([1], tensors[name], {1: tensors[name]}, {}, None, set()))
    elif kind == 2:
        found[name] = rng.choice((torch.zeros(()), torch.zeros(1).expand(10**6, 8192), tensors[name].to_sparse()))
    elif kind == 3:
        found[name] = tensors[name].to(rng.choice((torch.int64, torch.float64, torch.complex64, torch.bool)))
    elif kind == 4:
        found[name] = torch.full_like(tensors[name], rng.choice((torch.nan, torch.inf, 3e38)))
    elif kind == 5:
        return pickle.dumps(rng.choice((folders.Bomb(mark), {"a": folders.Bomb(mark)})), protocol=rng.choice((0, 2, 4)))
    elif kind == 6:
        found[name] = folders.Bomb(mark)
    written = io.BytesIO()
    torch.save(found, written, _use_new_zipfile_serialization=rng.random() < 0.6)
    data = written.getvalue()
    return folders._bytes(rng, data) if kind == 7 else data


def _table(rng: random.Random, data: bytes) -> bytes:
    table = json.loads(data)
    for _ in range(rng.choice((1, 3, 30))):
        piece = rng.choice((*table, "<unk>", "<pad>", "</s>", "", "x" * 5_000, text(rng, 0)))
        if rng.random() < 0.2:
            table.pop(piece, None)
        else:
            table[piece] = rng.choice((0, 1, 5, len(table), len(table) - 1, -1, True, anything(rng)))
    return json.dumps(table).encode()


def _settings(rng: random.Random, data: bytes) -> bytes:
    about = json.loads(data)
    for _ in range(rng.choice((1, 1, 3))):
        more = ("eos_token_id", "decoder_vocab_size", "share_encoder_decoder_embeddings", "tie_word_embeddings",
                "separate_vocabs", "source_lang", "added_tokens_decoder", "architectures", "sp_model_kwargs", *FOLLOWED,
                *NAMED)  # fmt: skip
        size = rng.choice((0, 1, 2, 3, 12, 40, 8_192, 16_384, 65_536, 10**6, True, False, "relu", "gelu", None))
        about[rng.choice((*about, *more))] = rng.choice((size, size, anything(rng)))
    return json.dumps(about).encode()


def damage(rng: random.Random, folder: Path, mark: Path) -> None:
    files, tensors = base()
    files = dict(files)
    weights = rng.choice((WEIGHTS, WEIGHTS, PICKLED))
    files[weights] = _pickled(rng, tensors, mark) if weights == PICKLED else save(tensors)
    for name in {rng.choice(list(files)): None for _ in range(rng.choice((0, 1, 1, 2)))}:
        data = files[name]
        if rng.random() < 0.2:
            files[name] = folders._bytes(rng, data)
        elif name == WEIGHTS:
            files[name] = rng.choice((folders._header, folders._tensors))(rng, data)
        elif name in SPLITTERS:
            files[name] = damaged_model(rng, data)
        elif name == VOCABULARY:
            files[rng.choice((VOCABULARY, TARGET_VOCABULARY))] = _table(rng, data)
        elif name != PICKLED:
            files[name] = _settings(rng, data)
    folders.write(folder, files)
    if rng.random() < 0.1:
        name = rng.choice(list(files))
        folders._exchange(rng, folder / name, mark)


def case(seed: int) -> None:
    rng = random.Random(f"marian {seed}")
    with tempfile.TemporaryDirectory(prefix="headscope-fuzz-") as place:
        folder, mark = Path(place) / "bad", Path(place) / "mark"
        damage(rng, folder, mark)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CheckpointWarning)
                model = transformer.load(folder)
            for note in model.notes:
                one_sentence(str(note))
            for source in ("ka lo mi", ">>deu<< é ﬁ 12 </s>", text(rng, 0)):
                try:
                    trace = model.trace(source, rng.choice((None, "mi nu")), limit=12)
                    assert len(trace.source_labels) == len(trace.source_ids) == len(trace.source_tokens)
                    assert len(trace.target_out_labels) == len(trace.target_out_ids)
                    assert all(len(one) <= 2_000 for one in trace.source_labels + trace.target_out_labels)
                except InputError as error:
                    one_sentence(str(error))
            assert all(name and name == clean(name)[:40] for name in model.languages)
            assert max(map(len, model.tokenizer.pieces(range(len(model.tokenizer))))) <= LONGEST_PIECE
        except CheckpointError as error:
            one_sentence(str(error).replace(str(folder), ""))
        assert not mark.exists(), "code of a checkpoint was run"
