"""Small Marian folders with random weights, written by Hugging Face's own classes, for tests to open with ours."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sentencepiece
import torch

from tests.support.build import sentencepiece_model, sentences

if TYPE_CHECKING:
    from transformers import MarianMTModel

# Each has another number on every axis, so that a swapped one cannot pass. ending: how likely </s> is.
KINDS: dict[str, dict[str, Any]] = {
    "relu": dict(
        activation_function="relu", encoder_layers=2, decoder_layers=3, d_model=66, heads=3, ffn=37, ending=1.8,
    ),
    "swish": dict(
        activation_function="swish", encoder_layers=3, decoder_layers=1, d_model=40, heads=5, ffn=53, ending=1.6,
        scale_embedding=True,
    ),
    "gelu": dict(
        activation_function="gelu", encoder_layers=1, decoder_layers=2, d_model=28, heads=2, ffn=31, ending=2.2,
        scale_embedding=True,
    ),
    "apart": dict(
        activation_function="swish", encoder_layers=2, decoder_layers=2, d_model=44, heads=11, ffn=29, ending=2.4,
        scale_embedding=True, share_encoder_decoder_embeddings=False,
    ),
    "untied": dict(
        activation_function="relu", encoder_layers=1, decoder_layers=1, d_model=34, heads=1, ffn=41, ending=2.0,
        scale_embedding=True, tie_word_embeddings=False,
    ),
    "apart-untied": dict(
        activation_function="swish", encoder_layers=1, decoder_layers=1, d_model=24, heads=3, ffn=17, ending=1.6,
        share_encoder_decoder_embeddings=False, tie_word_embeddings=False,
    ),
}  # fmt: skip
CODE = ">>deu<<"


@functools.cache
def splitter(kind: str, size: int, reverse: bool = False, of: tuple[str, ...] = ()) -> bytes:
    """A SentencePiece model as OPUS-MT's are: <unk>, <s> and </s> are its own, <pad> is none of its pieces. of: the
    text it is made from."""
    lines = [line[::-1] if reverse else line for line in of or sentences()]
    return sentencepiece_model([*lines, *["caf\u00e9 </s> < > / ! , ."] * 3], size, model_type=kind)


def pieces_of(model: bytes) -> list[str]:
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.IdToPiece(number) for number in range(len(processor)) if not processor.IsControl(number)]


def vocabulary(pieces: Sequence[str], codes: Sequence[str] = ()) -> dict[str, int]:
    """</s> 0, <unk> 1, then the pieces, and <pad> last, as OPUS-MT numbers them."""
    names = dict.fromkeys(["</s>", "<unk>", *codes, *pieces, "<pad>"])
    return {piece: number for number, piece in enumerate(names)}


def randomised(kind: Any, config: Any, seed: int, size: float, ending: float) -> Any:
    """A model of this class in eval mode, its weights large enough that it writes various tokens, and ends. size: of
    embeddings; ending: how likely the end is."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = kind(config)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                noise = torch.randn_like(parameter)
                if any(part in name for part in ("shared", "embed_tokens", "lm_head", "embed_positions")):
                    if parameter.requires_grad:
                        parameter.copy_(size * noise)
                elif parameter.dim() == 2:
                    parameter.copy_(1.3 * noise / parameter.shape[1] ** 0.5)
                elif parameter.dim() == 1:
                    parameter += 0.1 * noise
            if hasattr(model, "final_logits_bias"):
                bias = 0.3 * torch.randn_like(model.final_logits_bias)
                bias[0, config.eos_token_id] = ending * size * config.d_model**0.5
                model.final_logits_bias.copy_(bias)
    return model.eval()


def random_marian(
    seed: int, vocab: int, target_vocab: int, heads: int, ffn: int, ending: float = 1.5, **changes: Any
) -> MarianMTModel:
    """`MarianMTModel` in eval mode, its weights large enough that it writes various tokens, and ends."""
    from transformers import MarianConfig, MarianMTModel

    config = MarianConfig(
        vocab_size=vocab,
        decoder_vocab_size=target_vocab,
        pad_token_id=vocab - 1,
        decoder_start_token_id=vocab - 1,
        eos_token_id=0,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=ffn,
        decoder_ffn_dim=ffn,
        max_position_embeddings=64,
        attn_implementation="eager",
        **changes,
    )
    return randomised(MarianMTModel, config, seed, 0.6, ending)


def marian_folder(
    folder: Path, kind: str = "relu", weights: str = "safetensors", seed: int = 3, of: tuple[str, ...] = ()
) -> MarianMTModel:
    """Write the folder of one of KINDS and return the model whose weights it holds.

    weights: "safetensors"; "sharded", the same in several files; "pickled", pytorch_model.bin as torch writes it today;
    or "legacy", as it did in 2020. of: the text that the vocabulary of the source is made from.
    """
    folder.mkdir(parents=True, exist_ok=True)
    changes = dict(KINDS[kind])
    apart = not changes.get("share_encoder_decoder_embeddings", True)
    source, target = splitter("unigram", 71, of=of), splitter("bpe", 59, True)
    if apart:
        tables = [vocabulary(pieces_of(source)), vocabulary(pieces_of(target))]
        longest = max(map(len, tables))  # <pad> has one id, and so has every table
        for table in tables:
            table["<pad>"] = longest - 1
        sizes = (longest, longest)
    else:
        tables = [vocabulary([*pieces_of(source), *pieces_of(target)], [CODE])]
        sizes = (len(tables[0]), len(tables[0]))
    model = random_marian(seed, *sizes, **changes)
    model.save_pretrained(folder, max_shard_size="30KB" if weights == "sharded" else "50GB")
    if weights in ("pickled", "legacy"):
        (folder / "model.safetensors").unlink()
        state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        torch.save(state, folder / "pytorch_model.bin", _use_new_zipfile_serialization=weights == "pickled")
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    for name, table in zip(("vocab.json", "target_vocab.json"), tables, strict=False):
        (folder / name).write_text(json.dumps(table, ensure_ascii=False), encoding="utf-8")
    about = {"source_lang": "en", "target_lang": "de", "separate_vocabs": apart, "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about), encoding="utf-8")
    return model
