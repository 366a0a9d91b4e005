"""CTranslate2 with the weights of one of our models, as a peer of decoding."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn

from transformer.inference.pretrained import Pretrained
from transformer.model.attention import MultiHeadAttention
from transformer.model.transformer import Transformer


def _linear(spec: Any, *modules: nn.Linear) -> None:
    """One matrix of several projections, as CTranslate2 stores them."""
    import numpy as np

    spec.weight = np.concatenate([module.weight.numpy() for module in modules])
    spec.bias = np.concatenate([module.bias.numpy() for module in modules])


def _norm(spec: Any, residual: nn.Module) -> None:
    spec.gamma, spec.beta = (getattr(residual.norm, name).numpy() for name in ("weight", "bias"))


def _attention(spec: Any, ours: MultiHeadAttention, residual: nn.Module, crosses: bool = False) -> None:
    groups = ([ours.query], [ours.key, ours.value]) if crosses else ([ours.query, ours.key, ours.value],)
    for linear, modules in zip(spec.linear, (*groups, [ours.output]), strict=True):
        _linear(linear, *modules)
    _norm(spec.layer_norm, residual)


def _spec(model: Transformer, pieces: Sequence[str]) -> Any:
    """A model of the paper's form (post-norm, sinusoids, ReLU, one table) in CTranslate2's terms."""
    import torch
    from ctranslate2.specs.transformer_spec import TransformerSpec

    config = model.config
    spec = TransformerSpec.from_config((config.encoder_layers, config.decoder_layers), config.heads, pre_norm=False)
    spec.config.decoder_start_token = pieces[config.start_id]
    spec.config.eos_token, spec.config.unk_token = pieces[config.end_id], pieces[config.unk_id]
    spec.register_source_vocabulary(list(pieces))
    spec.register_target_vocabulary(list(pieces))
    positions = model.positions(torch.arange(config.max_positions)).numpy()
    table = model.embedding.weight.numpy()
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = table
    spec.decoder.projection.weight = table
    spec.decoder.start_from_zero_embedding = False
    spec.encoder.position_encodings.encodings = spec.decoder.position_encodings.encodings = positions
    layers = [*spec.encoder.layer, *spec.decoder.layer]
    for theirs, ours in zip(layers, [*model.encoder, *model.decoder], strict=True):
        _attention(theirs.self_attention, ours.self_attention, ours.self_residual)
        if hasattr(ours, "cross_attention"):
            _attention(theirs.attention, ours.cross_attention, ours.cross_residual, crosses=True)
        _linear(theirs.ffn.linear_0, ours.feed_forward.inner)
        _linear(theirs.ffn.linear_1, ours.feed_forward.outer)
        _norm(theirs.ffn.layer_norm, ours.feed_forward_residual)
    spec.validate()
    return spec


def translators(model: Pretrained, *types: str, threads: int = 1) -> list[Callable[[Tensor], list[list[int]]]]:
    """Greedy search of CTranslate2 in each of these types ("float32", "int8"): padded source ids to output ids."""
    import ctranslate2

    config = model.config
    pieces = [f"{id}" for id in range(config.vocab_size)]

    def translator(kind: str) -> Callable[[Tensor], list[list[int]]]:
        with tempfile.TemporaryDirectory() as folder:
            _spec(model.model, pieces).save(folder)
            theirs = ctranslate2.Translator(folder, "cpu", compute_type=kind, intra_threads=threads)

        def translate(source: Tensor) -> list[list[int]]:
            texts = [[str(id) for id in row if id != config.pad_id] for row in source.tolist()]
            found = theirs.translate_batch(
                texts, beam_size=1, max_decoding_length=config.max_positions, return_end_token=True,
                suppress_sequences=[[str(config.pad_id)]],
            )  # fmt: skip
            return [[int(piece) for piece in one.hypotheses[0]] for one in found]

        return translate

    return [translator(kind) for kind in types]
