"""The runs that a session watches, at most four: its own and those of its room; when they end, their models belong to
the session, too."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pages.frame import room
from pages.frame.frame import on_every_run, on_open_model
from pages.frame.state import add_notices, current_state
from pages.runtime import session_models
from pages.runtime.memory import weigh
from pages.runtime.session import from_session
from pages.runtime.shared import SharedCache
from pages.runtime.streamlit import session_id, viewer_network
from pages.training.sharing import Audience, start_or_join, watched_by_teacher
from transformer.checkpoints.folder import CheckpointError
from transformer.live_training import training_queue
from transformer.live_training.descriptions import labels, phrase, title
from transformer.live_training.experiment import BOUNDS, Experiment
from transformer.live_training.live_run import LiveRun
from transformer.live_training.recordings import RecordedRun, recorded_names, recorded_reference, recorded_runs
from transformer.live_training.training_queue import QueueError
from transformer.texts import _

MOST = 4  # most runs shown together


def _empty(run: LiveRun) -> None:
    run.frames, run.result = [], None


# What runs recorded. A run that still trains stays; an ended one may have to go.
RECORDED: SharedCache[LiveRun] = SharedCache(
    "trainings", lambda _, run: not run.ended, _empty, weigh=lambda run: weigh(run.frames, run.result)
)


@dataclass
class Watched:
    """A run that this session started or joined. asked: the experiment that was asked for, which may have another seed;
    name: of its model in the session, once there is one; error: why there is none."""

    audience: Audience
    asked: Experiment
    name: str = ""
    error: str = ""

    @property
    def run(self) -> LiveRun:
        return self.audience.run

    @property
    def experiment(self) -> Experiment:
        experiment: Experiment = self.run.experiment
        return experiment


@dataclass
class Runs:
    """Of one session. watched: the runs in the order shown; followed: ids of those that came with the teacher's view;
    messages: what the last command on the picture gave to say."""

    watched: list[Watched] = field(default_factory=list)
    followed: set[str] = field(default_factory=set)
    messages: list[str] = field(default_factory=list)


def of_session() -> Runs:
    """The runs of this session."""
    return from_session(Runs)


def watched() -> list[Watched]:
    """The runs in the order shown; the others are compared with the first."""
    return of_session().watched


def shown(name: str, live: bool) -> list[LiveRun | RecordedRun]:
    """The runs in the picture: live ones, after the recorded run that they are compared with; or the recorded runs of a
    preset."""
    runs = [entry.run for entry in watched()] if live else []
    if not runs:
        return [*recorded_runs(name)]
    reference = recorded_reference(runs[0].experiment) if len(runs) < MOST else None
    return [*([reference] if reference is not None else []), *runs]


def names(runs: Sequence[LiveRun | RecordedRun]) -> list[str]:
    """Short names; a recorded run beside live ones says that it is recorded."""
    recorded = [run for run in runs if isinstance(run, RecordedRun)]
    if len(recorded) == len(runs):
        return recorded_names(recorded)
    found = labels([run.experiment for run in runs])
    return [
        _("{run} (recorded)", run=name) if isinstance(run, RecordedRun) else name
        for run, name in zip(runs, found, strict=True)
    ]


def _with_next_seed(experiment: Experiment) -> Experiment:
    return replace(experiment, seed=(experiment.seed + 1) % (BOUNDS["seed"][1] + 1))


def with_new_seed(experiment: Experiment) -> tuple[Experiment, list[str]]:
    """The experiment with the first seed from its own on that no run here has; and a sentence if that is another
    one."""
    here = [entry.experiment for entry in watched()]
    new = experiment
    while any(not new.differences(one) for one in here):
        new = _with_next_seed(new)
    if new == experiment:
        return experiment, []
    sentence = _("There is a run with {seed} already, and the same seed gives the same run. The new run has {new}.")
    return new, [sentence.format(seed=phrase("seed", experiment), new=phrase("seed", new))]


def train(experiment: Experiment, first: bool = False) -> list[str]:
    """Start a run with a seed that is new here, before the others if first; but none for an experiment whose run has
    not ended. Returns messages."""
    runs, messages = watched(), list[str]()
    for entry in runs:
        if experiment in (entry.asked, entry.experiment) and not entry.run.ended:
            sentence = _("This run waits or trains already, with {seed}. To train it again now, choose another seed.")
            return [sentence.format(seed=phrase("seed", entry.experiment))]
    asked = experiment
    if len(runs) >= MOST:
        ended = [entry for entry in runs[1:] + runs[:1] if entry.run.ended]  # the first run is removed last
        if not ended:
            return [_("You already have {most} runs that train or wait. Stop or remove one first.", most=MOST)]
        sentence = _(
            "{run} was removed, because at most {most} runs are shown. Its model stays in the checkpoint menu."
        )
        removed = labels([entry.experiment for entry in runs])[runs.index(ended[0])]
        messages.append(sentence.format(run=removed, most=MOST))
    experiment, said = with_new_seed(experiment)
    session, code = session_id(), _room()
    try:
        audience, joined = start_or_join(
            code, experiment, session, room.teaches(),
            lambda watched: training_queue.shared().submit(experiment, watched, session, viewer_network()),
        )  # fmt: skip
    except QueueError as error:
        text = str(error)
        return [f"{text[:1].upper()}{text[1:]}."]
    if messages:
        collect()
        runs.remove(ended[0])
    messages += said
    if joined and audience.run.ended:
        messages.append(_("Your room has trained this already: here is that run."))
    elif joined:
        messages.append(_("Your room trains this already: you watch that run."))
    runs.insert(0 if first else len(runs), Watched(audience, asked))
    return messages


def _room() -> str:
    """The code of this session's room, "" for none."""
    here = room.seat()
    return here.code if here is not None else ""


def steers(watched_run: Watched) -> bool:
    """Whether this session may pause and stop a run: it started it, or teaches the room."""
    audience = watched_run.audience
    return audience.steers(session_id()) or (room.teaches() and audience.room == _room())


def join_teacher() -> None:
    """Whoever follows the teacher watches the teacher's runs; one that was removed here does not come back."""
    followed = of_session().followed
    for audience in watched_by_teacher(_room()) if room.follows() else ():
        known = audience.run.id in followed or any(entry.audience is audience for entry in watched())
        if not known and len(watched()) < MOST:
            audience.join(session_id(), False)
            watched().append(Watched(audience, audience.run.experiment))
        followed.add(audience.run.id)


def again(watched_run: Watched) -> list[str]:
    """Train the same with the next seed."""
    return train(_with_next_seed(watched_run.experiment))


def remove(watched_run: Watched) -> None:
    """Remove a run from the page; its model stays in the session. It ends if nobody else watches it."""
    watched_run.audience.leave(session_id(), room.teaches())
    collect()
    watched().remove(watched_run)


def _is_kept(audience: Audience) -> bool:
    """Weigh what its run has recorded so far. False: the run had to go."""
    counted = len(audience.run.frames), audience.run.ended
    if counted != audience.counted:
        RECORDED.store(audience.owner.id, audience.run, audience.owner.id)
        audience.counted = counted
    return RECORDED.find(audience.owner.id) is not None


def collect() -> None:
    """Add the models of ended runs to the session, with a notice for each model removed for them."""
    for entry in [entry for entry in watched() if not _is_kept(entry.audience)]:
        watched().remove(entry)
        add_notices(_("A run was removed: the server needed its memory. Its model stays in the checkpoint menu."))
    for entry in watched():
        run = entry.run
        if not run.ended or run.result is None or entry.name or entry.error:
            continue
        name = title(run.experiment)
        if run.reason != "steps":  # it ended early
            name = _("{title}, {step} steps", title=name, step=run.step)
        state = current_state()
        try:
            entry.name, dropped = session_models.add(name, run.result, state.checkpoint if state is not None else "")
            add_notices(*dropped)
        except CheckpointError as error:
            entry.error = str(error)


def model_of(run: str) -> str | None:
    """The name of the model of a run of this session: "" if it has none, None if the run is not here."""
    for entry in watched():
        if entry.run.id == run:
            if entry.name and entry.name not in session_models.own_models():  # it was removed meanwhile
                entry.name = ""
                collect()
            return entry.name
    return None


on_every_run(collect)
on_open_model(model_of)
