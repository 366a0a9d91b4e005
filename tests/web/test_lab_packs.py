"""The Lab's pictures get the same from the engine as from the server."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.components import compared_heads, translation
from pages.components.comparison import Compared
from pages.components.descriptions import in_words, scaling_note
from pages.lab import measures, scaling
from tests.support import node
from tests.support.payloads import array, unpack
from tests.support.t5 import t5_folder
from transformer.analysis.saturation import MEASURES
from transformer.analysis.translation import mean_probability, perplexity
from transformer.inference.pretrained import Pretrained, load
from transformer.interventions.sets import NONE, InterventionError, Interventions, Pad
from transformer.tracing.trace import KINDS
from transformer.view.pack import full_pack
from transformer.view.shared_texts import say
from transformer.view.state import View
from transformer.web.folder import export_folder

Job = tuple[str, str, str]  # source, target, switches
Answers = dict[Job, dict[str, Any]]

SCRIPT = "lab/testing/lab_packs.js"
FOLDER = Path(__file__).parents[2] / "checkpoints" / "reverse"
SHOWN = 1e-4  # of the numbers that a picture writes
SAME = ("tokens", "labels", "words", "word_labels", "special", "sentences", "own", "causal", "biased", "heads")
JOBS = [
    ("stone", "", ""),
    ("stone", "", "scaling=off"),
    ("transformer", "", "causal=off"),
    ("transformer", "", "pad=3 padding=off@encoder_self"),
    ("stone", "enots", "pad=2"),
    ("stone", "onset", "weights=uniform@cross.1,argmax@encoder_self.2.3 zero=cross.2.1,cross.2.2"),
    ("abcabc", "", "hide=source.2,source.3@cross.1 scaling=0.5@decoder_self"),
    ("abcabc", "", "zero=encoder_self,cross.1 causal=off@decoder_self.1"),
    ("word", "", "hide=target.1 causal=off"),  # can be traced, but not written token by token
]
# Switches that do not fit their sentence, and what is left of them.
UNFIT = [("abc", "hide=source.9 scaling=off", "scaling=off"), ("abc", "hide=target.1 zero=cross", "zero=cross")]
PHRASES = [
    "scaling=0.5@cross.2,0.5@encoder_self,off@cross.*.3 weights=uniform@all.2,argmax@all.1.2",
    "zero=cross.2 mean=cross.1,encoder_self.2 pad=1",
    "zero=all.*.2 positions=shift.5@source,remove@target,scale.0.5 skip=decoder.2.ff,encoder.1.self",
    "zero=cross.1.2 neurons=encoder.1.17,decoder.2.3,decoder.2.4",
    "hide=" + ",".join(f"source.{n}" for n in range(1, 12)),
    "resample=text.a@cross,7@encoder_self causal=off@decoder_self padding=off@encoder_self",
    "hide=target.2@decoder_self.1,source.11,source.3,target.7",
    "scaling=" + ",".join(f"0.{n}@cross.1" for n in range(11, 20)),
]
# Values in links, many of them none that the model can have.
VALUES = {
    "scaling": "0 -1 1e30 nan off@nowhere off@cross.3 off@cross.1.5 2 off,0.5@cross.2 1e-3@all.2.2 off,",
    "causal": "on off@cross off@decoder_self.3 off@all.1 off",
    "padding": "1 off off@decoder_self off@cross.2.4",
    "pad": "0 64 65 two 2@cross",
    "hide": "source source.0 source.1@decoder_self target.1@cross source.1@all.1 source.3,target.2@decoder_self",
    "zero": "cross.1.5 all.*.4 cross.1.2.3 encoder_self.2.2,all.*.1 decoder_self.3",
    "weights": "softmax argmax@cross.0 uniform",
    "mean": "cross everything",
    "resample": "word 10000 text. text.a+b@cross.1 7@cross.2.1,text.ka+lo|re",
    "positions": "shift shift.3@source scale.0.5 scale.x remove.3 shuffle.7 reverse@middle",
    "skip": "encoder.2.ff encoder.1.cross decoder.3.ff",
    "neurons": "decoder.1.128 decoder.1.129 a.1.1",
}
LINKED = [(name, value) for name, values in VALUES.items() for value in ("", *values.split())]


@pytest.fixture(scope="module")
def model() -> Pretrained:
    return load("reverse")


def said(folder: Path, jobs: Sequence[Job], phrases: Sequence[str] = (), linked: Any = ()) -> dict[str, Any]:
    """What the script says."""
    asked = [
        {"source": source, "target": target, "switches": Interventions.parse(switches).to_params()}
        for source, target, switches in jobs
    ]
    in_links = [Interventions.parse(text).to_params() for text in phrases]
    given = {"jobs": asked, "phrases": in_links, "links": [dict([pair]) for pair in linked]}
    answer: dict[str, Any] = json.loads(node.written(SCRIPT, folder, given=given))
    return {**answer, "jobs": dict(zip(jobs, answer["jobs"], strict=True))}


@pytest.fixture(scope="module")
def answer() -> dict[str, Any]:
    return said(FOLDER, [*JOBS, *((source, "", switches) for source, switches, _ in UNFIT)], PHRASES, LINKED)


@pytest.fixture(scope="module")
def answers(answer: dict[str, Any]) -> Answers:
    """What the engine says, by sentence pair and switches."""
    found: Answers = answer["jobs"]
    return found


def compared(model: Pretrained, source: str, target: str, switches: str) -> Compared:
    """Both traces, as `compare` makes them where all switches fit."""
    value = Interventions.parse(switches)
    first = model.trace(source, target or None)
    padding = value.only(Pad)
    before = model.retrace(first, padding) if padding else first
    after = model.retrace(before, value) if value != before.interventions else before
    return Compared(model, before, after, value, model.config.max_positions)


def whole(value: Any, data: Any) -> Any:
    """A part of a pack's header, with its arrays."""
    if isinstance(value, dict):
        if "dtype" in value:
            return array(value, data)
        return {name: whole(one, data) for name, one in value.items()}
    return [whole(one, data) for one in value] if isinstance(value, list) else value


def numbers(reference: dict[str, Any]) -> np.ndarray:
    return np.array(reference["data"], dtype=float).reshape(reference["shape"])


def assert_near(ours: Any, theirs: Any) -> None:
    """Equal, but for the last digits of numbers."""
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for name in theirs:
            assert_near(ours[name], theirs[name])
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_near(one, other)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-5, abs=SHOWN)
    else:
        assert ours == theirs


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS, ids=" ".join)
def test_both_sides_are_those_of_the_server(model: Pretrained, answers: Answers, job: Job) -> None:
    assert_sides(model, answers[job], job)


@pytest.mark.slow
def test_both_sides_of_a_t5_model_are_those_of_the_server(tmp_path: Path) -> None:
    t5_folder(tmp_path / "t5", "1.1")
    model = load(tmp_path / "t5")
    export_folder(model, tmp_path / "web")
    jobs = [("ka lo minu", "", ""), ("ka lo minu re", "", "bias=off@encoder_self.1.2 scaling=0.5@decoder_self")]
    for job, found in said(tmp_path / "web", jobs)["jobs"].items():
        assert_sides(model, found, job)


def assert_sides(model: Pretrained, found: dict[str, Any], job: Job) -> None:
    comparison = compared(model, *job)
    for side, trace in (("before", comparison.before), ("after", comparison.after)):
        header, data = unpack(full_pack(trace, View(), exact=True, entry="lab"))
        theirs, ours = whole(header, data), found[side]
        for name in SAME:
            assert ours[name] == theirs[name], name
        assert ours["probabilities"] == pytest.approx(theirs["probabilities"], abs=SHOWN)
        assert ours["wording"] == theirs["wording"]
        for kind in KINDS:
            kind_found, kind_wanted = ours["kinds"][kind], theirs["kinds"][kind]
            for name in ("layers", "rows", "columns", "zero", "replaced"):
                assert kind_found[name] == kind_wanted[name], (kind, name)
            steps = np.abs(numbers(kind_found["picture"]) - kind_wanted["picture"])
            assert steps.max() <= 1 and (steps > 0).mean() < 0.01
            assert (kind_found["masks"] is None) == (kind_wanted["masks"] is None)
            if kind_wanted["masks"] is not None:
                hidden = numbers(kind_found["masks"])[np.array(kind_found["mask_of"])]
                assert np.array_equal(hidden, kind_wanted["masks"][np.array(kind_wanted["mask_of"])])
        for exact, wanted in zip(ours["exact"], theirs["exact"], strict=True):
            for name in ("kind", "layer", "head", "rule"):
                assert exact[name] == wanted[name]
            assert exact["scale"] == pytest.approx(wanted["scale"], rel=1e-6)
            for name in {"weights", "bias"} & wanted.keys():
                assert np.allclose(numbers(exact[name]), wanted[name], atol=SHOWN)
    about, config = found["after"], model.config
    assert about["switches"] == found["switches"] == comparison.interventions.to_params()
    assert about["in_words"] == in_words(comparison.interventions, config)
    wanted = (config.scale, config.residual, config.d_k or config.d_head, comparison.interventions.pads)
    assert tuple(about[name] for name in ("trained_scale", "residual", "d_k", "pads")) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS, ids=" ".join)
def test_translations_measures_and_variances_are_those_of_the_server(
    model: Pretrained, answers: Answers, job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    def translate(model: Pretrained, source: str, switches: Interventions, limit: int) -> object:
        return model.translate(source, limit=limit, interventions=switches)

    monkeypatch.setattr(compared_heads.cache, "translate", translate)
    comparison, found = compared(model, *job), answers[job]
    says = {side: [[*word] for word in words] for side, words in compared_heads._translations(comparison).items()}
    assert found["says"] == says
    payload = measures.payload(comparison, View())
    for name in ("zero", "switched", "saved", "in_words", "wording"):
        assert found["measures"][name] == payload[name], name
    for side in ("before", "after"):
        for kind in KINDS:
            for name in (*MEASURES, "rows"):
                assert_near(found["measures"][side][kind][name], payload[side][kind][name])
    data = scaling.scaling_data(comparison.before, View(), 0)
    assert found["own"]["d_k"] == data["d_k"]
    assert found["own"]["saved"]["sentences"] == data["saved"]["sentences"]
    for ours, theirs in zip(found["own"]["own"], data["own"], strict=True):
        histograms = [np.array(one.pop("histogram")) for one in (ours, theirs)]
        assert_near({name: ours[name] for name in theirs}, theirs)
        assert np.abs(histograms[0] - histograms[1]).sum() < 0.1  # a product may lie at the edge of a bin


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS, ids=" ".join)
def test_the_effect_on_the_translation_is_that_of_the_server(model: Pretrained, answers: Answers, job: Job) -> None:
    comparison, found = compared(model, *job), answers[job]["effect"]
    on = comparison.interventions
    try:
        written = [model.translate(job[0], interventions=switches) for switches in (NONE, on)]
    except InterventionError:
        assert found is None
        return
    words = [translation.words_of(one) for one in written]
    marks = translation.apart(*words)
    for side, trace, one, of_side, differ in zip(
        ("before", "after"), (comparison.before, comparison.after), written, words, marks, strict=True
    ):
        ours = found[side]
        assert [word["text"] for word in ours["words"]] == [word.text for word in of_side]
        assert [tuple(word["pieces"]) for word in ours["words"]] == [word.pieces for word in of_side]
        probabilities = [p for word in ours["words"] for p in word["probabilities"]]
        assert probabilities == pytest.approx(one.probabilities, abs=SHOWN)
        assert ours["marks"] == list(differ)
        assert (ours["tokens"], ours["cut"]) == (len(one.tokens), translation.cut_off(one))
        assert ours["mean"] == pytest.approx(mean_probability(one.probabilities), abs=SHOWN)
        assert ours["repeated"] == pytest.approx(translation.repeated(one))
        assert ours["perplexity"] == pytest.approx(perplexity(trace), rel=SHOWN)
    assert found["given"] == bool(job[1])
    counted = [mark for word, mark in zip(words[1], marks[1], strict=True) if translation.is_word(word)]
    assert found["changed"] == {"changed": sum(counted), "count": len(counted)}
    assert found["change"] == translation.relative(perplexity(comparison.before), perplexity(comparison.after))
    note = scaling_note(on, model.config, brief=True)
    assert note == (f"{say(found['rescaled'])} {say('rescaled_paper')}" if found["rescaled"] else "")


@pytest.mark.slow
@pytest.mark.parametrize(("source", "switches", "left"), UNFIT)
def test_switches_that_do_not_fit_are_left_out(answers: Answers, source: str, switches: str, left: str) -> None:
    assert answers[source, "", switches]["switches"] == Interventions.parse(left).to_params()


@pytest.mark.slow
def test_the_browser_says_switches_in_the_same_words(model: Pretrained, answer: dict[str, Any]) -> None:
    for text, (counted, named) in zip(PHRASES, answer["phrases"], strict=True):
        switches = Interventions.parse(text)
        assert (counted, named) == (in_words(switches, model.config), in_words(switches))


@pytest.mark.slow
def test_the_browser_refuses_what_python_refuses(model: Pretrained, answer: dict[str, Any]) -> None:
    def refused(name: str, value: str) -> list[str]:
        try:
            Interventions.parse({name: value}).check(model.config)
        except InterventionError:
            return [name]
        return []

    wanted = {pair: refused(*pair) for pair in LINKED}
    assert dict(zip(LINKED, answer["links"], strict=True)) == wanted
