"""The Training page as a script: form, link, runs and commands, with a queue that trains nothing."""

import functools
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.registry import pages
from pages.runtime import session_models
from pages.training import form, runs
from tests.fuzz.folders import base
from tests.support.app import address, checkpoints, kept, messages, open_link, state_of, switch_page, written
from tests.support.fake_queue import FakeQueue, Run
from transformer.checkpoints.archive import zipped
from transformer.live_training import presets
from transformer.live_training.experiment import Experiment
from transformer.live_training.finding_texts import headline
from transformer.live_training.presets import PRESETS
from transformer.live_training.recordings import recorded_runs

BASE = PRESETS["reverse"]
PAIRS = "\n".join(f"{'x' * n}y, {'z' * n}" for n in range(1, 21))  # of a viewer's own


start = functools.partial(open_link, "training")


def press(app: AppTest, key: str = "training_train") -> AppTest:
    return app.button(key).click().run()


def command(app: AppTest, run: Run, do: str) -> AppTest:
    """A command as the picture in the browser sends it."""
    app.session_state["training"] = {"command": {"run": run.id, "do": do, "have": {}, "n": 1}}
    app.run()
    del app.session_state["training"]
    return app


def follow(app: AppTest, run: Run, page: str) -> AppTest:
    """The link from an ended run to its model on another page."""
    links = [link for link in app.page_link if run.id in link.proto.query_string]
    assert [link.label for link in links] == [page.title for page in pages() if page.opens_models]
    assert {link.proto.query_string for link in links} == {f"open={run.id}"}
    app.query_params["open"] = run.id
    return switch_page(app, page).run()


def trained(app: AppTest, queue: FakeQueue, result: bytes | None = None, reason: str = "steps") -> AppTest:
    """The page after its only run has ended. result: the model; a small one unless given."""
    press(app)
    queue.runs[0].end(result or zipped(base(), "x"), reason)
    return app.run()


def chosen(app: AppTest, queue: FakeQueue) -> Experiment:
    """The experiment that Train would start."""
    count = len(queue.runs)
    press(app)
    assert len(queue.runs) == count + 1
    return queue.runs[-1].experiment


# -- the form -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", presets.names())
def test_every_preset_has_a_text_that_matches_its_settings(queue: FakeQueue, name: str) -> None:
    assert presets.label(name) != name and presets.look_for(name)[-1] in ".?"
    app = start(preset=name)
    assert not messages(app)
    assert app.button_group("training_preset").value == name
    if name == presets.OWN:
        assert app.button("training_train").disabled
        return
    assert chosen(app, queue) == PRESETS[name]
    assert "training_both" not in [button.key for button in start(preset=name).button]  # a recorded run is beside it


def test_a_changed_preset_trains_together_with_its_reference(queue: FakeQueue) -> None:
    app = press(start(preset="no-mask", d_ff="64"), "training_both")
    changed = replace(PRESETS["no-mask"], d_ff=64)
    assert [run.experiment for run in queue.runs] == [replace(changed, causal=True), changed]
    assert "training_both" not in [button.key for button in app.run().button]


def test_the_page_shows_the_cost_of_a_run_before_it_starts(queue: FakeQueue) -> None:
    queue.running = 1
    app = start()
    assert f"{BASE.steps} steps" in written(app) and "at most 60 s of computing time" in written(app)
    assert "1 of 2 trainings run now; yours starts at once." in written(app) and queue.prepared == 1
    queue.running, queue.waiting = 2, 3
    assert "2 of 2 trainings run now, 3 wait in the queue." in written(app.run())
    for queue.soon, when in ((59.0, "less than a minute"), (61.0, "about 1 min"), (5700.0, "about 95 min")):
        assert f"2 of 2 trainings run now, 3 wait; yours starts in {when}." in written(app.run())


def test_the_page_says_how_a_preset_was_changed() -> None:
    """Then the hint of the preset is gone; other steps and seeds do not count as changes."""
    assert presets.look_for("reverse") in written(start(steps="9", seed="3")).replace("&#x27;", "'")
    app = start(mask="off", heads="2")
    assert "Reverse, changed: 2 heads, no causal mask." in written(app)
    assert "seed 1, 169,344 parameters, no causal mask; at most 60 s of computing time." in written(app)


def test_the_headline_says_what_the_recorded_run_learns_and_when() -> None:
    said = "In 400 steps a small Transformer learns to write 10 letters backwards: 0% right at first, 100% at the end."
    assert headline("reverse") == said and said in written(start())
    without = "No causal mask: after 400 steps 0% of the answers are right (with the causal mask: 100%)."
    assert headline("no-mask") == without and headline(presets.OWN) == ""
    for name in ("copy", "sort", "shift"):  # they say that it learns
        assert "learns" in headline(name) and (recorded_runs(name)[0].frames[-1].exact or 0) > 0.9
    assert said not in written(press(start()))  # the picture shows live runs


def test_a_preset_resets_earlier_changes(queue: FakeQueue) -> None:
    app = start(heads="2", seed="9")
    assert chosen(app, queue) == replace(BASE, heads=2, seed=9)
    app.button_group("training_preset").set_value("no-mask").run()
    assert chosen(app, queue) == PRESETS["no-mask"] and "heads" not in address(app)
    assert app.number_input("training_heads").value == PRESETS["no-mask"].heads


CHANGES: list[tuple[str, str, dict[str, Any]]] = [
    ("task=sort", "selectbox", {"task": "sort"}),
    ("alphabet=5", "number_input", {"alphabet": 5}),
    ("shortest=4", "number_input", {"shortest": 4}),
    ("longest=12", "number_input", {"longest": 12}),
    ("layers=1", "number_input", {"layers": 1}),
    ("heads=8", "number_input", {"heads": 8}),
    ("d_model=32", "number_input", {"d_model": 32}),
    ("d_ff=77", "number_input", {"d_ff": 77}),
    ("d_k=33", "selectbox", {"d_k": 33}),
    ("scaled=off", "toggle", {"scaling": False}),
    ("mask=off", "toggle", {"causal": False}),
    ("residual=off", "toggle", {"residual": False}),
    ("encoding=none", "selectbox", {"positions": "none"}),
    ("norm=pre", "selectbox", {"norm": "pre"}),
    ("activation=gelu", "selectbox", {"activation": "gelu"}),
    ("steps=77", "number_input", {"steps": 77}),
    ("batch=7", "number_input", {"batch": 7}),
    ("rate=0.0125", "number_input", {"peak_rate": 0.0125}),
    ("warmup=0", "number_input", {"warmup": 0}),
    ("smoothing=0.1", "number_input", {"smoothing": 0.1}),
    ("dropout=0.25", "number_input", {"dropout": 0.25}),
    ("seed=123", "number_input", {"seed": 123}),
]


@pytest.mark.slow
@pytest.mark.parametrize("link, kind, fields", CHANGES, ids=[link for link, _, _ in CHANGES])
def test_every_field_goes_into_the_link_and_comes_back(
    queue: FakeQueue, link: str, kind: str, fields: dict[str, Any]
) -> None:
    """A typed value is in the address; the address opens the same experiment, and its seed gives the same result."""
    wanted = replace(BASE, **fields)
    name, value = link.split("=")
    app = start()
    widget = getattr(app, kind)(f"training_{name}")
    assert widget.proto.help  # one line for each
    given = value == "on" if kind == "toggle" else next(iter(fields.values()))
    widget.set_value(given).run()
    assert not app.exception and not messages(app)
    assert address(app)[name] == value
    assert chosen(app, queue) == wanted
    again = start(**address(app))
    assert not messages(again) and address(again) == address(app) and chosen(again, queue) == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked, name, shown",
    [("heads=99", "heads", 8), ("steps=x", "steps", BASE.steps), ("rate=7", "peak_rate", 1.0),
     ("rate=nan", "peak_rate", BASE.peak_rate), ("rate=1e400", "peak_rate", BASE.peak_rate),
     ("dropout=-1", "dropout", 0.0), ("dropout=1e9", "dropout", 0.9),
     ("mask=perhaps", "causal", True), ("norm=<b>", "norm", "post"), ("task=x", "task", "reverse"),
     ("seed=9999999999999", "seed", 999_999), ("preset=none", "task", "reverse")],
)  # fmt: skip
def test_invalid_values_in_a_link_give_a_message(queue: FakeQueue, asked: str, name: str, shown: Any) -> None:
    link, value = asked.split("=")
    app = start(**{link: value})
    assert f"The link asks for {link} " in messages(app) and "<b>" not in messages(app)
    assert getattr(chosen(app, queue), name) == shown
    assert not messages(app)  # said once, and the address is mended
    assert not messages(start(**address(app)))


@pytest.mark.parametrize(
    "params, words",
    [
        ({"heads": "3"}, "D_model is 64 with 3 heads; choose an even d_model that is divisible by the heads"),
        ({"shortest": "12"}, "The shortest length 12 is above the longest, 10"),
        ({"alphabet": "2", "longest": "1", "shortest": "1"}, "2 symbols make only 2 different inputs of length 1"),
        (
            {"layers": "6", "d_model": "256", "d_k": "512", "heads": "8"},
            "and the limit here is 7,500,000; choose fewer layers",
        ),
    ],
)
def test_invalid_fields_give_one_message_and_stay_typed(queue: FakeQueue, params: dict[str, str], words: str) -> None:
    app = start(**params)
    assert words in messages(app)
    assert app.button("training_train").disabled and not queue.runs
    for name, value in params.items():
        field = app.selectbox if name == "d_k" else app.number_input
        assert field(f"training_{name}").value == int(value) and address(app)[name] == value


@pytest.mark.parametrize("name, typed, words", [("longest", 1000, "1 to 32"), ("alphabet", 1, "2 to 52")])
def test_a_typed_number_out_of_bounds_is_refused_and_stays_typed(
    queue: FakeQueue, name: str, typed: int, words: str
) -> None:
    """No run silently uses another number than the field shows."""
    app = start()
    field = app.number_input(f"training_{name}")
    assert (field.proto.has_min, field.proto.has_max) == (False, False)  # the browser would send nothing
    field.set_value(typed).run()
    assert words in messages(app) and app.button("training_train").disabled
    assert app.number_input(f"training_{name}").value == typed
    app.number_input(f"training_{name}").set_value(10).run()
    assert not messages(app) and getattr(chosen(app, queue), name) == 10


def test_own_pairs_stay_in_the_session(queue: FakeQueue) -> None:
    app = start(preset="own")
    assert "Paste your pairs" in written(app)
    typed = "a, b\n<b>c</b>"
    app.text_area("training_pairs").set_value(typed).run()
    assert "Line 2 has only one side" in messages(app) and "<b>" not in messages(app)
    assert app.text_area("training_pairs").value == typed and app.button("training_train").disabled
    app.text_area("training_pairs").set_value(PAIRS).run()
    assert not messages(app) and "z" not in str({k: v for k, v in address(app).items() if k != "source"})
    experiment = chosen(app, queue)
    queue.runs[0].end()
    assert [button.proto.label for button in app.run().get("download_button")] == ["Recipe"] and not app.exception
    assert experiment.task == "own" and len(experiment.pairs) == 20 and experiment.pairs[0] == ("xy", "z")
    assert start(**address(app)).text_area("training_pairs").value == ""  # another session has its own


def test_fields_and_buttons_that_are_not_always_there(queue: FakeQueue) -> None:
    assert chosen(start(preset="shift", shift="5"), queue) == replace(PRESETS["shift"], shift=5)
    app = start()
    assert "training_shift" not in [element.key for element in app.number_input]
    field = app.selectbox("training_d_k")
    assert field.options[:2] == ["d_model / heads", "1"] and field.value == 0
    assert {link.split("=")[0] for link, _, _ in CHANGES} | {"preset", "shift"} == set(form.OPTIONS)
    queue.most = 0
    app = start()
    assert "This server does not train models" in written(app) and app.button("training_train").disabled


# -- what is looked at ------------------------------------------------------------------------------------------------

PLACE = {"run": 2, "step": 120, "kinds": "all", "kind": "cross", "layer": 1, "head": 3, "rows": "fed", "log": "on"}


def look(app: AppTest, place: object, scene: str = "no-mask recorded") -> AppTest:
    """The picture in the browser tells what is looked at."""
    scene = f"{scene} {state_of(app).revision}"
    app.session_state["training"] = {"ask": {"have": {}, "n": 1, "scene": scene, "place": place}}
    app.run()
    del app.session_state["training"]
    return app


def test_the_link_holds_what_is_looked_at() -> None:
    app = look(start(preset="no-mask"), PLACE)
    told = {name: str(value) for name, value in PLACE.items() if name != "run"}  # the run of the preset is the default
    assert not app.exception and {name: address(app).get(name) for name in told} == told and "run" not in address(app)
    again = start(**address(app))
    assert not messages(again) and address(again) == address(app)
    app.selectbox("training_more").set_value("copy").run()
    assert app.button_group("training_preset").value == "copy" and app.selectbox("training_more").value is None
    assert not set(told) & set(address(app))


def test_a_place_that_is_none_changes_nothing() -> None:
    app = start(preset="no-mask")
    before = address(app)
    for wrong in ({"kind": "<b>"}, {"step": -2}, {"layer": "1"}, {"log": []}):
        assert address(look(app, {**PLACE, **wrong})) == before and not app.exception, wrong
    for place in (None, 5, {}):
        assert address(look(app, place)) == before and not app.exception and not messages(app), place
    assert address(look(app, PLACE, "copy recorded")) == before  # of a picture that is not shown any more


def test_a_run_that_was_trained_is_shown_and_the_recorded_one_is_a_press_away() -> None:
    app = press(look(start(preset="no-mask"), PLACE))
    assert address(app)["show"] == "live" and "step" not in address(app)
    app.button_group("training_show").set_value("recorded").run()
    assert not app.exception and address(app)["show"] == "recorded"
    fresh = start(preset="no-mask", show="live")  # a session without runs shows the recorded one
    assert not messages(fresh)


# -- runs -----------------------------------------------------------------------------------------------------------


def test_a_fifth_run_replaces_the_oldest_one_that_ended(queue: FakeQueue) -> None:
    """But never the first, which the others are compared with."""
    app = press(start())
    for _ in range(4):
        command(app, queue.runs[-1], "again")
    assert [run.experiment.seed for run in queue.runs] == [1, 2, 3, 4]
    assert "You already have 4 runs that train or wait. Stop or remove one first." in messages(app)
    queue.runs[0].end()
    queue.runs[2].end()
    press(app)  # the seeds 1 to 4 are here
    assert queue.runs[4].experiment.seed == 5
    kept_runs = [watched.run for watched in kept(app, runs.Runs).watched]
    assert kept_runs == [queue.runs[0], queue.runs[1], queue.runs[3], queue.runs[4]]
    assert "seed 3 was removed, because at most 4 runs are shown" in messages(app)


def test_the_same_experiment_is_not_queued_twice(queue: FakeQueue) -> None:
    """Before its run has ended; afterwards it is trained again, with the next seed."""
    app, sentence = press(start()), "This run waits or trains already, with seed {}. To train it again now, choose"
    assert not messages(app)
    for stage in ("waiting", "starting", "training", "paused"):
        queue.runs[0].stage = stage
        assert sentence.format(1) in messages(press(app)) and len(queue.runs) == 1
    queue.runs[0].end()
    press(app)
    assert "The new run has seed 2." in messages(app) and len(queue.runs) == 2
    assert sentence.format(2) in messages(press(app)) and len(queue.runs) == 2
    app.number_input("training_seed").set_value(2).run()
    assert sentence.format(2) in messages(press(app)) and len(queue.runs) == 2
    app.number_input("training_seed").set_value(7).run()
    assert not messages(press(app)) and [run.experiment.seed for run in queue.runs] == [1, 2, 7]


def test_a_refused_run_gives_a_message_and_removes_no_other_run(queue: FakeQueue) -> None:
    app = start()
    for _ in range(4):
        press(app)
        queue.runs[-1].end()
    queue.refuses = "the queue is full, 100 runs are waiting; try again in a few minutes"
    press(app)
    assert "The queue is full, 100 runs are waiting; try again in a few minutes." in messages(app)
    assert [watched.run for watched in kept(app, runs.Runs).watched] == queue.runs


def test_commands_of_the_picture(queue: FakeQueue) -> None:
    app = press(start())
    (run,) = queue.runs
    for do in ("pause", "go", "stop"):
        command(app, run, do)
    assert run.told == ["pause", "go", "stop"]
    command(app, run, "again")
    assert queue.runs[1].experiment == replace(run.experiment, seed=run.experiment.seed + 1)
    assert [watched.run for watched in kept(app, runs.Runs).watched] == queue.runs
    command(app, run, "remove")
    assert [watched.run for watched in kept(app, runs.Runs).watched] == queue.runs[1:] and run.told[-1] == "stop"
    command(app, run, "stop")  # a run that is gone
    command(app, queue.runs[1], "burn")
    assert not app.exception and queue.runs[1].told == []


def test_a_run_that_ended_is_a_model_of_every_page(queue: FakeQueue) -> None:
    app = press(start(preset="no-mask"))
    (run,) = queue.runs
    assert checkpoints(app.run()) == checkpoints(app) and "mine/reverse, no causal mask" not in checkpoints(app)
    run.end(zipped(base(), "x"))
    switch_page(app, "model").run()  # who looks at another page finds it there
    assert "mine/reverse, no causal mask" in checkpoints(app)
    switch_page(app, "training").run()
    assert not app.exception and len(app.get("download_button")) == 2
    for name in (page.name for page in pages() if page.opens_models):
        assert state_of(follow(app, run, name)).checkpoint == "mine/reverse, no causal mask"
        assert not app.exception and "open" not in app.query_params and not messages(app), name
        switch_page(app, "training").run()
    command(app, run, "remove")
    assert "mine/reverse, no causal mask" in checkpoints(app.run())


def test_models_of_runs_that_were_stopped_evicted_or_damaged(queue: FakeQueue) -> None:
    app = press(start())
    queue.runs[0].end(zipped(base(), "x"), "stopped")
    queue.runs[0].step = 77
    app.run()
    assert list(kept(app, session_models.OwnModels).models) == ["mine/reverse, 77 steps"]
    kept(app, session_models.OwnModels).models = {}  # evicted: it is opened again
    follow(app, queue.runs[0], "lab")
    assert not app.exception and state_of(app).checkpoint == "mine/reverse, 77 steps"
    queue.runs.clear()
    app = trained(start(), queue, b"x")
    assert "The model of reverse cannot be opened: this file is not a complete zip" in messages(app)
    assert not app.exception and len(app.get("download_button")) == 1  # the recipe


def test_a_link_to_a_run_of_another_session_gives_a_sentence(queue: FakeQueue) -> None:
    app = trained(start(), queue)
    before = state_of(app).checkpoint
    app.query_params["open"] = "<b>x</b>"
    switch_page(app, "lab").run()
    assert "The link opens the model of a run that is not on your Training page" in messages(app)
    assert not app.exception and state_of(app).checkpoint == before
    assert "The link opens" not in messages(app.run()) and "open" not in app.query_params
