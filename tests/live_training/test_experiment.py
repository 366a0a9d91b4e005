"""What the playground trains: what it allows, what it says otherwise, and the recipe that repeats it."""

import dataclasses
import json
import tomllib
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.live_training.experiment import BOUNDS, TASKS, Experiment, ExperimentError, read_pairs
from transformer.live_training.frames import LARGEST, MOST
from transformer.live_training.pairs import divide
from transformer.live_training.presets import PARTNERS, PRESETS
from transformer.live_training.recipe import recipe_files, recipe_table, recipe_text
from transformer.live_training.session import pairs_of
from transformer.model.config import preset
from transformer.model.transformer import Transformer
from transformer.text.tokenizer import Tokenizer
from transformer.training.recipe import read_recipe
from transformer.training.settings import Settings

SQUARES = tuple((str(number), str(number * number)) for number in range(60))


@pytest.mark.parametrize("name", BOUNDS)
def test_whole_numbers_have_bounds(name: str) -> None:
    low, high = BOUNDS[name]
    for value in (low - 1, high + 1, 10**400, 1.5, True, "7", None):
        with pytest.raises(ExperimentError, match=rf"^{name} is .*; choose a whole number from {low} to {high:,}$"):
            Experiment(**{name: value})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "add"}, "task is 'add'; choose copy, reverse, sort, shift or own"),
        ({"norm": "between"}, "norm is 'between'; choose post, pre or none"),
        ({"positions": None}, "positions is None; choose sinusoidal, learned or none"),
        ({"activation": ["relu"]}, "activation is .*; choose relu or gelu"),
        ({"scaling": 1}, "scaling is 1; choose true or false"),
        ({"causal": "yes"}, "causal is 'yes'; choose true or false"),
        ({"residual": None}, "residual is None; choose true or false"),
        ({"d_k": 513}, "d_k is 513; choose a whole number from 1 to 512, or none for d_model / heads"),
        ({"d_k": 0}, "d_k is 0"),
        ({"peak_rate": 0}, "peak_rate is 0; choose a number above 0, up to 1"),
        ({"peak_rate": float("nan")}, "peak_rate is nan"),
        ({"peak_rate": float("inf")}, "peak_rate is inf"),
        ({"smoothing": 1}, "smoothing is 1; choose a number from 0 up to, not including, 1"),
        ({"dropout": -0.1}, "dropout is -0.1"),
        ({"dropout": True}, "dropout is True"),
        ({"heads": 3}, "d_model is 64 with 3 heads; choose an even d_model that is divisible by .*, for example 60"),
        ({"heads": 1, "d_model": 9}, "d_model is 9 with 1 heads; .* for example 8"),
        ({"shortest": 11}, "the shortest length 11 is above the longest, 10; choose"),
        ({"task": "shift", "shift": 26}, "shift is 26; with 26 symbols choose a whole number from 1 to 25"),
        ({"task": "shift", "shift": 0}, "shift is 0"),
        ({"alphabet": 2, "shortest": 3, "longest": 3}, "2 symbols make only 8 .* of length 3, and 100 are needed"),
        ({"pairs": SQUARES}, "the task reverse makes its own pairs; for your 60 pairs choose the task own"),
        ({"task": "own"}, "the number of different pairs is 0; give 2 to 2,000"),
        ({"task": "own", "pairs": 5}, "pairs is 5; give a list of pairs of texts"),
        ({"task": "own", "pairs": (("a", "b"), ("c",))}, "pair 2 is .*; give two texts"),
        ({"task": "own", "pairs": (("a", "b"), ("a", "c"))}, "pair 2 repeats the input 'a'"),
        ({"task": "own", "pairs": (("a", "b"), ("c", " d"))}, "pair 2 is .*; give two texts"),
        ({"task": "own", "pairs": (("a", "b"), ("c", ""))}, "pair 2 is .*; give two texts"),
        (
            {"layers": 6, "d_model": 256, "heads": 8, "d_k": 512},
            "41,...,... parameters, and the limit here is 7,500,000",
        ),
    ],
)
def test_invalid_experiments_give_messages(changes: dict, message: str) -> None:
    with pytest.raises(ExperimentError, match=message) as caught:
        Experiment(**changes)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


def test_the_largest_of_everything_is_allowed() -> None:
    """Each field at its upper bound by itself, or with what it needs."""
    for name, (_, high) in BOUNDS.items():
        changes = {"longest": 32} if name == "shortest" else {}
        Experiment(**{name: high, **changes})
    assert Experiment(layers=4, d_model=256, d_ff=1024, heads=8).parameters <= 7_500_000
    Experiment(heads=1, d_k=512)


def test_as_a_table_and_back() -> None:
    for experiment in (*PRESETS.values(), Experiment(task="own", pairs=SQUARES, d_k=5)):
        assert Experiment.from_dict(json.loads(json.dumps(experiment.to_dict()))) == experiment
    assert Experiment.from_dict({}) == Experiment() and hash(Experiment()) == hash(Experiment())
    with pytest.raises(ExperimentError, match="an experiment has no field 'speed'; choose from task, alphabet"):
        Experiment.from_dict({"speed": 1})
    with pytest.raises(ExperimentError, match="an experiment must be a table of names and values; this is list"):
        Experiment.from_dict([])  # type: ignore[arg-type]
    with pytest.raises(ExperimentError, match="heads is None"):
        Experiment.from_dict({"heads": None})


def test_differences_are_those_that_matter() -> None:
    base = Experiment()
    assert base.differences(base) == ()
    assert base.differences(Experiment(seed=2, causal=False)) == ("causal", "seed")
    assert base.differences(Experiment(shift=9)) == ()  # not the task's
    assert Experiment(task="shift").differences(Experiment(task="shift", shift=9)) == ("shift",)
    assert base.differences(Experiment(d_k=16)) == ()  # what d_model / heads is
    assert base.differences(Experiment(d_k=17)) == ("d_k",)
    assert base.differences(Experiment(heads=1)) == ("heads",)
    own = Experiment(task="own", pairs=SQUARES)
    assert own.differences(dataclasses.replace(own, alphabet=9, longest=31)) == ()


@pytest.mark.parametrize(
    ("steps", "size", "count"), [(2, 99, 3), (7, 99, 8), (300, 99, 100), (5000, 99, MOST), (5000, LARGEST // 20, 20)]
)
def test_recorded_steps(steps: int, size: int, count: int) -> None:
    from transformer.live_training.frames import recorded_steps

    found = recorded_steps(steps, size)
    assert found[0] == 0 and found[-1] == steps and list(found) == sorted(set(found))
    assert count <= len(found) <= MOST and len(found) * size <= max(LARGEST, 2 * size)
    gaps = [later - step for step, later in pairwise(found)]
    assert max(gaps[: len(gaps) // 2]) <= max(gaps[len(gaps) // 2 :])  # denser at the beginning


# -- the recipe ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "experiment",
    [
        *PRESETS.values(), Experiment(task="own", pairs=SQUARES, d_k=3, positions="learned"),
        Experiment(steps=1, batch=1, longest=3, shortest=3, peak_rate=1e-7),
        Experiment(task="shift", shift=25, layers=5, d_model=32, norm="pre", dropout=0.25),
        Experiment(norm="none", residual=False, alphabet=52, shortest=1, longest=32),
    ],
    ids=lambda one: one.task,
)  # fmt: skip
def test_the_recipe_is_complete_and_readable(experiment: Experiment, tmp_path) -> None:
    (tmp_path / "recipe.toml").write_text(recipe_text(experiment), encoding="utf-8")
    found = read_recipe(tmp_path / "recipe.toml")
    assert found == recipe_table(experiment) == tomllib.loads(recipe_text(experiment))
    Settings.from_dict(found["training"])
    train, unseen = pairs_of(experiment)
    assert train and unseen and not {source for source, _ in train} & {source for source, _ in unseen}
    texts = [text for pair in train for text in pair]
    tokenizer = Tokenizer.train(texts, **found["tokenizer"])
    assert [tokenizer.decode(tokenizer.encode(text)) for text in texts[:50]] == texts[:50]
    model = found["model"]
    parameters = Transformer(preset(model.pop("preset"), len(tokenizer), **model)).parameter_count()
    assert parameters == experiment.parameters or experiment.task == "own"
    assert max(len(text) for text in texts) + 1 <= model["max_positions"]


def test_batches_hold_as_many_inputs_as_were_asked_for() -> None:
    from transformer.live_training.session import trainer_of

    trainer = trainer_of(Experiment(batch=24, longest=7, shortest=7, steps=40))
    batches = trainer._batches()
    assert {len(next(batches)[2].source) for _ in range(30)} == {24}
    trainer = trainer_of(Experiment(batch=1, longest=7, shortest=7, steps=40))
    assert {len(next(trainer._batches())[2].source) for _ in range(30)} == {1}


# -- pasted pairs ----------------------------------------------------------------------------------------------------


def test_pasted_lines() -> None:
    text = "\ufeffone\tEins, zwei\r\n\r\n two -> zwei \nthree;drei\nfour,vier\rfive  six->a  b\none\tEins, zwei\n"
    wanted = (("one", "Eins, zwei"), ("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five six", "a b"))
    assert read_pairs(text) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the field is empty; paste at least 2 lines"),
        (" \n\n\t\n", "the field is empty"),
        ("a,b", "the number of different pairs is 1; give 2 to 2,000"),
        ("a,b\na,b", "the number of different pairs is 1"),
        ("a,b\nabc\n", "line 2 has only one side, 'abc'; put a tab"),
        ("a,b\n,c", "the input of line 2 is empty; write 1 to 64 characters on each side"),
        ("a,b\nc,", "the answer of line 2 is empty"),
        ("a,b\nc,d,e", "line 2 has 2 commas; use only one, or a tab"),
        ("a\tb\tc\nd\te", "line 1 has 2 tabs; use only one"),
        ("a,b\nc," + "d" * 65, "the answer of line 2 has 65 characters; at most 64 are allowed, shorten it"),
        ("a,b\n\n c, d\na,x", "line 4 answers 'a' with 'x', but line 1 with 'b'; give every input one answer"),
        ("\n".join(f"{n},{n}" for n in range(2001)), "these are 2,001 lines; paste at most 2,000"),
        ("a,b\nc,▁", "contains the character U\\+2581"),
        ("a,b\nc,\ue000", "contains the character U\\+E000"),
    ],
)
def test_invalid_lines_give_messages(text: str, message: str) -> None:
    with pytest.raises(ExperimentError, match=message):
        read_pairs(text)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.text(max_size=70), st.text(max_size=70)), max_size=12), st.sampled_from("\t,;"))
def test_pasted_text_gives_pairs_or_a_message(lines: list, separator: str) -> None:
    """And what is pairs is read back by the tokenizer and by the trainer's reader of files."""
    try:
        found = read_pairs("\n".join(f"{source}{separator}{target}" for source, target in lines))
    except ExperimentError as error:
        assert "\n" not in str(error) and len(str(error)) < 400
        return
    experiment = Experiment(task="own", pairs=found)
    tokenizer = Tokenizer.train([text for pair in found for text in pair], experiment.vocabulary, "symbol")
    for text in (text for pair in found for text in pair):
        assert tokenizer.decode(tokenizer.encode(text)) == text


def test_own_pairs_are_read_back_from_their_files(tmp_path) -> None:
    from transformer.training.data import read_pairs as read_file

    experiment = Experiment(task="own", pairs=(*SQUARES, ('"quoted"', "#'"), ("a\\b", "ü ß"), ("</s>", "<s>")))
    files = recipe_files(experiment)
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    train, unseen = experiment.divided
    assert read_file(tmp_path / "pairs.tsv") == train and read_file(tmp_path / "validation.tsv") == unseen
    assert set(files) == {"recipe.toml", "pairs.tsv", "validation.tsv"}


def test_some_pairs_are_kept_unseen() -> None:
    train, unseen = divide(SQUARES, 1)
    assert len(unseen) == 6 and sorted([*train, *unseen]) == sorted(SQUARES)
    assert divide(SQUARES, 1) == (train, unseen) != divide(SQUARES, 2)
    known = {letter for pair in train for text in pair for letter in text}
    assert all(letter in known for pair in unseen for text in pair for letter in text)
    assert [len(part) for part in divide((("a", "b"), ("c", "d")), 1)] == [1, 1]
    rare = [(chr(0x4E00 + number), "x") for number in range(30)] + [("x", "x")]
    assert divide(rare, 3)[1] == [("x", "x")]  # the only one whose characters others have too


# -- presets ---------------------------------------------------------------------------------------------------------


def test_every_preset_differs_from_its_partner_in_one_thing() -> None:
    for name, experiment in PRESETS.items():
        other = PARTNERS.get(name)
        if other is not None:
            assert len(PRESETS[other].differences(experiment)) == 1, name
    assert {experiment.task for experiment in PRESETS.values()} | {"own"} == set(TASKS)
    assert len(set(PRESETS.values())) == len(PRESETS)
