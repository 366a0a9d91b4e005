"""Training: target tokens per second, compared with the same model built with torch.nn.Transformer."""

from __future__ import annotations

import contextlib
import math
import random
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.report import Table, load
from benchmarks.timing import ratio, take_turns
from transformer.inference.pretrained import Pretrained
from transformer.model.config import ModelConfig
from transformer.model.positions import sinusoidal
from transformer.text.batching import Batch, bucket, make_batch
from transformer.training.loop import Trainer
from transformer.training.settings import Settings

TARGET = 1.5
BATCH_TOKENS = 3000
SMOOTHING = 0.1


class Peer(nn.Module):
    """The same architecture from PyTorch's own parts, as its tutorials put them together: nn.Transformer, one
    embedding for both sides and the output, sinusoidal positions, F.cross_entropy with label smoothing."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.register_buffer("positions", sinusoidal(config.max_positions, config.d_model))
        self.dropout = nn.Dropout(config.dropout)
        sizes = (config.d_model, config.heads, config.d_ff, config.dropout, config.activation)
        layer = nn.TransformerEncoderLayer(*sizes, layer_norm_eps=config.layer_norm_eps, batch_first=True)
        self.transformer = nn.Transformer(
            config.d_model, config.heads, config.encoder_layers, config.decoder_layers, config.d_ff, config.dropout,
            config.activation, layer_norm_eps=config.layer_norm_eps, batch_first=True,
            # The default but for nested tensors, which serve inference only.
            custom_encoder=nn.TransformerEncoder(
                layer, config.encoder_layers, nn.LayerNorm(config.d_model), enable_nested_tensor=False
            ),
        )  # fmt: skip
        # What the paper's model, and ours, does not do: dropout within a sub-layer, a LayerNorm behind each stack.
        self.transformer.encoder.norm = self.transformer.decoder.norm = None
        for layer in (*self.transformer.encoder.layers, *self.transformer.decoder.layers):
            layer.dropout.p = layer.self_attn.dropout = 0.0
            if hasattr(layer, "multihead_attn"):
                layer.multihead_attn.dropout = 0.0

    def embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids) * math.sqrt(self.config.d_model) + self.positions[: ids.shape[1]])

    def forward(self, batch: Batch) -> Tensor:
        """Mean smoothed loss a target token."""
        hidden_source = batch.source == self.config.pad_id
        length = batch.target_in.shape[1]
        out = self.transformer(
            self.embed(batch.source),
            self.embed(batch.target_in),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(length, dtype=torch.bool),
            src_key_padding_mask=hidden_source,
            tgt_key_padding_mask=batch.target_in == self.config.pad_id,
            memory_key_padding_mask=hidden_source,
            tgt_is_causal=True,
        )
        logits = F.linear(out, self.embedding.weight)
        wanted = batch.target_out.masked_fill(batch.target_out == self.config.pad_id, -100)
        return F.cross_entropy(logits.flatten(0, 1).float(), wanted.flatten(), label_smoothing=SMOOTHING)


def peer_step(config: ModelConfig, precision: str) -> Callable[[Batch], None]:
    """One update of the peer: the same optimiser and clipping, the same precision."""
    torch.manual_seed(1)
    model = Peer(config).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)

    def step(batch: Batch) -> None:
        with torch.autocast("cpu", torch.bfloat16) if precision == "bfloat16" else contextlib.nullcontext():
            loss = model(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()

    return step


def our_step(config: ModelConfig, model: Pretrained, precision: str, folder: Path) -> Callable[[Batch], None]:
    """One update of our trainer."""
    settings = Settings(precision=precision, batch_tokens=BATCH_TOKENS, smoothing=SMOOTHING, peak_rate=1e-4)
    trainer = Trainer(folder, config, model.tokenizer, [("a", "a")], [("a", "a")], settings)
    return lambda batch: (trainer._update(batch), None)[1]


def batches(config: ModelConfig, count: int, tokens: int) -> list[Batch]:
    """Full batches of made-up ids, of the lengths everyday sentences have, put together as the trainer does."""
    rng = random.Random(1)

    def sentence(length: int) -> list[int]:
        return [rng.randrange(4, config.vocab_size) for _ in range(length)]

    lengths = [round(min(40, max(3, rng.lognormvariate(2.2, 0.4)))) for _ in range(count * tokens // 8)]
    numbered = [(sentence(length), sentence(max(2, length + rng.randint(-2, 3)))) for length in lengths]
    order = bucket([(len(s) + 1, len(t) + 1) for s, t in numbered], tokens, None)[:-1]  # the last one is a remainder
    picked = [order[round(i * (len(order) - 1) / max(1, count - 1))] for i in range(count)]
    return [make_batch([numbered[i][0] for i in rows], [numbered[i][1] for i in rows], config) for rows in picked]


def measure(model: Pretrained, quick: bool = False, precisions: Sequence[str] = ("bfloat16", "float32")) -> list[Table]:
    """The same batches, one after the other, through both."""
    count, tokens = (2, 200) if quick else (6, BATCH_TOKENS)
    found = batches(model.config, count, tokens)
    total = sum(int((batch.target_out != 0).sum()) for batch in found)
    table = Table(
        "Speed of training, relative to the same model with torch.nn.Transformer (median / best)",
        ("precision", "threads", "our tokens/s", "its tokens/s", "times as fast", "wanted"),
        load(),
    )
    config = ModelConfig.from_dict({**model.config.to_dict(), "dropout": 0.1})
    with tempfile.TemporaryDirectory() as folder:
        for precision in precisions:
            our, their = our_step(config, model, precision, Path(folder) / precision), peer_step(config, precision)
            times = take_turns(
                {
                    "ours": lambda step=our: [step(batch) for batch in found],
                    "theirs": lambda step=their: [step(batch) for batch in found],
                },
                2 if quick else 8,
            )
            faster = ratio(times, "theirs", "ours")
            speeds = {name: f"{1e3 * total / statistics.median(values):,.0f}" for name, values in times.items()}
            table.add(
                precision, torch.get_num_threads(), speeds["ours"], speeds["theirs"], faster, f"{TARGET} x",
                good=faster.median >= TARGET,
            )  # fmt: skip
    table.notes.append(
        f"{len(found)} batches of up to {tokens:,} padded tokens a side ({total:,} target tokens), the bundled model's "
        "sizes, dropout 0.1. Adam, clipping and precision (autocast where it says bfloat16) are the same on both sides."
    )
    return [table]
