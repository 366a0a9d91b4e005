import threading
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.build import sentences, tiny_tokenizer
from transformer.tokenizer import PIECE_MARK, SPECIALS, Tokenizer, TokenizerError, clean

MARKUP = ("</s>", "<s>", "<pad>", "<unk>", "<script>alert(1)</script>", "ka </s> lo", "</s></s>")


def test_special_tokens_are_the_first_four():
    assert tuple(tiny_tokenizer().pieces(range(4))) == SPECIALS
    assert len(tiny_tokenizer()) == 67


@pytest.mark.parametrize("text", sentences()[:20])
def test_round_trip(text):
    tokenizer = tiny_tokenizer()
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert "".join(tokenizer.pieces(ids)) == PIECE_MARK + text.replace(" ", PIECE_MARK)
    assert not set(ids) & {0, 1, 2, 3}


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


@pytest.mark.parametrize(
    "text",
    ["", " ", "\x00", "\ud800", "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467", "\u0634\u0643\u0631\u0627",
     "\u202eka", "\ufeffka", "\u4f60\u597d", PIECE_MARK, "\uffff", "ka" * 5_000],
    ids=ascii,
)  # fmt: skip
def test_any_text_can_be_encoded(text):
    tokenizer = tiny_tokenizer()
    ids = tokenizer.encode(text)
    assert all(0 < i < len(tokenizer) and i not in (2, 3) for i in ids)
    assert len(tokenizer.surfaces(text)) == len(ids)
    tokenizer.decode(ids).encode()


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.text(st.characters(exclude_categories=())))
def test_no_text_breaks_it(text):
    tokenizer = tiny_tokenizer()
    ids = tokenizer.encode(text)
    assert not set(ids) & {0, 2, 3}
    assert len(tokenizer.surfaces(text)) == len(ids)
    assert clean(clean(text)) == clean(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in clean(text))


def test_surfaces_show_what_was_typed():
    tokenizer = tiny_tokenizer()
    text = "ka \U0001f600 lo"
    assert "".join(tokenizer.surfaces(text)) == PIECE_MARK + text.replace(" ", PIECE_MARK)
    assert "<unk>" in tokenizer.pieces(tokenizer.encode(text))


def test_sampling_repeats_by_seed_and_differs_between_seeds():
    tokenizer, texts = tiny_tokenizer(), sentences()[:30]
    first = tokenizer.sample(texts, 0.2, seed=1)
    assert tokenizer.sample(texts, 0.2, seed=1) == first
    assert tokenizer.sample(texts, 0.2, seed=2) != first
    assert [tokenizer.decode(ids) for ids in first] == list(texts)
    assert first != [tokenizer.encode(text) for text in texts]


def test_sampling_repeats_whatever_was_drawn_before():
    tokenizer, texts = tiny_tokenizer(), sentences()[:10]
    first = tokenizer.sample(texts, 0.2, seed=7)
    tokenizer.sample(sentences()[10:30], 0.5, seed=8)
    assert tokenizer.sample(texts, 0.2, seed=7) == first


@pytest.mark.parametrize("seed", [0, 2**32 - 1, 2**40, 10**15])
def test_any_seed_will_do(seed):
    texts = sentences()[:5]
    assert tiny_tokenizer().sample(texts, 0.2, seed) == tiny_tokenizer().sample(texts, 0.2, seed)


def test_encoding_is_the_same_in_threads():
    tokenizer, texts = tiny_tokenizer(), sentences()[:100]
    wanted, found = [tokenizer.encode(text) for text in texts], [[] for _ in range(4)]

    def work(place):
        found[place] = [tokenizer.encode(text) for text in texts]

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [wanted] * 4


def test_training_is_repeatable():
    texts = sentences()[:200]
    pieces = [Tokenizer.train(texts, 40).pieces(range(40)) for _ in range(2)]
    assert pieces[0] == pieces[1]


@pytest.mark.parametrize(("lines", "size"), [([], 50), (["a"], 50), (sentences()[:50], 4), (sentences()[:50], 10**5)])
def test_too_little_text_is_said(lines, size):
    with pytest.raises(TokenizerError, match=f"^a vocabulary of {size} pieces could not be learned"):
        Tokenizer.train(lines, size)


def test_save_and_load(tmp_path):
    tiny_tokenizer().save(tmp_path / "t.model")
    loaded = Tokenizer.load(tmp_path / "t.model")
    assert loaded.encode("ka lo") == tiny_tokenizer().encode("ka lo") and len(loaded) == 67


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.9999])
def test_a_damaged_file_is_said(tmp_path, share):
    tiny_tokenizer().save(tmp_path / "t.model")
    data = (tmp_path / "t.model").read_bytes()
    (tmp_path / "t.model").write_bytes(data[: int(len(data) * share)])
    with pytest.raises(TokenizerError, match="not a SentencePiece model"):
        Tokenizer.load(tmp_path / "t.model")


def test_other_files_are_said(tmp_path):
    with pytest.raises(TokenizerError, match="cannot be read: No such file"):
        Tokenizer.load(tmp_path / "none.model")
    with pytest.raises(TokenizerError, match="cannot be read: Is a directory"):
        Tokenizer.load(tmp_path)
    with pytest.raises(TokenizerError, match="not a SentencePiece model"):
        Tokenizer(b"{}" * 50)


def test_other_special_ids_are_said():
    import io

    import sentencepiece

    written = io.BytesIO()
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(sentences()[:100]), model_writer=written, vocab_size=40, minloglevel=2
    )
    with pytest.raises(TokenizerError, match=r"ids 0 to 3 .* must be"):
        Tokenizer(written.getvalue())
