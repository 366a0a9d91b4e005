"""The files of a folder of Hugging Face that make ids of texts: SentencePiece models, vocabularies, tokenizer.json,
added tokens, language codes."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from reprlib import repr as shown
from typing import Any

from transformer.checkpoints.folder import CheckpointError, language, read_json
from transformer.checkpoints.importers.generation import ignored
from transformer.checkpoints.importers.json_tokenizer import JsonTokenizer, byte_level, read_json_tokenizer
from transformer.checkpoints.importers.vocabulary import ImportedTokenizer, VocabularyTokenizer
from transformer.checkpoints.languages import Codes
from transformer.model.config import ModelConfig
from transformer.text.tokenizer import LARGEST_TOKENIZER, TokenizerError, read_processor
from transformer.texts import Text

VOCABULARY, TARGET_VOCABULARY, OPTIONS = "vocab.json", "target_vocab.json", "tokenizer_config.json"
ADDED, SPECIAL = "added_tokens.json", "special_tokens_map.json"
SPLITTERS = ("source.spm", "target.spm")
PIECES, PEGASUS_PIECES, JSON, MERGES = "sentencepiece.bpe.model", "spiece.model", "tokenizer.json", "merges.txt"
FAIRSEQ = ("<s>", "<pad>", "</s>", "<unk>")  # ids 0 to 3 of mBART, M2M-100 and NLLB
PEGASUS_OFFSET = 103  # ids before SentencePiece's own
# The languages of mBART, those that mBART-50 adds, and of M2M-100, in the order of their ids, where no file names them
MBART = (
    "ar_AR cs_CZ de_DE en_XX es_XX et_EE fi_FI fr_XX gu_IN hi_IN it_IT ja_XX kk_KZ ko_KR lt_LT lv_LV my_MM ne_NP nl_XX "
    "ro_RO ru_RU si_LK tr_TR vi_VN zh_CN"
)
MBART_50 = (
    "af_ZA az_AZ bn_IN fa_IR he_IL hr_HR id_ID ka_GE km_KH mk_MK ml_IN mn_MN mr_IN pl_PL ps_AF pt_XX sv_SE sw_KE ta_IN "
    "te_IN th_TH tl_XX uk_UA ur_PK xh_ZA gl_ES sl_SI"
)
M2M = (
    "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa ff fi fr fy ga gd gl gu ha he hi hr ht hu hy "
    "id ig ilo is it ja jv ka kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or pa pl ps pt ro ru "
    "sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk ur uz vi wo xh yi yo zh zu"
)
CODES = {  # what a language code looks like
    "mBART": re.compile(r"([a-z]{2}_[A-Z]{2})"), "M2M-100": re.compile(r"__([a-z]+)__"),
    "NLLB": re.compile(r"([a-z]{3}_[A-Z][a-z]{3})"),
}  # fmt: skip
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


def _specials(folder: Path, options: Mapping[str, Any]) -> list[str]:
    """The additional special tokens that the files name. Raises what a damaged file leads to."""
    specials = read_json(folder / SPECIAL) if (folder / SPECIAL).is_file() else {}
    return [
        one["content"] if isinstance(one, dict) else one
        for about in (options, specials)
        for name in ("additional_special_tokens", "extra_special_tokens")
        for one in about.get(name) or ()
    ]


def added_tokens(folder: Path, options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Token -> {"id": ..., "special": ..., "single_word": ...}, of the tokens that were added to the vocabulary, and of
    those of the vocabulary that are special. Raises TokenizerError."""
    try:
        listed = options.get("added_tokens_decoder") or {}
        if not listed and (folder / ADDED).is_file():  # transformers wrote no list into OPTIONS before 4.34
            special = _specials(folder, options)
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
    `added_tokens`; splitters: the SentencePiece models of source and target; made: what divides the text in place of
    them; own: special tokens that are no tokens where somebody types them; codes: of the languages; begin: tokens
    before every text; marian: whether a text may begin with a code like ">>deu<<"."""

    folder: Path
    options: Mapping[str, Any]
    vocabularies: tuple[Mapping[str, int], Mapping[str, int]]
    added: Mapping[str, Mapping[str, Any]]
    splitters: tuple[str, str] = SPLITTERS
    made: Callable[[], Any] | None = None
    own: Collection[str] = ()
    codes: Codes | None = None
    begin: tuple[str, ...] = ()
    marian: bool = False

    def languages(self, settings: Mapping[str, Any]) -> tuple[str, str]:
        """Source and target that the files name; of a model for many languages else English, and German or English.
        settings: of `generate`."""
        if self.codes is None:
            return languages_in(self.options)
        ids = self.codes.ids
        names: dict[Any, str] = {token_id: name for name, token_id in ids.items()}
        written = [names.get(settings.get(f"{name}_token_id")) for name in ("forced_bos", "decoder_start")]
        asked = [self.options.get("src_lang"), self.options.get("tgt_lang"), *written]
        source, *others = (name if name in ids else None for name in asked)

        def first(begin: str) -> list[str]:
            return [name for name in ids if name.startswith(begin)]

        source = source or next(iter([*first("en"), *ids]))
        usual = [*first("de"), *first("en"), *ids]
        return source, next((name for name in others if name), None) or next(iter([n for n in usual if n != source]))

    def _json(self, config: ModelConfig, size: int) -> JsonTokenizer:
        assert self.made is not None
        table = self.vocabularies[1]
        controls = {config.pad_id, config.start_id, config.end_id, *(table[token] for token in self.own)}
        tidy = self.options.get("clean_up_tokenization_spaces") is True
        return JsonTokenizer(self.made(), size, config.unk_id, controls, tidy=tidy)

    def open(self, config: ModelConfig) -> tuple[ImportedTokenizer, ImportedTokenizer]:
        """The tokenizers of source and target. Raises TokenizerError."""
        begin = tuple(self.vocabularies[1][token] for token in self.begin)
        if self.made is not None:
            tokenizer: ImportedTokenizer = self._json(config, config.output_size).around(begin)
            return tokenizer, tokenizer
        for token, entry in self.added.items():
            if not 0 <= entry["id"] < config.vocab_size:
                raise TokenizerError(
                    "the added token {token} has the id {id}, and the embedding table has {rows:,} rows; save the "
                    "model again after model.resize_token_embeddings(len(tokenizer))",
                    token=shown(token), id=entry["id"], rows=config.vocab_size,
                )  # fmt: skip
        controls = {config.pad_id, config.start_id, config.end_id}

        own = {self.vocabularies[1][token] for token in self.own}

        def side(number: int, size: int) -> VocabularyTokenizer:
            whole = {token: entry["id"] for token, entry in self.added.items() if entry["id"] < size}
            silent = [entry["id"] for entry in self.added.values() if entry.get("special") is True]
            return VocabularyTokenizer(
                read_processor(self.folder / self.splitters[number], LARGEST_TOKENIZER),
                {**self.vocabularies[number], **whole},
                size,
                config.unk_id,
                controls,
                [token for token, token_id in whole.items() if token_id not in controls | own | {config.unk_id}],
                [token_id for token_id in {*silent, *own} if token_id != config.unk_id],
                self.options.get("clean_up_tokenization_spaces") is True,
                self.marian,
            ).around(begin)

        source = side(0, config.vocab_size)
        return source, side(1, config.output_size) if self.marian else source

    def notes(self, config: ModelConfig, tokenizers: tuple[ImportedTokenizer, ImportedTokenizer]) -> Iterator[Text]:
        """What does not fit, and what is done in another way than by transformers."""
        for name, tokenizer in dict(zip(self.splitters, tokenizers, strict=True)).items():
            if not isinstance(tokenizer, VocabularyTokenizer):
                continue
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


def _options(folder: Path) -> dict[str, Any]:
    options = read_json(folder / OPTIONS) if (folder / OPTIONS).is_file() else {}
    return options if isinstance(options, dict) else {}


def _need(folder: Path, *names: str) -> None:
    """Raises CheckpointError for the first file that is missing."""
    for name in names:
        if not (folder / name).is_file():
            raise CheckpointError("{path} is not a complete checkpoint: {name} is missing", path=folder, name=name)


def marian_files(folder: Path, about: Mapping[str, Any]) -> TokenizerFiles:
    """about: the values of config.json. Raises CheckpointError, TokenizerError, as all functions below."""
    _need(folder, VOCABULARY, *SPLITTERS)
    options, shared = _options(folder), about.get("share_encoder_decoder_embeddings", True)
    source = target = _vocabulary(folder / VOCABULARY)
    if (folder / TARGET_VOCABULARY).is_file() and options.get("separate_vocabs", not shared):
        target = _vocabulary(folder / TARGET_VOCABULARY)
    return TokenizerFiles(folder, options, (source, target), added_tokens(folder, options), marian=True)


def bart_files(folder: Path, about: Mapping[str, Any]) -> TokenizerFiles:
    """Byte-level BPE: tokenizer.json, or vocab.json and merges.txt."""
    options = _options(folder)
    if (folder / JSON).is_file():
        return _from_json(folder, options, begin=("<s>",))
    _need(folder, VOCABULARY, MERGES)
    vocabulary = _vocabulary(folder / VOCABULARY)
    added = added_tokens(folder, options)
    table = {**vocabulary, **{token: entry["id"] for token, entry in added.items()}}

    def made() -> Any:
        found = byte_level(vocabulary, folder / MERGES, options.get("add_prefix_space") is True)
        found.add_tokens([token for token, entry in added.items() if entry.get("special") is not True])
        return found

    own = [token for token in (*FAIRSEQ, "<mask>") if token in table]
    return TokenizerFiles(folder, options, (table, table), {}, made=made, own=own, begin=("<s>",))


def mbart_files(folder: Path, about: Mapping[str, Any]) -> TokenizerFiles:
    options = _options(folder)
    named = options.get("tokenizer_class")
    later = named in ("MBart50Tokenizer", "MBart50TokenizerFast") or (
        named is None and about.get("decoder_start_token_id") == about.get("eos_token_id", 2)
    )
    known = f"{MBART} {MBART_50 if later else ''}".split()
    return _with_codes(folder, options, "mBART", known, source_first=later, target_first=not later)


def m2m_files(folder: Path, about: Mapping[str, Any]) -> TokenizerFiles:
    """M2M-100 has a vocab.json; NLLB has none."""
    options = _options(folder)
    if (folder / VOCABULARY).is_file():
        return _with_codes(folder, options, "M2M-100", [f"__{name}__" for name in M2M.split()])
    return _with_codes(folder, options, "NLLB", (), source_first=options.get("legacy_behaviour") is not True)


def pegasus_files(folder: Path, about: Mapping[str, Any]) -> TokenizerFiles:
    options = _options(folder)
    if not (folder / PEGASUS_PIECES).is_file() and (folder / JSON).is_file():
        return _from_json(folder, options)
    _need(folder, PEGASUS_PIECES)
    offset = options.get("offset", PEGASUS_OFFSET)
    if type(offset) is not int or not 0 <= offset <= 10_000:
        raise TokenizerError("offset is {offset} in {name}; choose 0 to 10,000", offset=shown(offset), name=OPTIONS)
    processor = read_processor(folder / PEGASUS_PIECES, LARGEST_TOKENIZER)
    own = ["<pad>", "</s>", "<mask_1>", "<mask_2>", *(f"<unk_{number}>" for number in range(2, offset))][: offset + 2]
    table = {token: number for number, token in enumerate(own)}
    table |= {processor.IdToPiece(number): number + offset for number in range(2, len(processor))}
    added = {token: entry for token, entry in added_tokens(folder, options).items() if token not in table}
    return TokenizerFiles(folder, options, (table, table), added, (PEGASUS_PIECES,) * 2, own=own)


def _from_json(
    folder: Path, options: Mapping[str, Any], begin: tuple[str, ...] = (), codes: Codes | None = None
) -> TokenizerFiles:
    """A folder that has only tokenizer.json, which is all that transformers 5 writes."""
    made = read_json_tokenizer(folder / JSON, "<unk>", *begin)
    table = made.get_vocab()
    own = [token.content for token in made.get_added_tokens_decoder().values() if token.special]
    return TokenizerFiles(folder, options, (table, table), {}, made=lambda: made, own=own, codes=codes, begin=begin)


def _with_codes(
    folder: Path,
    options: Mapping[str, Any],
    kind: str,
    known: Sequence[str],
    source_first: bool = True,
    target_first: bool = False,
) -> TokenizerFiles:
    """A model for many languages. kind: of CODES; known: its codes in the order of their ids, where no file names them;
    the others as in `Codes`."""

    def named(tokens: Mapping[str, int]) -> Codes:
        matches = {token: CODES[kind].fullmatch(token) for token in tokens}
        ids = {match[1]: tokens[token] for token, match in matches.items() if match}
        if len(ids) < 2:
            raise TokenizerError(
                "the files name no language codes; take tokenizer.json or {options} from the same model",
                options=OPTIONS,
            )
        return Codes(ids, source_first, target_first)

    if not (folder / PIECES).is_file() and (folder / JSON).is_file():
        files = _from_json(folder, options)
        special = {token: files.vocabularies[0][token] for token in files.own}
        return replace(files, codes=named(special))
    _need(folder, PIECES)
    if kind == "M2M-100":
        table = dict(_vocabulary(folder / VOCABULARY))
        following = len(table)
    else:
        processor = read_processor(folder / PIECES, LARGEST_TOKENIZER)
        if {processor.IdToPiece(number) for number in range(min(3, len(processor)))} != {"<unk>", "<s>", "</s>"}:
            raise TokenizerError("{name} does not begin with <unk>, <s> and </s>", name=PIECES)
        table = {token: number for number, token in enumerate(FAIRSEQ)}
        table |= {processor.IdToPiece(number): number + 1 for number in range(3, len(processor))}
        following = len(processor) + 1
    added = added_tokens(folder, options)
    ids = {token: entry["id"] for token, entry in added.items() if CODES[kind].fullmatch(token)}
    if not ids:
        listed = [token for token in dict.fromkeys(_specials(folder, options)) if CODES[kind].fullmatch(token)]
        ids = {token: following + place for place, token in enumerate(listed or known)}
    if kind != "M2M-100":
        table.setdefault("<mask>", added.get("<mask>", {"id": following + len(ids)})["id"])
    own = [*FAIRSEQ, *(("<mask>",) if "<mask>" in table else ()), *ids]
    table |= ids
    others = {token: entry for token, entry in added.items() if token not in own}
    return TokenizerFiles(folder, options, (table, table), others, (PIECES,) * 2, own=own, codes=named(ids))
