"""The Decoding page as a script: branches, beams, samples, and everything a link can ask for."""

import html
import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

import transformer
from pages.decoding import beam, given, payload, step
from pages.decoding.paint import read_heads, read_weights, shortened
from pages.decoding.step import Branch, read_branches, translations
from pages.frame.state import max_tokens
from pages.runtime.cache import MODELS
from pages.runtime.memory import MEMORY
from pages.runtime.queue import MODEL_QUEUE
from pages.runtime.shared import clear_caches
from tests.support.app import ROOT, address, array, components, loaded, messages, open_page, page_text, state_of
from tests.support.build import tiny_pretrained
from transformer.checkpoints.beam_rule import BeamRule, length_penalty
from transformer.inference.sampling import Sampling
from transformer.inference.search import Hypothesis, n_best
from transformer.inference.steps import continuations
from transformer.interventions.sets import Interventions, Paint, Where
from transformer.model.transformer import Transformer

SOURCE = "ka lo mi"
START = "The man who called me yesterday is my brother."  # what a visitor of the bundled model sees first
LIMIT = 40


def tiny() -> transformer.Pretrained:
    """The page's model, with its weights as they were saved."""
    return loaded(Path(os.environ["HEADSCOPE_CHECKPOINTS"]) / "tiny")


def data(app: AppTest, name: str = "decoding") -> dict[str, Any]:
    (proto,) = components(app, name)
    return dict(json.loads(proto.json))


def numbers(app: AppTest) -> dict[str, Any]:
    """What the picture draws."""
    return dict(data(app)["numbers"])


# -- branches in links -------------------------------------------------------------------------------------------------


def test_the_branches_of_a_link_are_read() -> None:
    assert read_branches("1.3.417_2.5.0") == [Branch(0, 2, 417), Branch(1, 4, 0)] and read_branches("") == []
    for wrong in ("1.2", "0.1.5", "1.0.5", "a.b.c", "1.2.3__1.2.4", "1.1.1_" * 9, "1.2.١"):
        assert read_branches(wrong) is None


def test_a_branch_shares_the_beginning_and_goes_on_from_its_token() -> None:
    clear_caches()
    model = tiny_pretrained()
    first = payload.continued(model, SOURCE, ((),), LIMIT)[0]
    other = next(one for one in first.steps[2].ids if one not in (first.hypothesis.ids[2], model.config.end_id))
    lines = translations(model, SOURCE, (), [Branch(0, 2, other)], LIMIT)
    assert lines.shared == (0, 2) and lines.forced == (0, 3)
    assert lines.found[1].hypothesis.ids[:3] == (*first.hypothesis.ids[:2], other)
    for wrong in (Branch(1, 0, 5), Branch(0, 99, 5), Branch(0, 0, 10**5), Branch(0, 0, model.config.pad_id)):
        with pytest.raises(ValueError):
            translations(model, SOURCE, (), [wrong], LIMIT)


# -- the page ----------------------------------------------------------------------------------------------------------


def test_the_first_screen_shows_the_least_certain_step() -> None:
    app = open_page("decoding", target="")
    assert not messages(app)
    found = numbers(app)
    (line,) = found["lines"]
    step = found["at"]["step"]
    (first,) = continuations(tiny(), SOURCE, limit=LIMIT)
    assert step == max(range(len(first.steps)), key=lambda one: first.steps[one].entropy)
    assert len(line["tokens"]) == len(first.hypothesis.ids) and found["bars"]["p"] == list(
        first.steps[step].probabilities
    )
    assert found["bars"]["rest"] == first.steps[step].rest and found["bars"]["entropy"] == first.steps[step].entropy
    for kind, keys in (("cross", len(found["cross"]["keys"])), ("self", step + 1)):
        rows = found[kind]["weights"]
        assert len(rows) == found[kind]["layers"] * found[kind]["heads"] and all(len(row) == keys for row in rows)
        assert all(sum(row) == pytest.approx(1, abs=1e-2) for row in rows)
    assert "at" not in address(app)


def test_a_link_opens_branches_beginning_and_step() -> None:
    app = open_page("decoding", target="", begin="re", branches="1.2.9_2.3.8", at="3.4")
    assert not messages(app)
    found = numbers(app)
    assert len(found["lines"]) == 3 and found["at"] == {"line": 2, "step": 3}
    assert [line["shared"] for line in found["lines"]] == [0, 1, 2] and found["lines"][0]["forced"] > 0
    assert {"begin": "re", "branches": "1.2.9_2.3.8", "at": "3.4"}.items() <= address(app).items()


def chosen(app: AppTest, **state: Any) -> AppTest:
    """The browser's report after a person chose something in the picture."""
    app.session_state[step.KEY] = {"state": {"revision": data(app)["revision"], **state}}
    return app.run()


def test_what_a_person_chooses_is_shown_and_in_the_link() -> None:
    app = chosen(open_page("decoding", target="", begin="re"), begin="", branches="1.2.9", at="2.3", big="x")
    assert not app.exception and not messages(app)
    assert len(numbers(app)["lines"]) == 2 and numbers(app)["at"] == {"line": 1, "step": 2}
    assert {"branches": "1.2.9", "at": "2.3"}.items() <= address(app).items() and "begin" not in address(app)
    assert data(app)["state"] == {"begin": "", "branches": "1.2.9", "at": "2.3"}


def test_a_report_that_is_old_or_no_text_changes_nothing() -> None:
    app = open_page("decoding", target="", begin="re", branches="1.3.9")
    assert "cannot be read" in messages(open_page("decoding", target="", branches="x"))
    for state in ({"revision": 99, "begin": ""}, {"begin": 7}, {"branches": None}):
        assert data(chosen(app, **state))["state"] == {"begin": "re", "branches": "1.3.9", "at": ""}


def test_the_tree_holds_the_n_best_list_and_greedys_row() -> None:
    app = open_page("decoding", target="", part="beam", beams="3", alpha="0.5")
    assert not messages(app)
    found, model = data(app, "beam"), tiny()
    best = model.n_best(SOURCE, 3, 0.5, LIMIT)
    ranked = [one for column in found["steps"][: found["end"]] for one in column if one["ranked"]]
    wanted = {one.text: pytest.approx(one.score, abs=1e-9) for one in best}
    assert {one["text"]: one["total"] for one in ranked if one["text"] in wanted} == wanted
    for column, before in zip(found["steps"][1:], found["steps"], strict=False):
        for one in column:
            assert one["total"] == pytest.approx(before[one["parent"]]["total"] + one["log_prob"], abs=1e-5)
            assert before[one["parent"]]["fate"] == "open"
    (plain,) = continuations(model, SOURCE, limit=LIMIT)
    assert found["greedy"] == {
        "text": model.tokenizer.decode(plain.hypothesis.ids),
        "tokens": payload.labels(model, plain.hypothesis.ids),
        "total": plain.hypothesis.score,
        "cut": plain.hypothesis.ids[-1] != model.config.end_id,
    }


def test_as_many_translations_as_fit_stand_side_by_side() -> None:
    (first,) = continuations(tiny(), SOURCE, limit=LIMIT)
    others = [token for token in first.steps[0].ids if token not in (first.hypothesis.ids[0], 2)]
    asked = "_".join(f"1.1.{token}" for token in others[: step.MOST])
    app = open_page("decoding", target="", branches=asked)
    assert len(numbers(app)["lines"]) == step.MOST + 1
    script = (ROOT / "frontend" / "src" / "decoding" / "branches.js").read_text(encoding="utf-8")
    assert f"const MOST = {step.MOST};" in script


MISSISSIPPI = "mississippi"  # one of the sources on which the beam and greedy search of the model "reverse" agree


@pytest.mark.parametrize("source", ["headscope", "abc", MISSISSIPPI, "zyx wvu"])
@pytest.mark.parametrize("beams", [1, 4, 8])
def test_trees_are_beam_search_to_the_last_digit_for_every_length_penalty(source: str, beams: int) -> None:
    model = transformer.load("reverse")
    ids = torch.tensor([model.encode(source)])
    for alpha in (0.0, 0.6, 1.5, 2.0):
        tree = beam.reaching(model, source, beams, alpha, (), LIMIT)
        (wanted,) = n_best(model.model, ids, beams, alpha, LIMIT)
        assert [tree.ids(*node) for node in tree.ranking(alpha)] == [one.ids for one in wanted]
        assert [tree.score(node, alpha) for node in tree.ranking(alpha)] == [
            one.score / length_penalty(len(one.ids), alpha) for one in wanted
        ]


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["overtaken", "present", "full"])
@pytest.mark.parametrize("cut", [False, True])
def test_one_tree_knows_where_searches_with_other_penalties_end(ends: str, cut: bool) -> None:
    clear_caches()
    rule = BeamRule(penalty="length", ends=ends, cut=cut)
    model = replace(tiny_pretrained(), rule=rule)
    ids, known = torch.tensor([model.encode(SOURCE)]), 0
    tree = beam.search(model, SOURCE, 3, 2.0, (), 12)
    for position, end in enumerate(tree.ends):
        alpha, trail = position / beam.POSITIONS, []  # type: ignore[var-annotated]
        (wanted,) = n_best(model.model, ids, 3, alpha, 12, rule=rule, trail=trail)
        if end is not None:
            known += 1
            assert end == len(trail)
            assert [tree.ids(*node) for node in tree.ranking(alpha)] == [one.ids for one in wanted]
        else:
            assert len(trail) > len(tree.steps)
    assert known and tree.end(2.0) == len(tree.steps)


def test_a_search_that_never_ends_is_said_in_one_sentence_and_in_the_tree() -> None:
    app = open_page("decoding", target="", part="beam", source="ka lo minu", beams="2")
    found = data(app, "beam")
    last = found["steps"][found["limit"] - 1]
    assert found["end"] == found["limit"] and "cut" in {one["fate"] for one in last}
    assert sum(one["ranked"] for column in found["steps"] for one in column) == 1
    assert f"No hypothesis ended within {found['limit']} tokens" in page_text(app)


def test_the_winner_is_told_with_its_score_and_against_greedy_search() -> None:
    clear_caches()
    model = transformer.load("reverse")
    tree = beam.search(model, MISSISSIPPI, 4, 0.6, (), LIMIT)
    said = beam.says(model, tree, tree.ranking(0.6)[0], 0.6)
    assert said.startswith("Beam search keeps the 4 most probable") and said.endswith("“ippississim”")
    hypothesis = Hypothesis((7, 3), (-0.5, -1.5))  # of two tokens: length penalty (7 / 6)^0.6
    said = beam.says(model, replace(tree, greedy=hypothesis), tree.ranking(0.6)[0], 0.6)
    score = tree.score(tree.ranking(0.6)[0], 0.6)
    assert f"finds “ippississim” (score −{-score:.3f}, the higher the better)" in said
    assert f"(−{2 / (7 / 6) ** 0.6:.3f})." in said


def test_samples_are_those_of_the_interface() -> None:
    app = open_page("decoding", target="", part="sampling", temperature="1.5", top_k="4", seed="3")
    assert not messages(app)
    found, model = numbers(app), tiny()
    wanted = [model.translate(SOURCE, limit=LIMIT, sample=Sampling(1.5, 4, seed=3 + n)).text for n in range(6)]
    assert [line["text"] for line in found["lines"]] == wanted
    assert sum(found["bars"]["rules"][1]["p"]) == pytest.approx(1) and not any(found["bars"]["rules"][1]["p"][4:])


def test_samples_are_counted_in_a_sentence_for_one_text_and_for_more() -> None:
    said = page_text(open_page("decoding", target="", part="sampling", top_k="1"))
    assert "here all 6 samples have the same text." in said and "different text" not in said
    app = open_page("decoding", target="", part="sampling", temperature="5")
    count = len({line["text"] for line in numbers(app)["lines"]})
    assert count > 1 and f"here 6 samples with {count} different texts." in page_text(app)
    app = open_page("decoding", target="", part="sampling", top_k="1", lang="ko")
    assert "샘플 6개가 모두 같은 문장입니다" in page_text(app)


def test_each_rule_of_sampling_starts_from_what_the_one_before_left() -> None:
    app = open_page("decoding", target="", part="sampling", temperature="2", top_k="3", top_p="0.7", seed="5", at="1.2")
    assert not messages(app)
    bars, model, sample = numbers(app)["bars"], tiny(), Sampling(2.0, 3, 0.7, seed=5)
    (drawn,) = continuations(model, SOURCE, limit=LIMIT, sample=sample)
    assert bars["ids"] == list(drawn.steps[1].ids)
    assert bars["p"] == pytest.approx(drawn.steps[1].probabilities, abs=1e-5)
    temperature, top_k, top_p = bars["rules"]
    assert [(one["name"], one["value"]) for one in bars["rules"]] == [("temperature", 2), ("top_k", 3), ("top_p", 0.7)]
    for one in bars["rules"]:
        assert sum(one["p"]) + one["rest"] == pytest.approx(1)
    for first, other in ((0, 1), (1, 2)):  # p ∝ p^(1/2)
        ratio = (bars["p"][first] / bars["p"][other]) ** 0.5
        assert temperature["p"][first] / temperature["p"][other] == pytest.approx(ratio, rel=1e-4)
    best = sum(temperature["p"][:3])
    assert top_k["p"] == pytest.approx([*(p / best for p in temperature["p"][:3]), *[0.0] * (len(bars["p"]) - 3)])
    kept = 1 if top_k["p"][0] >= 0.7 else 2 if sum(top_k["p"][:2]) >= 0.7 else 3
    best = sum(top_k["p"][:kept])
    assert top_p["p"] == pytest.approx([*(p / best for p in top_k["p"][:kept]), *[0.0] * (len(bars["p"]) - kept)])
    assert top_p["p"] == pytest.approx(drawn.steps[1].narrowed, abs=1e-5) and top_p["rest"] == 0


def test_a_rule_that_is_off_leaves_the_distribution_before_it() -> None:
    bars = numbers(open_page("decoding", target="", part="sampling", top_k="2"))["bars"]
    temperature, top_k, top_p = bars["rules"]
    assert [one["value"] for one in bars["rules"]] == [None, 2, None]
    assert top_p["p"] == top_k["p"] != temperature["p"]
    written = sum(bars["p"]) + bars["rest"]  # the model gives <pad> and <s> the rest, but they are never written
    assert temperature["p"] == pytest.approx([p / written for p in bars["p"]], rel=1e-4)


def maps(app: AppTest) -> list[np.ndarray]:
    """The numbers of the two maps, [query, key], NaN where masked."""
    sent = [json.loads(json.loads(proto.json)["figure"]) for proto in components(app, "figure")]
    return [array(figure["data"][-1]["z"]) for figure in sent]


@pytest.mark.parametrize(
    "kind, layer, head", [("cross", 2, 1), ("decoder_self", 1, 2), ("cross", 0, 2), ("decoder_self", 2, 0)]
)
def test_given_words_stand_beside_the_models_own(kind: str, layer: int, head: int) -> None:
    chosen = {"given_kind": kind, "given_layer": str(layer), "given_head": str(head)}
    app = open_page("decoding", part="given", **chosen)
    assert not messages(app) and "teacher forcing" in page_text(app)
    assert chosen.items() <= address(app).items()
    model = tiny()
    for found, trace in zip(
        maps(app), (model.trace(SOURCE, "re sta vu", limit=LIMIT), model.trace(SOURCE, limit=LIMIT)), strict=True
    ):
        attention = trace.attention(kind)
        weights = attention.weights[[layer - 1]] if layer else attention.weights  # 0: the mean of all
        wanted = (weights[:, [head - 1]] if head else weights).mean((0, 1))
        masked = wanted.masked_fill(~attention.mask[0, 0], torch.nan)
        np.testing.assert_allclose(found, masked.numpy(), atol=1e-6)
        assert found.shape[0] == len(trace.target_in)


def test_the_second_choice_at_the_least_certain_step_stands_in() -> None:
    clear_caches()
    model = transformer.load("en-de")
    own = model.trace(START)
    (first,) = continuations(model, START, limit=max_tokens())
    number = max(range(len(first.steps)), key=lambda one: first.steps[one].entropy)
    (other,) = continuations(
        model, START, [(*first.hypothesis.ids[:number], first.steps[number].ids[1])], limit=max_tokens()
    )
    found = given.stand_in(model, own)
    assert found and found.target_text == model.tokenizer.decode(other.hypothesis.ids) != own.target_text


def test_without_a_target_what_stands_in_is_said_and_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    other = tiny().trace(SOURCE, "re sta vu", limit=LIMIT)
    monkeypatch.setattr(given, "stand_in", lambda *_: other)
    app = open_page("decoding", target="", part="given", given_kind="cross", given_layer="1", given_head="1")
    assert "No target was typed" in page_text(app)
    stand_in, _ = maps(app)
    np.testing.assert_allclose(stand_in, other.cross.weights[0, 0].numpy(), atol=1e-6)


def test_without_any_other_hypothesis_the_page_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given, "stand_in", lambda *_: None)
    app = open_page("decoding", target="", part="given")
    assert not components(app, "figure") and "Type a target" in page_text(app)


# -- attention by hand -------------------------------------------------------------------------------------------------


def test_without_a_painted_row_the_mean_row_of_the_chosen_heads_stands_there() -> None:
    trace = tiny().trace(SOURCE, limit=LIMIT)
    for params in ({"paint_heads": "1.2_2.1"}, {"paint_layer": "2", "paint_head": "1"}):  # the latter: an older link
        app = open_page("decoding", target="", part="paint", paint_row="2", **params)
        assert not messages(app)
        found = data(app, "paint")
        assert found["chosen"] == params.get("paint_heads", "2.1").split("_") == address(app)["paint_heads"].split("_")
        places = [tuple(int(part) - 1 for part in one.split(".")) for one in found["chosen"]]
        rows = [trace.cross.weights[layer, head, 1] for layer, head in places]
        assert found["weights"] == pytest.approx(torch.stack(rows).mean(0).tolist(), abs=1e-3)
        assert not found["painted"] and found["keys"] == list(trace.source_labels)


def test_chosen_heads_become_as_few_switches_as_there_are() -> None:
    for text, wheres in (
        ("", ["cross"]),
        ("1.1_2.2", ["cross.1.1", "cross.2.2"]),
        ("2.1_2.2_1.2", ["cross.1.2", "cross.2"]),
        ("1.1_1.2_2.1_2.2", ["cross"]),
    ):
        heads = read_heads(text, 2, 2)
        assert heads and [str(where) for where in heads.wheres("cross")] == wheres
        assert read_heads(str(heads), 2, 2) == heads
    for wrong in ("3.1", "1.3", "0.1", "1", "1.1_", "1.1__1.2", "x", "1.١"):
        assert read_heads(wrong, 2, 2) is None


@pytest.mark.parametrize(
    "params, row, later, heads",
    [
        ({"paint_span": "step", "paint_row": "2"}, 1, False, [Where("cross")]),
        ({"paint_span": "later", "paint_row": "2"}, 1, True, [Where("cross")]),
        ({"paint_heads": "1.2_2.1"}, 1, True, [Where("cross", 0, 1), Where("cross", 1, 0)]),
    ],
)
def test_a_painted_row_of_a_link_is_decoded_from(
    params: dict[str, str], row: int, later: bool, heads: list[Where]
) -> None:
    model = tiny()
    weights = (0.0,) * (len(model.encode(SOURCE)) - 1) + (1.0,)
    painted = "_".join(f"{one:g}" for one in weights)
    app = open_page("decoding", target="", part="paint", paint=painted, **params)
    assert not messages(app) and address(app)["paint"] == painted
    switches = [Paint(row, weights, later, where) for where in heads]
    wanted = model.translate(SOURCE, limit=LIMIT, interventions=Interventions(tuple(switches)))
    said = page_text(app)
    assert shortened(wanted.text) in said and f"paint={','.join(one.value for one in switches)}" in said
    assert wanted.complete or f"… (cut off after {LIMIT} tokens)" in said


@pytest.mark.parametrize(
    "params, name, said",
    [
        ({"branches": "1.99.5"}, "unfit", True),
        ({"begin": "re 漢"}, "wrong", "cannot write"),
        ({"begin": "re sta vu " * 20}, "wrong", "begin with less"),
    ],
)
def test_what_cannot_be_written_is_said_in_the_picture(params: dict[str, str], name: str, said: str | bool) -> None:
    found = numbers(open_page("decoding", target="", **params))
    assert len(found["lines"]) == 1 and found["lines"][0]["forced"] == 0
    assert found[name] is True if said is True else said in found[name]


def test_painted_weights_are_read_and_those_above_1_keep_their_shares() -> None:
    assert read_weights("2_0_6", 3) == [2 / 6, 0.0, 1.0] and read_weights("0.5_0.25", 2) == [0.5, 0.25]
    assert read_weights("1e300_2e300", 2) == [0.5, 1.0] and read_weights("1e-05_0", 2) == [1e-05, 0.0]
    app = open_page("decoding", part="paint", paint="_".join(["1e-05", *["0"] * 5]))
    (text,) = re.findall(r"In Python and on the command line: paint=(\S+)", page_text(app))
    (switch,) = Interventions.parse({"paint": text}).switches
    assert isinstance(switch, Paint) and switch.weights == (1e-05, 0.0, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("kind", ["cross", "decoder_self"])
def test_the_point_has_the_probability_before_and_after_painting(kind: str) -> None:
    model, params = tiny(), {"part": "paint", "paint_kind": kind, "paint_row": "3"}
    own = model.trace(SOURCE, limit=LIMIT)
    app = open_page("decoding", target="", **params)
    found, said = data(app, "paint"), html.unescape(page_text(app))
    token, p = own.target_out_labels[2], float(own.probabilities[2])
    best = max(range(len(found["keys"])), key=found["plain"].__getitem__)
    assert f"attend most to “{found['keys'][best]}” ({found['plain'][best]:.0%})" in said
    assert f"the model writes “{token}” ({p:.1%})" in said
    weights = (1.0, *[0.0] * (len(found["keys"]) - 1))
    app = open_page("decoding", target="", **params, paint="_".join(f"{one:g}" for one in weights))
    edited = model.retrace(own, Interventions((Paint(2, weights, True, Where(kind)),)), limit=LIMIT)
    said, now = html.unescape(page_text(app)), float(edited.probabilities[2])
    assert f"{p:.1%}" != f"{now:.1%}"
    changed = f"“{token}” had a probability of {p:.1%}; now it has {now:.1%}."
    stays = f"“{token}”, which had a probability of {p:.1%} at this step, now has {now:.1%}."
    assert (stays if "the translation stays" in said else changed) in said


def test_painted_weights_stay_only_while_their_tokens_do() -> None:
    count = len(tiny().encode(SOURCE))
    text = "_".join(["1", *["0"] * (count - 1)])
    app = open_page("decoding", target="", part="paint", paint=text, paint_row="2")
    app.selectbox(key="decoding_paint_row").set_value(3).run()  # other decoder rows attend to the same source
    app.text_input(key="target").input("re sta").run()
    assert not messages(app, notes=True) and address(app)["paint"] == text and data(app, "paint")["painted"]
    app.text_input(key="source").input("mi lo ka").run()  # as many tokens, but others
    found = data(app, "paint")
    assert "The tokens that this row attends to have changed" in messages(app, notes=True)
    assert not found["painted"] and len(found["keys"]) == count and "paint" not in address(app)
    app.run()
    assert not messages(app, notes=True)
    app = open_page("decoding", target="", part="paint", paint=text, paint_row=str(count))
    app.button_group(key="decoding_paint_kind").set_value("decoder_self").run()  # a row of as many tokens
    assert "have changed" in messages(app, notes=True) and "paint" not in address(app)


@pytest.mark.parametrize(
    "text, said",
    [
        ("0_0", "2 weights are painted, but this row has {count} tokens"),
        ("_".join(["1"] * 41), "41 weights are painted"),
        ("x", "'x' is not a weight"),
        ("1_nan_1", "'nan' is not a weight"),
        ("1_-0.5", "'-0.5' is not a weight"),
        ("1_inf", "'inf' is not a weight"),
        ("1__1", "'' is not a weight"),
        ("0", "sums to 0"),
    ],
)
def test_a_painted_row_that_does_not_fit_is_said_in_one_sentence_and_kept(text: str, said: str) -> None:
    count = len(tiny().encode(SOURCE))
    if "sums" in said:
        text = "_".join([text] * count)
    app = open_page("decoding", target="", part="paint", paint=text)
    assert said.format(count=count) in html.unescape(messages(app))
    assert html.unescape(messages(app)).count("hs-message") == 1
    assert data(app, "paint")["painted"] == ("sums" in said) and address(app)["paint"] == text
    assert "As you painted" not in page_text(app)


def test_a_repeated_end_is_shortened_to_two_runs() -> None:
    assert shortened("a b c c c c") == "a b c c" and shortened("x a b a b a b a b") == "x a b a b"
    for kept in ("", "a", "a b c c", "a a a b", "a b a b"):
        assert shortened(kept) == kept


def test_a_painted_row_in_another_pages_link_is_no_switch_there() -> None:
    app = open_page("lab", paint="2:1_3@cross")
    assert not state_of(app).switches


# -- the queue for passes of a model -----------------------------------------------------------------------------------

EVERY_PART = [
    {"branches": "1.2.9_2.3.8", "at": "3.2"},
    {"part": "beam", "node": "2.2", "alpha": "1.5"},
    {"part": "sampling", "top_k": "3"},
    {"part": "paint", "paint": "_".join("1" * 6)},
    {"part": "given", "target": "re sta vu"},
]


def test_every_pass_of_the_page_is_made_in_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    open_page("decoding", target="")  # the first pass after loading a model is nobody's
    loaded = set(MEMORY.cache_keys(MODELS))
    for place in MEMORY.cache_keys():
        if place not in loaded:
            MEMORY.remove(place)
    passes: list[bool] = []
    for name in ("encode", "decode"):
        original = getattr(Transformer, name)

        def watched(*given: Any, original: Callable[..., Any] = original, **named: Any) -> Any:
            passes.append(MODEL_QUEUE.running > 0)
            return original(*given, **named)

        monkeypatch.setattr(Transformer, name, watched)
    for params in EVERY_PART:
        before = len(passes)
        open_page("decoding", **{"target": "", **params})
        assert len(passes) > before, params
        assert all(passes), params
        again = len(passes)
        open_page("decoding", **{"target": "", **params})
        assert len(passes) == again  # and for the next viewer, of the same page, not again
