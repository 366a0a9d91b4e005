"""Experiments in words: what is trained, and how two experiments differ."""

from collections.abc import Sequence

from transformer.live_training.experiment import Experiment
from transformer.texts import _, comma_list

TASK_FIELDS = ("task", "shift", "pairs", "alphabet", "shortest", "longest")
PLAIN = Experiment()  # the small version of the paper's model, which names of runs refer to
ALWAYS_NAMED = ("layers", "heads", "d_model", "steps", "batch", "seed")  # always part of the summary


def task_words(experiment: Experiment) -> str:
    """The task in a word or two."""
    return {
        "copy": _("copy"),
        "reverse": _("reverse"),
        "sort": _("sort"),
        "shift": _("shift by {k}").format(k=experiment.shift),
        "own": _("own pairs"),
    }[experiment.task]


def lengths_words(experiment: Experiment) -> str:
    if experiment.shortest == experiment.longest:
        return _("length {n}").format(n=experiment.longest)
    return _("length {low} to {high}").format(low=experiment.shortest, high=experiment.longest)


def phrase(name: str, experiment: Experiment) -> str:
    """A field of an experiment in words, to tell it from another experiment."""
    value = getattr(experiment, name)
    counted = {
        "alphabet": _("{n} symbols"),
        "layers": _("{n} + {n} layers"),
        "heads": _("one head") if value == 1 else _("{n} heads"),
        "d_model": _("d_model {n}"),
        "d_ff": _("d_ff {n}"),
        "d_k": _("d_k = d_model / heads") if value is None else _("d_k {n}"),
        "steps": _("{n} steps"),
        "batch": _("{n} inputs per step"),
        "peak_rate": _("learning rate {n}"),
        "warmup": _("warm-up of {n} steps") if value else _("no warm-up"),
        "smoothing": _("label smoothing {n}") if value else _("no label smoothing"),
        "dropout": _("dropout {n}") if value else _("no dropout"),
        "seed": _("seed {n}"),
    }
    if name in counted:
        return counted[name].format(n=f"{value:g}" if isinstance(value, float) else value)
    named = {
        ("scaling", True): _("scaled"),
        ("scaling", False): _("not scaled"),
        ("causal", True): _("with the causal mask"),
        ("causal", False): _("no causal mask"),
        ("residual", True): _("with residual connections"),
        ("residual", False): _("no residual connections"),
        ("positions", "sinusoidal"): _("sinusoidal positions"),
        ("positions", "learned"): _("learned positions"),
        ("positions", "none"): _("no positions"),
        ("norm", "post"): _("LayerNorm after"),
        ("norm", "pre"): _("LayerNorm before"),
        ("norm", "none"): _("no LayerNorm"),
        ("activation", "relu"): "ReLU",
        ("activation", "gelu"): "GELU",
    }
    if name in ("task", "shift"):
        return task_words(experiment)
    if name in ("shortest", "longest"):
        return lengths_words(experiment)
    return _("other pairs") if name == "pairs" else named[name, value]


def differences_words(experiment: Experiment, other: Experiment) -> list[str]:
    """How it differs from the other, smaller differences first; empty for the same experiment."""
    return list(dict.fromkeys(phrase(name, experiment) for name in experiment.differences(other)))


def _unusual(experiment: Experiment, *named: str) -> list[str]:
    """How it differs from the plain model on any task. named: fields that are named anyway."""
    phrases = [phrase(name, experiment) for name in experiment.differences(PLAIN) if name not in (*TASK_FIELDS, *named)]
    return list(dict.fromkeys(phrases))


def title(experiment: Experiment) -> str:
    """The task, and every difference from the plain model: "reverse, no causal mask"."""
    return comma_list([task_words(experiment), *_unusual(experiment, "steps")])


def labels(experiments: Sequence[Experiment]) -> list[str]:
    """Short names of runs shown together: the first by what it is, the others by how they differ from it."""
    texts: list[str] = []
    for experiment in experiments:
        text = comma_list(differences_words(experiment, experiments[0])) if texts else title(experiment)
        text = text or _("the same again")
        texts.append(text if text not in texts else f"{text} ({texts.count(text) + 1})")
    return texts


def summary(experiment: Experiment) -> str:
    """The whole experiment in one line; of the usual settings only the sizes."""
    parts = [task_words(experiment)]
    if experiment.task != "own":
        parts += [phrase("alphabet", experiment), lengths_words(experiment)]
    parts += [phrase(name, experiment) for name in ALWAYS_NAMED]
    parts.append(_("{n} parameters").format(n=f"{experiment.parameters:,}"))
    return comma_list([*parts, *_unusual(experiment, *ALWAYS_NAMED)])
