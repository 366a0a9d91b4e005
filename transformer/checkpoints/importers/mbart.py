"""Imports mBART and mBART-50 (Liu et al. 2020; Tang et al. 2020) in Hugging Face's format; the files are as in
`importers.bart`, but for sentencepiece.bpe.model, SentencePiece's own file, or a tokenizer.json.

Differences from the paper: BART's, with LayerNorm before each sub-layer. Every text has the code of its language. In
mBART-50 it comes first, and the decoder reads </s> before it. In the first mBART it follows the source's </s>, and the
decoder reads that of the target first.
"""

from transformer.checkpoints.importers.bart import BART, Family
from transformer.checkpoints.importers.tokenizers import JSON, PIECES, mbart_files

MBART = Family(
    "mBART",
    ("MBartForConditionalGeneration", "MBartModel"),
    {**BART.fields, "norm": "pre"},
    {"pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2},
    mbart_files,
    ((PIECES,), (JSON,)),
)
