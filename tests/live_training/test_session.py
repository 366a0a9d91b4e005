"""What is recorded of a training: true to the model, without touching it; and the run is the command line's own."""

import dataclasses
import json
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load

from transformer.__main__ import main
from transformer.checkpoints.archive import read_zip, zipped
from transformer.inference.pretrained import open_files
from transformer.live_training.experiment import Experiment
from transformer.live_training.frames import Frame
from transformer.live_training.recipe import recipe_files, recipe_text
from transformer.live_training.result import name_of, result_files
from transformer.live_training.session import EXTRA_TOKENS, Session
from transformer.tracing.trace import KINDS

pytestmark = pytest.mark.slow  # trains

SMALL = Experiment(
    alphabet=5, shortest=3, longest=4, layers=1, heads=2, d_model=8, d_ff=8, steps=25, batch=8, peak_rate=0.02, warmup=5
)
SQUARES = tuple((str(number), f"{number * number} $") for number in range(60))
KINDS_OF_RUN = {
    "plain": SMALL,
    "dropout": dataclasses.replace(SMALL, dropout=0.2, smoothing=0.1),
    "learned": dataclasses.replace(SMALL, positions="learned", norm="pre", activation="gelu", layers=2),
    "uncausal": dataclasses.replace(SMALL, causal=False, task="shift", shift=2, warmup=0),
    "bare": dataclasses.replace(SMALL, residual=False, norm="none", positions="none", scaling=False, d_k=3),
    "own": dataclasses.replace(SMALL, task="own", pairs=SQUARES),
}


def _run(experiment: Experiment) -> tuple[Session, list[Frame]]:
    session, frames = Session(experiment), []
    assert session.run(frames.append) == "steps"
    return session, frames


def _weights(session: Session) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().clone() for name, parameter in session.trainer.model.named_parameters()}


def _same(found: dict[str, torch.Tensor], wanted: dict[str, torch.Tensor]) -> bool:
    return found.keys() == wanted.keys() and all(torch.equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize("experiment", KINDS_OF_RUN.values(), ids=KINDS_OF_RUN)
def test_the_command_line_trains_to_the_very_same_bytes(experiment: Experiment, tmp_path, monkeypatch) -> None:
    """And recording changes nothing: the command line records no frame."""
    session, _ = _run(experiment)
    files = result_files(session, "steps")
    monkeypatch.chdir(tmp_path)
    for name, data in recipe_files(experiment).items():
        Path(name).write_bytes(data)
    assert main(["train", "--recipe", "recipe.toml", "--output", "run"]) == 0
    for name in ("model.safetensors", "config.json", "tokenizer.model"):
        assert Path("run/checkpoint", name).read_bytes() == files[name], name
    state = load(next(Path("run").glob("state-*.safetensors")).read_bytes())  # in float32
    exact = {name.removeprefix("model."): tensor for name, tensor in state.items() if name.startswith("model.")}
    assert _same(_weights(session), exact)


def test_the_seed_decides() -> None:
    (first, frames), (second, again) = (_run(KINDS_OF_RUN["dropout"]) for _ in range(2))
    assert all(dataclasses.replace(one, seconds=two.seconds) == two for one, two in zip(frames, again, strict=True))
    assert _same(_weights(first), _weights(second))
    other, elsewhere = _run(dataclasses.replace(KINDS_OF_RUN["dropout"], seed=2))
    assert not _same(_weights(first), _weights(other))
    assert elsewhere[0].weights != frames[0].weights and elsewhere[-1].loss != frames[-1].loss


@pytest.mark.parametrize("name", ["plain", "uncausal", "bare", "own"])
def test_a_frame_is_the_trace_of_its_step(name: str) -> None:
    session = Session(KINDS_OF_RUN[name])
    longest = max(len(target) for _, target in session.trainer.validation)
    seen = []

    def show(frame: Frame) -> None:
        model = session.trainer.pretrained()
        trace = model.trace(session.opening.source, session.opening.target)
        found = frame.attention(session.opening)
        for kind in KINDS:
            weights = trace.attention(kind).weights
            assert torch.equal(torch.from_numpy(found[kind].copy()), (weights * 255).round().byte())
        assert frame.predicted == tuple(
            model.tokenizer.pieces([number])[0].replace("▁", "␣") for number in trace.logits.argmax(-1).tolist()
        )
        assert frame.outputs[0] == model.translate(session.opening.source, limit=longest + 1 + EXTRA_TOKENS).text
        assert (trace.source_labels, trace.target_in_labels, trace.target_out_labels) == (
            session.opening.source_tokens, session.opening.target_in, session.opening.target_out
        )  # fmt: skip
        seen.append(frame.step)

    assert session.run(show) == "steps"
    assert tuple(seen) == session.opening.recorded == KINDS_OF_RUN[name].recorded


def test_numbers_of_a_frame_are_those_of_the_model() -> None:
    session = Session(KINDS_OF_RUN["plain"])
    frames: list[Frame] = []
    losses: list[tuple[float, int]] = []

    def show(frame: Frame) -> None:
        frames.append(frame)
        if frame.exact is None:
            return
        model = session.trainer.pretrained()
        unseen = session.unseen
        traces = [model.trace(*pair) for pair in unseen]  # one by one, without padding
        right = sum(model.translate(source).text == target for source, target in unseen)
        forced = sum(trace.logits.argmax(-1).tolist() == list(trace.target_out_ids) for trace in traces)
        assert (frame.exact, frame.forced) == pytest.approx((right / len(unseen), forced / len(unseen)))
        surprise = torch.cat([-trace.probabilities.log() for trace in traces]).mean().item()
        assert frame.validation_loss == pytest.approx(surprise, rel=1e-4)

    original = session.trainer._update

    def update(batch):
        losses.append(original(batch))
        return losses[-1]

    session.trainer._update = update  # type: ignore[method-assign]
    session.run(show)
    assert frames[0].loss is None and frames[0].rate == 0.0
    seconds = [frame.seconds for frame in frames]
    assert seconds == sorted(seconds) and seconds[0] >= 0.0
    before = 0
    for frame in frames[1:]:
        part = losses[before : frame.step]
        assert frame.loss == pytest.approx(sum(loss * n for loss, n in part) / sum(n for _, n in part))
        assert frame.rate == session.trainer.rate(frame.step)
        before = frame.step
    assert frames[-1].exact is not None and frames[0].exact is not None
    assert 3 <= sum(frame.exact is not None for frame in frames) < len(frames)


def test_the_example_was_not_trained_on() -> None:
    for experiment in KINDS_OF_RUN.values():
        session = Session(experiment)
        trained = {source for source, _ in session.trainer.pairs}
        assert not trained & {source for source, _ in session.opening.shown}
        assert session.opening.shown[0] == (session.opening.source, session.opening.target)
        assert len(session.opening.source) == max(len(source) for source, _ in session.unseen)
        assert session.opening.unseen == len(session.unseen)
        assert session.opening.parameters == session.trainer.model.parameter_count()


# -- its end ---------------------------------------------------------------------------------------------------------


def test_the_budget_is_computing_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a pause nor a busy machine takes any of it: what counts is the time on a core, here a second a step."""
    session = Session(SMALL)
    monkeypatch.setattr(time, "process_time", lambda: float(session.trainer.step))
    assert session.run(lambda frame: None, seconds=10.0) == "time" and session.trainer.step == 10
    assert session.last is not None and session.last.seconds == 10.0


@pytest.mark.parametrize("reason", ["steps", "stopped", "time"])
def test_the_result_is_a_checkpoint_with_a_model_card(reason: str) -> None:
    session = Session(KINDS_OF_RUN["own"] if reason == "time" else SMALL)
    steps = {"steps": 25, "stopped": 17, "time": 1}[reason]
    end = session.run(
        lambda frame: None,
        stop=lambda: reason == "stopped" and session.trainer.step == 17,
        seconds=0.0 if reason == "time" else 1e9,
    )
    assert end == reason
    files = read_zip(zipped(result_files(session, reason), name_of(session.experiment)))
    model = open_files(files, "made")
    for name, parameter in session.trainer.model.named_parameters():
        assert torch.equal(dict(model.model.named_parameters())[name], parameter.detach().half().float()), name
    metrics = json.loads(files["metrics.json"])
    assert metrics["step"] == steps and metrics["sentences"] == session.opening.unseen
    right = sum(model.translate(source).text == target for source, target in session.unseen)
    assert metrics["exact"] == pytest.approx(right / session.opening.unseen, abs=0.1)  # in float16
    card = files["README.md"].decode()
    assert f"{steps} of 25 steps" in card and "toy" in card and "python -m transformer train --recipe" in card
    assert ("To train it again with the same weights" in card) == (reason == "steps")
    assert files["recipe.toml"].decode() == recipe_text(session.experiment)
    examples = json.loads(files["examples.json"])
    assert examples[0]["source"] == session.opening.source and len(examples) == len(session.opening.shown)
    rows = files["training.csv"].decode().splitlines()
    assert rows[0].startswith("step,epoch,learning_rate,loss") and rows[-1].split(",")[0] == str(steps)
