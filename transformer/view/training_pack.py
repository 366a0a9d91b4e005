"""Runs while they train, as one block of bytes for the browser in the format of `transformer.view.pack`.

The picture (training.js) keeps every frame and asks for the missing ones. Its script is sent once, and the packs come
through a small second component. A page mounts both in one fragment, so that an answer is a run of a few lines:

    _picture = st.components.v2.component("headscope.training", js=script("training"), css=style("training"))
    _feed = st.components.v2.component("headscope.training_feed", js=script("feed"))

    @st.fragment
    def live() -> None:
        result = _picture(key="training", on_ask_change=lambda: None, on_command_change=lambda: None)
        runs = st.session_state[RUNS]  # at most four, in the order of the screen
        asked = read_message(result.ask, result.command, tuple(run.id for run in runs))
        if asked.do == "stop": ...     # before packing, so that the answer shows it
        with st.container(key="hs-feeds"):
            _feed(key="training_feed", data=training_pack(runs, asked.have, more, asked.number), height=1)

Triggers of the picture (`training_messages.read_message` reads both):

    ask      {"have": {run id: frames}, "n": number, "place": what is looked at (`training_messages.Place`)}; only while
             a run is waiting, starting, training or paused, while frames are missing, or after the place changed
    command  the same and {"run": run id, "do": one of COMMANDS}; "again": the same with the next seed; "open": in the
             explorer. It is sent once and is done when a pack with its number arrives; no ask overtakes it.

The picture fills the width and, if possible, the rest of the window. When the page runs without an ask (because another
widget was used), `asked.have` is None, and the pack has no frames.

`more` comes from the page; every part may be missing:

    labels    {run id: its name, the difference from the others: "Baseline", "no causal mask"}
    waiting   number of runs in the queue, including those of other viewers
    watched   ids of runs that somebody else in the room steers
    big       whether large text is on ("Aa")
    findings  [{"run": run id, "title": text, "predicts": text, "happened": text, "section": a text such as "3.2.3",
              or "", "step": its last one as text, "verdict": "as predicted" | "differs" | "open"}], one for each row of
              "What the paper predicts / What happened here"; all texts are in the reader's language
    place     the fields of `training_messages.Place`, which the picture takes over when `scene` has changed
    preset    the preset's name, for captions of saved files
    scene     a text: the preset, whether recorded or live runs are shown, and the revision of the page's state; a
              recorded scene plays by itself
    texts     {key of training_texts.js: translation}

File upload: a component of script("training_file") and style("training"), mounted with a key,
`on_file_change=lambda: None` and data {"label": the button's text, "accept": ".zip", "big": bool, "texts": {}};
`training_messages.read_file(found.file)` is the file, or None.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from transformer.view.pack import Writer
from transformer.view.training_messages import LAST, Place

if TYPE_CHECKING:
    from transformer.live_training.live_run import LiveRun
    from transformer.live_training.recordings import RecordedRun

    Run = LiveRun | RecordedRun

MOST = 2_000_000  # bytes of attention in one pack, so that no answer delays the others; the next pack has the rest
DIGITS = 6  # of losses and shares; no screen shows more


def first_place(runs: Sequence[Run]) -> Place:
    """Where a picture begins: the last recorded run, which plays, with the head that shows most."""
    run = runs[-1] if runs else None
    kind = "cross" if run is None or run.experiment.causal else "decoder_self"
    kind, layer, head = getattr(run, "look_at", (kind, LAST, 0))
    return Place(len(runs) or 1, -1, kind, kind, layer + 1, head + 1, "predicted", "off")


def _number(value: float | None) -> float | None:
    """The rounded number; None if it is not finite, because JSON cannot express that."""
    return None if value is None or not math.isfinite(value) else round(value, DIGITS)


def _frame(frame: Any) -> dict[str, Any]:
    """The numbers and texts of a frame, without its attention, which is sent as bytes."""
    names = ("loss", "validation_loss", "forced", "exact")
    return {
        "step": frame.step,
        "seconds": round(frame.seconds, 3),
        **{name: _number(getattr(frame, name)) for name in names},
        "outputs": frame.outputs,
        "predicted": frame.predicted,
    }


def _run(
    run: Run, label: str, watched: bool, have: int | None, budget: int, writer: Writer
) -> tuple[dict[str, Any], int]:
    """The part of the header for a run, and the bytes of its attention.

    have: number of frames in the browser, None if unknown; budget: bytes left, though one frame may be larger.
    """
    # A run ends after its last frame, so the stage is read before the frames are counted: then none is missing.
    about = {
        "id": run.id,
        "label": label,
        "stage": run.stage,
        "place": run.place,
        "reason": run.reason,
        "error": str(run.error),
        "step": run.step,
        "seconds": round(run.seconds, 3),
        "limit": run.limit,
        "steps": run.experiment.steps,
        "seed": run.experiment.seed,
        "causal": run.experiment.causal,
        "recording": run.recording,
        "watched": watched,
        "wait": run.wait if run.stage == "waiting" else None,
        "openable": run.result is not None,
        "pause_left": math.ceil(run.pause_left) if run.stage == "paused" else 0,
    }
    count = len(run.frames)  # the list may grow meanwhile, but these frames stay
    start = count if have is None else min(have, count)
    new = run.frames[start:count]
    size = len(new[0].weights) if new else 0
    if size:
        new = new[: max(1, budget // size) if budget > 0 else 0]
    opening = run.opening if start == 0 else None  # a browser with a frame already has the opening
    weights = torch.frombuffer(bytearray(b"".join(frame.weights for frame in new)), dtype=torch.uint8) if new else None
    header = {
        **about,
        "opening": None if opening is None else opening.to_dict(),
        "from": start,
        "recorded": count,
        "frames": [_frame(frame) for frame in new],
        "weights": None if weights is None else writer.add(weights.reshape(len(new), size)),
    }
    return header, size * len(new)


def training_pack(
    runs: Sequence[Run], have: Mapping[str, int] | None, more: Mapping[str, Any], number: int = 0
) -> bytes:
    """The state of these runs and the missing frames, with at most MOST bytes of attention.

    have: run id -> number of frames in the browser, 0 for missing runs; None if unknown, then the pack has no frames.
    more: see the docstring of this module. number: of the message that this pack answers.

    header["runs"], in the given order: id, label, stage, place, reason, error, step, seconds, limit, steps, seed,
    causal, recording (it was made beforehand), watched (somebody else steers it), wait (seconds until it starts, None
    if unknown), openable; pause_left, seconds until a pause ends by itself, 0 without one; opening (a table, or None if
    the browser has it); from, the index of the first frame in this pack; recorded, the number of frames; frames, a
    table each, without weights; weights, uint8 [frames, bytes of a frame], or None without frames.
    """
    writer = Writer()
    labels, watched = more.get("labels") or {}, more.get("watched") or ()
    budget = MOST
    headers = []
    for run in runs:
        frames = None if have is None else have.get(run.id, 0)
        header, size = _run(run, str(labels.get(run.id, "")), run.id in watched, frames, budget, writer)
        headers.append(header)
        budget -= size
    rest = {name: value for name, value in more.items() if name not in ("labels", "watched")}
    return writer.finish({"format": 1, "number": number, "runs": headers, "more": rest})
