"""Recipes: what they say, what they inherit, and that the shipped ones can be carried out."""

from pathlib import Path

import pytest

from transformer.__main__ import parser
from transformer.cli.train import from_recipe, plan
from transformer.model.config import preset
from transformer.training.data import DataError
from transformer.training.recipe import read_recipe
from transformer.training.settings import Settings

FOLDER = Path(__file__).parents[2] / "recipes"
RECIPES = sorted(FOLDER.rglob("*.toml"))


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_shipped_recipes_describe_a_run(path: Path) -> None:
    found = from_recipe(read_recipe(path))
    assert (found.data is not None and found.validation is not None) != (found.task is not None)
    Settings.from_dict(found.settings)
    preset(found.preset or "small", found.vocab_size or 100, **found.model)


def test_like_keeps_all_values_that_the_recipe_does_not_change(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text('[model]\npreset = "tiny"\nheads = 4\n[training]\nsteps = 7\n')
    (tmp_path / "one.toml").write_text('like = "base.toml"\n[model]\nheads = 1\n')
    assert read_recipe(tmp_path / "one.toml") == {"model": {"preset": "tiny", "heads": 1}, "training": {"steps": 7}}


def test_like_joins_tables_within_sections(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("[training.augmentation]\nlower = 0.1\nupper = 0.3\n")
    (tmp_path / "one.toml").write_text('like = "base.toml"\n[training.augmentation]\nlower = 0.2\n')
    assert read_recipe(tmp_path / "one.toml") == {"training": {"augmentation": {"lower": 0.2, "upper": 0.3}}}


def test_any_value_can_be_set_over_a_recipe(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text('[data]\ntask = "sort"\ncount = 9\n[training.augmentation]\nlower = 0.1\n')
    changes = ["data.task=reverse", "data.lengths=[1, 3]", "training.augmentation.upper=0.2", 'tokenizer.kind="char"']
    assert read_recipe(tmp_path / "one.toml", changes) == {
        "data": {"task": "reverse", "count": 9, "lengths": [1, 3]},
        "training": {"augmentation": {"lower": 0.1, "upper": 0.2}},
        "tokenizer": {"kind": "char"},
    }
    for change, message in (
        ("data.count", "is not SECTION.NAME=VALUE"),
        ("count=3", "is not SECTION.NAME=VALUE"),
        ("data.count=many", "data.count=many: count in .* is 'many'; it must be a whole number above 0"),
        ("date.count=3", "unknown section 'date'"),
    ):
        with pytest.raises(DataError, match=message):
            read_recipe(tmp_path / "one.toml", [change])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model", "is not TOML"),
        ("[schedule]\nsteps = 1", "unknown section 'schedule'"),
        ("steps = 1", "unknown section 'steps'"),
        ("like = 3", "like is 3"),
        ('like = "bad.toml"', "refers to itself"),
        ('like = "other.toml"', "other.toml cannot be read: No such file"),
        ("[model]\nlayers = 2", r"\[model\] has no 'layers'"),
        ("[training]\nspeed = 2", r"\[training\] has no 'speed'"),
        ("like = ''", "like is ''"),
        ("[data]\ntrain = 5", r"train in \[data\] is 5; it must be the name of a file, or a list of two"),
        ('[data]\nlanguages = ["English"]', r"languages in \[data\] is \['English'\]; it must be a list of two texts"),
        ('[data]\ncodes = "en"', "codes in .* a list of two texts"),
        ('[data]\nlengths = ["a", "b"]', "it must be a list of two whole numbers above 0"),
        ('[tokenizer]\nvocab_size = "24"', "vocab_size in .* it must be a whole number above 0"),
        ("[decoding]\nbeam = 0", "beam in .* is 0; it must be a whole number from 1 to 64"),
        ("[decoding]\nlength_penalty = nan", "length_penalty in .* is nan"),
        ("[training]\naugmentation = 0.5", "it must be a table of shares"),
        ('[data]\ntask = "sort"', r"a task needs task, count, lengths = \[LOW, HIGH\] and seed"),
    ],
)
def test_invalid_recipes_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "bad.toml").write_text(text)
    with pytest.raises(DataError, match=message):
        from_recipe(read_recipe(tmp_path / "bad.toml"))


def test_the_command_line_wins(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(
        '[data]\ntrain = "a.tsv"\nvalidation = "b.tsv"\n[tokenizer]\nvocab_size = 50\n[model]\nheads = 2\n'
        "[training]\nsteps = 7\nwarmup = 3\n[training.augmentation]\nlower = 0.1\nupper = 0.2\n"
    )
    command = ["train", "--recipe", str(tmp_path / "recipe.toml"), "--output", "x", "--data", "c.tsv", "--steps", "9"]
    found = plan(parser().parse_args([*command, "--augmentation", "upper=0.5", "--heads", "4", "--scaling", "off"]))
    assert (found.data, found.validation) == ([Path("c.tsv")], [Path("b.tsv")])
    assert found.vocab_size == 50 and found.model == {"heads": 4, "scaling": False}
    assert found.settings == {"steps": 9, "warmup": 3, "augmentation": {"lower": 0.1, "upper": 0.5}}
