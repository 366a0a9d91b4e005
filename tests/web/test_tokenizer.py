"""The page reads texts as Python does: same ids, pieces, surfaces and decoded texts."""

import json
import random
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from tests.support import node
from transformer.checkpoints.importers.vocabulary import VocabularyTokenizer
from transformer.text.tokenizer import AnyTokenizer, Tokenizer

ROOT = Path(__file__).parents[2]
SCRIPT = "engine/testing/tokens.js"
CHECKPOINTS = ("en-de", "ko-numbers", "reverse")

# What texts are made of: words, and what is read in some unusual way.
WORDS = ["The cat", "sleeping", "Katze", "schläft", "größer", "2 더하기", "2는", "4라는 것을", "읽는다", *",.!?()-<>"]
BLANKS = [chr(code) for code in (*range(0x21), 0x7F, *range(0x80, 0xA1), 0x1680, *range(0x2000, 0x2010), 0x2028, 0x2029,
                                 0x202F, 0x205F, 0x2060, 0x3000, 0xFEFF)]  # fmt: skip
LETTERS = [
    *"１２３①㈀㎏ⅷ½²…“’ßİıǅΣςﾊﾟパｶﾞ각ㄱㅏÅﬁﬀ⁇▁", *map(unicodedata.normalize, ["NFD"] * 4, ["한국어", "각", "Å", "élève"]),
    "<s>", "</s>", "<unk>", "<pad>", "\u00ad", "\ue0fe", "\ufffd", "\uffff", "\ud800", "\udfff", "\U0010ffff",
    "👨‍👩‍👧", "🇩🇪", "❤️", "اَ", "ก็", "नि", "עִ", "゙", "\u0345", "\u0344", "\u034f",
]  # fmt: skip
MARKS = "\u0301\u0323\u0334\u0344\u0345\u0e31"  # those that Unicode sorts, and one that it leaves in its place


def mixed(seed: int) -> str:
    choose = random.Random(seed)

    def part() -> str:
        kind = choose.choices(["word", "blank", "letter", "any", "marks"], [30, 20, 30, 15, 5])[0]
        if kind == "word":
            return choose.choice(WORDS) + choose.choice(["", " "])
        if kind == "marks":
            return "e" + "".join(choose.choices(MARKS, k=choose.randint(1, 80)))
        if kind == "any":
            return chr(choose.choice([choose.randrange(0x3000), choose.randrange(0xD800), choose.randrange(0x20000)]))
        return choose.choice(BLANKS if kind == "blank" else LETTERS)

    return "".join(part() for _ in range(choose.randint(0, 14)))


TEXTS = [*LETTERS, *BLANKS, *(f"a{blank}{blank} b" for blank in BLANKS), *map(mixed, range(400))]


def in_the_page(
    model: Path, texts: Sequence[str], table: dict[str, Any] | None = None, lists: Sequence[Sequence[int]] = ()
) -> dict[str, Any]:
    given = {"model": str(model), "table": table, "texts": texts, "lists": lists}
    said = node.written(SCRIPT, given=given)
    found: dict[str, Any] = json.loads(said)
    return found


def here(tokenizer: AnyTokenizer, text: str) -> list[Any]:
    ids = tokenizer.encode(text)
    return [ids, tokenizer.pieces(ids), tokenizer.surfaces(text), tokenizer.decode(ids)]


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_ids_pieces_surfaces_and_decoded_texts_are_those_of_python(name: str) -> None:
    path = ROOT / "checkpoints" / name / "tokenizer.model"
    tokenizer = Tokenizer.load(path)
    for text, found in zip(TEXTS, in_the_page(path, TEXTS)["texts"], strict=True):
        assert found == here(tokenizer, text), ascii(text)


@pytest.mark.parametrize("tidy", [False, True])
def test_the_tokenizer_of_a_marian_model_gives_the_same_too(tidy: bool) -> None:
    path = ROOT / "checkpoints" / "en-de" / "tokenizer.model"
    processor = sentencepiece.SentencePieceProcessor()
    processor.Load(str(path))
    known = [processor.IdToPiece(number) for number in range(4, len(processor), 2)]  # every second piece is unknown
    names = ["</s>", "<unk>", ">>deu<<", "<s>", "⁇", *known, "<pad>"]
    vocabulary = {name: number for number, name in enumerate(names)}
    size, pad = len(names) + 2, vocabulary["<pad>"]  # two ids have no piece
    added = ["<n>", "<n>+", ">>kor<<", "[.*?]\\$/|"]
    vocabulary |= {name: size + number for number, name in enumerate(added)}
    size += len(added)
    tokenizer = VocabularyTokenizer(processor, vocabulary, size, 1, [0, pad], added, [vocabulary["<n>"]], tidy)
    table = json.loads(json.dumps(tokenizer.table()))
    texts = [*TEXTS, ">>deu<< The cat", " >>deu<<cat", ">>fra<< cat", ">>deu The cat", "<<>>", ">>deu<<"]
    texts += [f"{one}The {two} cat{one}" for one in added for two in added] + ["<n>>>deu<<cat", "It 's here ."]
    choose = random.Random(5)
    special = [0, 1, 2, 3, 4, 5, pad, size - 5, *map(vocabulary.get, added)]
    lists = [
        choose.choices([*special, choose.randrange(size), choose.randrange(size)], k=choose.randint(0, 9))
        for _ in range(300)
    ]
    found = in_the_page(path, texts, table, lists)
    for text, made in zip(texts, found["texts"], strict=True):
        assert made == here(tokenizer, text), ascii(text)
    for ids, decoded in zip(lists, found["lists"], strict=True):
        assert decoded == tokenizer.decode(ids), tokenizer.pieces(ids)
