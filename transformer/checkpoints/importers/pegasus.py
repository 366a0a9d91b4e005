"""Imports Pegasus (Zhang et al. 2020) in Hugging Face's format; the files are as in `importers.bart`, but for
spiece.model, SentencePiece's own file, whose ids are moved by 103, or a tokenizer.json.

Differences from the paper: LayerNorm before each sub-layer; sines before cosines; GELU or ReLU; each logit has a bias;
decoding starts with <pad>.
"""

from transformer.checkpoints.importers.bart import Family
from transformer.checkpoints.importers.tokenizers import JSON, PEGASUS_PIECES, pegasus_files

PEGASUS = Family(
    "Pegasus",
    ("PegasusForConditionalGeneration", "PegasusModel"),
    {"norm": "pre", "layout": "halves"},
    {"pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0},
    pegasus_files,
    ((PEGASUS_PIECES,), (JSON,)),
)
