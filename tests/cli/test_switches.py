"""--switch on the command line: the switches of the Lab, for any text and any test set."""

import io
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from transformer.__main__ import main, parser
from transformer.cli.common import switches
from transformer.inference.pretrained import load
from transformer.interventions.sets import NONE, Interventions
from transformer.training.evaluation import corpus_bleu
from transformer.training.tasks import task_pairs

PAIRS = [*task_pairs("sort", 7, (3, 6), 1), ("31", "13")]
LINES = [source for source, _ in PAIRS]


class Pipe(io.TextIOWrapper):
    def __init__(self, data: bytes = b"") -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8")


@pytest.fixture
def translate(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, list[str]]]:
    """Runs `translate` with these lines typed; gives the exit status and the lines written."""

    def run(lines: list[str], *more: str) -> tuple[int, list[str]]:
        out = Pipe()
        monkeypatch.setattr(sys, "stdin", Pipe("\n".join(lines).encode()))
        monkeypatch.setattr(sys, "stdout", out)
        status = main(["translate", "--checkpoint", "sort", *more])
        return status, out.buffer.getvalue().decode().splitlines()  # type: ignore[attr-defined]

    return run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "test.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS))
    return tmp_path / "test.tsv"


def test_the_option_is_read_as_links_are() -> None:
    def read(*words: str) -> Interventions:
        return switches(parser().parse_args(["translate", "--checkpoint", "x", *words]))

    assert read() == NONE
    wanted = Interventions.parse("scaling=off causal=off@decoder_self.1 zero=cross.2.5,encoder_self.1")
    words = ["scaling=off", "causal=off@decoder_self.1", "zero=cross.2.5,encoder_self.1"]
    assert read("--switch", *words) == wanted
    assert read("--switch", words[0], "--switch", *words[1:]) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("search", [[], ["--beam", "3", "--length-penalty", "0.5"]])
@pytest.mark.parametrize(
    "switch", ["zero=cross", "scaling=off", "padding=off pad=3", "causal=off padding=off", "paint=2+:1_1@cross.2"]
)
def test_translate_under_switches(translate: Callable, search: list[str], switch: str) -> None:
    """In batches of any size what one sentence alone gives."""
    model, on = load("sort"), Interventions.parse(switch)
    beams, alpha = (3, 0.5) if search else (1, 0.6)
    wanted = [model.translate(text, beams, alpha, interventions=on).text for text in LINES]
    for batch in ("1", "256"):
        assert translate(LINES, "--batch", batch, *search, "--switch", *switch.split()) == (0, wanted)
    if switch.startswith(("zero", "paint")):
        assert wanted != translate(LINES, *search)[1]


def test_a_line_without_a_token_that_has_a_painted_weight_is_named(
    translate: Callable, capsys: pytest.CaptureFixture[str]
) -> None:
    switch, found = "paint=1:0_0_0_1@cross", load("sort")
    wanted = found.translate("4321", interventions=Interventions.parse(switch)).text
    for more in ([], ["--n-best", "1"]):
        status, lines = translate(["1", "4321"], *more, "--switch", switch)
        assert status == 1 and lines[-1].endswith(wanted) and len(lines) == 2 - len(more) // 2
        assert capsys.readouterr().err.startswith("line 1: not translated, all keys with a painted weight are masked")


def test_a_beginning_too_long_for_one_line_is_named(translate: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    """A translation of "1" may have 2 + 50 tokens, one of "123456" 57."""
    prefix = "12345" * 11
    status, lines = translate(["1", "123456"], "--prefix", prefix)
    assert status == 1 and lines[0] == "" and lines[1].startswith(prefix)
    assert "line 1: not translated, the beginning has 56 tokens with </s>; a translation" in capsys.readouterr().err


def test_unset_is_as_before(translate: Callable) -> None:
    model = load("sort")
    wanted = [one.text for one in model.translate_all(LINES)]
    assert translate(LINES) == (0, wanted) == translate(LINES, "--switch", "pad=2")


def test_a_line_too_long_with_its_padding_is_named(translate: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    assert translate(["1" * 50, "21"], "--switch", "pad=20")[0] == 1
    assert (
        "line 1: not translated, the source text has 51 tokens and 20 pad tokens; at most 64 are allowed together"
        in capsys.readouterr().err
    )


def test_evaluate_under_switches(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["evaluate", "--checkpoint", "sort", "--data", str(data), "--json", str(tmp_path / "scores.json")]
    found = {}
    for switch in ("", "zero=cross scaling=0.5@encoder_self", "padding=off pad=2"):
        assert main([*command, *(["--switch", *switch.split()] if switch else [])]) == 0
        printed, written = capsys.readouterr().out, json.loads((tmp_path / "scores.json").read_text())
        on = Interventions.parse(switch) if switch else NONE
        model = load("sort")
        ours = [model.translate(source, interventions=on).text for source in LINES]
        assert written["bleu"] == corpus_bleu(ours, [[target] for _, target in PAIRS])
        assert written["exact"] == sum(text == target for text, (_, target) in zip(ours, PAIRS, strict=True)) / 8
        traces = [model.trace(*pair, interventions=on) for pair in PAIRS]
        nats = -sum(math.log(p) for trace in traces for p in trace.probabilities.tolist())
        assert written["perplexity"] == pytest.approx(math.exp(nats / written["target_tokens"]), rel=1e-4)
        assert written.get("switches", "") == str(on if on else "")
        assert ("switches" in printed) == bool(on) and (not on or str(on) in printed)
        found[switch] = written
    assert found[""]["exact"] == 1 > found["zero=cross scaling=0.5@encoder_self"]["exact"]


@pytest.mark.parametrize(
    ("switch", "message"),
    [
        ("zero=cross.9", "cross.9 asks for layer 9, but this model has 2 there"),
        ("heads=off", "unknown switch 'heads'; choose scaling"),
        ("scaling", "'scaling' is not a switch; write NAME=VALUE"),
        ("scaling=nan", "scaling cannot have the factor 'nan'"),
    ],
)
def test_an_invalid_switch_gives_one_sentence(
    switch: str, message: str, translate: Callable, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert translate([], "--switch", switch) == (2, [])
    assert main(["evaluate", "--checkpoint", "sort", "--data", str(data), "--switch", switch]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == second and first.startswith(f"error: {message}")
