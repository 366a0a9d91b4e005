"""What to train: visible presets, and every field in a folded section. All of it is in the link, except a person's own
pairs."""

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.frame.messages import capital, message
from pages.frame.options import Options, show_value
from pages.runtime.session import from_session
from transformer.live_training import presets
from transformer.live_training.descriptions import differences_words
from transformer.live_training.experiment import BOUNDS, CHOICES, LARGEST_D_K, LARGEST_RATE, Experiment, ExperimentError
from transformer.live_training.pairs import MOST, read_pairs
from transformer.texts import _, comma_list

MORE = "training_more"
PAIRS = "training_pairs"  # key of the field for own pairs
OPTIONS = (
    "preset", "task", "alphabet", "shortest", "longest", "shift", "layers", "heads", "d_model", "d_ff", "d_k",
    "scaled", "mask", "encoding", "residual", "norm", "activation", "steps", "batch", "rate", "warmup", "smoothing",
    "dropout", "seed",
)  # fmt: skip
LONGEST = 400_000  # characters of all pairs; 2,000 pairs of 64 + 64 with separators have 260,000


@dataclass(frozen=True)
class Chosen:
    """preset: its name; experiment: the chosen one, None if it is invalid, which the page says; sentence: what to look
    for."""

    preset: str
    experiment: Experiment | None
    sentence: str


def form(options: Options, top: DeltaGenerator, details: DeltaGenerator) -> Chosen:
    """top: above the picture, with the presets; details: below it, with every field."""
    with top:
        name = _preset(options)
        options.message_place = st.container()  # the fields are in a fold below the picture
        basis = presets.base(name)
        task = str(options.choice("task", CHOICES["task"], presets.OWN if name == presets.OWN else basis.task))
        pairs = _pairs() if task == presets.OWN else None
    with details:
        values = _fields(options, basis, task)
    options.message_place = None
    experiment: Experiment | None
    try:
        experiment = replace(basis, **values, task=task, pairs=read_pairs(pairs) if pairs is not None else ())
    except ExperimentError as error:
        with top:
            if pairs is not None and not pairs.strip():
                message(_("Paste your pairs to train on them: an input and its answer on each line."), "note")
            else:
                message(f"{capital(error)}.", "error")
        experiment = None
    return Chosen(name, experiment, _look_for(name, experiment))


def _preset(options: Options) -> str:
    """The preset: a few and the chosen one in a bar, the others in a menu."""

    def chosen() -> None:
        options.forget()
        options.report("preset", st.session_state[MORE])
        st.session_state[MORE] = None

    asked, title = str(options.choice("preset", presets.names(), presets.FIRST)), _("What to train")
    bar = list(dict.fromkeys((*presets.HIGHLIGHTS, asked)))
    others = [name for name in presets.names() if name not in bar]
    with st.container(horizontal=True, gap="small", vertical_alignment="center", key="hs-training-presets"):
        options.segment("preset", title, bar, presets.FIRST, presets.label, hidden=True, alone=True)
        st.selectbox(title, others, None, presets.label, MORE, on_change=chosen, placeholder=_("More"),
                     label_visibility="collapsed", width=110)  # fmt: skip
    return asked


def _look_for(name: str, experiment: Experiment | None) -> str:
    """What to look for in a preset, or how it was changed."""
    preset = presets.PRESETS.get(name)
    changed = experiment.differences(preset) if experiment is not None and preset is not None else ()
    if experiment is None or preset is None or set(changed) <= {"steps", "seed"}:
        return presets.look_for(name)
    what = comma_list(differences_words(experiment, preset))
    return _(
        "{preset}, changed: {what}. Train it to see what this does; the recorded run is without the change."
    ).format(preset=presets.label(name), what=what)


@dataclass
class TypedPairs:
    """text: a person's own pairs, which are in no link and no other session."""

    text: str = ""


def _typed() -> None:
    from_session(TypedPairs).text = st.session_state.get(PAIRS, "")


def _pairs() -> str:
    """The field for a person's own pairs; typed text stays, whatever happens to it."""
    typed = from_session(TypedPairs).text
    show_value(PAIRS, typed)
    text = st.text_area(
        _("Your pairs, up to {most:,}: one on each line, the input, then a tab or a comma, then the answer", most=MOST),
        key=PAIRS,
        on_change=_typed,
        height=120,
        max_chars=LONGEST,
        placeholder="one, eins\ntwo, zwei\nthree, drei",
        help=_("They stay in this session. No link contains them, and no other visitor sees them."),
    )
    return str(text)


def _fields(options: Options, basis: Experiment, task: str) -> dict[str, Any]:
    """All fields, in a folded section. Returns the chosen values by the field names of `Experiment`."""
    with options.panel("details", _("Details: task, model, the paper's switches, training")):
        columns = st.columns(4, gap="medium")
        with columns[0]:
            values = _task_fields(options, basis, task)
        with columns[1]:
            values |= _model_fields(options, basis)
        with columns[2]:
            values |= _switch_fields(options, basis)
        with columns[3]:
            values |= _training_fields(options, basis)
    return values


def _heading(text: str) -> None:
    st.html(f'<h2 class="hs-tr-title">{text}</h2>')


def _whole(options: Options, basis: Experiment, *fields: tuple[str, str, str]) -> dict[str, int]:
    """Whole numbers. fields: (name in `Experiment` and in links, label, help)."""
    return {
        name: options.number(name, label, *BOUNDS[name], getattr(basis, name), refuse=False, help=about)
        for name, label, about in fields
    }


def _task_fields(options: Options, basis: Experiment, task: str) -> dict[str, Any]:
    _heading(_("Task"))
    words = {
        "copy": _("copy"), "reverse": _("reverse"), "sort": _("sort"), "shift": _("shift by k"), "own": _("own pairs"),
    }  # fmt: skip
    about = _(
        "Every input has one right answer, so seconds of training show what a translation (section 6.1) shows in days."
    )
    options.choose("task", _("Task"), CHOICES["task"], task, words.__getitem__, help=about)
    if task == presets.OWN:
        return {}
    many = _("Number of symbols: the first of a to z and A to Z. Each has its own embedding (section 3.4).")
    short = _("Symbols of the shortest input. Only the positions tell where each one stands (section 3.5).")
    long = _("Symbols of the longest input. Attention links any two in one step, at any distance (section 4).")
    values: dict[str, Any] = _whole(
        options,
        basis,
        ("alphabet", _("Symbols"), many),
        ("shortest", _("Shortest input"), short),
        ("longest", _("Longest input"), long),
    )
    if task == "shift":
        about = _("Each symbol becomes the k-th one after it in the alphabet and keeps its position (section 3.5).")
        most = BOUNDS["alphabet"][1] - 1
        values["shift"] = options.number("shift", _("k"), 1, most, basis.shift, refuse=False, help=about)
    return values


def _model_fields(options: Options, basis: Experiment) -> dict[str, Any]:
    _heading(_("Model"))
    layers = _("N of section 3.1: layers in the encoder, and as many in the decoder. The paper: 6.")
    heads = _("h of section 3.2.2: heads side by side, each in its own space. The paper: 8.")
    d_model = _("Length of the vector of a token (section 3.1): even, and divisible by the heads. The paper: 512.")
    d_ff = _("Neurons of each feed-forward network (section 3.3). The paper: 2048.")
    values: dict[str, Any] = _whole(
        options,
        basis,
        ("layers", _("Layers per stack"), layers),
        ("heads", _("Heads"), heads),
        ("d_model", "d_model", d_model),
        ("d_ff", "d_ff", d_ff),
    )
    about = _("Length of a query and of a key (section 3.2.1). The paper: d_model / heads. Type a number to find it.")
    usual = _("d_model / heads")
    values["d_k"] = (
        options.choose("d_k", "d_k", range(LARGEST_D_K + 1), basis.d_k or 0, lambda d_k: str(d_k or usual), help=about)
        or None
    )
    return values


def _switch_fields(options: Options, basis: Experiment) -> dict[str, Any]:
    _heading(_("The paper's parts"))
    values: dict[str, Any] = {}
    about = _("Scores are divided by √dₖ. Otherwise large scores leave the softmax almost no gradient (section 3.2.1).")
    values["scaling"] = options.toggle("scaled", _("Scaling by √dₖ"), basis.scaling, help=about)
    about = _("Hides the tokens that the decoder has not written yet (section 3.2.3).")
    values["causal"] = options.toggle("mask", _("Causal mask"), basis.causal, help=about)
    about = _("The input of a sub-layer is added to its output (section 3.1).")
    values["residual"] = options.toggle("residual", _("Residual connections"), basis.residual, help=about)
    positions = {"sinusoidal": _("sinusoidal"), "learned": _("learned"), "none": _("none")}
    about = _("Tells positions apart: sine and cosine, or a learned table (section 3.5; Table 3, row E).")
    values["positions"] = options.choose(
        "encoding", _("Positions"), CHOICES["positions"], basis.positions, positions.__getitem__, help=about
    )
    norms = {"post": _("after, as in the paper"), "pre": _("before"), "none": _("none")}
    about = _("After the sum, as in section 3.1, or before each sub-layer, as in most later models.")
    values["norm"] = options.choose("norm", "LayerNorm", CHOICES["norm"], basis.norm, norms.__getitem__, help=about)
    kinds = {"relu": "ReLU", "gelu": "GELU"}
    about = _("Between the two matrices of the feed-forward network: max(0, x) in section 3.3.")
    values["activation"] = options.choose(
        "activation", _("Activation"), CHOICES["activation"], basis.activation, kinds.__getitem__, help=about
    )
    return values


def _training_fields(options: Options, basis: Experiment) -> dict[str, Any]:
    _heading(_("Training"))
    steps = _("Number of weight updates (section 5.2). The paper: 100,000.")
    batch = _("Inputs in one step (section 5.1). The paper: about 25,000 tokens.")
    wholes = ("steps", _("Steps"), steps), ("batch", _("Inputs per step"), batch)
    values: dict[str, Any] = _whole(options, basis, *wholes)
    about = _("The largest of the schedule (section 5.3); Adam divides by how much each weight's gradient varies.")
    values["peak_rate"] = options.fraction(
        "rate",
        _("The largest rate of the schedule (section 5.3). Adam divides it by how much each weight's gradient varies."),
        0.00001,
        LARGEST_RATE,
        basis.peak_rate,
        0.001,
        "%.5f",
        refuse=False,
        help=about,
    )
    about = _("Steps until the rate reaches its largest value (section 5.3). 0: the largest at once. The paper: 4,000.")
    values |= _whole(options, basis, ("warmup", _("Warm-up"), about))
    about = _("Share of the probability moved from the right answer to all others (section 5.4). The paper: 0.1.")
    values["smoothing"] = options.fraction(
        "smoothing", _("Label smoothing"), 0.0, 0.9, basis.smoothing, 0.05, "%.2f", refuse=False, help=about
    )
    about = _("Share of numbers left out at random in training (section 5.4). The paper: 0.1.")
    values["dropout"] = options.fraction(
        "dropout", _("Dropout"), 0.0, 0.9, basis.dropout, 0.05, "%.2f", refuse=False, help=about
    )
    about = _("Decides everything random, first weights and inputs. The same seed gives the same result.")
    values |= _whole(options, basis, ("seed", _("Seed"), about))
    return values
