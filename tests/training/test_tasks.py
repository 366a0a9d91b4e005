"""Toy tasks: right answers, no test input among the training ones."""

import hashlib
from collections import Counter
from itertools import pairwise, product

import pytest

from transformer.text.numerals import number_of
from transformer.training.data import DataError
from transformer.training.tasks import languages, task_pairs, training_pairs, unseen_pairs


def test_answers_are_right() -> None:
    for source, target in task_pairs("reverse", 300, (1, 12), 1):
        assert list(reversed(source)) == list(target)
        assert source == " ".join(source.split())  # as the tokenizer would clean it
    for source, target in task_pairs("sort", 300, (1, 12), 1):
        assert Counter(source) == Counter(target)
        assert all(a <= b for a, b in pairwise(target))


def test_lengths_are_even_and_inputs_differ() -> None:
    pairs = task_pairs("reverse", 1200, (5, 10), 1)
    assert Counter(len(source) for source, _ in pairs) == dict.fromkeys(range(5, 11), 200)
    assert len({source for source, _ in pairs}) == 1200


@pytest.mark.parametrize("name", ["reverse", "sort"])
def test_every_length_is_trained_and_no_input_is_in_two_sets(name: str) -> None:
    spec = {"name": name, "count": 6000, "lengths": [1, 6], "seed": 1}
    train, validation = training_pairs(spec)
    sets = [{source for source, _ in pairs} for pairs in (train, validation, unseen_pairs(spec, (1, 6), 600))]
    lengths = [Counter(map(len, inputs)) for inputs in sets]
    assert set(lengths[0]) == set(range(1, 7))
    assert lengths[0][1] == {"reverse": 26, "sort": 10}[name]  # all there are
    assert min(lengths[1]) == {"reverse": 3, "sort": 4}[name] and max(lengths[1]) == 6
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert sets[one].isdisjoint(sets[other])


def test_too_few_inputs_to_hold_out_give_a_message() -> None:
    spec = {"name": "sort", "count": 500, "lengths": [1, 2], "seed": 1}
    with pytest.raises(DataError, match="too few inputs of 1 to 2 symbols to keep 500"):
        training_pairs(spec)
    with pytest.raises(DataError, match="seen every input of 1 to 1 symbols"):
        unseen_pairs({**spec, "lengths": [1, 6]}, (1, 1), 20)


@pytest.mark.parametrize(
    ("name", "count", "lengths", "message"),
    [("add", 1, (1, 2), "unknown task 'add'"), ("sort", 0, (1, 2), "0 inputs"), ("sort", 1, (3, 2), "3 to 2")],
)
def test_invalid_tasks_give_messages(name: str, count: int, lengths: tuple[int, int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        task_pairs(name, count, lengths, 1)


@pytest.mark.parametrize(
    ("name", "lengths", "seed", "fingerprints"),
    [
        ("reverse", [1, 6], 1, ("5f4076c26b5f6a91", "066980f2bebf6e14", "d8d9efeb4bb19c8d")),
        ("sort", [1, 16], 3, ("1457c6476da8cebe", "fe093a3a88839ebd", "20f365e790760da5")),
    ],
)
def test_the_data_of_trained_models_do_not_change(name, lengths, seed, fingerprints) -> None:
    """A recipe that names no alphabet: fingerprints of what it made before alphabets could be named."""
    spec = {"name": name, "count": 6000 if name == "reverse" else 5000, "lengths": lengths, "seed": seed}
    made = (training_pairs(spec), unseen_pairs(spec, (3, 9), 600), task_pairs(name, 300, (1, 5), 7))
    assert tuple(hashlib.sha256(repr(one).encode()).hexdigest()[:16] for one in made) == fingerprints


def test_a_number_is_held_out_in_digits_and_in_words() -> None:
    spec = {"name": "ko-numbers", "count": 6000, "lengths": [1, 6], "seed": 1}
    sets = [{number_of(source) for source, _ in pairs} for pairs in (*training_pairs(spec), unseen_pairs(spec, (1, 6)))]
    assert set(range(10)) <= sets[0]
    assert {len(str(number)) for number in sets[1]} == {4, 5, 6} and min(map(len, sets)) > 300
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert sets[one].isdisjoint(sets[other])
    train, validation = training_pairs(spec)
    assert Counter(train)["천", "1000"] > 9  # of all thousands, the only one that begins with its unit
    assert all(sum(digit != "0" for digit in str(number_of(source))) > 2 for source, _ in validation)
    with pytest.raises(DataError, match="inputs of up to 12 digits, not 13"):
        task_pairs("ko-numbers", 5, (9, 13), 1)
    with pytest.raises(DataError, match="too few inputs of 1 to 2 digits to keep 1,000"):
        training_pairs({**spec, "lengths": [1, 2]})
    with pytest.raises(DataError, match="'ko-numbers' takes no alphabet"):
        training_pairs({**spec, "alphabet": "abc"})


def test_copy_and_shift() -> None:
    for source, target in task_pairs("copy", 100, (1, 12), 1):
        assert source == target
    assert dict(task_pairs("shift", 200, (1, 1), 1))["z"] == "c"
    for source, target in task_pairs("shift", 100, (1, 12), 1):
        assert target == "".join(" " if c == " " else chr((ord(c) - 97 + 3) % 26 + 97) for c in source)
    assert dict(task_pairs("shift", 5, (1, 1), 1, alphabet="dbeca", shift=4)) == dict(
        zip("dbeca", "adbec", strict=True)
    )
    assert languages({"name": "shift", "shift": 7}) == ("letters", "shifted by 7")
    assert languages({"name": "copy", "alphabet": "xyz"}) == ("symbols", "copied")


def test_a_task_accepts_another_alphabet() -> None:
    pairs = task_pairs("sort", 500, (4, 4), 1, alphabet="zAé9")
    assert {symbol for source, _ in pairs for symbol in source} == set("zAé9")
    for source, target in pairs:
        assert target == "".join(sorted(source, key="zAé9".index))
    drawn = Counter("".join(source for source, _ in task_pairs("copy", 4000, (8, 8), 1, alphabet="abcdef")))
    assert all(abs(count - 8 * 4000 / 6) < 5 * (8 * 4000 * 5 / 36) ** 0.5 for count in drawn.values())  # uniform


def test_all_inputs_of_a_short_length_come_alike() -> None:
    """Where there are few: all, over and over, but for those held out."""
    held_out = frozenset({"aa", "cb"})
    pairs = task_pairs("copy", 70, (2, 2), 1, held_out, alphabet="abc")
    every = {"".join(two) for two in product("abc", repeat=2)}
    counts = Counter(source for source, _ in pairs)
    assert set(counts) == every - held_out and set(counts.values()) == {10} and len(pairs) == 70
    assert not task_pairs("copy", 9, (2, 2), 1, frozenset(every), alphabet="abc")


@pytest.mark.parametrize(("alphabet", "low", "high"), [("ab", 1, 8), ("abc", 7, 7), ("abcdefghij", 2, 2)])
def test_unseen_inputs_are_never_trained_on_even_where_there_are_few(alphabet: str, low: int, high: int) -> None:
    spec = {
        "name": "reverse", "count": 3000, "lengths": [low, high], "seed": 1, "alphabet": alphabet,
        "held_out": len(alphabet) ** high // 10,
    }  # fmt: skip
    train, validation = training_pairs(spec)
    assert train and 0 < len(validation) <= spec["held_out"]
    assert {source for source, _ in train}.isdisjoint(source for source, _ in validation)
    assert len({source for source, _ in validation}) == len(validation)


@pytest.mark.parametrize(
    ("name", "more", "message"),
    [
        ("copy", {"alphabet": "a"}, "the alphabet has 1 symbols; choose 2 to 1,000"),
        ("copy", {"alphabet": "aba"}, "'aba' repeats a symbol"),
        ("copy", {"alphabet": "a b"}, "has a blank or an invalid character"),
        ("copy", {"alphabet": "a\0"}, "has a blank or an invalid character"),
        ("copy", {"alphabet": "abc", "shift": 1}, "takes no shift, but shift is 1; leave it out"),
        ("shift", {"alphabet": "abc", "shift": 3}, "shift is 3; with 3 symbols choose a whole number from 1 to 2"),
        ("shift", {"shift": 26}, "with 26 symbols choose a whole number from 1 to 25"),
        ("shift", {"alphabet": "ab"}, "shift is 3; with 2 symbols choose a whole number from 1 to 1"),
    ],
)
def test_invalid_alphabets_are_refused(name: str, more: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        training_pairs({"name": name, "count": 50, "lengths": [3, 4], "seed": 1, **more})
