"""Small folders of BART's relatives with random weights, written by Hugging Face's own classes, for tests to open."""

import functools
import json
from pathlib import Path
from typing import Any

import sentencepiece

from tests.support.build import sentencepiece_model, sentences
from tests.support.marian import randomised, splitter

NLLB_CODES = ("ace_Latn", "deu_Latn", "eng_Latn", "kor_Hang")
# kind -> class of the model, class of the tokenizer, files of the tokenizer ("spm": as on the hub; "json": as
# transformers 5 writes them), changes of the configuration. Each has another number on every axis.
KINDS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "bart": ("Bart", "Bart", "hub", dict(
        encoder_layers=2, decoder_layers=3, d_model=66, heads=3, ffn=37, ending=1.5, forced_bos_token_id=0,
    )),
    "bart-json": ("Bart", "Bart", "json", dict(
        encoder_layers=1, decoder_layers=1, d_model=24, heads=2, ffn=31, ending=1.5, scale_embedding=True,
        activation_function="relu", tie_word_embeddings=False,
    )),
    "mbart": ("MBart", "MBart", "hub", dict(encoder_layers=1, decoder_layers=2, d_model=28, heads=2, ffn=31, ending=1.2,
        scale_embedding=True)),
    "mbart50": ("MBart", "MBart50", "hub", dict(
        encoder_layers=2, decoder_layers=1, d_model=40, heads=5, ffn=53, ending=1.2,
    )),
    "mbart50-json": ("MBart", "MBart50", "json", dict(
        encoder_layers=1, decoder_layers=1, d_model=24, heads=3, ffn=29, ending=1.0, scale_embedding=True,
    )),
    "m2m": ("M2M100", "M2M100", "hub", dict(
        encoder_layers=2, decoder_layers=2, d_model=44, heads=11, ffn=29, ending=3.0,
    )),
    "nllb": ("M2M100", "Nllb", "hub", dict(
        encoder_layers=1, decoder_layers=2, d_model=34, heads=1, ffn=41, ending=3.0,
    )),
    "nllb-json": ("M2M100", "Nllb", "json", dict(
        encoder_layers=1, decoder_layers=1, d_model=24, heads=3, ffn=17, ending=2.0, scale_embedding=False,
        activation_function="gelu",
    )),
    "pegasus": ("Pegasus", "Pegasus", "hub", dict(
        encoder_layers=2, decoder_layers=1, d_model=30, heads=3, ffn=43, ending=1.0, scale_embedding=True,
        activation_function="relu",
    )),
    "pegasus-json": ("Pegasus", "Pegasus", "json", dict(
        encoder_layers=1, decoder_layers=2, d_model=36, heads=4, ffn=23, ending=1.0,
    )),
}  # fmt: skip


@functools.cache
def pegasus_splitter(size: int = 71) -> bytes:
    """<pad>, </s> and <unk> are its own first pieces."""
    lines = [*sentences(), *["caf\u00e9 < > / ! , ."] * 3]
    return sentencepiece_model(lines, size, pad_id=0, eos_id=1, unk_id=2, bos_id=-1)


def _write_bart_tokenizer(folder: Path) -> None:
    from tokenizers import ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(
        [*sentences(), "caf\u00e9"], vocab_size=310, special_tokens=specials, show_progress=False
    )
    tokenizer.save_model(str(folder))
    table = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))
    table["<mask>"] = len(table)
    (folder / "vocab.json").write_text(json.dumps(table), encoding="utf-8")


def write_tokenizer(folder: Path, kind: str) -> Any:
    """Write the tokenizer's files of a kind, and return transformers' own tokenizer of them."""
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    _, name, files, _ = KINDS[kind]
    options: dict[str, Any] = {"tokenizer_class": f"{name}Tokenizer"}
    if name == "Bart":
        _write_bart_tokenizer(folder)
    elif name == "Pegasus":
        (folder / "spiece.model").write_bytes(pegasus_splitter())
    else:
        model = splitter("bpe" if name == "Nllb" else "unigram", 71)
        (folder / "sentencepiece.bpe.model").write_bytes(model)
        if name == "M2M100":
            processor = sentencepiece.SentencePieceProcessor(model_proto=model)
            pieces = dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", *map(processor.IdToPiece, range(len(processor)))])
            table = {piece: number for number, piece in enumerate(pieces)}
            (folder / "vocab.json").write_text(json.dumps(table), encoding="utf-8")
            options |= {"src_lang": "en", "tgt_lang": "ko"}
        if name == "Nllb":
            # As of version 4.34; version 5.23 gives the codes no ids where there is only the SentencePiece model.
            base = len(sentencepiece.SentencePieceProcessor(model_proto=model)) + 1
            tokens = {str(base + place): code for place, code in enumerate((*NLLB_CODES, "<mask>"))}
            options |= {
                "additional_special_tokens": list(NLLB_CODES),
                "added_tokens_decoder": {place: {"content": token, "special": True} for place, token in tokens.items()},
            }
    (folder / "tokenizer_config.json").write_text(json.dumps(options), encoding="utf-8")
    kept = {path.name for path in folder.iterdir()}
    tokenizer = getattr(transformers, f"{name}Tokenizer").from_pretrained(folder)
    if name == "Nllb":
        tokenizer.add_special_tokens({"extra_special_tokens": [*NLLB_CODES, "<mask>"]})
    if files == "json":
        for file in kept:
            (folder / file).unlink()
        tokenizer.save_pretrained(folder)
    return tokenizer


def random_model(kind: str, vocab: int, seed: int = 3, **more: Any) -> Any:
    """A model of a kind in eval mode, its weights large enough that it writes various tokens, and ends."""
    import transformers

    name, _, _, changes = KINDS[kind]
    changes = {**changes, **more}
    heads, ffn, ending = (changes.pop(of) for of in ("heads", "ffn", "ending"))
    config = getattr(transformers, f"{name}Config")(
        vocab_size=vocab, max_position_embeddings=64, encoder_attention_heads=heads, decoder_attention_heads=heads,
        encoder_ffn_dim=ffn, decoder_ffn_dim=ffn, attn_implementation="eager", **changes,
    )  # fmt: skip
    size = 0.2 if config.scale_embedding else 0.6
    return randomised(getattr(transformers, f"{name}ForConditionalGeneration"), config, seed, size, ending)


def family_folder(folder: Path, kind: str, **more: Any) -> tuple[Any, Any]:
    """Write the folder of one of KINDS, and return transformers' model and tokenizer."""
    tokenizer = write_tokenizer(folder, kind)
    if KINDS[kind][1] == "MBart":
        more = {"decoder_start_token_id": tokenizer.convert_tokens_to_ids("ko_KR"), **more}
    elif KINDS[kind][1] == "MBart50":
        more = {"decoder_start_token_id": 2, **more}
    ids = [*tokenizer.get_vocab().values(), *getattr(tokenizer, "lang_token_to_id", {}).values()]
    model = random_model(kind, max(ids) + 3, **more)
    model.save_pretrained(folder)
    return model, tokenizer
