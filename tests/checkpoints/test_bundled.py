"""What ships: every bundled checkpoint loads, and every example says something true of it."""

import csv
import functools
import itertools
import json
import re
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import transformer
from transformer.analysis.heads import head_statistics, read_word_list, to_dict
from transformer.analysis.roles import roles
from transformer.analysis.roles import to_dict as roles_to_dict
from transformer.inference.pretrained import Pretrained
from transformer.probing.probes import PROBES
from transformer.probing.roles import sentences_of
from transformer.tracing.trace import Trace
from transformer.training.data import read_pairs
from transformer.training.recipe import read_recipe
from transformer.training.recording import Recording
from transformer.training.tasks import TASKS, unseen_pairs
from transformer.view.state import view_from_params

FOLDER = Path(__file__).resolve().parents[2] / "checkpoints"
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
EXAMPLES = [
    pytest.param(name, example, id=f"{name}-{example['title']}")
    for name in NAMES
    for example in json.loads((FOLDER / name / "examples.json").read_text(encoding="utf-8"))
]


@pytest.fixture(scope="module")
def models() -> dict[str, Pretrained]:
    return {name: transformer.load(FOLDER / name) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_is_complete_and_small(models: dict[str, Pretrained], name: str) -> None:
    files = {path.name: path.stat().st_size for path in (FOLDER / name).iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.model", "metrics.json", "training.csv", "README.md"} <= set(
        files
    )
    assert files["model.safetensors"] <= 40_000_000
    assert models[name].model.parameter_count() <= 20_000_000
    assert not models[name].model.training and not any(p.requires_grad for p in models[name].model.parameters())
    card = (FOLDER / name / "README.md").read_text(encoding="utf-8").lower()
    assert all(word in card for word in ("data", "licence", "attribution", "settings", "score"))
    metrics = models[name].metrics
    scores = [metrics["bleu"], metrics["chrf"]] if "bleu" in metrics else [100 * metrics["exact"]]
    assert all(f"| {score:.1f} |" in card or f"| {score:.2f}% |" in card for score in scores)


def labels(trace: Trace, kind: str, rows: str) -> tuple[Sequence[str], Sequence[str]]:
    """Labels of the rows, read by the token "predicted" or "fed" in, and of the columns."""
    targets = trace.target_in_labels if rows == "fed" else trace.target_out_labels
    columns = trace.target_in_labels if kind == "decoder_self" else trace.source_labels
    return trace.source_labels if kind == "encoder_self" else targets, columns


def numbers_of(text: str) -> list[str]:
    return re.findall(r"\b[01]\.\d\d\b", text)


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_is_true_of_its_model(models: dict[str, Pretrained], name: str, example: dict[str, Any]) -> None:
    """Every claim holds: a weight or a probability, or the number of rows with their largest weight on a given key. All
    rows that a look-for line speaks of have a claim, and its numbers are those of the claims."""
    model = models[name]
    config, view = model.config, example["view"]
    layers = dict.fromkeys(("decoder_self", "cross"), config.decoder_layers) | {"encoder_self": config.encoder_layers}
    params = {key: str(value) for key, value in view.items()}
    assert not view_from_params(params, layers, config.heads)[1]
    trace = model.trace(example["source"], example.get("target"))
    if "translation" in example:
        assert trace.target_text == example["translation"]
    assert example["claims"] or "translation" in example
    measured = []
    for claim in example["claims"]:
        if "token" in claim:
            value = float(trace.probabilities[trace.target_out_labels.index(claim["token"])])
            assert claim.get("at_least", 0) <= value <= claim.get("at_most", 1), f"{claim}: {value}"
            measured.append(value)
            continue
        weights = trace.attention(claim["kind"]).weights[claim["layer"] - 1, claim["head"] - 1]
        if "links" in claim:
            links = [[int(part) - 1 for part in link.split(",")] for link in claim["links"].split()]
            assert sum(int(weights[row].argmax()) == column for row, column in links) == claim["hits"]
            continue
        rows, columns = labels(trace, claim["kind"], claim.get("rows", "predicted"))
        measured.append(float(weights[rows.index(claim["row"]), columns.index(claim["column"])]))
        assert measured[-1] >= claim["at_least"], f"{claim}: {measured[-1]:.3f}"
    for number in numbers_of(example["look"]):
        assert any(abs(float(number) - value) < 0.011 for value in measured), f"{number} is none of {measured}"
    claimed = [claim for claim in example["claims"] if "row" in claim]
    assert any(all(claim[key] == view[key] for key in ("kind", "layer", "head")) for claim in claimed)
    row, column = (int(part) - 1 for part in view["cell"].split(","))
    rows, columns = labels(trace, claimed[0]["kind"], claimed[0].get("rows", "predicted"))
    assert claimed[0].get("rows", "predicted") == view.get("rows", "predicted")
    assert (rows[row], columns[column]) == (claimed[0]["row"], claimed[0]["column"]), "the cell of the first claim"


@functools.cache
def unseen(task: str, count: int, low: int, high: int, seed: int) -> list[str]:
    spec = {"name": task, "count": count, "lengths": [low, high], "seed": seed}
    return [source for source, _ in unseen_pairs(spec, (low, high), 320)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name.split("-")[0] in TASKS])
def test_a_toy_answers_rightly(models: dict[str, Pretrained], name: str) -> None:
    """Every input of one or two symbols, and a few of each trained length that training never saw."""
    task = TASKS[name.split("-")[0]]
    symbols = string.digits if "digits" in task.languages else string.ascii_lowercase
    short = [*symbols, *map("".join, itertools.product(symbols, repeat=2))]
    spec = read_recipe(FOLDER.parent / "recipes" / f"{name}.toml")["data"]
    longer = unseen(spec["task"], spec["count"], *spec["lengths"], spec["seed"])
    assert set(range(5, 17)) <= set(map(len, longer))
    inputs = short + longer
    wrong = [
        (source, answer)
        for source, answer in zip(inputs, [one.text for one in models[name].translate_all(inputs)], strict=True)
        if answer != task.answer(source)
    ]
    assert not wrong


def test_there_are_a_dozen_examples_of_english_to_german() -> None:
    examples = json.loads((FOLDER / "en-de" / "examples.json").read_text(encoding="utf-8"))
    assert len(examples) >= 12 and len({example["title"] for example in examples}) == len(examples)


@pytest.mark.parametrize("name", [name for name in NAMES if name in ("en-de", "ko-en", "ko-numbers")])
def test_the_recording_of_its_training_ends_with_the_model_that_ships(models: dict[str, Pretrained], name: str) -> None:
    recording = Recording.from_file(FOLDER / name / "learning.npz")
    examples = json.loads((FOLDER / name / "examples.json").read_text(encoding="utf-8"))
    texts = dict.fromkeys((example["source"], example.get("target")) for example in examples)
    assert [source for source, _ in recording.sentences] == [source for source, _ in texts]
    log = list(csv.DictReader((FOLDER / name / "training.csv").read_text(encoding="utf-8").splitlines()))
    assert recording.steps[0] == 0 and recording.steps[-1] == int(log[-1]["step"]) and len(recording.steps) >= 12
    source, target = recording.sentences[0]
    weights = models[name].trace(source, target).cross.weights.numpy()
    assert abs(recording.weights["cross"][0][-1] / 255 - weights).max() < 0.02  # the states are kept in float16
    assert recording.measure == ("exact" if name == "ko-numbers" else "bleu")
    assert recording.scores[-1][recording.measure] > recording.scores[0][recording.measure] + 30


@pytest.mark.slow
def test_what_the_heads_of_en_de_do_is_measured_again() -> None:
    """heads.json, which the explorer shows, is what `python -m transformer heads` measures, and the card says the same.
    A link that two keys share to the last bit may go to the other one on another machine."""
    model = transformer.load("en-de")
    words = read_word_list((PROBES / "en-de.words.tsv").read_text(encoding="utf-8"))
    measured = head_statistics((model.trace(*pair) for pair in read_pairs(PROBES / "en-de.tsv")), words)
    stored = json.loads((model.path / "heads.json").read_text(encoding="utf-8"))
    for kind, statistics in measured.items():
        for name, values in to_dict(statistics).items():
            assert np.array(stored[kind][name], float) == pytest.approx(np.array(values, float), abs=0.004, nan_ok=True)
    pairs = list(read_pairs(PROBES / "en-de.tsv"))
    for kind, found in roles(sentences_of(model, pairs), words).items():
        again, kept = roles_to_dict(found), stored[kind]
        assert set(again["roles"]) == set(kept["roles"])
        for name, one in again["roles"].items():
            assert np.array(kept["roles"][name]["share"]) == pytest.approx(np.array(one["share"]), abs=0.004)
            assert kept["roles"][name]["baseline"] == pytest.approx(one["baseline"], abs=0.004)
        for name in ("confidence", "distance", "divergence"):
            assert np.array(kept[name], float) == pytest.approx(np.array(again[name], float), abs=0.03, nan_ok=True)
        names, others = (list(itertools.chain(*one["role"])) for one in (kept, again))
        apart = sum(name != other for name, other in zip(names, others, strict=True))
        assert apart <= 1 and len(set(names)) > 2  # a head at the limit of a role may go either way
    card = " ".join((model.path / "README.md").read_text(encoding="utf-8").split())
    cross = measured["cross"]
    out, fed = cross.aligned_out, cross.aligned_in
    assert f"{cross.links} links of our word list, {int((out >= 0.75).sum())} of 32 heads" in card
    assert out.argmax() == 2 * 8 + 7 and f"the best one, layer 3, head 8, in {100 * out.max():.0f}%" in card
    assert (fed >= 0.5).nonzero().tolist() == [[0, 3], [0, 4], [0, 6], [1, 5]]
    assert f"layer 1, head 7 and layer 2, head 6 in {100 * fed[1, 5]:.0f}%" in card
    assert f"layer 1, head 4 in {100 * fed[0, 3]:.0f}%, layer 1, head 5 in {100 * fed[0, 4]:.0f}%" in card
    encoder = measured["encoder_self"]
    assert f"previous token in {100 * encoder.previous[0, 6]:.0f}% of the rows" in card
    assert f"layer 2, head 7 on the next one in {100 * encoder.next[1, 6]:.0f}%" in card
    resting = {kind: (statistics.resting >= 0.5).sum(1).tolist() for kind, statistics in measured.items()}
    assert resting["encoder_self"] == [0, 7, 4, 6] and sum(resting["decoder_self"]) == 21
    assert f"up to {100 * encoder.resting.max():.0f}%; no head of layer 1 does" in card
    assert "21 of 32 heads rest on the start token" in card
