"""The files of a Marian folder that make ids of texts: SentencePiece models, vocabularies, added tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from transformer.checkpoints.folder import CheckpointError, language, read_json
from transformer.checkpoints.importers.generation import ignored
from transformer.checkpoints.importers.vocabulary import VocabularyTokenizer
from transformer.model.config import ModelConfig
from transformer.text.tokenizer import LARGEST_TOKENIZER, TokenizerError, read_processor
from transformer.texts import Text

VOCABULARY, TARGET_VOCABULARY, OPTIONS = "vocab.json", "target_vocab.json", "tokenizer_config.json"
ADDED, SPECIAL = "added_tokens.json", "special_tokens_map.json"
SPLITTERS = ("source.spm", "target.spm")
LARGEST_VOCABULARY = 50_000_000  # bytes; OPUS-MT's tables of 60,000 pieces take 1.6 million
MOST_LACKING = 0.1  # share of the pieces of a SentencePiece model that a vocabulary may lack without a word


def languages_in(options: Mapping[str, Any]) -> tuple[str, str]:
    """Source and target, by the values of tokenizer_config.json."""
    return language(options.get("source_lang"), "source"), language(options.get("target_lang"), "target")


def _vocabulary(path: Path) -> dict[str, int]:
    table = read_json(path, LARGEST_VOCABULARY)
    if not isinstance(table, dict) or "<unk>" not in table:
        raise CheckpointError("{name} is not a table of pieces and ids with an <unk>", name=path.name)
    return table


def added_tokens(folder: Path, options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Token -> {"id": ..., "special": ..., "single_word": ...}, of the tokens that were added to the vocabulary, and of
    those of the vocabulary that are special. Raises TokenizerError."""
    try:
        listed = options.get("added_tokens_decoder") or {}
        if not listed and (folder / ADDED).is_file():  # transformers wrote no list into OPTIONS before 4.34
            specials = read_json(folder / SPECIAL) if (folder / SPECIAL).is_file() else {}
            special = [
                one["content"] if isinstance(one, dict) else one
                for about in (options, specials)
                for name in ("additional_special_tokens", "extra_special_tokens")
                for one in about.get(name) or ()
            ]
            table = read_json(folder / ADDED)
            listed = {number: {"content": token, "special": token in special} for token, number in table.items()}
        found = {token["content"]: {**token, "id": int(number)} for number, token in listed.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TokenizerError("the added tokens in {name} are not a table of ids and tokens", name=OPTIONS) from error
    if not all(isinstance(token, str) and token for token in found):
        raise TokenizerError("an added token in {name} is not a text", name=OPTIONS)
    return found


@dataclass(frozen=True)
class TokenizerFiles:
    """options: the values of tokenizer_config.json; vocabularies: of source and target, maybe the same; added: as in
    `added_tokens`."""

    folder: Path
    options: Mapping[str, Any]
    vocabularies: tuple[Mapping[str, int], Mapping[str, int]]
    added: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, folder: Path, shared: bool) -> TokenizerFiles:
        """shared: whether both sides have one vocabulary, if OPTIONS does not say it. Raises CheckpointError,
        TokenizerError."""
        options = read_json(folder / OPTIONS) if (folder / OPTIONS).is_file() else {}
        options = options if isinstance(options, dict) else {}
        source = target = _vocabulary(folder / VOCABULARY)
        if (folder / TARGET_VOCABULARY).is_file() and options.get("separate_vocabs", not shared):
            target = _vocabulary(folder / TARGET_VOCABULARY)
        return cls(folder, options, (source, target), added_tokens(folder, options))

    def open(self, config: ModelConfig) -> tuple[VocabularyTokenizer, VocabularyTokenizer]:
        """The tokenizers of source and target. Raises TokenizerError."""
        for token, entry in self.added.items():
            if not 0 <= entry["id"] < config.vocab_size:
                raise TokenizerError(
                    "the added token {token} has the id {id}, and the embedding table has {rows:,} rows; save the "
                    "model again after model.resize_token_embeddings(len(tokenizer))",
                    token=shown(token), id=entry["id"], rows=config.vocab_size,
                )  # fmt: skip
        controls = {config.pad_id, config.start_id, config.end_id}

        def side(number: int, size: int) -> VocabularyTokenizer:
            whole = {token: entry["id"] for token, entry in self.added.items() if entry["id"] < size}
            silent = [entry["id"] for entry in self.added.values() if entry.get("special") is True]
            return VocabularyTokenizer(
                read_processor(self.folder / SPLITTERS[number], LARGEST_TOKENIZER),
                {**self.vocabularies[number], **whole},
                size,
                config.unk_id,
                controls,
                [token for token, token_id in whole.items() if token_id not in controls | {config.unk_id}],
                [token_id for token_id in silent if token_id != config.unk_id],
                self.options.get("clean_up_tokenization_spaces") is True,
            )

        return side(0, config.vocab_size), side(1, config.output_size)

    def notes(self, config: ModelConfig, tokenizers: tuple[VocabularyTokenizer, VocabularyTokenizer]) -> Iterator[Text]:
        """What does not fit, and what is done in another way than by transformers."""
        for name, tokenizer in zip(SPLITTERS, tokenizers, strict=True):
            lacking, pieces = tokenizer.lacking()
            if lacking > MOST_LACKING * pieces:
                yield Text(
                    "{name} and the vocabulary do not fit: {lacking:,} of its {pieces:,} pieces are not in the "
                    "vocabulary and are read as <unk>. Take all files from the same model.",
                    name=name, lacking=lacking, pieces=pieces,
                )  # fmt: skip
        lost: dict[str, Any] = {
            f"single_word of {token}": True for token, entry in self.added.items() if entry.get("single_word") is True
        }
        for name, ours in (("eos_token", config.end_id), ("unk_token", config.unk_id), ("pad_token", config.pad_id)):
            token = self.options.get(name)
            token = token.get("content") if isinstance(token, dict) else token
            if isinstance(token, str) and self.vocabularies[0].get(token) != ours:
                lost[name] = token
        for name in ("split_special_tokens", "sp_model_kwargs"):
            if self.options.get(name):
                lost[name] = self.options[name]
        yield from ignored(OPTIONS, lost)
