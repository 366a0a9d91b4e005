"""Word alignment: gold links, links read from attention, and the alignment error rate (Och and Ney 2003)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from transformer.analysis.attention import merge_words
from transformer.text.tokenizer import PIECE_MARK, composed
from transformer.texts import UserError

WORD = re.compile(r"\w+(?:['’\-.]\w+)*|[^\w\s]")
LINK = re.compile(r"(\d{1,4})([-?p])(\d{1,4})", re.ASCII)  # -: sure; ?, p: possible
READINGS = ("predicted", "fed")  # which of its two tokens a decoder row is read by
Link = tuple[int, int]  # source word, target word, from 0


class AlignmentError(UserError):
    """A gold file with an invalid line, or a text whose words do not match its tokens."""


def words_of(text: str) -> tuple[str, ...]:
    """The words that links count: punctuation marks are words, "don't" and "U.S" are one."""
    return tuple(WORD.findall(composed(text)))


@dataclass(frozen=True)
class Gold:
    """A sentence pair aligned by hand. sure, possible: links; possible contains sure. source_words, target_words: what
    they count, `words_of` the texts. line: its number in the file, from 1."""

    source: str
    target: str
    sure: frozenset[Link]
    possible: frozenset[Link]
    line: int = field(default=0, compare=False)

    @property
    def source_words(self) -> tuple[str, ...]:
        return words_of(self.source)

    @property
    def target_words(self) -> tuple[str, ...]:
        return words_of(self.target)


def _gold(source: str, target: str, written: str, number: int, first: int) -> Gold:
    """One pair and its links. Raises AlignmentError with the number of the line."""
    sizes = (len(words_of(source)), len(words_of(target)))
    sure: set[Link] = set()
    possible: set[Link] = set()
    for part in written.split():
        match = LINK.fullmatch(part)
        if match is None:
            raise AlignmentError(
                "line {number}: {part!r} is not a link; write i-j if it is sure, i?j or ipj if it is possible",
                number=number,
                part=part[:20],
            )
        link = (int(match[1]) - first, int(match[3]) - first)
        if not (0 <= link[0] < sizes[0] and 0 <= link[1] < sizes[1]):
            raise AlignmentError(
                "line {number}: the link {part} is out of range; the source has {source} words and the target "
                "{target}, counted from {first}, so correct or remove the link",
                number=number,
                part=part,
                source=sizes[0],
                target=sizes[1],
                first=first,
            )
        possible.add(link)
        if match[2] == "-":
            sure.add(link)
    return Gold(source, target, frozenset(sure), frozenset(possible), number)


def read_gold(text: str, first: int = 0) -> list[Gold]:
    """Read lines `source<tab>target<tab>links`: sure links i-j and possible ones i?j or ipj, with blanks between them.

    first: the number of the first word, 0 or 1. Raises AlignmentError with the number of the first line that has no
    such form, or a link out of range.
    """
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != 3:
            raise AlignmentError(
                "line {number} has {count} columns; it needs source, target and links, with a tab between them",
                number=number,
                count=len(columns),
            )
        source, target, links = columns
        found.append(_gold(source, target, links, number, first))
    return found


def read_links(text: str, pairs: Sequence[tuple[str, str]], first: int = 0) -> list[Gold]:
    """Read lines of links alone (Pharaoh format), one for each of these pairs; first: as in `read_gold`.

    Raises AlignmentError with the number of the first wrong line, or for another number of lines.
    """
    lines = text.splitlines()
    if len(lines) != len(pairs):
        raise AlignmentError(
            "there are {lines} lines of links for {pairs} sentence pairs; give one line for each pair",
            lines=len(lines),
            pairs=len(pairs),
        )
    return [_gold(*pair, line, number, first) for number, (pair, line) in enumerate(zip(pairs, lines, strict=True), 1)]


def token_words(surfaces: Sequence[str], words: Sequence[str]) -> list[int]:
    """The word of every token: the one that has most of its characters.

    surfaces: of the tokens, with the piece mark (`Tokenizer.surfaces`). Raises AlignmentError if tokens and words are
    not made of the same characters.
    """
    owners = [number for number, word in enumerate(words) for _ in word]
    plain = [surface.replace(PIECE_MARK, "") for surface in surfaces]
    if sum(map(len, plain)) != len(owners):
        changed = sorted(set("".join(words)).difference(*plain))
        raise AlignmentError(
            "the tokens have {tokens} characters and the words {words}; leave out what the tokenizer changes: "
            "{changed}",
            tokens=sum(map(len, plain)),
            words=len(owners),
            changed=" ".join(f"{one} (U+{ord(one):04X})" for one in changed[:8]) or "–",
        )
    found, at = [], 0
    for piece in plain:
        mine = owners[at : at + len(piece)] or owners[at : at + 1] or owners[-1:]  # a piece mark alone: the next word
        found.append(max(mine, key=mine.count))
        at += len(piece)
    return found


def word_weights(weights: Tensor, target: Sequence[int], source: Sequence[int]) -> Tensor:
    """Attention between words: the sum over the source word's tokens, the mean over the target word's.

    weights: [query, key], rows and columns of words only; target, source: the word of each. Returns [word, word].
    """
    return merge_words(weights, target, source)


def read_rows(weights: Tensor, tokens: int, reading: str) -> Tensor:
    """The rows of a decoder map that belong to the target's tokens, in order, [.., token, key].

    weights: [.., target, key] with a row for each step, the last of which predicts </s>. reading: "predicted": the row
    that predicts a token; "fed": the row that is fed with it, one step later.
    """
    start = READINGS.index(reading)
    return weights[..., start : start + tokens, :]


def best_links(weights: Tensor) -> frozenset[Link]:
    """For every target word the source word with its largest weight. weights: [target word, source word]."""
    return frozenset((int(source), target) for target, source in enumerate(weights.argmax(-1).tolist()))


def diagonal_links(source: int, target: int) -> frozenset[Link]:
    """Every target word with the source word at the same place, by proportion: what order alone would give."""
    return frozenset((min(source - 1, int((j + 0.5) * source / target)), j) for j in range(target))


def symmetrised(forward: frozenset[Link], backward: frozenset[Link]) -> frozenset[Link]:
    """Grow-diag (Koehn et al. 2003): the links that both directions have, grown by neighbouring links of either one
    while they join a word without a link. Both as (source, target)."""
    found, union = set(forward & backward), forward | backward
    grown = True
    while grown:
        grown = False
        for i, j in sorted(found):
            for link in ((i + a, j + b) for a in (-1, 0, 1) for b in (-1, 0, 1)):
                free = all(link[0] != one[0] for one in found) or all(link[1] != one[1] for one in found)
                if link in union and link not in found and free:
                    found.add(link)
                    grown = True
    return frozenset(found)


@dataclass(frozen=True)
class Score:
    """aer: 1 - (|A and S| + |A and P|) / (|A| + |S|), 0 is perfect; precision: |A and P| / |A|; recall: |A and S| /
    |S|. links: |A|, over all pairs."""

    aer: float
    precision: float
    recall: float
    links: int


def score(pairs: Iterable[tuple[frozenset[Link], Gold]]) -> Score:
    """The error of links over all pairs together. Raises ValueError if there is no link on one of the sides."""
    in_sure = in_possible = found = sure = 0
    for links, gold in pairs:
        in_sure += len(links & gold.sure)
        in_possible += len(links & gold.possible)
        found += len(links)
        sure += len(gold.sure)
    if not found or not sure:
        raise ValueError("there are no links to score")
    return Score(1 - (in_sure + in_possible) / (found + sure), in_possible / found, in_sure / sure, found)


def best_possible(golds: Sequence[Gold]) -> Score:
    """The smallest error that one link for each target word can have: sure links first, then possible ones, else the
    first source word."""
    chosen = []
    for gold in golds:
        links = set()
        for j in range(len(gold.target_words)):
            candidates = [link for link in sorted(gold.sure) if link[1] == j]
            candidates += [link for link in sorted(gold.possible) if link[1] == j]
            links.add(candidates[0] if candidates else (0, j))
        chosen.append((frozenset(links), gold))
    return score(chosen)


def pharaoh(links: Iterable[Link]) -> str:
    """Links as `i-j i-j`, in the order of the source."""
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def word_matrix(
    weights: Tensor,
    source_surfaces: Sequence[str],
    target_surfaces: Sequence[str],
    source: Sequence[str],
    target: Sequence[str],
    reading: str,
) -> Tensor:
    """Attention from target words to source words, [..., target word, source word].

    weights: [..., target, source] of the cross-attention, with </s> as last row and last column. surfaces: of the
    tokens without </s>; source, target: the words. Raises AlignmentError if they do not fit each other.
    """
    rows, columns = token_words(target_surfaces, target), token_words(source_surfaces, source)
    read = read_rows(weights, len(rows), reading)[..., : len(columns)]
    if read.shape[-2:] != (len(rows), len(columns)):
        raise AlignmentError(
            "the words have {rows} and {columns} tokens, but the attention {shown} rows and columns; a translation "
            "that was cut off cannot be aligned",
            rows=len(rows),
            columns=len(columns),
            shown=" and ".join(map(str, read.shape[-2:])),
        )
    flat = read.reshape(-1, len(rows), len(columns))
    merged = torch.stack([word_weights(one, rows, columns) for one in flat])
    return merged.reshape(*weights.shape[:-2], *merged.shape[-2:])
