"""Tokens of a vocabulary as a person reads them."""

from collections.abc import Sequence

from transformer.inference.pretrained import Pretrained, readable
from transformer.text.tokenizer import PIECE_MARK, SPECIALS, AnyTokenizer
from transformer.tracing.trace import Trace


def numbered(labels: Sequence[str], between: str = " · ") -> list[str]:
    """Labels with their position, counted from 1, because tokens repeat."""
    return [f"{position}{between}{label}" for position, label in enumerate(labels, 1)]


def stack_labels(trace: Trace, stack: str) -> tuple[str, ...]:
    """The tokens that run through a stack: for the decoder those it is fed, not those it predicts."""
    return trace.source_labels if stack == "encoder" else trace.target_in_labels


def typed_ids(tokenizer: AnyTokenizer, typed: str) -> list[int]:
    """Ids of what a person typed as one token; a token that is only a piece mark counts only where it stands alone."""
    ids = tokenizer.encode(typed)
    return [token_id for token_id in ids if tokenizer.pieces([token_id]) != [PIECE_MARK]] or ids


def shown(model: Pretrained, ids: Sequence[int], side: str = "target") -> tuple[str, ...]:
    """Tokens of a side's vocabulary as text; "…" stands before a token that continues a word.

    Without it, "man" at the start of a word and in "Mailman" would look the same.
    """
    tokenizer = model.tokenizer_of(side)
    pieces = tokenizer.pieces(ids)
    marked = tokenizer.surfaces("a")[:1]
    if not marked or not marked[0].startswith(PIECE_MARK):  # the vocabulary is letters
        return readable(pieces)
    return tuple(
        f"…{label}" if piece not in SPECIALS and not piece.startswith(PIECE_MARK) and label[:1].isalnum() else label
        for piece, label in zip(pieces, readable(pieces), strict=True)
    )
