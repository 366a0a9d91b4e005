"""Small T5 folders with random weights, written by Hugging Face's own classes, for tests to open with ours."""

from __future__ import annotations

import functools
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tests.support.build import sentencepiece_model, sentences

if TYPE_CHECKING:
    from transformers import T5ForConditionalGeneration

# Each has another number on every axis, so that a swapped one cannot pass. d_kv * num_heads is not d_model.
KINDS: dict[str, dict[str, Any]] = {
    "1.0": dict(
        num_layers=3, num_decoder_layers=2, d_model=34, d_kv=11, num_heads=3, d_ff=37,
        relative_attention_num_buckets=8, relative_attention_max_distance=10,
    ),
    "1.1": dict(
        num_layers=2, num_decoder_layers=1, d_model=40, d_kv=6, num_heads=5, d_ff=29, feed_forward_proj="gated-gelu",
        tie_word_embeddings=False,
    ),
    "mt5": dict(num_layers=1, d_model=24, d_kv=8, num_heads=2, d_ff=31, feed_forward_proj="gated-gelu"),
    "gelu": dict(
        num_layers=1, d_model=22, d_kv=7, num_heads=4, d_ff=23, feed_forward_proj="gelu",
        relative_attention_num_buckets=12, relative_attention_max_distance=9,
    ),
}  # fmt: skip
ENDING = 3.0  # times the row of </s> in the output, so that texts end


@functools.cache
def pieces(size: int, of: tuple[str, ...] = ()) -> bytes:
    """A SentencePiece model as T5's are: <pad>, </s>, <unk>, no <s>. of: the text it is made from."""
    lines = [*(of or sentences()), *["caf\u00e9 </s> < > / ! , ."] * 3]
    return sentencepiece_model(lines, size, model_type="unigram", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)


# Letters of five scripts, with marks that join the letter before them, and letters that NFKC replaces.
SCRIPTS = (
    "abcdefghijklmnopqrstuvwxyzäöüßéñ ﬁ½²ＡＢｃ",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяёЁ",
    "가나다라마바사아자차카타파하강남동로말밥선앞읽",
    "अआइईउकखगघचछजटडतदनपबमयरलवशसहाििीुूेैोौ्ंँ",
    "日本語学校東京大阪春夏秋冬人火水木金土月ひらがなカタカナガギ。、",
)


@functools.cache
def scripts(count: int = 2000, seed: int = 7) -> tuple[str, ...]:
    """Sentences of invented words of the five scripts, with digits and punctuation; some mix two scripts."""
    rng = random.Random(seed)
    words = [["".join(rng.choices(script, k=rng.randint(1, 7))) for _ in range(70)] for script in SCRIPTS]
    found = []
    for number in range(count):
        near = words[number % len(SCRIPTS)] + rng.choice(words) * (number % 7 == 0)
        text = " ".join(rng.choices(near, k=rng.randint(1, 9)))
        found.append(text + rng.choice(["", ".", "!", "?", " 3,20 €", " (x)", " 2024", "😀"]))
    return tuple(found)


def random_t5(kind: str, vocab: int, seed: int = 0) -> T5ForConditionalGeneration:
    """The model of one of KINDS in eval mode, its weights large enough that it writes various tokens, and ends."""
    from transformers import MT5Config, MT5ForConditionalGeneration, T5Config, T5ForConditionalGeneration

    made, about = (MT5ForConditionalGeneration, MT5Config) if kind == "mt5" else (T5ForConditionalGeneration, T5Config)
    config = about(vocab_size=vocab, decoder_start_token_id=0, attn_implementation="eager", **KINDS[kind])
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = made(config)
        if kind in ("1.1", "mt5"):
            model.lm_head.weight = torch.nn.Parameter(torch.empty(vocab, config.d_model))
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                noise = torch.randn_like(parameter)
                if "shared" in name:
                    parameter.copy_(0.3 * noise)
                elif "lm_head" in name:
                    parameter.copy_(0.4 * noise)
                elif "relative_attention_bias" in name:
                    parameter.copy_(2 * noise)
                elif parameter.dim() == 2:
                    share = 0.3 if name.endswith((".q.weight", ".k.weight")) else 1.2  # scores are not divided
                    parameter.copy_(share * noise / parameter.shape[1] ** 0.5)
                else:
                    parameter += 0.1 * noise
            model.lm_head.weight[1] *= ENDING
    return model.eval()


def t5_folder(
    folder: Path, kind: str = "1.0", seed: int = 0, size: int = 73, of: tuple[str, ...] = ()
) -> T5ForConditionalGeneration:
    """Write the folder of one of KINDS and return the model whose weights it holds. The embedding table has more rows
    than there are tokens. size, of: the number of pieces, and the text they are made from."""
    folder.mkdir(parents=True, exist_ok=True)
    model = random_t5(kind, size + 100 + 5, seed)
    model.save_pretrained(folder)
    (folder / "spiece.model").write_bytes(pieces(size, of))
    return model
