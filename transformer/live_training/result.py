"""The result of a training: the files of a checkpoint folder, with everything that is needed to repeat it."""

import json
import math
from typing import Any

import torch

from transformer.checkpoints.folder import CARD, EXAMPLES, LOG, METRICS, checkpoint_files
from transformer.live_training.experiment import Experiment
from transformer.live_training.frames import Frame
from transformer.live_training.recipe import PAIRS, UNSEEN, recipe_files
from transformer.live_training.session import STEPS, STOPPED, Session
from transformer.model.transformer import Transformer

LARGEST_HALF = 65_504.0  # the largest number of float16
ACTIVATIONS = {"relu": "ReLU", "gelu": "GELU"}
POSITIONS = {"sinusoidal": "sinusoidal positions", "learned": "learned positions", "none": "no positions"}
NORMS = {"post": "post-norm", "pre": "pre-norm", "none": "no LayerNorm"}
TASKS = {
    "copy": "copy the input",
    "reverse": "write the input backwards",
    "sort": "write the symbols of the input in the order of their alphabet",
    "own": "answer the inputs of pasted pairs",
}
COMMAND = "OMP_NUM_THREADS=1 python -m transformer train --recipe recipe.toml --output run"


def name_of(experiment: Experiment) -> str:
    """The folder's name: the task, the settings that are not the default, and the seed."""
    changed = {name: value for name, value in vars(experiment).items() if value != getattr(Experiment(), name)}
    parts = [experiment.task]
    parts += [f"{name}-{changed[name]}" for name in ("positions", "norm") if name in changed]
    parts += [f"no-{name}" for name in ("scaling", "causal", "residual") if name in changed]
    parts += [f"{name}-{changed[name]}" for name in ("layers", "heads", "d_model", "d_k") if name in changed]
    return "-".join([*parts, f"seed-{experiment.seed}"])


def data_of(experiment: Experiment) -> str:
    """A short name of the unseen inputs, as in the bundled checkpoints."""
    if experiment.task == "own":
        return "own pairs, unseen"
    return f"{experiment.task}, {experiment.shortest} to {experiment.longest} symbols, unseen"


def metrics(session: Session) -> dict[str, Any]:
    """Scores of the trained model on the unseen inputs; loss in nats per token, exact and forced as shares."""
    frame = _last(session)
    loss = frame.validation_loss
    return {
        "data": [data_of(session.experiment)],
        "sentences": session.opening.unseen,
        "exact": frame.exact,
        "forced": frame.forced,
        "loss": loss,
        "perplexity": None if loss is None or loss > 50 else math.exp(loss),
        "step": frame.step,
        "seconds": round(frame.seconds, 3),
        "trained_up_to": session.experiment.longest + 1,
    }


def _last(session: Session) -> Frame:
    frame = session.last
    if frame is None or frame.exact is None:
        raise ValueError("the session has not run yet; run it first")
    return frame


def examples(session: Session) -> list[dict[str, Any]]:
    """The recorded example, with the sharpest head of the last cross-attention, and unseen inputs."""
    cross = session.trace().cross.weights
    sharpness = cross[-1].amax(-1).mean(-1)  # [head]
    head, layer = int(sharpness.argmax()), len(cross)
    look = (
        f"Cross-attention, layer {layer}, head {head + 1}: the largest weight of a row is "
        f"{sharpness.max():.2f} on average."
    )
    view = {"kind": "cross", "layer": layer, "head": head + 1}
    opening = session.opening
    first = {"title": "The recorded example", "look": look, "source": opening.source, "target": opening.target}
    others = [
        {"title": f"Unseen {number}", "look": "An input that was not in the training data.", "source": source}
        for number, (source, _) in enumerate(opening.shown[1:], 1)
    ]
    return [{**example, "view": view} for example in (first, *others)]


def _share(value: float | None) -> str:
    return "not measured" if value is None else f"{100 * value:.1f}%"


def card(session: Session, reason: str) -> str:
    """README.md: what was trained, with every setting, and that it is a toy."""
    experiment, trainer = session.experiment, session.trainer
    found = metrics(session)
    task = TASKS.get(experiment.task) or f"move every symbol {experiment.shift} further in the alphabet, cyclically"
    if experiment.task == "own":
        data = f"{len(trainer.pairs):,} pasted pairs ({PAIRS}); {found['sentences']} more were kept unseen ({UNSEEN})"
    else:
        low, high = experiment.shortest, experiment.longest
        data = (
            f"{len(trainer.pairs):,} inputs of {low if low == high else f'{low} to {high}'} symbols, drawn uniformly "
            f"from the first {experiment.alphabet} of a to z, A to Z; {found['sentences']} others were kept unseen"
        )
    ended = {STEPS: "", STOPPED: ", where it was stopped"}.get(reason, ", where its time was over")
    parts = [
        f"encoder and decoder of {experiment.layers} layers each",
        f"{experiment.heads} heads, queries and keys {experiment.d_k or experiment.d_model // experiment.heads} wide",
        f"d_model {experiment.d_model}, d_ff {experiment.d_ff}",
        "scores divided by √d_k" if experiment.scaling else "scores not divided by √d_k",
        "causal mask in the decoder" if experiment.causal else "no causal mask in the decoder",
        POSITIONS[experiment.positions],
        "residual connections" if experiment.residual else "no residual connections",
        NORMS[experiment.norm],
        ACTIVATIONS[experiment.activation],
    ]
    rate = f"peak rate {experiment.peak_rate:g}, " + (
        f"{experiment.warmup} warm-up steps" if experiment.warmup else "no warm-up"
    )
    loss = "not finite" if found["loss"] is None else f"{found['loss']:.4f} nats per token"
    rows = [
        ("Task", task),
        ("Architecture", ", ".join(parts)),
        ("Size", f"{session.opening.parameters:,} parameters"),
        ("Data", data),
        ("Training", f"{trainer.step:,} of {experiment.steps:,} steps{ended}; {experiment.batch} inputs of the longest "
         f"length per step, Adam (0.9, 0.98, 1e-9), {rate}, falling to zero over the last {experiment.cooldown} steps; "
         f"label smoothing {experiment.smoothing:g}, dropout {experiment.dropout:g}, seed {experiment.seed}; "
         f"{trainer.seconds:.1f} s on one thread"),
        ("Exact, free-running", f"{_share(found['exact'])} of {found['sentences']} unseen inputs"),
        ("Exact, teacher-forced", f"{_share(found['forced'])} of them"),
        ("Loss, teacher-forced", f"{loss} on them"),
    ]  # fmt: skip
    again = (
        f"To train it again with the same weights, run this here on the same kind of processor:\n\n    {COMMAND}\n"
        if reason == STEPS
        else f"It ended before its last step. To train it to the end, run this here:\n\n    {COMMAND}\n"
    )
    table = "\n".join(f"| {name} | {text} |" for name, text in rows)
    return (
        f"# {name_of(experiment)}: a toy model from the Training page\n\n"
        "Trained on Headscope's Training page to show how attention is learned. It does only this task, on inputs "
        "like its training inputs.\n\n"
        f"| | |\n|---|---|\n{table}\n\n## Train it again\n\n{again}"
    )


def result_files(session: Session, reason: str) -> dict[str, bytes]:
    """Name -> bytes of the checkpoint's folder. reason: why the training ended, see `Session.run`."""
    trainer = session.trainer
    model = trainer.model
    assert isinstance(model, Transformer)
    if reason == STEPS:
        trainer.average()  # as `python -m transformer train` does before it writes its checkpoint
    largest = max(float(parameter.detach().abs().max()) for parameter in model.parameters())
    dtype = torch.float16 if largest < LARGEST_HALF else torch.float32
    files = checkpoint_files(model, trainer.tokenizer, trainer.languages, dtype)
    files[LOG] = session.log()
    files[METRICS] = (json.dumps(metrics(session), indent=2) + "\n").encode()
    files[EXAMPLES] = (json.dumps(examples(session), indent=1, ensure_ascii=False) + "\n").encode()
    files[CARD] = card(session, reason).encode()
    return {name: data for name, data in {**files, **recipe_files(session.experiment)}.items() if data}
