"""A recurrent model goes through the same trainer: by recipe, resumed to the last bit, refused what it cannot have."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.rnn.test_model import model as random_model
from tests.support.build import sentences, tiny_config, tiny_tokenizer
from transformer import Tokenizer, Transformer, rnn
from transformer.__main__ import main, parser
from transformer.cli.common import CommandError
from transformer.cli.run_folder import Plan, open_run
from transformer.cli.train import from_recipe, plan
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.model.config import ConfigError, ModelConfig
from transformer.rnn import Recurrent, RecurrentConfig, RecurrentModel
from transformer.training.architecture import build, in_use, peak_rate, read_config
from transformer.training.data import DataError
from transformer.training.evaluation import evaluate, surprise
from transformer.training.loop import Trainer
from transformer.training.recipe import read_recipe
from transformer.training.settings import Settings, TrainingError

ROOT = Path(__file__).resolve().parents[2]
SIZES = {"kind": "recurrent", "d_embedding": 10, "d_state": 9, "d_align": 8, "max_positions": 40}
RECIPE = """
[data]
task = "reverse"
count = 300
lengths = [1, 5]
seed = 1
[tokenizer]
kind = "char"
[model]
kind = "recurrent"
d_embedding = 10
d_state = 9
d_align = 8
max_positions = 40
[training]
steps = 9
batch_tokens = 60
peak_rate = 0.01
warmup = 3
cooldown = 3
average = 2
save_every = 3
validate_every = 4
validation_sentences = 5
snapshots = 3
"""


@pytest.fixture
def recipe(tmp_path: Path) -> str:
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return str(tmp_path / "recipe.toml")


def result(folder: Path) -> tuple[Any, ...]:
    """Everything a run leaves behind, without the time it took."""
    rows = csv.DictReader((folder / "training.csv").read_text().splitlines())
    log = [{name: value for name, value in row.items() if name != "seconds"} for row in rows]
    files = sorted([*folder.glob("states/*"), *folder.glob("snapshots/*"), *folder.glob("state-*")])
    tensors = {f"{file.name}: {name}": value for file in files for name, value in load_file(file).items()}
    weights = (folder / "checkpoint" / "model.safetensors").read_bytes()
    return log, {name: value.numpy().tobytes() for name, value in tensors.items()}, weights


def test_the_shipped_recipe_describes_a_recurrent_model() -> None:
    found = from_recipe(read_recipe(ROOT / "recipes" / "reverse-recurrent.toml"))
    assert found.kind == "recurrent" and not found.model and found.preset is None and found.recurrent is not None
    config = RecurrentConfig.from_dict({"vocab_size": 31, **found.recurrent})
    assert RecurrentModel(config).parameter_count() == rnn.load("reverse-recurrent").model.parameter_count()
    build(config, Settings.from_dict(found.settings))
    assert from_recipe(read_recipe(ROOT / "recipes" / "reverse.toml")).kind == "transformer" and Plan().kind is None


def test_a_recipe_trains_one_and_interruptions_change_nothing(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--recipe", recipe, "--output", str(tmp_path / "whole")]) == 0
    wanted = result(tmp_path / "whole")
    assert [row["step"] for row in wanted[0]] == ["4", "8", "9"]
    for stops in ((1, 2, 5), (3,), (8,)):
        folder = tmp_path / "-".join(map(str, stops))
        for stop in stops:
            open_run(
                folder, plan(parser().parse_args(["train", "--recipe", recipe, "--output", str(folder)]))
            ).trainer.run(until=stop)
            torch.rand(3)  # what others draw in between changes nothing
        assert json.loads((folder / "state.json").read_text())["model"]["kind"] == "recurrent"
        assert main(["train", "--output", str(folder)]) == 0  # the folder remembers what it trains
        assert result(folder) == wanted
    assert "a new run" in capsys.readouterr().err
    found = rnn.load(tmp_path / "whole" / "checkpoint")
    assert found.languages == ("letters", "reversed") and found.config == RecurrentConfig(len(found.tokenizer), **SIZES)
    assert {p.stat().st_size > 0 for p in (tmp_path / "whole" / "checkpoint").iterdir()} == {True}
    assert (
        load_file(tmp_path / "whole" / "checkpoint" / "model.safetensors")["attention.score.weight"].dtype
        == torch.float32
    )


def test_another_seed_is_another_run(recipe: str, tmp_path: Path) -> None:
    for name, more in (("a", []), ("b", ["--seed", "2"])):
        assert main(["train", "--recipe", recipe, "--output", str(tmp_path / name), "--steps", "1", *more]) == 0
    one, other = (load_file(tmp_path / name / "checkpoint" / "model.safetensors") for name in ("a", "b"))
    assert not torch.equal(one["embedding.weight"], other["embedding.weight"])


def test_a_run_of_one_kind_is_not_resumed_as_the_other(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "--recipe", recipe, "--output", str(tmp_path / "run"), "--steps", "1"]
    assert main(command) == 0
    other = tmp_path / "other.toml"
    other.write_text(
        RECIPE.partition("[model]")[0] + "[model]\nheads = 2\n[training]" + RECIPE.partition("[training]")[2]
    )
    assert main(["train", "--recipe", str(other), "--output", str(tmp_path / "run"), "--steps", "1"]) == 2
    assert "holds a run with kind 'recurrent', and 'transformer' arrived" in capsys.readouterr().err
    assert main([*command, "--set", "model.d_state=8"]) == 2
    assert "holds a run with d_state 9, and 8 arrived" in capsys.readouterr().err
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    about["model"] = tiny_config(vocab_size=about["model"]["vocab_size"]).to_dict()
    (tmp_path / "run" / "run.json").write_text(json.dumps(about))
    assert main(command) == 2
    assert "holds a run with kind 'transformer', and 'recurrent' arrived" in capsys.readouterr().err


def test_a_run_that_saved_no_state_remembers_its_kind(recipe: str, tmp_path: Path) -> None:
    asked = plan(parser().parse_args(["train", "--recipe", recipe, "--output", "x"]))
    open_run(tmp_path / "run", asked)
    assert isinstance(open_run(tmp_path / "run", Plan()).trainer.model, RecurrentModel)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--heads", "4"], "--heads is for a Transformer, and the recipe's model is recurrent"),
        (["--d-model", "32"], "--d-model is for a Transformer"),
        (["--preset", "tiny"], "--preset is for a Transformer"),
        (["--gain", "0.5"], "gain is 0.5; it is for a Transformer's matrices"),
        (["--set", "model.heads=4"], "a recurrent model has no configuration field 'heads'"),
        (["--set", "model.d_state=0"], "d_state is 0; a whole number from 1 to 8,192 is allowed"),
        (["--set", "model.kind=lstm"], "kind in [model] is 'lstm'; 'transformer' or 'recurrent' is allowed"),
        (["--set", "model.kind=transformer"], "unknown configuration field 'd_align'"),
    ],
)  # fmt: skip
def test_what_a_recurrent_recipe_cannot_have(
    recipe: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    assert main(["train", "--recipe", recipe, "--output", str(tmp_path / "run"), *more]) == 2
    assert message in capsys.readouterr().err


def test_a_transformers_recipe_may_name_its_kind(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[model]\nkind = "transformer"\npreset = "tiny"\nheads = 2\n')
    found = from_recipe(read_recipe(tmp_path / "a.toml"))
    assert (found.kind, found.preset, found.model, found.recurrent) == ("transformer", "tiny", {"heads": 2}, None)
    (tmp_path / "a.toml").write_text("[model]\nkind = 3\n")
    with pytest.raises(DataError, match="kind in"):
        read_recipe(tmp_path / "a.toml")


def test_the_largest_rate_must_be_named() -> None:
    config = RecurrentConfig(31)
    with pytest.raises(TrainingError, match="peak_rate is missing"):
        peak_rate(config, Settings())
    assert peak_rate(config, Settings(peak_rate=0.5)) == 0.5
    assert peak_rate(ModelConfig(31, 64), Settings(warmup=100)) == pytest.approx((64 * 100) ** -0.5)


def test_configurations_are_told_apart() -> None:
    one, other = RecurrentConfig(31, d_state=9), ModelConfig(31, 64)
    assert read_config(one.to_dict()) == one and read_config(other.to_dict()) == other
    for values in ({}, {"kind": "lstm", "vocab_size": 31}, [], None):
        with pytest.raises(ConfigError):
            read_config(values)  # type: ignore[arg-type]
    settings = Settings()
    for config, kind, wrapped in ((one, RecurrentModel, Recurrent), (other, Transformer, Pretrained)):
        built = build(config, settings)
        assert type(built) is kind
        assert type(in_use(built, Path("x"), tiny_tokenizer(), ("a", "b"))) is wrapped


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_copy_task_is_learned(tmp_path: Path, precision: str) -> None:
    config = RecurrentConfig(67, 32, 32, 24, 32)
    copy = [(text, text) for text in sentences(1_200) if len(text) < 16]
    settings = Settings(
        steps=250, batch_tokens=400, peak_rate=1e-2, warmup=60, cooldown=100, save_every=250, validate_every=250,
        average=1, precision=precision,
    )  # fmt: skip
    trainer = Trainer(tmp_path, config, tiny_tokenizer(), copy[30:], copy[:30], settings)
    reports: list[Any] = []
    trainer.run(reports.append)
    assert reports[0].loss > 3 and reports[-1].validation_loss < 0.5
    texts = [text for text, _ in copy[:30]]
    assert sum(ours == text for ours, text in zip(trainer.translate(texts), texts, strict=True)) >= 15


def test_loss_and_scores_are_those_of_the_logits() -> None:
    """The trainer's perplexity against a sum over single tokens, in batches with padding."""
    tokenizer: Tokenizer = tiny_tokenizer()
    found = Recurrent("x", Path("x"), random_model(vocab_size=67), tokenizer, ("a", "b"), {})
    pairs = [("ka lo", "mi nu re"), ("sta", "ti"), ("", "vu"), ("zen pol ka lo mi", "ka")]
    total, count, measured = surprise(found, pairs, batch_tokens=30)
    wanted, tokens = 0.0, 0
    for source, target in pairs[:2] + pairs[3:]:
        read, wrote = [[*tokenizer.encode(text), 3] for text in (source, target)]
        log_probs = found.model(torch.tensor([read]), torch.tensor([[2, *wrote[:-1]]]))[0].log_softmax(-1)
        wanted -= sum(float(log_probs[row, token]) for row, token in enumerate(wrote))
        tokens += len(wrote)
    assert (count, measured) == (tokens, 3) and total == pytest.approx(wanted, rel=1e-5)
    scores = evaluate(found, pairs)
    assert scores.unmeasured == 1 and scores.untranslated == 1 and scores.sentences == 4
    for asked in ({"beams": 2}, {"interventions": Interventions.parse({"causal": "off"})}):
        with pytest.raises(ValueError, match="writes greedily, with 1 beam, and has no switches"):
            evaluate(found, pairs, **asked)


def test_options_of_a_transformer_are_refused_before_anything_is_written(recipe: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--positions is for a Transformer"):
        plan(parser().parse_args(["train", "--recipe", recipe, "--output", str(tmp_path / "x"), "--positions", "none"]))
    assert not (tmp_path / "x").exists()
