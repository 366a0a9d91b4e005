"""The command line, on a language of eight words."""

import dataclasses
import gzip
import io
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from pages.runtime import memory
from tests.support.build import saved_overflowing, tiny_pretrained
from transformer.__main__ import main
from transformer.analysis.alignment import pharaoh, symmetrised
from transformer.analysis.roles import NAMES, roles, to_dict
from transformer.checkpoints.folder import save_checkpoint
from transformer.cli import serve, train, translate
from transformer.cli.common import CommandError
from transformer.cli.run_folder import Plan, open_run
from transformer.inference.pretrained import load
from transformer.inference.sampling import Sampling
from transformer.live_training import training_queue
from transformer.operator_key import LEAST, VARIABLE, operator_key
from transformer.probing.alignment import Source, align
from transformer.probing.importance import from_json
from transformer.probing.roles import sentences_of
from transformer.rooms import StoreError
from transformer.training.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
WORDS = {
    "cat": "katze", "dog": "hund", "sees": "sieht", "likes": "mag",
    "red": "rote", "big": "grosse", "the": "die", "runs": "rennt",
}  # fmt: skip
MODEL = [
    "--preset", "tiny", "--vocab-size", "32", "--d-model", "16", "--heads", "2", "--d-ff", "24",
    "--encoder-layers", "1", "--decoder-layers", "1", "--max-positions", "40",
]  # fmt: skip
STEPS = ["--steps", "12", "--warmup", "4", "--batch-tokens", "80", "--save-every", "4", "--validate-every", "6"]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    rng = random.Random(1)
    for name, count in (("train", 150), ("dev", 8), ("test", 6)):
        rows = [[rng.choice(list(WORDS)) for _ in range(rng.randint(2, 5))] for _ in range(count)]
        lines = [f"{' '.join(row)}\t{' '.join(WORDS[word] for word in row)}\n" for row in rows]
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    return folder


def train_command(data: Path, output: Path, *more: str) -> list[str]:
    files = ["--data", str(data / "train.tsv"), "--validation", str(data / "dev.tsv"), "--output", str(output)]
    return ["train", *files, *MODEL, *STEPS, *more]


@pytest.fixture(scope="module")
def trained(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never interrupted."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert main(train_command(data, folder, "--languages", "English", "German")) == 0
    return folder


def last_weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / json.loads((folder / "state.json").read_text())["tensors"])


# -- train ------------------------------------------------------------------------------------------------------------


def test_train_writes_a_checkpoint(trained: Path) -> None:
    model = load(trained / "checkpoint")
    assert model.languages == ("English", "German")
    assert (model.config.vocab_size, model.config.d_model, model.config.heads) == (32, 16, 2)
    assert (trained / "checkpoint" / "training.csv").read_text().startswith("step,epoch,learning_rate,loss")


def test_every_setting_has_a_help_text() -> None:
    assert set(train.SETTINGS_HELP) == {field.name for field in dataclasses.fields(Settings)}
    assert set(train.MODEL_FIELDS) <= {*vars(SimpleNamespace(**tiny_pretrained().config.to_dict()))}


def test_an_interrupted_run_ends_like_a_whole_one(
    data: Path, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "broken"
    update = train.Bar.update
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it

    def interrupt_once(bar: Any, entry: Any) -> None:
        update(bar, entry)
        if entry.step == 5:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(train.Bar, "update", interrupt_once)
    assert main(train_command(data, folder, "--languages", "English", "German")) == 130
    assert (
        f"stopped at step 5; the run is saved. Resume with: python -m transformer train --output {folder}"
        in capsys.readouterr().err
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert main(["train", "--output", str(folder)]) == 0
    assert "resuming at step 5" in capsys.readouterr().err
    signal.signal(signal.SIGINT, before)
    whole, broken = last_weights(trained), last_weights(folder)
    assert whole.keys() == broken.keys()
    assert all(torch.equal(whole[name], broken[name]) for name in whole)
    for name in ("tokenizer.model", "model.safetensors", "config.json"):
        assert (trained / "checkpoint" / name).read_bytes() == (folder / "checkpoint" / name).read_bytes()


def test_paired_and_packed_files(data: Path, tmp_path: Path, trained: Path) -> None:
    sides = list(zip(*((line.split("\t")) for line in (data / "train.tsv").read_text().splitlines()), strict=True))
    (tmp_path / "a.gz").write_bytes(gzip.compress(("\n".join(sides[0]) + "\n").encode()))
    (tmp_path / "b").write_text("\n".join(sides[1]) + "\n")
    files = ["--source", str(tmp_path / "a.gz"), "--target", str(tmp_path / "b"), "--validation", str(data / "dev.tsv")]
    export = ["--output", str(tmp_path / "run"), "--export", str(tmp_path / "out")]
    assert main(["train", *files, *export, *MODEL, *STEPS]) == 0
    written = (tmp_path / "out" / "model.safetensors").read_bytes()
    assert written == (trained / "checkpoint" / "model.safetensors").read_bytes()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--dropout", "0.3"], "has dropout 0.1, not 0.3"),
        (["--warmup", "9"], "has warmup 4, not 9"),
        (["--vocab-size", "33"], "has vocab_size 32, not 33"),
        (["--preset", "base"], "has preset 'tiny', not 'base'"),
        (["--data", "{dev}"], "was started with other data"),
    ],
)
def test_a_run_is_not_resumed_with_other_options(
    data: Path, trained: Path, capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    before = (trained / "run.json").read_bytes()
    more = [text.replace("{dev}", str(data / "dev.tsv")) for text in more]
    assert main(["train", "--output", str(trained), *more]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert (trained / "run.json").read_bytes() == before


def test_a_run_may_be_lengthened_and_not_be_shortened(data: Path, tmp_path: Path, capsys: Any) -> None:
    assert main(train_command(data, tmp_path / "run", "--steps", "3")) == 0
    assert main(["train", "--output", str(tmp_path / "run"), "--steps", "4"]) == 0
    assert json.loads((tmp_path / "run" / "state.json").read_text())["step"] == 4
    assert main(["train", "--output", str(tmp_path / "run"), "--steps", "3"]) == 2
    assert "already has 4 steps, and only 3 were requested; ask for more" in capsys.readouterr().err
    assert main(["train", "--output", str(tmp_path / "run")]) == 0
    assert main(train_command(data, tmp_path / "cool", "--steps", "3", "--cooldown", "2")) == 0
    assert main(["train", "--output", str(tmp_path / "cool"), "--steps", "4"]) == 2


def test_a_run_with_augmentation_is_resumed_by_the_same_command(data: Path, tmp_path: Path, capsys: Any) -> None:
    command = train_command(data, tmp_path / "run", "--steps", "2", "--augmentation", "lower=0.5")
    assert (main(command), main(command)) == (0, 0)
    assert main([*command[:-1], "lower=0.4"]) == 2
    assert "has augmentation" in capsys.readouterr().err


def bad_training(data: Path, folder: Path) -> Iterator[tuple[list[str], str]]:
    """Commands, and a part of the sentence each ends with."""
    train_tsv, dev = str(data / "train.tsv"), str(data / "dev.tsv")
    out = ["--output", str(folder / "run")]
    (folder / "no-tab.tsv").write_text("one\ttwo\nthree\n")
    (folder / "cut.tsv.gz").write_bytes(gzip.compress(b"a\tb\n" * 1000)[:20])
    (folder / "file").write_text("")
    yield ["train", *out], "--data (or --source and --target) is missing"
    yield ["train", *out, "--data", train_tsv], "--validation is missing"
    yield ["train", *out, "--source", train_tsv], "--source and --target need each other"
    yield ["train", *out, "--data", dev, "--source", dev, "--target", dev], "give only one of them"
    yield ["train", *out, "--data", str(folder / "nothing"), "--validation", dev], "cannot be read"
    yield ["train", *out, "--data", str(folder / "no-tab.tsv"), "--validation", dev], "line 2 has no tab"
    yield ["train", *out, "--data", str(folder / "cut.tsv.gz"), "--validation", dev], "cut.tsv.gz cannot be read"
    yield ["train", *out, "--data", dev, "--validation", dev, dev, dev], "3 files are too many"
    (folder / "empty").write_text("")
    yield ["train", *out, "--data", str(folder / "empty"), "--validation", dev], "empty is empty; it needs one"
    yield ["train", *out, "--source", dev, "--target", train_tsv, "--validation", dev], "has 8 lines, but"
    (folder / "latin.tsv").write_bytes(b"a\tb\nc\t\xe4\n")
    yield ["train", *out, "--data", str(folder / "latin.tsv"), "--validation", dev], "line 2: byte 0xe4 is not"
    yield ["train", *out, "--recipe", str(folder / "none.toml")], "the recipe"
    missing = "mps" if torch.cuda.is_available() else "cuda"
    yield (["train", *out, "--data", dev, "--validation", dev, "--device", missing], "is not available on this machine")
    vocabulary = ["train", *out, "--data", train_tsv, "--validation", dev, "--vocab-size"]
    yield [*vocabulary, "9000"], "pieces, choose fewer (--vocab-size)"
    yield [*vocabulary, "8"], "choose more pieces (--vocab-size)"
    yield [*vocabulary, "8", "--tokenizer", "char"], "different characters, too many for a vocabulary of 8; choose"
    toy = str(ROOT / "recipes" / "sort.toml")
    yield ["train", *out, "--recipe", toy, "--validation", dev], "the recipe's task makes its own validation pairs"
    yield ["evaluate", "--checkpoint", "en-de", "--data", dev, "--lengths", "1", "2"], "--lengths needs the recipe"
    yield [*train_command(data, folder / "run"), "--heads", "3"], "choose a d_model that is divisible by"
    yield [*train_command(data, folder / "run"), "--smoothing", "1"], "smoothing is 1.0"
    yield [*train_command(data, folder / "run"), "--steps", "0"], "steps is 0"
    yield [*train_command(data, folder / "run"), "--max-positions", "2"], "no validation pair fits"
    yield train_command(data, folder / "file" / "run"), "Not a directory; free some space, or choose another --output"


def test_invalid_training_options_give_messages(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, message in bad_training(data, tmp_path):
        assert main(command) == 2, command
        error = capsys.readouterr().err
        assert message in error and error.startswith("error: ") and error.count("\n") == 1, error


def test_damaged_runs_give_messages(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert main(train_command(data, folder, "--steps", "2")) == 0
    capsys.readouterr()
    state = folder / json.loads((folder / "state.json").read_text())["tensors"]
    state.write_bytes(state.read_bytes()[:100])
    assert main(["train", "--output", str(folder)]) == 2
    assert "is damaged" in capsys.readouterr().err
    for damaged in ("{", "[]", "{}", '{"model": {}, "settings": {"steps": 0}}'):
        (folder / "run.json").write_text(damaged)
        assert main(["train", "--output", str(folder)]) == 2
        assert "run.json is damaged" in capsys.readouterr().err
    (folder / "run.json").unlink()
    assert main(train_command(data, folder)) == 2
    assert "without run.json" in capsys.readouterr().err


def test_a_full_disk_gives_a_message_and_the_run_resumes(data: Path, trained: Path, tmp_path: Path) -> None:
    pytest.importorskip("resource", reason="a system without limits on files")
    folder = tmp_path / "run"
    script = tmp_path / "full.py"
    script.write_text(
        "import resource, signal, sys\n"
        "from transformer.__main__ import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from transformer.cli import train\n"
        "found = train.Bar.update\n"
        "def update(bar, entry):\n"
        "    found(bar, entry)\n"
        "    if entry.step == 6:\n"  # from here on no file can grow beyond 20,000 bytes; the state of step 8 must
        "        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "train.Bar.update = update\n"
        "sys.exit(main())\n"
    )
    command = train_command(data, folder, "--languages", "English", "German")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    found = subprocess.run([sys.executable, str(script), *command], capture_output=True, text=True, env=environment)
    assert found.returncode == 2 and "Traceback" not in found.stderr
    assert "00000008.safetensors cannot be written: File too large; free some space" in found.stderr
    assert not list(folder.rglob("*.partial")) and json.loads((folder / "state.json").read_text())["step"] == 4
    assert main(["train", "--output", str(folder)]) == 0


def test_a_plan_needs_no_command_line(data: Path, tmp_path: Path) -> None:
    run = open_run(
        tmp_path / "run",
        Plan([data / "train.tsv"], [data / "dev.tsv"], preset="tiny", vocab_size=32, settings={"steps": 2}),
    )
    assert run.train(lambda entry: None) and run.trainer.step == 2


# -- heads ------------------------------------------------------------------------------------------------------------


def test_heads_are_counted_and_written(trained: Path, data: Path, tmp_path: Path, capsys: Any) -> None:
    words = tmp_path / "words.tsv"
    words.write_text("".join(f"{source}\t{target}\n" for source, target in WORDS.items()))
    command = ["heads", "--checkpoint", str(trained / "checkpoint"), "--data", str(data / "test.tsv")]
    assert main([*command, "--words", str(words), "--json", str(tmp_path / "heads.json")]) == 0
    printed, written = capsys.readouterr().out, json.loads((tmp_path / "heads.json").read_text())
    assert printed.count("of 2 heads attend to the same offset") == 2 and "of 2 heads align 75% or more" in printed
    assert max(map(len, printed.splitlines())) <= 120
    lines = (data / "test.tsv").read_text().splitlines()
    traces = [load(trained / "checkpoint").trace(*line.split("\t")) for line in lines]
    assert written["pairs"] == 6 and written["cross"]["rows"] == sum(len(trace.target_in) for trace in traces)
    # Every target word is in the list with its source word, so every row but those of </s> is a link.
    assert written["cross"]["links"] == written["cross"]["rows"] - 6
    assert written["decoder_self"]["next"] == [[None, None]]
    model, pairs = load(trained / "checkpoint"), [tuple(line.split("\t")) for line in lines]
    rows = [" ".join(row.split()) for row in printed.splitlines()]
    for kind, found in roles(sentences_of(model, pairs), {word: frozenset({to}) for word, to in WORDS.items()}).items():  # type: ignore[arg-type]
        assert {**written[kind], **to_dict(found)} == written[kind]
        for head in range(2):
            role = found.role(0, head)
            cells = ["–"] * 3
            if role:
                cells = [NAMES[role.name], f"{100 * role.share:.0f}%", f"{100 * role.baseline:.0f}%"]
            cells += [f"{tensor[0, head]:.{digits}f}" for tensor, digits in
                      ((found.confidence, 2), (found.entropy, 2), (found.distance, 1))]  # fmt: skip
            assert f"1.{head + 1} {' '.join(cells)}" in rows
            said, names = written[kind]["evidence"][0][head], ("strongest", "weakest")
            some = found.evidence(role.name, 0, head) if role else ([], [])
            assert (said is None) == (role is None)
            assert not role or [[one["source"] for one in said[name]] for name in names] == [
                [pairs[index][0] for index, _ in one] for one in some
            ]
    assert {"predicted", "fed"} <= set(written["cross"]["roles"])
    words.write_text("cat Katze\n")
    assert main([*command, "--words", str(words)]) == 2
    assert "line 1 has no tab; write each line as SOURCE WORD<tab>TARGET WORDS" in capsys.readouterr().err


def test_heads_with_a_role_are_followed_by_the_sentences_of_the_evidence(tmp_path: Path, capsys: Any) -> None:
    texts = ["abcd", "hello", "banana", "xyzzy", "level", "qwerty", "transformer", "attention"]
    pairs = [(text, text[::-1]) for text in texts]
    (tmp_path / "pairs.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
    command = ["heads", "--checkpoint", "reverse", "--data", str(tmp_path / "pairs.tsv")]
    assert main(command) == 0
    without = capsys.readouterr().out.splitlines()
    assert main([*command, "--evidence"]) == 0
    printed = iter(capsys.readouterr().out.splitlines())
    named = 0
    for kind, found in roles(sentences_of(load("reverse"), pairs)).items():
        assert kind.split("_")[0] in next(row for row in printed if "rows, mean entropy" in row)
        next(printed)  # names of the columns
        layers, heads = found.confidence.shape
        for layer, head in ((layer, head) for layer in range(layers) for head in range(heads)):
            assert next(printed) in without
            role = found.role(layer, head)
            if role is None:
                continue
            named += 1
            for name, some in zip(("strongest", "weakest"), found.evidence(role.name, layer, head), strict=True):
                for row, (index, share) in enumerate(some):
                    sentence = pairs[index][kind == "decoder_self"]  # the one that the head reads
                    assert next(printed).split() == [*([] if row else [name]), f"{100 * share:.0f}%", sentence]
    assert named > 5 and [row for row in without if "strongest" in row] == []


def test_the_built_in_sentences_are_for_three_kinds_of_models(tmp_path: Path, capsys: Any) -> None:
    tiny = tiny_pretrained()
    save_checkpoint(tmp_path / "toy", tiny.model, tiny.tokenizer, ("Latin", "Greek"))
    assert main(["heads", "--checkpoint", str(tmp_path / "toy")]) == 2
    assert "toy translates from Latin to Greek, but the built-in sentences are for English" in capsys.readouterr().err


def test_pairs_are_aligned(capsysbinary: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "The cat sleeps.\tDie Katze schläft.\nno tab\n \tx\n"
    monkeypatch.setattr("sys.stdin", Terminal(lines.encode()))
    assert main(["align", "--checkpoint", "en-de", "--layer", "1", "--head", "2", "--reading", "fed"]) == 1
    out, err = capsysbinary.readouterr()
    model = load("en-de")
    (links,) = align(model, [("The cat sleeps.", "Die Katze schläft.")], Source("weights", "fed", 0, 1))
    assert out.decode().splitlines() == [pharaoh(links), "", ""]
    assert b"layer 1, head 2, weights, reading fed" in err and b"line 2: not aligned, there is no tab" in err


@pytest.mark.parametrize(
    "options, message",
    [
        (["--layer", "9"], "--layer is 9; this model has 2"),
        (["--layer", "1", "--head", "5"], "--head is 5; this model has 4"),
        (["--head", "1"], "--head needs --layer"),
        (["--score"], "the built-in pairs are English to German"),
        (["--gold", "file"], "--gold needs --score"),
        (["--score", "--from-one"], "--from-one needs --gold"),
    ],
)
def test_a_wrong_place_to_align_by_is_said(options: list[str], message: str, capsys: Any) -> None:
    assert main(["align", "--checkpoint", "reverse", *options]) == 2
    assert message in capsys.readouterr().err


def test_links_are_symmetrised_with_a_reverse_model(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tiny models of random weights in both directions: links of both, grown; and their score."""
    for name, languages in (("there", ("English", "German")), ("back", ("German", "English"))):
        tiny = tiny_pretrained()
        save_checkpoint(tmp_path / name, tiny.model, tiny.tokenizer, languages)
    monkeypatch.setenv("HEADSCOPE_CHECKPOINTS", str(tmp_path))
    command = ["align", "--checkpoint", "there", "--layer", "1", "--head", "2", "--reverse"]
    monkeypatch.setattr("sys.stdin", Terminal(b"ka lo mi\tlo mi ka\nka\tka\n"))
    assert main([*command, "back"]) == 0
    written = capsys.readouterr().out.splitlines()
    there, back, source = load("there"), load("back"), Source("weights", "predicted", 0, 1)
    wanted = []
    for text, target in (("ka lo mi", "lo mi ka"), ("ka", "ka")):
        (forward,) = align(there, [(text, target)], source)
        (backward,) = align(back, [(target, text)], Source("weights", "predicted"))
        wanted.append(pharaoh(symmetrised(forward, frozenset((i, j) for j, i in backward))))
    assert written == wanted and wanted[1] == "0-0"
    (tmp_path / "gold.tsv").write_text("ka\tka\t0-0\n")
    assert main([*command, "back", "--score", "--gold", str(tmp_path / "gold.tsv")]) == 0
    assert " ".join(capsys.readouterr().out.splitlines()[-1].split()) == "symmetrised with back 0.0 100.0 100.0 1"
    assert main([*command, "there", "--score", "--gold", str(tmp_path / "gold.tsv")]) == 2
    assert "there translates from English to German; --reverse needs a model from German to English" in (
        capsys.readouterr().err
    )


GOLD = ("a b c\tc b a\t0-2 1-1 2-0 0?1\n", "d e\te d\t0-1 1?0\n")


def test_heads_are_scored_on_pairs_of_ones_own(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gold.tsv").write_text("# a comment\n" + "".join(GOLD))
    written = tmp_path / "scores.json"
    command = ["align", "--checkpoint", "reverse", "--score", "--layer", "1", "--head", "2", "--json", str(written)]
    assert main([*command, "--gold", str(tmp_path / "gold.tsv")]) == 0
    printed = capsys.readouterr().out
    rows = {tuple(row[:4]): row[4:] for row in json.loads(written.read_text())["scores"]}
    model, pairs = load("reverse"), [("a b c", "c b a"), ("d e", "e d")]
    sure, possible = [{(0, 2), (1, 1), (2, 0)}, {(0, 1)}], [{(0, 1)}, {(1, 0)}]
    for source in (Source("weights", "predicted", 0, 1), Source("weights", "fed", 1, None)):
        links = list(align(model, pairs, source))
        in_sure = sum(len(found & one) for found, one in zip(links, sure, strict=True))
        in_possible = in_sure + sum(len(found & one) for found, one in zip(links, possible, strict=True))
        aer, precision, recall = 1 - (in_sure + in_possible) / (5 + 4), in_possible / 5, in_sure / 4
        assert rows["weights", source.reading, source.layer, source.head] == pytest.approx(
            [aer, precision, recall, 5], rel=1e-4
        )
        if source.head is not None:  # the head that was asked for
            line = next(one for one in printed.splitlines() if "layer 1, head 2, weights, predicted" in one)
            assert line.split()[-4:] == [f"{100 * one:.1f}" for one in (aer, precision, recall)] + ["5"]
    # The same links alone, with their pairs on standard input.
    links_only = "".join(line.rpartition("\t")[2] for line in GOLD)
    (tmp_path / "gold.pharaoh").write_text(links_only)
    pairs_only = "".join(line.rpartition("\t")[0] + "\n" for line in GOLD)
    monkeypatch.setattr("sys.stdin", Terminal(pairs_only.encode()))
    assert main([*command, "--gold", str(tmp_path / "gold.pharaoh")]) == 0 and capsys.readouterr().out == printed


@pytest.mark.parametrize(
    "gold, typed, message",
    [
        (
            "a\ta\t0-0\na b\tb a\t0-2\n",
            "",
            "gold: line 2: the link 0-2 is out of range; the source has 2 words and the target 2, counted from 0, so "
            "correct or remove the link",
        ),
        ("a\ta\t0=0\n", "", "line 1: '0=0' is not a link; write i-j if it is sure, i?j or ipj if it is possible"),
        ("a b\ta b\t1-1\na b\ta b\t1p1 2-2\n", "", "gold: the links fit only if words count from 1; add --from-one"),
        ("1-1 2-2\n", "a b\ta b\n", "gold: the links fit only if words count from 1; add --from-one"),
        ("a b\ta b\t0-1 2-2\n", "", "line 1: the link 2-2 is out of range"),
        ("a\ta\t99999-0\n", "", "line 1: '99999-0' is not a link; write i-j if it is sure"),
        ("a\ta\n", "", "line 1 has 2 columns; it needs source, target and links, with a tab between them"),
        ("0-0\n0-0\n", "a\ta\n", "there are 2 lines of links for 1 sentence pairs; give one line for each pair"),
        ("0-0\n0-1\n", "a\ta\nb\tb\n", "line 2: the link 0-1 is out of range"),
        ("0-0\n", "a a\n", "line 1 of standard input has no tab"),
        ("a\ta\t0?0\n", "", "none of the 1 pairs has a sure link"),
        ("a\ta\t0-0\n" + "a " * 900 + "\ta\t0-0\n", "", None),
        ("ﬃ\tﬃ\t0-0\n", "", "line 1: the tokens have"),
    ],
)
def test_a_gold_file_that_cannot_be_scored_gets_one_sentence(
    gold: str, typed: str, message: str | None, type_in: Any, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "gold").write_text(gold, encoding="utf-8")
    status, _ = type_in(typed.encode(), "align", "--checkpoint", "reverse", "--score", "--gold", str(tmp_path / "gold"))
    error = capsys.readouterr().err
    assert status == (0 if message is None else 2)
    assert (message or "1 of 2 pairs are left out: they are blank or too long for the model") in error
    assert len(error.splitlines()) == 1


@pytest.mark.parametrize(
    "command", [["heads"], ["importance", "--sentences", "3", "--no-pruning"], ["align", "--layer", "1"],
                ["align", "--score", "--gold", "GOLD"], ["translate"], ["translate", "--beam", "2"],
                ["evaluate", "--data", "GOLD"]],
    ids=lambda command: command[-1],
)  # fmt: skip
def test_a_model_that_computes_nan_is_one_sentence(
    command: list[str], type_in: Any, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "gold").write_text("ka lo\tlo ka\t0-0\n")
    options = [str(tmp_path / "gold") if option == "GOLD" else option for option in command]
    checkpoint = str(saved_overflowing(tmp_path))
    status, _ = type_in(b"ka lo\tlo ka\n", options[0], "--checkpoint", checkpoint, *options[1:])
    said = capsys.readouterr().err.splitlines()[-1]
    assert status == 2 and said == (
        "error: this model computes NaN, not a number, so there is nothing to measure or to draw from; its weights are "
        "probably too large or damaged: check how they were trained or converted"
    )


@pytest.mark.slow
def test_importance_is_printed_and_written(capsys: Any, tmp_path: Path) -> None:
    command = ["importance", "--checkpoint", "reverse", "--sentences", "5", "--json", str(tmp_path / "all.json")]
    assert main([*command, "--no-pruning"]) == 0
    printed = capsys.readouterr().out
    model = load("reverse")
    found = from_json((tmp_path / "all.json").read_text(), model.config)
    assert found is not None and found.sentences == 5 and not found.curves["least"]
    best = found.order[-1]
    assert f"{best:20}{found.heads[best].loss:+9.4f}" in printed and "decoder.2.cross" in printed


# -- translate --------------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """Standard input or output with its bytes underneath."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__()
        self.buffer = io.BytesIO(data)


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command with bytes as its standard input; gives the exit status and the bytes written."""

    def run(data: bytes, *command: str) -> tuple[int, bytes]:
        out = Terminal()
        monkeypatch.setattr(sys, "stdin", Terminal(data))
        monkeypatch.setattr(sys, "stdout", out)
        status = main(list(command))
        return status, out.buffer.getvalue()

    return run


@pytest.mark.parametrize("search", [[], ["--beam", "3", "--length-penalty", "0.5"]])
@pytest.mark.parametrize("batch", ["1", "2", "256"])
def test_translate_writes_one_line_per_input_line(trained: Path, type_in: Any, search: list[str], batch: str) -> None:
    lines = ["the cat runs", "", "  ", "big dog", "\x00\x01", "red cat sees the dog"]
    name = str(trained / "checkpoint")
    status, out = type_in("\n".join(lines).encode(), "translate", "--checkpoint", name, "--batch", batch, *search)
    beams, alpha = (3, 0.5) if search else (1, 0.6)
    model = load(name)
    wanted = ["" if not text.strip(" \0\1") else model.translate(text, beams, alpha).text for text in lines]
    assert status == 0 and out.decode().split("\n") == [*wanted, ""]


def test_lines_end_as_files_end_them(type_in: Any, trained: Path) -> None:
    name = str(trained / "checkpoint")
    plain = type_in(b"the cat\nbig dog\n", "translate", "--checkpoint", name)
    assert plain[1].count(b"\n") == 2
    assert type_in(b"\xef\xbb\xbfthe cat\r\nbig dog", "translate", "--checkpoint", name) == plain
    assert type_in(b"", "translate", "--checkpoint", name) == (0, b"")


def test_a_line_too_long_is_named_and_shifts_nothing(
    trained: Path, type_in: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    name = str(trained / "checkpoint")
    status, out = type_in(b"the cat\n" + b"dog " * 200 + b"\nbig dog\n", "translate", "--checkpoint", name)
    first, empty, third, end = out.split(b"\n")
    model = load(name)
    assert (status, empty, end) == (1, b"", b"")
    assert [first.decode(), third.decode()] == [model.translate(text).text for text in ("the cat", "big dog")]
    (error,) = (line for line in capsys.readouterr().err.splitlines() if "not translated" in line)
    assert error.startswith("line 2: not translated, the source text has ") and "at most 40 are allowed" in error


@pytest.mark.parametrize("more", [[], ["--n-best", "2"]])
def test_a_translation_that_does_not_end_is_named(
    type_in: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    monkeypatch.setattr("transformer.inference.search.EXTRA_LENGTH", 0)  # as many tokens as the source has
    status, out = type_in(b"Hello.\nStop.", "translate", "--checkpoint", "en-de", *more)
    assert status == 0 and out.count(b"\n") == (3 if more else 2)  # of the second line only the cut one
    assert capsys.readouterr().err == "line 2: the translation did not end within 3 tokens and was cut off\n"


def test_beginnings_samples_and_the_n_best(trained: Path, type_in: Any, capsys: pytest.CaptureFixture[str]) -> None:
    name, lines = str(trained / "checkpoint"), b"the cat\n\nbig dog\n" + b"dog " * 200 + b"\n"
    model = load(name)
    prefix = model.translate("big dog").text[:3]
    status, out = type_in(lines, "translate", "--checkpoint", name, "--prefix", prefix)
    wanted = [model.translate(text, prefix=prefix).text for text in ("the cat", "big dog")]
    assert status == 1 and out.decode().split("\n") == [wanted[0], "", wanted[1], "", ""]
    options = ["--temperature", "0.9", "--top-k", "5", "--top-p", "0.8", "--seed", "3"]
    _, out = type_in(lines, "translate", "--checkpoint", name, *options)
    sample = Sampling(0.9, 5, 0.8, 3)
    assert out.decode().split("\n")[::2] == [
        *(model.translate(t, sample=sample).text for t in ("the cat", "big dog")),
        "",
    ]
    capsys.readouterr()
    status, out = type_in(lines, "translate", "--checkpoint", name, "--n-best", "2", "--beam", "3")
    many = [(number, one) for number, text in ((1, "the cat"), (3, "big dog")) for one in model.n_best(text, 3, n=2)]
    assert out.decode().splitlines() == [
        f"{number}\t{one.score:.4f}\t{one.normalised:.4f}\t{one.text}" for number, one in many
    ]
    assert status == 1 and "line 4: not translated, the source text has " in capsys.readouterr().err
    one_by_one = type_in(lines, "translate", "--checkpoint", name, "--n-best", "2", "--beam", "3", "--batch", "1")
    assert one_by_one == (1, out)
    capsys.readouterr()
    for wrong in (["--seed", "1", "--beam", "2"], ["--top-k", "1", "--n-best", "2"]):
        assert type_in(lines, "translate", "--checkpoint", name, *wrong)[0] == 2
        assert capsys.readouterr().err.startswith("error: sampling has no beams; leave out --beam and --n-best")
    assert type_in(lines, "translate", "--checkpoint", name, "--prefix", "漢")[0] == 2
    assert capsys.readouterr().err.startswith("error: the beginning '漢' has characters")
    assert type_in(lines, "translate", "--checkpoint", name, "--top-p", "2")[0] == 2
    assert "top_p is 2.0; choose a number above 0, up to 1" in capsys.readouterr().err


def test_bytes_that_are_not_utf8_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(translate.decoded([b"a\n", b"b\xffc\n"])) == ["a", "b\ufffdc"]
    assert "line 2: byte 0xff is not UTF-8" in capsys.readouterr().err


# -- evaluate ---------------------------------------------------------------------------------------------------------


def test_evaluate_prints_and_writes(trained: Path, data: Path, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "metrics.json"
    command = ["evaluate", "--checkpoint", str(trained / "checkpoint"), "--data", str(data / "test.tsv")]
    assert main([*command, "--beam", "2", "--json", str(file)]) == 0
    printed, written = capsys.readouterr().out, json.loads(file.read_text())
    assert f"sacreBLEU    {written['bleu']:>9.2f}  nrefs:1|" in printed and "chrF" in printed
    assert f"perplexity   {written['perplexity']:>9.2f}" in printed and "beam 2, length penalty 0.6" in printed
    assert written["data"] == ["test.tsv"] and written["sentences"] == 6


def test_evaluate_uses_the_settings_of_the_recipe(trained: Path, data: Path, tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("sacremoses")
    name, test = str(trained / "checkpoint"), data / "test.tsv"
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(
        f'[data]\ntest = "{test.as_posix()}"\npreparation = "moses-lowercase"\ncodes = ["en", "de"]\n'
        "[decoding]\nbeam = 3\nlength_penalty = 0.2\n"
    )
    file = tmp_path / "metrics.json"
    assert main(["evaluate", "--checkpoint", name, "--recipe", str(recipe), "--json", str(file)]) == 0
    written, printed = json.loads(file.read_text()), capsys.readouterr().out
    assert (written["beams"], written["length_penalty"]) == (3, 0.2)
    assert "tokenised" in printed and "tok:none" in printed and "case:lc" in printed
    # In a language of small letters and blanks, what is prepared and what is restored are the same words.
    assert written["tokenized_bleu"] == pytest.approx(written["bleu"])
    assert main(["evaluate", "--checkpoint", name]) == 2
    assert "the test data is missing" in capsys.readouterr().err


@pytest.mark.slow
def test_a_toy_task_is_trained_and_scored_exactly(tmp_path: Path, capsys: Any) -> None:
    recipe = tmp_path / "sort.toml"
    recipe.write_text(
        '[data]\ntask = "sort"\ncount = 400\nlengths = [1, 4]\nseed = 1\n[tokenizer]\nkind = "char"\n'
        '[model]\npreset = "tiny"\n[training]\nsteps = 3\nwarmup = 2\n'
    )
    assert main(["train", "--recipe", str(recipe), "--output", str(tmp_path / "run")]) == 0
    model = load(tmp_path / "run" / "checkpoint")
    assert model.languages == ("digits", "sorted") and model.config.vocab_size == 14
    command = ["evaluate", "--checkpoint", str(tmp_path / "run" / "checkpoint"), "--recipe", str(recipe)]
    assert main([*command, "--lengths", "6", "6", "--json", str(tmp_path / "six.json")]) == 0
    written = json.loads((tmp_path / "six.json").read_text())
    assert written["data"] == ["sort, 6 to 6 symbols, unseen"] and written["sentences"] == 10_000
    assert written["exact"] < 0.01 and "bleu" not in written  # after three steps
    printed = capsys.readouterr().out
    assert "exact" in printed and "BLEU" not in printed and "chrF" not in printed
    # Resumed by its folder alone, as any other run.
    assert main(["train", "--output", str(tmp_path / "run"), "--steps", "4"]) == 0


def test_missing_test_data_gives_a_message(trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "blank.tsv").write_text("\t\n")
    for file, message in ((tmp_path / "blank.tsv", "none of the 1"), (tmp_path / "missing", "cannot be read")):
        assert main(["evaluate", "--checkpoint", str(trained / "checkpoint"), "--data", str(file)]) == 2
        assert message in capsys.readouterr().err


# -- app and all ------------------------------------------------------------------------------------------------------


def options(**given: Any) -> SimpleNamespace:
    rest = dict.fromkeys(
        ("checkpoint", "max_tokens", "address", "language", "trainings", "training_seconds", "memory", "rooms")
    )
    return SimpleNamespace(**{**rest, "port": 8501, "operator": False, "no_engine": False, **given})


def test_the_app_gets_its_settings(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CHECKPOINT", "MAX_TOKENS", "DEVICE", "TRAININGS", "TRAINING_SECONDS", "MEMORY"):
        monkeypatch.setenv(f"HEADSCOPE_{name}", "before")
    monkeypatch.setenv("HEADSCOPE_ROOMS", "before")
    monkeypatch.setattr(serve, "taken", lambda port, address: False)
    monkeypatch.chdir(trained)
    given: Any = options(
        checkpoint="checkpoint", max_tokens=64, port=8600, device="cpu", trainings=0, rooms="rooms.sqlite"
    )
    assert serve.prepare(given) == (ROOT / "pages" / "app.py", 8600, None)
    assert os.environ["HEADSCOPE_CHECKPOINT"] == str(trained / "checkpoint")
    assert (os.environ["HEADSCOPE_MAX_TOKENS"], os.environ["HEADSCOPE_DEVICE"]) == ("64", "cpu")
    assert (os.environ["HEADSCOPE_TRAININGS"], os.environ["HEADSCOPE_TRAINING_SECONDS"]) == ("0", "before")
    assert os.environ["HEADSCOPE_ROOMS"] == str(trained / "rooms.sqlite")
    assert training_queue.trainings() == 0  # nobody trains, and not: as many as there are cores
    serve.prepare(options(port=8600, device="cpu", trainings=3, training_seconds=30))  # type: ignore[arg-type]
    assert (training_queue.trainings(), training_queue.training_seconds()) == (3, 30)
    assert os.environ["HEADSCOPE_MEMORY"] == "before"
    serve.prepare(options(port=8600, device="cpu", memory=2_000_000_000))  # type: ignore[arg-type]
    assert memory.budget() == 2_000_000_000


def test_a_redis_server_that_does_not_answer_is_said_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "taken", lambda port, address: False)
    url = "redis://:word@127.0.0.1:1/0"
    monkeypatch.setenv("HEADSCOPE_ROOMS", "before")
    with pytest.raises(StoreError, match=r"the Redis server 127\.0\.0\.1:1, which holds the rooms, cannot be used"):
        serve.prepare(options(device="cpu", rooms=url))  # type: ignore[arg-type]
    assert os.environ["HEADSCOPE_ROOMS"] == url  # as it is, for the app
    with pytest.raises(StoreError):
        serve.prepare(options(device="cpu"))  # type: ignore[arg-type]


def test_the_operator_s_key_is_given_or_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    assert serve.find_key(False) is None and operator_key() == ""
    made = serve.find_key(True)
    assert made and made == operator_key()
    monkeypatch.setenv(VARIABLE, "")
    assert serve.find_key(True) != made
    monkeypatch.setenv(VARIABLE, "k" * LEAST)
    assert serve.find_key(True) is serve.find_key(False) is None  # a known key is not printed
    assert operator_key() == "k" * LEAST
    monkeypatch.setenv(VARIABLE, "k" * (LEAST - 1))
    with pytest.raises(CommandError, match="^the key in HEADSCOPE_OPERATOR needs at least 16 characters$"):
        serve.find_key(False)


@pytest.mark.parametrize("command", [["translate"], ["evaluate", "--data", "x.tsv"], ["app"]])
def test_an_invalid_checkpoint_gives_a_message(
    command: list[str], tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [word.replace("x.tsv", str(data / "test.tsv")) for word in command]
    assert main([*command, "--checkpoint", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path} is not a checkpoint: config.json is missing\n"
    assert main([*command, "--checkpoint", "no-such-name"]) == 2
    assert "there is no checkpoint 'no-such-name'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        [], ["nothing"], ["translate"], ["app", "--port", "0"], ["app", "--max-tokens", "1"],
        ["app", "--trainings", "-1"], ["app", "--training-seconds", "0"], ["app", "--trainings", "257"],
        ["app", "--memory", "much"], ["app", "--memory", "400M"],
        ["translate", "--checkpoint", "x", "--beam", "0"],
        ["translate", "--checkpoint", "x", "--length-penalty", "nan"],
        ["train", "--output", "x", "--steps", "many"], ["train", "--output", "x", "--norm", "middle"],
    ],
)  # fmt: skip
def test_wrong_options_end_with_status_2(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 2 and "error: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "near"),
    [
        (["translat"], "translate"), (["translate", "--checkpoint", "x", "--beams", "3"], "--beam"),
        (["evaluate", "--checkpoint", "x", "--data", "y", "--swich=scaling=off"], "--switch"),
        (["translate", "--checkpoint", "x", "--device", "cdua"], "cuda"),
    ],
)  # fmt: skip
def test_a_mistyped_command_or_option_suggests_the_nearest(
    command: list[str], near: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(command)
    assert capsys.readouterr().err.endswith(f"; did you mean {near}?\n")
    with pytest.raises(SystemExit):
        main(["translate", "--checkpoint", "x", "--zzz"])
    assert capsys.readouterr().err.endswith("unrecognized arguments: --zzz\n")


@pytest.mark.parametrize("value", ["-1", "0", "nan", "inf", "x"])
@pytest.mark.parametrize("option", ["--temperature", "--top-p"])
def test_what_has_to_be_above_zero_says_so(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["translate", "--checkpoint", "reverse", option, value])
    assert f"{option}: '{value}' is not a number above 0" in capsys.readouterr().err
