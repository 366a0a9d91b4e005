"""Give a trained translator signs that its vocabulary lacks, in place of pieces that no other text needs.

    python -m recipes.new_signs runs/signs-3 runs/en-de.tsv runs/signs-5 --mean runs/signs-4 £=▁Lorcan →=▁Ludmil

The piece gets the spelling of the sign and the score of €; its embedding row, which is also its row of the output, is
learned anew. Nothing else changes, so a text without these signs is translated as before (the two old pieces are
names: they are spelt with smaller ones). What is taught: pairs with the new signs, and, so that the rows keep apart
from those of similar signs, pairs with € or > and pairs of the text.
"""

import argparse
import functools
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from sentencepiece import sentencepiece_model_pb2
from torch import Tensor, nn

from transformer.checkpoints.folder import save_checkpoint
from transformer.inference.pretrained import Pretrained, load
from transformer.text.batching import Batch, bucket, make_batch
from transformer.text.tokenizer import Tokenizer
from transformer.training.augmentation import name_part
from transformer.training.data import DataError, Pair, read_pairs
from transformer.training.symbols import symbols

LIKE = {"£": "€"}  # a sign -> one that is used like it; others are copied as they stand
UPDATES, RATE, TOKENS, DRAWN = 220, 2e-3, 1200, 500
COPIED = ("{}", "{} {}", "{}{}", "a {} b", "({})", "1 {} 2", "A {} B {} C", "»{}«")


def with_signs(tokenizer: Tokenizer, old: Mapping[str, str]) -> tuple[Tokenizer, list[int]]:
    """The tokenizer with signs in place of pieces, and their rows. old: sign -> the piece that goes.

    Raises DataError for a piece that the vocabulary lacks, or a sign that it has."""
    model = sentencepiece_model_pb2.ModelProto.FromString(tokenizer.to_bytes())
    rows = {entry.piece: row for row, entry in enumerate(model.pieces)}
    for sign, piece in old.items():
        if piece not in rows or sign in rows:
            raise DataError(
                "{piece} cannot give way to {sign}: the first has to be in the vocabulary, the second not",
                piece=piece,
                sign=sign,
            )
        model.pieces[rows[piece]].piece = sign
        model.pieces[rows[piece]].score = model.pieces[rows["€"]].score
    return Tokenizer(model.SerializeToString()), [rows[piece] for piece in old.values()]


def with_new(rng: random.Random, pairs: Sequence[Pair], signs: Sequence[str]) -> Pair:
    """A pair with one of the signs: in place of the one that it is like, or copied."""
    sign = rng.choice(signs)
    if sign not in LIKE:
        text = rng.choice(COPIED).replace("{}", sign)
        return text, text
    source, target = with_any(rng, pairs, LIKE[sign])
    return source.replace(LIKE[sign], sign), target.replace(LIKE[sign], sign)


def with_any(rng: random.Random, pairs: Sequence[Pair], signs: str) -> Pair:
    """A generated pair whose source has one of the signs."""
    while True:
        pair = symbols(rng, functools.partial(name_part, rng, pairs), pairs)
        if set(signs) & set(pair[0]):
            return pair


def lesson(rng: random.Random, pairs: Sequence[Pair], signs: Sequence[str]) -> Pair:
    draw = rng.random()
    if draw < 0.3:
        return rng.choice(pairs)
    return with_any(rng, pairs, "€>") if draw < 0.5 else with_new(rng, pairs, signs)


def batches(start: Pretrained, tokenizer: Tokenizer, pairs: Sequence[Pair], signs: Sequence[str]) -> Iterator[Batch]:
    """Batches to learn, without end."""
    for turn in range(sys.maxsize):
        rng = random.Random(turn)
        drawn = [lesson(rng, pairs, signs) for _ in range(DRAWN)]
        ids = [(tokenizer.encode(source), tokenizer.encode(target)) for source, target in drawn]
        lengths = [(len(source) + 1, len(target) + 1) for source, target in ids]
        for rows in bucket(lengths, TOKENS, np.random.default_rng(turn)):
            yield make_batch([ids[i][0] for i in rows], [ids[i][1] for i in rows], start.config)


def learn(start: Pretrained, rows: Sequence[int], texts: Iterator[Batch], updates: int = UPDATES) -> float:
    """Teach these rows of the embedding table, in place; returns the last cross-entropy, in nats a token."""
    model, table = start.model.requires_grad_(False), start.model.embedding.weight
    torch.manual_seed(1)
    learned = nn.Parameter(table[list(rows)] * 0.5 + torch.randn(len(rows), table.shape[1]) * table.std() * 0.7)
    optimizer, loss = torch.optim.Adam([learned], betas=(0.9, 0.98)), torch.tensor(0.0)
    for update, batch in zip(range(updates), texts, strict=False):
        with torch.no_grad():
            table[list(rows)] = learned
        table.requires_grad_(True)
        with torch.autocast("cpu", torch.bfloat16):
            hidden: Tensor = model.decode(batch.target_in, model.encode(batch.source), batch.source)
            wanted = batch.target_out != model.config.pad_id
            logits = F.linear(hidden[wanted], model.output_table).float()
        loss = F.cross_entropy(logits, batch.target_out[wanted])
        (gradient,) = torch.autograd.grad(loss, table)
        table.requires_grad_(False)
        learned.grad = gradient[list(rows)]
        optimizer.param_groups[0]["lr"] = RATE * min(1.0, (update + 1) / 10) * (1 - 0.9 * update / updates)
        optimizer.step()
    table[list(rows)] = learned.detach()
    return loss.item()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("start", metavar="CHECKPOINT")
    parser.add_argument("text", type=Path, help="pairs, as python -m recipes.en_de writes them")
    parser.add_argument("folder", type=Path, help="where the checkpoint is written")
    parser.add_argument("signs", nargs="+", metavar="SIGN=PIECE")
    parser.add_argument("--mean", metavar="CHECKPOINT", help="begin with the mean of its weights and the first ones")
    options = parser.parse_args(arguments)
    start, pairs = load(options.start), read_pairs(options.text)
    if not isinstance(start.tokenizer, Tokenizer):
        raise DataError("{name} has the tokenizer of another project", name=start.name)
    if options.mean:
        other = dict(load(options.mean).model.named_parameters())
        for name, parameter in start.model.named_parameters():
            parameter.data = torch.lerp(parameter.data, other[name].data, 0.5)
    tokenizer, rows = with_signs(start.tokenizer, dict(sign.split("=", 1) for sign in options.signs))
    signs = [sign[0] for sign in options.signs]
    print(f"cross-entropy {learn(start, rows, batches(start, tokenizer, pairs, signs)):.3f}")
    save_checkpoint(options.folder, start.model, tokenizer, start.languages)
    return 0


if __name__ == "__main__":
    sys.exit(main())
