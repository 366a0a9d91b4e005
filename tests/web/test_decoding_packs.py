"""Decoding step by step, the activity of neurons and the tokens under the encodings: the same from the engine as from
the server."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages.decoding import payload, step
from pages.feedforward import activity
from pages.frame.options import Options
from tests.support import node
from transformer.inference.pretrained import Pretrained, load
from transformer.inference.search import output_limit

SCRIPT = "live/testing/numbers.js"
FOLDER = Path(__file__).parents[2] / "checkpoints" / "reverse"
SHOWN = 1e-5  # of probabilities and entropies
LIMIT = 40
DECODING = [  # source, begin, branches, at
    ("stone", "", "", ""),
    ("transformer", "", "", "1.3"),
    ("headscope", "epo", "", ""),
    ("headscope", "", "1.2.9_2.3.8_1.1.3", "2.99"),
    ("abcabc", "x", "1.1.7_2.4.11_1.6.5", "4.2"),
    ("word", "", "1.5.4_2.1.3", "3.1"),  # one ends with a </s> that was given
    ("abc", "", "1.99.5", ""),
    ("abc", "", "1.1.2", ""),
    ("abc", "", "2.1.5_1.1.6", ""),
    ("abc", "漢", "1.1.9", "2.2"),
    ("ab", "a" * 60, "", ""),
]
SENTENCES = [("stone", ""), ("transformer", ""), ("stone", "onset"), ("a b", "ab")]


@pytest.fixture(scope="module")
def model() -> Pretrained:
    return load("reverse")


@pytest.fixture
def answers(written: str) -> list[Any]:
    return list(json.loads(written))


@pytest.fixture(scope="module")
def written() -> str:
    """What the script says."""
    jobs: list[dict[str, Any]] = [
        {"picture": "decoding", "source": source, "state": {"begin": begin, "branches": branches, "at": at}}
        for source, begin, branches, at in DECODING
    ]
    for picture in ("feedforward", "positions"):
        jobs += [{"picture": picture, "source": source, "target": target} for source, target in SENTENCES]
    given = [{**job, "limit": LIMIT} for job in jobs]
    return node.written(SCRIPT, FOLDER, given=given)


def of_server(
    monkeypatch: pytest.MonkeyPatch, model: Pretrained, source: str, begin: str, branches: str, at: str
) -> dict[str, Any]:
    """What the server sends to the picture of Decoding."""
    monkeypatch.setenv("HEADSCOPE_MAX_TOKENS", str(LIMIT))
    options = Options("decoding", False)
    monkeypatch.setattr(options, "typed", lambda *_: at)
    found = step.numbers(model, options, source, begin, step.read_branches(branches) or [])
    return dict(json.loads(json.dumps(found)))


def test_what_decoding_draws_is_what_the_server_sends(
    monkeypatch: pytest.MonkeyPatch, model: Pretrained, answers: list[Any]
) -> None:
    for job, ours in zip(DECODING, answers, strict=False):
        theirs = of_server(monkeypatch, model, *job)
        assert ours.keys() == theirs.keys(), job
        assert bool(ours.pop("wrong")) == bool(theirs.pop("wrong")), job
        lines, bars = zip(ours.pop("lines"), theirs.pop("lines"), strict=True), (ours.pop("bars"), theirs.pop("bars"))
        for line, wanted in lines:
            assert line.pop("probs") == pytest.approx(wanted.pop("probs"), abs=SHOWN), job
            assert line.pop("score") == pytest.approx(wanted.pop("score"), rel=SHOWN, abs=SHOWN), job
            assert line == wanted, job
        for name in ("p", "rest", "entropy", "most"):
            assert bars[0].pop(name) == pytest.approx(bars[1].pop(name), abs=SHOWN), (job, name)
        assert bars[0] == bars[1], job
        for kind in ("cross", "self"):
            heads, wanted = ours.pop(kind), theirs.pop(kind)
            assert np.allclose(heads.pop("weights"), wanted.pop("weights"), atol=1.5e-4), job  # rounded to 1e-4
            assert heads == wanted, (job, kind)
        assert ours == theirs, job


def test_a_beginning_that_cannot_be_written_is_refused_for_the_reason_the_server_gives(
    model: Pretrained, answers: list[Any]
) -> None:
    codes = {}
    for (source, begin, *_), found in zip(DECODING, answers, strict=False):
        _ids, said = payload.beginning(model, source, begin, LIMIT)
        wrong = found["wrong"] or {}
        codes[wrong.get("code")] = said
        if wrong:
            allowed = output_limit(model.model, len(model.encode(source)), model.token_limit(LIMIT))
            assert (wrong["limit"], wrong["tokens"]) == (allowed, len(model.tokenizer.encode(begin)) + 1)
    assert codes.keys() == {None, "unwritable", "beginning"} and not codes[None]
    assert "cannot write" in codes["unwritable"] and "begin with less" in codes["beginning"]


def test_what_is_counted_of_the_neurons_is_what_the_server_counts(model: Pretrained, answers: list[Any]) -> None:
    for (source, target), ours in zip(SENTENCES, answers[len(DECODING) :], strict=False):
        trace = model.trace(source, target or None, limit=LIMIT)
        theirs = json.loads(json.dumps(activity.numbers(trace, model.config)))
        for stack in ("encoder", "decoder"):
            counts, wanted = ours.pop(stack), theirs.pop(stack)
            # A number within 1e-6 of a threshold or of the edge of a bin may be counted on its other side.
            assert np.abs(np.subtract(counts.pop("active"), wanted.pop("active"))).max() <= 1
            assert np.abs(np.subtract(counts.pop("spread"), wanted.pop("spread"))).max() <= 1
            for histogram, other in zip(counts.pop("histogram"), wanted.pop("histogram"), strict=True):
                assert histogram.pop("width") == pytest.approx(other.pop("width"), rel=SHOWN)
                for name in ("before", "after"):
                    assert np.abs(np.subtract(histogram.pop(name), other.pop(name))).max() <= 2
                assert abs(histogram.pop("zero") - other.pop("zero")) <= 1
                assert abs(histogram.pop("negative") - other.pop("negative")) <= 1
                assert histogram == other
            assert counts == wanted
        assert {**ours, "gated": False, "bare": False} == theirs  # a browser computes no model that has either


def test_the_tokens_under_the_encodings_are_those_of_the_source(model: Pretrained, answers: list[Any]) -> None:
    for (source, _), labels in zip(SENTENCES, answers[-len(SENTENCES) :], strict=True):
        assert labels == list(model.trace(source, limit=LIMIT).source_labels)
