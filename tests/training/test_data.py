import gzip

import numpy as np
import pytest
import torch

from tests.support.build import tiny_config
from transformer.text.batching import bucket, make_batch
from transformer.training.data import DataError, group_references, read_pairs

PAIRS = [("ka lo", "mi"), ("nu", "re sta"), ("\u00fcber", "")]
TEXT = "ka lo\tmi\nnu\tre sta\n\u00fcber\t\n"


@pytest.mark.parametrize(
    "text",
    [TEXT, TEXT.removesuffix("\n"), TEXT.replace("\n", "\r\n"), TEXT.replace("\n", "\tCC-BY 2.0\t#12\n")],
    ids=["plain", "no last newline", "CRLF", "attributions"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_one_file(tmp_path, text, packed):
    path = tmp_path / ("a.tsv.gz" if packed else "a.tsv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    assert read_pairs(path) == PAIRS


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_two_files(tmp_path, newline):
    (tmp_path / "a.en").write_bytes(newline.join(["ka\tlo", "", "nu"]).encode())
    (tmp_path / "a.de.gz").write_bytes(gzip.compress(newline.join(["mi", "re", "", ""]).encode()))
    assert read_pairs(tmp_path / "a.en", tmp_path / "a.de.gz") == [("ka\tlo", "mi"), ("", "re"), ("nu", "")]


def test_separators_that_are_no_line_breaks_stay(tmp_path):
    (tmp_path / "a.tsv").write_text("ka\u2028lo\x0b\x85\tmi\n", encoding="utf-8")
    assert read_pairs(tmp_path / "a.tsv") == [("ka\u2028lo\x0b\x85", "mi")]


def test_a_byte_order_mark_is_no_text(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"\xef\xbb\xbf" + TEXT.encode())
    assert read_pairs(tmp_path / "a.tsv") == PAIRS


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.tsv", b"ka\tlo\nmi nu\n", r"a\.tsv, line 2 has no tab; write each line as SOURCE<tab>TARGET"),
        ("a.tsv", b"ka\tlo\n\nmi\tnu\n", r"a\.tsv, line 2 has no tab"),
        ("a.tsv", b"ka\tlo\nmi\t\xfcber\n", r"a\.tsv, line 2: byte 0xfc is not UTF-8"),
        ("a.tsv.gz", gzip.compress(b"ka\n\xff"), r"a\.tsv\.gz, line 2: byte 0xff is not UTF-8"),
        ("a.tsv", b"", r"a\.tsv is empty"),
        ("a.tsv.gz", gzip.compress(b""), r"a\.tsv\.gz is empty"),
        ("a.tsv.gz", b"ka\tlo\n", r"a\.tsv\.gz cannot be read"),
        ("a.tsv.gz", gzip.compress(TEXT.encode() * 99)[:40], r"a\.tsv\.gz cannot be read"),
        ("a.tsv.gz", gzip.compress(TEXT.encode())[:12] + b"\xff" * 20, r"a\.tsv\.gz cannot be read"),
        ("a.tsv.gz", gzip.compress(TEXT.encode())[:10] + b"\xff" * 20, r"a\.tsv\.gz cannot be read"),
    ],
    ids=["no tab", "blank line", "Latin-1", "Latin-1 packed", "empty", "empty packed", "not packed", "cut", "damaged",
         "damaged earlier"],
)  # fmt: skip
def test_invalid_parallel_text_is_refused(tmp_path, name, data, words):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=words):
        read_pairs(tmp_path / name)


def test_missing_and_unequal_files(tmp_path):
    with pytest.raises(DataError, match=r"none\.tsv cannot be read: No such file"):
        read_pairs(tmp_path / "none.tsv")
    (tmp_path / "a").write_text("x\ny\n")
    (tmp_path / "b").write_text("x\n")
    with pytest.raises(DataError, match=r"a has 2 lines, but .*b has 1; they must have equally many"):
        read_pairs(tmp_path / "a", tmp_path / "b")


def test_references_of_a_source_are_grouped():
    pairs = [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), ("a", "5")]
    assert group_references(pairs) == (["a", "b", "c"], [["1", "3", "5"], ["2"], ["4"]])


def test_a_batch_by_hand():
    batch = make_batch([[5, 6], [7]], [[8], [9, 10, 11]], tiny_config())
    assert batch.source.tolist() == [[5, 6, 3], [7, 3, 0]]
    assert batch.target_in.tolist() == [[2, 8, 0, 0], [2, 9, 10, 11]]
    assert batch.target_out.tolist() == [[8, 3, 0, 0], [9, 10, 11, 3]]
    assert batch.source.dtype == torch.int64


def test_special_ids_are_the_config_s():
    batch = make_batch([[5], []], [[6], [6]], tiny_config(pad_id=9, unk_id=0, start_id=1, end_id=4))
    assert batch.source.tolist() == [[5, 4], [4, 9]] and batch.target_in.tolist() == [[1, 6], [1, 6]]


def _lengths(count, seed):
    return np.random.default_rng(seed).integers(1, 60, (count, 2)).tolist()


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("tokens", [8, 50, 211, 10_000])
@pytest.mark.parametrize("count", [1, 2, 97, 500])
def test_buckets(count, tokens, seed):
    lengths = _lengths(count, count)
    batches = bucket(lengths, tokens, None if seed is None else np.random.default_rng(seed))
    assert sorted(i for batch in batches for i in batch) == list(range(count))  # every pair once
    for batch in batches:
        longest = max(max(lengths[i]) for i in batch)
        assert len(batch) == 1 or longest * len(batch) <= tokens
    assert all(batches)


def test_buckets_waste_little():
    lengths = [(n, n) for n, _ in _lengths(2_000, 3)]
    padded = sum(len(b) * max(lengths[i][0] for i in b) for b in bucket(lengths, 500, np.random.default_rng(1)))
    assert padded < 1.1 * sum(n for n, _ in lengths)


def test_buckets_repeat_by_seed_and_differ_between_seeds():
    lengths = _lengths(300, 4)
    first, again, other = (bucket(lengths, 211, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again != other


def test_without_a_generator_batches_are_sorted():
    batches = bucket([(3, 9), (2, 1), (1, 1), (3, 2)], 6, None)
    assert batches == [[2, 1], [3], [0]]


def test_no_pairs_no_batches():
    assert bucket([], 50, None) == [] == bucket([], 50, np.random.default_rng(1))
