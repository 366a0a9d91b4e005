"""Good checkpoint folders to damage, ours and Marian's, and what must hold of any that is opened."""

from __future__ import annotations

import functools
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save

import transformer
from tests.fuzz.common import one_sentence
from tests.fuzz.damage import (
    MARK,
    Change,
    csv_file,
    damaged_files,
    json_file,
    npz_file,
    safetensors_file,
    sentencepiece_file,
    write,
)
from tests.support.build import tiny_tokenizer
from tests.support.marian import pieces_of, splitter, vocabulary
from transformer.checkpoints.folder import (
    CARD,
    CONFIG,
    EXAMPLES,
    LOG,
    METRICS,
    NEEDED,
    RECORDING,
    TOKENIZER,
    WEIGHTS,
    CheckpointError,
    checkpoint_files,
)
from transformer.checkpoints.importers.bart import BIAS, configure, names
from transformer.checkpoints.importers.marian import MARIAN
from transformer.checkpoints.importers.tokenizers import SPLITTERS, VOCABULARY
from transformer.checkpoints.weights import WeightsError, read_header
from transformer.inference.pretrained import CheckpointWarning, InputError
from transformer.model.transformer import Transformer
from transformer.text.piece_file import LONGEST_PIECE
from transformer.text.tokenizer import clean
from transformer.training.recording import Recording

FILES = (*NEEDED, METRICS, EXAMPLES, LOG, CARD, RECORDING)
SIZES = {"d_model": 6, "d_ff": 5, "heads": 3, "encoder_layers": 1, "decoder_layers": 1, "max_positions": 40}
LEFT_OUT = {"norm": "none", "residual": False, "causal": False, "positions": "none", "scaling": False}
CHANGES: dict[str, Change] = {
    CONFIG: json_file, WEIGHTS: safetensors_file, TOKENIZER: sentencepiece_file, METRICS: json_file,
    EXAMPLES: json_file, LOG: csv_file, RECORDING: npz_file,
    VOCABULARY: json_file, **dict.fromkeys(SPLITTERS, sentencepiece_file),
    "tokenizer_config.json": json_file, "generation_config.json": json_file,
}  # fmt: skip


@functools.cache
def base(bare: bool = False) -> dict[str, bytes]:
    """The files of a good checkpoint, a few kilobytes each but for the tokenizer. bare: of a model that leaves out what
    can be left out."""
    tokenizer = tiny_tokenizer()
    sizes = {"vocab_size": len(tokenizer), "dropout": 0.0, **SIZES, **(LEFT_OUT if bare else {})}
    with torch.random.fork_rng():
        torch.manual_seed(3)
        model = Transformer(transformer.ModelConfig.from_dict(sizes)).eval()
    example = {"title": "One", "look": "here", "source": "ka lo", "target": "mi", "view": {"kind": "cross", "layer": 1}}
    arrays = {kind: (np.zeros((2, 1, 3, 4, 4), np.uint8),) for kind in transformer.KINDS}
    scores = ({"loss": 1.0, "bleu": 0.0},) * 2
    return {
        **checkpoint_files(model, tokenizer, ("Invented", "Imagined")),
        METRICS: json.dumps({"bleu": 12.5, "chrf": 30.1, "perplexity": 9.0, "data": ["x, 1 to 9 symbols"]}).encode(),
        EXAMPLES: json.dumps([example]).encode(),
        LOG: b"step,loss,validation_loss,validation_bleu\n1,2.5,2.4,\n2,2.0,2.1,3.5\n",
        CARD: b"# Card\n\ndata, licence\n",
        RECORDING: Recording((0, 5), (("ka", "lo"),), arrays, (("a",), ("b",)), scores).to_bytes(),
    }


@functools.cache
def marian() -> tuple[dict[str, bytes], dict[str, torch.Tensor]]:
    """The files of a good folder of Marian's, and the tensors of its weights, as Hugging Face names them."""
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
        SPLITTERS[1]: target, "tokenizer_config.json": json.dumps(said).encode(),
        "generation_config.json": b'{"length_penalty": 1.0, "early_stopping": false, "num_beams": 4}',
        WEIGHTS: save(tensors),
    }  # fmt: skip
    return files, tensors


@st.composite
def ours(draw: st.DrawFn) -> dict[str, bytes]:
    return draw(damaged_files(base(draw(st.integers(0, 2)) == 2), CHANGES))


def check_weights(path: Path) -> None:
    """What the library refuses, our own reader refuses too, and of what both take they read the same."""
    if not path.is_file() or path.stat().st_size > 10**7:
        return
    try:
        with path.open("rb") as file:
            entries = read_header(file)
    except WeightsError:
        return
    with safe_open(path, framework="pt") as theirs:
        assert {name: tuple(theirs.get_slice(name).get_shape()) for name in theirs.keys()} == {  # noqa: SIM118
            name: entry.shape for name, entry in entries.items()
        }


def check(folder: Path, texts: tuple[str, ...] = ("ka lo mi", ">>deu<< é ﬁ 12 </s>")) -> bool:
    """Open the folder and use what it holds. Returns whether it could be opened."""
    opened = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CheckpointWarning)
            model = transformer.load(folder)
        opened = True
        for note in model.notes:
            one_sentence(str(note))
        for text in texts:
            try:
                trace = model.trace(text, limit=12)
                assert len(trace.source_labels) == len(trace.source_ids) == len(trace.source_tokens)
                assert len(trace.target_out_labels) == len(trace.target_out_ids)
                assert all(len(one) <= 2_000 for one in trace.source_labels + trace.target_out_labels)
            except InputError as error:
                one_sentence(str(error))
        assert all(name and name == clean(name)[:40] for name in model.languages)
        assert max(map(len, model.tokenizer.pieces(range(len(model.tokenizer))))) <= LONGEST_PIECE
    except CheckpointError as error:
        one_sentence(str(error).replace(str(folder), ""))
    check_weights(folder / WEIGHTS)
    try:
        Recording.from_file(folder / RECORDING)
    except (OSError, ValueError) as error:
        one_sentence(str(error).replace(str(folder), ""))
    assert not MARK.exists(), "code of a checkpoint was run"
    return opened


def check_files(files: dict[str, bytes]) -> bool:
    with tempfile.TemporaryDirectory(prefix="headscope-fuzz-") as place:
        write(Path(place) / "bad", files)
        return check(Path(place) / "bad")
