"""Around the form: the buttons that start a run, its cost, models loaded from zips, and the equations."""

from datetime import timedelta

import streamlit as st

from pages.components.file_field import file_field
from pages.components.sentences import paragraph
from pages.frame.frame import switch_checkpoint
from pages.frame.messages import message
from pages.frame.options import Options
from pages.frame.state import add_notices, current_state
from pages.runtime import session_models
from pages.runtime.session import reported
from pages.runtime.streamlit import session_id, viewer_network
from pages.runtime.texts import plain_markdown
from pages.training import runs
from pages.training.form import Chosen
from transformer.live_training import presets, training_queue
from transformer.live_training.descriptions import summary, title
from transformer.live_training.experiment import Experiment
from transformer.live_training.recordings import recorded_reference
from transformer.texts import _
from transformer.view.training_messages import FileError, read_file

FILE = "training_file"
UPDATE_EVERY = timedelta(seconds=5)  # between two updates of how many train


def _loaded() -> None:
    """Callback: open a zip that a person loaded, or say why not. It is a callback so that the checkpoint menu has the
    model."""
    state = current_state()
    if state is None:
        return
    try:
        file = read_file(reported(FILE, "file"))
        if file is None:
            return
        name, messages = session_models.add(file.name.removesuffix(".zip"), file.data, state.checkpoint)
    except (FileError, session_models.CheckpointError) as error:
        add_notices(_("The file cannot be loaded: {error}.", error=error))
        return
    switch_checkpoint(name)
    add_notices(_("Loaded: {name}. It is open now on every page, for this session only.", name=name), *messages)


def train_buttons(options: Options, chosen: Chosen) -> bool:
    """The button to train live, what to look for, and the choice between the recorded run and live runs. Returns
    whether live runs are shown."""
    queue, experiment = training_queue.shared(), chosen.experiment
    messages: list[str] = []
    ready = experiment is not None and queue.most > 0
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="hs-training-begin"):
        pressed = st.button(_("Train it live"), disabled=not ready, key="training_train")
        if pressed and experiment is not None:
            messages = runs.train(experiment)
            _open_live(options)
        reference = _untrained_reference(chosen)
        if reference is not None and experiment is not None:
            label = _("Train both: {other} and this one", other=title(reference))
            if st.button(plain_markdown(label), disabled=not ready, key="training_both"):
                messages = [*runs.train(reference, first=True), *runs.train(experiment)]
                _open_live(options)
        live = _show_live(options)
        paragraph(chosen.sentence)
    if queue.most < 1:
        message(_("This server does not train models. Its operator can allow it with headscope --trainings N."), "note")
    for sentence in messages:
        message(sentence)
    return live


def _open_live(options: Options) -> None:
    """Show the live runs, at their newest step."""
    options.report("show", "live", "recorded")
    for name in ("run", "step"):
        options.report(name, -1, -1)


def _untrained_reference(chosen: Chosen) -> Experiment | None:
    """What to train together with a changed preset, because no recorded run shows it."""
    reference = presets.reference(chosen.preset, chosen.experiment) if chosen.experiment is not None else None
    if reference is None or chosen.experiment is None or recorded_reference(chosen.experiment) is not None:
        return None
    return None if any(not reference.differences(run.experiment) for run in runs.watched()) else reference


def _show_live(options: Options) -> bool:
    """Whether live runs are shown; a choice where there are any."""
    count = len(runs.watched())
    labels = {"recorded": _("Recorded run"), "live": _("Live runs: {count}", count=count)}
    if not count:
        options.choice("show", list(labels), "recorded")
        return False
    return options.labelled("show", _("Runs"), labels, hidden=True) == "live"


@st.fragment(run_every=UPDATE_EVERY)
def cost(experiment: Experiment) -> None:
    """The cost of a run, and a process prepared with torch imported."""
    queue = training_queue.shared()
    queue.prepare()
    wait = queue.expected_wait(session_id(), viewer_network())
    if wait is None:
        line = _("{running} of {most} trainings run now, {waiting} wait in the queue.")
    elif wait == 0:
        line = _("{running} of {most} trainings run now; yours starts at once.")
    elif wait < 60:
        line = _("{running} of {most} trainings run now, {waiting} wait; yours starts in less than a minute.")
    else:
        line = _("{running} of {most} trainings run now, {waiting} wait; yours starts in about {minutes} min.")
    minutes = round((wait or 0) / 60)
    what = summary(experiment)
    paragraph(
        _("Trained live: {what}; at most {seconds:g} s of computing time.", what=what, seconds=queue.seconds),
        line.format(running=queue.running, most=queue.most, waiting=queue.waiting, minutes=minutes),
        quiet=True,
    )


def load_file() -> None:
    """The field for a zip."""
    file_field(FILE, _("Load a model (zip, 16 MB at most)"), ".zip", _loaded)


def about() -> None:
    """An explanation of the page, with its equations."""
    st.markdown(
        _(
            "Here a Transformer is trained from random weights. Each step draws a batch of inputs, compares the "
            "model's prediction of every next token with the right one, and moves all weights a little against the "
            "gradient of the **loss** (sections 5.3 and 5.4; label smoothing first moves a little of the right "
            "answer's probability to the other tokens):"
        )
    )
    st.latex(r"\mathcal{L} = -\frac{1}{n} \sum_{t=1}^{n} \log p(y_t \mid y_1, \ldots, y_{t-1},\, x)")
    st.markdown(
        _(
            "In training the decoder is fed the right answer up to each position, whatever it would have written "
            "itself: **teacher forcing**. In use it is fed what it wrote: **free-running**. Both are measured on "
            "inputs that training never sees, as the share of outputs with every token right:"
        )
    )
    st.latex(
        r"\hat{y}_t = \arg\max_y\; p(y \mid y_1, \ldots, y_{t-1},\, x) \quad\text{(forced)} \qquad "
        r"\hat{y}_t = \arg\max_y\; p(y \mid \hat{y}_1, \ldots, \hat{y}_{t-1},\, x) \quad\text{(free-running)}"
    )
    st.markdown(
        _(
            "Only with the causal mask (section 3.2.3) does the first tell you anything about the second. The "
            "**learning rate** rises during the warm-up steps and then falls with the square root of the step, as in "
            "equation 3 of section 5.3. Here you choose its largest value, and at the end it falls in a straight line "
            "to 0:"
        )
    )
    st.latex(r"\eta(t) = \eta_{\mathrm{max}} \min\!\left(\frac{t}{t_w},\, \sqrt{\frac{t_w}{t}}\right)")
    st.markdown(
        _(
            "The recorded runs were made beforehand with the same program and seed 1. A live run with seed 1 gives the "
            "same numbers again.\n\n"
            "The heads shown are for one fixed input that is never trained on. They are recorded at about a hundred "
            "steps, more of them early; the slider moves through them without the server. A run goes on while you "
            "look at another page, and ends when you close its tab. The model of a finished run is in the checkpoint "
            "menu of every page, for you only; download it as a zip to keep it. In a room, all who train the same "
            "watch one run: it goes on while anybody watches it, and all have its model."
        )
    )
