"""CTranslate2 with the weights of a model: with 8 bits it translates four times as fast as we do with 32, and writes
another token now and then."""

import os
import tempfile
from collections.abc import Sequence
from typing import Any

import ctranslate2
import torch
from ctranslate2.specs.common_spec import Activation
from ctranslate2.specs.model_spec import LayerSpec
from ctranslate2.specs.transformer_spec import TransformerSpec
from torch import Tensor, nn

from transformer.inference.drafts import Ids
from transformer.model.attention import MultiHeadAttention
from transformer.model.config import ModelConfig
from transformer.model.layers import DecoderLayer, EncoderLayer
from transformer.model.transformer import Transformer

MEMORY = "/dev/shm"  # a folder in memory, on Linux: the server writes nothing to disk
ACTIVATIONS = {
    "relu": Activation.RELU,
    "gelu": Activation.GELU,
    "gelu_new": Activation.GELUTanh,
    "swish": Activation.SWISH,
}


def expressible(config: ModelConfig) -> bool:
    """Whether CTranslate2 knows such a model, written as here: it reads T5's parts in another form."""
    usual = config.causal and config.residual and config.norm != "none" and config.d_k in (None, config.d_head)
    return usual and config.usual_parts and not config.embedding_norm


def _own(tensor: Tensor) -> Any:
    """The numbers as an array of its own: CTranslate2 rounds in place."""
    return tensor.detach().float().numpy().copy()


def _linear(spec: Any, *modules: nn.Linear) -> None:
    """One matrix of several projections, as CTranslate2 stores them."""
    spec.weight = _own(torch.cat([module.weight for module in modules]))
    spec.bias = _own(torch.cat([module.bias for module in modules]))


def _norm(spec: Any, norm: nn.Module) -> None:
    assert isinstance(norm, nn.LayerNorm)
    spec.gamma, spec.beta = _own(norm.weight), _own(norm.bias)


def _attention(spec: Any, ours: MultiHeadAttention, norm: nn.Module, scale: float, crosses: bool = False) -> None:
    groups = ([ours.query], [ours.key, ours.value]) if crosses else ([ours.query, ours.key, ours.value],)
    for linear, modules in zip(spec.linear, (*groups, [ours.output]), strict=True):
        _linear(linear, *modules)
    _norm(spec.layer_norm, norm)
    spec.queries_scale = _own(torch.tensor(scale))


def _round(part: LayerSpec, kind: str) -> None:
    """Round a part as soon as it is filled: all of them in 32 bits would take 100 MB of en-de at once."""
    part.validate()
    part.optimize(kind)


def _spec(model: Transformer, kind: str) -> TransformerSpec:
    """The model in CTranslate2's terms, rounded; its pieces are the ids."""
    config = model.config
    spec = TransformerSpec.from_config(
        (config.encoder_layers, config.decoder_layers), config.heads, pre_norm=config.norm == "pre",
        activation=ACTIVATIONS[config.activation],
    )  # fmt: skip
    spec.config.decoder_start_token, spec.config.eos_token = str(config.start_id), str(config.end_id)
    spec.config.unk_token, spec.config.layer_norm_epsilon = str(config.unk_id), config.layer_norm_eps
    spec.register_source_vocabulary([str(piece) for piece in range(config.vocab_size)])
    spec.register_target_vocabulary([str(piece) for piece in range(config.output_size)])
    if model.output_bias is not None:
        spec.decoder.projection.bias = _own(model.output_bias)
    for part, table in (
        (spec.encoder.embeddings[0], model.table("source")),
        (spec.decoder.embeddings, model.table("target")),
        (spec.decoder.projection, model.output_table),
    ):
        part.weight = _own(table)
        _round(part, kind)
    for side, reads, layers, norm in (
        (spec.encoder, "source", model.encoder, model.encoder_norm),
        (spec.decoder, "target", model.decoder, model.decoder_norm),
    ):
        side.scale_embeddings = config.embedding_scale
        side.position_encodings.encodings = _own(model.positions_of(reads).table)
        if config.norm == "pre":
            _norm(side.layer_norm, norm)
        for theirs, ours in zip(side.layer, layers, strict=True):
            assert isinstance(ours, EncoderLayer | DecoderLayer)
            _attention(theirs.self_attention, ours.self_attention, ours.self_residual.norm, config.scale)
            if isinstance(ours, DecoderLayer):
                _attention(theirs.attention, ours.cross_attention, ours.cross_residual.norm, config.scale, crosses=True)
            _linear(theirs.ffn.linear_0, ours.feed_forward.inner)
            _linear(theirs.ffn.linear_1, ours.feed_forward.outer)
            _norm(theirs.ffn.layer_norm, ours.feed_forward_residual.norm)
            _round(theirs, kind)
    spec.validate()
    return spec


class Translator:
    """CTranslate2's search, with as many threads as torch has now. kind: "int8" or "float32"."""

    def __init__(self, model: Transformer, kind: str = "int8") -> None:
        spec, self.config, threads = _spec(model, kind), model.config, torch.get_num_threads()
        with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as folder:
            spec.save(folder)
            self._size = sum(entry.stat().st_size for entry in os.scandir(folder))
            self._translator = ctranslate2.Translator(
                folder, compute_type=kind, intra_threads=threads,
                inter_threads=max(1, (os.cpu_count() or 1) // threads),  # calls at once, which share the weights
            )  # fmt: skip

    def __sizeof__(self) -> int:
        """With the weights, which Python does not see."""
        return object.__sizeof__(self) + self._size

    def __call__(
        self, sources: Sequence[Sequence[int]], prefixes: Sequence[Ids], limit: int, beam: int = 1, alpha: float = 1.0
    ) -> list[Ids]:
        """The translation of each source that begins with these ids: ids up to </s>, or `limit` of them."""
        end = self.config.end_id
        found = self._translator.translate_batch(
            [list(map(str, source)) for source in sources], [list(map(str, prefix)) for prefix in prefixes],
            beam_size=beam, length_penalty=alpha, max_decoding_length=limit, min_decoding_length=0, max_input_length=0,
            suppress_sequences=[[str(id)] for id in self.config.unwritten], return_end_token=True,
        )  # fmt: skip
        ids = [tuple(map(int, one.hypotheses[0])) for one in found]
        return [one[: one.index(end) + 1] if end in one else one for one in ids]


def translator(model: Transformer) -> Translator | None:
    """With 8 bits; None for a model that CTranslate2 does not know, and on a machine that cannot run it."""
    ready = expressible(model.config) and "int8" in ctranslate2.get_supported_compute_types("cpu")
    return Translator(model) if ready else None
