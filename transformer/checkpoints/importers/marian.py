"""Imports Marian models (Junczys-Dowmunt et al. 2018) in Hugging Face's format, such as OPUS-MT, as our Transformer.

    config.json             {"model_type": "marian", ...}, `MarianConfig` of transformers
    model.safetensors       or its parts, or pytorch_model.bin, as in `importers.bart`
    source.spm, target.spm  SentencePiece models that divide the text into pieces
    vocab.json              piece -> id; with target_vocab.json, each side has its own table
    tokenizer_config.json   languages, and the tokens that were added to the vocabulary (optional)
    added_tokens.json       the latter, where tokenizer_config.json does not list them (optional)
    generation_config.json  settings of the search (optional), see `importers.generation`

Differences from the paper, all in `ModelConfig`: sines and cosines of the positions are in two halves; swish or GELU
may replace ReLU; embeddings may be unscaled; each logit has a bias; decoding starts with <pad>; source and target may
have separate tables.
"""

from transformer.checkpoints.importers.bart import Family
from transformer.checkpoints.importers.tokenizers import SPLITTERS, VOCABULARY, marian_files

MARIAN = Family(
    "Marian", ("MarianMTModel", "MarianModel"), {"layout": "halves"}, {}, marian_files, ((VOCABULARY, *SPLITTERS),)
)
