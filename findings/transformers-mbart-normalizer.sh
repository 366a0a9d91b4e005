#!/bin/sh
# The mBART tokenizer of transformers 5 leaves out the Unicode rule that lies in the SentencePiece file it reads.
#
# With: transformers 5.23.0, tokenizers 0.23.3, sentencepiece 0.2.3, Python 3.11; Linux; tried on 2026-11-28.
#
# A SentencePiece file has its own normalisation, by default NFKC: a ligature and a fraction are divided into usual signs
# before pieces are looked up. transformers builds a tokenizer of the package tokenizers from such a file.
# MBart50Tokenizer, T5Tokenizer and XLMRobertaTokenizer take the rule along. MBartTokenizer has no normaliser at all, so
# the same text becomes <unk>, and text from a PDF with ligatures loses letters without a word.
#
# Seen for a ligature and a fraction, pieces of one file:
#
#     sentencepiece       ▁fi ▁ 1 ⁄ 2
#     MBartTokenizer      ▁ <unk> ▁ <unk>
#     MBart50Tokenizer    ▁fi ▁ 1 ⁄ 2
#     XLMRobertaTokenizer ▁fi ▁ 1 ⁄ 2
#     T5Tokenizer         ▁fi ▁ 1 ⁄ 2
#
# Fails if one of them gives other pieces. Headscope reads the file's rule for mBART (docs/research.md, BART's relatives).
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON3:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet transformers==5.23.0 tokenizers==0.23.3 sentencepiece==0.2.3 protobuf==7.36.2
cat >"$folder/pieces.py" <<'PYTHON'
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")
import sentencepiece
import transformers

transformers.logging.set_verbosity_error()
folder, text = pathlib.Path(sys.argv[1]), "\N{LATIN SMALL LIGATURE FI} \N{VULGAR FRACTION ONE HALF}"
words = "ka lo mi vu ne so ta ri 1 2 3 fi".split() * 40
lines = [" ".join(words[at : at + 4]) for at in range(0, len(words), 4)] + ["1\N{FRACTION SLASH}2 fi A c"] * 9
sentencepiece.SentencePieceTrainer.Train(
    sentence_iterator=iter(lines), model_prefix=str(folder / "trained"), vocab_size=40, model_type="unigram",
    character_coverage=1.0, hard_vocab_limit=False, num_threads=1, minloglevel=2,
)
processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "trained.model"))
print("sentencepiece      ", *processor.EncodeAsPieces(text))
for name, file in (
    ("MBartTokenizer", "sentencepiece.bpe.model"),
    ("MBart50Tokenizer", "sentencepiece.bpe.model"),
    ("XLMRobertaTokenizer", "sentencepiece.bpe.model"),
    ("T5Tokenizer", "spiece.model"),
):
    checkpoint = folder / name
    checkpoint.mkdir()
    (checkpoint / file).write_bytes((folder / "trained.model").read_bytes())
    tokenizer = getattr(transformers, name).from_pretrained(checkpoint)
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    print(f"{name:19}", *tokenizer.convert_ids_to_tokens(ids))
PYTHON
seen=$(PYTHONIOENCODING=utf-8 "$folder/venv/bin/python" "$folder/pieces.py" "$folder" 2>"$folder/errors" || { cat "$folder/errors" >&2; exit 1; })
printf '%s\n' "$seen"
test "$seen" = "sentencepiece       ▁fi ▁ 1 ⁄ 2
MBartTokenizer      ▁ <unk> ▁ <unk>
MBart50Tokenizer    ▁fi ▁ 1 ⁄ 2
XLMRobertaTokenizer ▁fi ▁ 1 ⁄ 2
T5Tokenizer         ▁fi ▁ 1 ⁄ 2"
