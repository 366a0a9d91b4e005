"""Imports M2M-100 (Fan et al. 2021) and NLLB (NLLB Team 2022) in Hugging Face's format; the files are as in
`importers.bart`, but for the tokenizer: sentencepiece.bpe.model, which divides the text into pieces, and vocab.json,
the ids of M2M-100; NLLB's ids are SentencePiece's own, moved by one. Or a tokenizer.json.

Differences from the paper: LayerNorm before each sub-layer; sines before cosines, with other wavelengths and the first
token at position 2. Every text begins with the code of its language, and the decoder reads </s> before it.
"""

from transformer.checkpoints.importers.bart import Family
from transformer.checkpoints.importers.tokenizers import JSON, PIECES, VOCABULARY, m2m_files

M2M = Family(
    "M2M-100",
    ("M2M100ForConditionalGeneration", "M2M100Model"),
    {"norm": "pre", "layout": "fairseq"},
    {
        "pad_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2, "scale_embedding": True,
        "activation_function": "relu",
    },
    m2m_files,
    ((VOCABULARY, PIECES), (PIECES,), (JSON,)),
    forced_end=False,
)  # fmt: skip
