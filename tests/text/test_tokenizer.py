import io
import itertools
import json
import math
import subprocess
import sys
import unicodedata
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sentencepiece

from tests.support.build import sentences, tiny_tokenizer
from transformer.text.tokenizer import MARKS, PIECE_MARK, SPECIALS, Tokenizer, TokenizerError, clean

MARKUP = ("</s>", "<s>", "<pad>", "<unk>", "<script>alert(1)</script>", "ka </s> lo", "</s></s>")


def test_special_tokens_are_the_first_four():
    assert tuple(tiny_tokenizer().pieces(range(4))) == SPECIALS
    assert len(tiny_tokenizer()) == 67


@pytest.mark.parametrize("text", MARKUP)
def test_markup_stays_text(text):
    tokenizer = tiny_tokenizer()
    ids = tokenizer.encode(text)
    assert not set(ids) & {0, 1, 2, 3}  # neither control ids nor unknown
    assert tokenizer.decode(ids) == text
    assert all(not set(drawn) & {0, 2, 3} for drawn in tokenizer.sample([text] * 5, 0.1, 1))


def test_special_ids_are_left_out_of_text():
    tokenizer = tiny_tokenizer()
    ids = tokenizer.encode("ka lo")
    assert tokenizer.decode([2, *ids, 3, 0, 0]) == "ka lo"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("  ka \t\n lo ", "ka lo"),
        ("ka\x00lo\x1b[31m", "ka lo [31m"),
        ("ka\ud800", "ka\ufffd"),
        ("\udc00ka", "\ufffdka"),
        ("\ud83d\ude00", "\U0001f600"),  # two surrogates that belong together
        ("e\u0301", "\u00e9"),
        ("ka\r\nlo\u2028mi", "ka lo mi"),
        ("", ""), (" \n ", ""), ("\x07", ""),
    ],
)  # fmt: skip
def test_clean(text, wanted):
    assert clean(text) == wanted


@pytest.mark.parametrize("seed", [1, 0, 2**32 - 1, 2**40, 10**15])
def test_sampling_repeats_by_seed_and_differs_between_seeds(seed):
    tokenizer, texts = tiny_tokenizer(), sentences()[:30]
    first = tokenizer.sample(texts, 0.2, seed)
    assert tokenizer.sample(texts, 0.2, seed) == first
    assert tokenizer.sample(texts, 0.2, seed=2) != first
    assert [tokenizer.decode(ids) for ids in first] == list(texts)
    assert first != [tokenizer.encode(text) for text in texts]


def test_sampling_repeats_in_another_process(tmp_path):
    """A run that is resumed is another process; SentencePiece's own sampling gave other pieces in every one."""
    tiny_tokenizer().save(tmp_path / "t.model")
    code = (
        "import json, sys; from pathlib import Path; from transformer.text.tokenizer import Tokenizer;"
        "texts = json.load(sys.stdin); print(json.dumps(Tokenizer.load(Path(sys.argv[1])).sample(texts, 0.1, 3)))"
    )
    texts = sentences()[:20]
    command = [sys.executable, "-c", code, str(tmp_path / "t.model")]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, cwd=root, check=True)
    assert json.loads(done.stdout) == tiny_tokenizer().sample(texts, 0.1, 3)


def test_sampling_draws_with_the_right_probabilities():
    """Every segmentation of a word, by brute force: P is the product of its pieces' probabilities, to the alpha."""
    tokenizer, alpha, draws = tiny_tokenizer(), 0.5, 20_000
    word = PIECE_MARK + "polkavu"
    score = {p: tokenizer._processor.GetScore(i) for i in range(4, 67) for p in tokenizer.pieces([i])}
    weights = {}
    for cuts in itertools.product([False, True], repeat=len(word) - 1):
        places = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(word)]
        pieces = tuple(word[a:b] for a, b in itertools.pairwise(places))
        if all(piece in score for piece in pieces):
            weights[pieces] = math.exp(alpha * sum(score[piece] for piece in pieces))
    assert len(weights) > 3
    counts = Counter(tuple(tokenizer.pieces(ids)) for ids in tokenizer.sample(["polkavu"] * draws, alpha, 1))
    assert set(counts) <= set(weights)
    for pieces, weight in weights.items():
        share = weight / sum(weights.values())
        assert abs(counts[pieces] - draws * share) < 5 * (draws * share) ** 0.5 + 1  # five standard deviations


@pytest.mark.parametrize("text", [*sentences()[:10], *MARKUP, "ka \U0001f600\U0001f600 b4 \u4f60\u597d", "", " "])
def test_a_large_alpha_leaves_the_best_segmentation(text):
    assert tiny_tokenizer().sample([text], 1_000.0, 1) == [tiny_tokenizer().encode(text)]


def test_merges_are_left_out_with_the_right_probabilities():
    """BPE-dropout, every way that a word can be merged, by brute force: the first of the merges left is made."""
    tokenizer, dropout, draws = Tokenizer.train(sentences(), 67, "bpe"), 0.3, 20_000
    score = {p: tokenizer._processor.GetScore(i) for i in range(4, 67) for p in tokenizer.pieces([i])}
    shares: Counter[tuple[str, ...]] = Counter()

    def merge(parts: tuple[str, ...], probability: float) -> None:
        merges = [start for start, pair in enumerate(itertools.pairwise(parts)) if "".join(pair) in score]
        for start in sorted(merges, key=lambda start: -score[parts[start] + parts[start + 1]]):
            merged = (*parts[:start], parts[start] + parts[start + 1], *parts[start + 2 :])
            merge(merged, probability * (1 - dropout))
            probability *= dropout
        shares[parts] += probability

    merge(tuple(PIECE_MARK + "polkavu"), 1)
    assert len(shares) > 10 and sum(shares.values()) == pytest.approx(1)
    counts = Counter(tuple(tokenizer.pieces(ids)) for ids in tokenizer.sample(["polkavu"] * draws, dropout, 1))
    assert set(counts) <= set(shares)
    for parts, share in shares.items():
        assert abs(counts[parts] - draws * share) < 5 * (draws * share) ** 0.5 + 1  # five standard deviations


def test_merges_without_dropout_give_the_segmentation_used_for_translating():
    tokenizer = Tokenizer.train(sentences(), 67, "bpe")
    texts = [*sentences()[:50], *MARKUP, "ka \U0001f600\U0001f600 b4 \u4f60\u597d", "", " "]
    assert tokenizer.sample(texts, 0, 1) == list(map(tokenizer.encode, texts))
    with pytest.raises(TokenizerError, match=r"from 0 to 1"):
        tokenizer.sample(texts, 1.5, 1)


def test_encoding_is_the_same_in_threads():
    tokenizer, texts = tiny_tokenizer(), sentences()[:100]
    wanted = [tokenizer.encode(text) for text in texts]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda _: [tokenizer.encode(text) for text in texts], range(4))) == [wanted] * 4


def test_every_symbol_is_kept_as_it_is_typed():
    """Kind "symbol": capitals, digits, compatibility characters and markup; "char" makes small letters of capitals."""
    texts = ["Aa B½", "12 ﬁ", "</s><s>", "<pad> <unk>", "ß", "日本"]
    tokenizer = Tokenizer.train(texts, 99, "symbol")
    for text in texts:
        assert tokenizer.decode(tokenizer.encode(text)) == text
        assert len(tokenizer.encode(text)) == len(text) and 1 not in tokenizer.encode(text)
    assert len(tokenizer) == 4 + len(set("".join(texts)))
    folded = Tokenizer.train(["Aa B"], 99, "char")
    assert folded.decode(folded.encode("Aa B")) == "aa b"
    with pytest.raises(TokenizerError, match="9 different characters, too many for a vocabulary of 8"):
        Tokenizer.train(["abcdefghi"], 8, "symbol")


def test_decomposed_text_is_learned_as_it_is_read():
    lines = [unicodedata.normalize("NFD", text) for text in ("schön früh", "한국어")]
    tokenizer = Tokenizer.train(lines * 5, 100, "symbol")
    assert [tokenizer.decode(tokenizer.encode(line)) for line in lines] == ["schön früh", "한국어"]


def test_training_is_repeatable():
    texts = sentences()[:200]
    pieces = [Tokenizer.train(texts, 40).pieces(range(40)) for _ in range(2)]
    assert pieces[0] == pieces[1]


@pytest.mark.parametrize(("lines", "size"), [([], 50), (["a"], 50), (sentences()[:50], 4), (sentences()[:50], 10**5)])
def test_too_little_text_gives_a_message(lines, size):
    with pytest.raises(TokenizerError, match=f"^this text does not suit a vocabulary of {size} pieces"):
        Tokenizer.train(lines, size)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.9999])
def test_a_damaged_file_gives_a_message(tmp_path, share):
    tiny_tokenizer().save(tmp_path / "t.model")
    data = (tmp_path / "t.model").read_bytes()
    (tmp_path / "t.model").write_bytes(data[: int(len(data) * share)])
    with pytest.raises(TokenizerError, match="not a SentencePiece model"):
        Tokenizer.load(tmp_path / "t.model")


def test_other_files_give_a_message(tmp_path):
    with pytest.raises(TokenizerError, match="cannot be read: No such file"):
        Tokenizer.load(tmp_path / "none.model")
    with pytest.raises(TokenizerError, match="cannot be read: Is a directory"):
        Tokenizer.load(tmp_path)
    with pytest.raises(TokenizerError, match="not a SentencePiece model"):
        Tokenizer(b"{}" * 50)


def test_other_special_ids_give_a_message():
    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(sentences()[:100]), model_writer=written, vocab_size=40, minloglevel=2
    )
    with pytest.raises(TokenizerError, match=r"as ids 0 to 3; they must be"):
        Tokenizer(written.getvalue())


def test_marks_on_one_letter_are_put_in_order_in_bounded_runs():
    """Putting n marks in order takes n squared steps: 100,000 of them would hold up everybody for 8 seconds."""
    marks = "\u0315\u0300\u0323" * 40
    cleaned = clean(f"a{marks}b")
    runs, longest = 0, 0
    for character in cleaned:
        runs = runs + 1 if unicodedata.combining(character) else 0
        longest = max(longest, runs)
    assert longest <= MARKS and cleaned[-1] == "b"
    assert Counter(unicodedata.normalize("NFD", cleaned).replace("\u034f", "")) == Counter(f"a{marks}b")  # none is lost
    for few in ("e\u0301", "a\u0323\u0302" + "\u0301" * 25, "\u1e69" * 40, "Z\u0351\u036b\u0343\u036a\u0302\u036b"):
        assert clean(few) == unicodedata.normalize("NFC", few)
    assert len(clean("a" + "\u0315\u0300" * 100_000)) > 200_000
    tokenizer = tiny_tokenizer()
    assert len(tokenizer.surfaces(f"ka{marks} lo")) == len(tokenizer.encode(f"ka{marks} lo"))
