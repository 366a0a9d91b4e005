"""Every page with models without a part of the paper: each part opens, and its sentences are true."""

import json
import re
from pathlib import Path

import pytest

import transformer
from pages.anatomy.drawing import equations
from pages.components.descriptions import row_caution, sub_layer_equation
from pages.lab.leak import bare_verdict
from tests.support.app import (
    LEFT_OUT,
    SOURCE,
    TARGET,
    every_part,
    failed_checks,
    figures,
    messages,
    open_variant,
    page_text,
)
from tests.support.build import tiny_config
from tests.support.payloads import unpack
from transformer.analysis.leak import step_by_step
from transformer.analysis.translation import perplexity
from transformer.view.pack import full_pack
from transformer.view.state import View

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("variants")]

SOME = [("lab", "leak"), ("lab", "compare"), ("embeddings", "residual"), ("embeddings", "lens"), ("anatomy", "flow"),
        ("feedforward", "knock"), ("model", "")]  # fmt: skip
WALKED = [("bare", *part) for part in every_part()]
WALKED += [(kind, *part) for kind in LEFT_OUT if kind != "bare" for part in SOME]


@pytest.mark.parametrize(("kind", "page", "part"), WALKED)
def test_every_part_opens_and_describes_the_model(kind: str, page: str, part: str) -> None:
    app = open_variant(kind, page, part)
    assert not messages(app)
    assert not failed_checks(app)
    text = page_text(app)
    if not LEFT_OUT[kind].get("causal", True):
        for claim in ("a mask hides the later ones", "ith the mask", "under the causal mask", "(masked)"):
            assert claim not in text, claim
    if not LEFT_OUT[kind].get("residual", True):
        for claim in ("the residual connection carries x on", "adds most", "reads these rows and adds to them",
                      "Around every sub-layer there is"):  # fmt: skip
            assert claim not in text, claim
        if page == "embeddings" and part in ("residual", "lens"):
            assert "no residual connections" in text
    if LEFT_OUT[kind].get("norm") == "none":
        assert "LayerNorm as usual" not in text and not re.search("(?<!No )LayerNorm (comes|and the)", text)
        assert page != "embeddings" or part != "residual" or "LayerNorm" not in text


def test_the_model_card_names_what_is_missing() -> None:
    phrases = {"no LayerNorm": ("bare", "plain"), "no residual connections": ("bare", "alone", "before"),
               "no causal mask": ("bare", "alone")}  # fmt: skip
    for kind in LEFT_OUT:
        text = page_text(open_variant(kind, "model"))
        for phrase, kinds in phrases.items():
            assert (phrase in text) == (kind in kinds), (kind, phrase)


def test_figures_show_the_existing_parts() -> None:
    """Lines of x and its update always; lines of the sum and of LayerNorm only if the model has them; and the
    equation."""
    wanted = {
        "bare": (["x", "Sublayer(x)"], "Sublayer(<i>x</i>)", 2 + 3),
        "alone": (["x", "Sublayer(x)", "after LayerNorm"], "LayerNorm(Sublayer(<i>x</i>))", 2 + 6 + 1),
        "plain": (["x", "Sublayer(x)", "x + Sublayer(x)"], "<i>x</i> + Sublayer(<i>x</i>)", 2 + 6),
        "before": (["x", "Sublayer(x)", "after LayerNorm"], "Sublayer(LayerNorm(<i>x</i>))", 2 + 6 + 1),
    }
    for kind, (names, equation, parts) in wanted.items():
        drawn = figures(open_variant(kind, "embeddings", "residual", stack="decoder"))
        lengths = drawn["residual-lengths-decoder"]
        assert [line["name"] for line in lengths["data"]] == names, kind
        assert equation in json.dumps(lengths["layout"]["title"], ensure_ascii=False), kind
        assert "LayerNorm(<i>x</i> +" not in json.dumps(lengths)
        assert len(drawn["residual-shares-decoder"]["layout"]["xaxis"]["ticktext"]) == parts


def test_the_leak_of_a_model_without_the_mask_is_measured(variants: Path) -> None:
    model = transformer.load(variants / "alone")
    trace = model.trace(SOURCE, TARGET)
    whole, stepwise = perplexity(trace), step_by_step(trace, model.model)
    text = page_text(open_variant("alone", "lab", "leak"))
    assert bare_verdict(whole, stepwise) in text and "predictions before the changed token move by up to" in text


def test_pictures_of_models_without_a_mask_do_not_say_masked(variants: Path) -> None:
    """In the data of the explorer, the lab, a notebook and an offline page."""
    for kind, changes in LEFT_OUT.items():
        trace = transformer.load(variants / kind).trace(SOURCE, TARGET)
        header = unpack(full_pack(trace, View()))[0]
        bare = not changes.get("causal", True)
        assert header["causal"] is trace.causal is (not bare)
        assert ("no mask" in header["wording"].get("kind_decoder_self", "")) == bare
        assert ("whole target in sight" in header["wording"].get("chip", "")) == bare


def test_missing_parts_are_described() -> None:
    equation = [
        sub_layer_equation(tiny_config(norm=norm, residual=residual))
        for norm in ("post", "pre", "none")
        for residual in (True, False)
    ]
    assert equation == [
        "LayerNorm(x + Sublayer(x))", "LayerNorm(Sublayer(x))", "x + Sublayer(LayerNorm(x))", "Sublayer(LayerNorm(x))",
        "x + Sublayer(x)", "Sublayer(x)",
    ]  # fmt: skip
    first, second = equations(tiny_config(scaling=False, activation="gelu", norm="none", residual=False))
    assert r"\mathrm{Sublayer}(x)" in first and "sqrt" not in first and r"\mathrm{GELU}(xW_1 + b_1)" in second
    first, second = equations(tiny_config())
    assert r"\mathrm{LayerNorm}(x + \mathrm{Sublayer}(x))" in first and r"\max(0,\, xW_1 + b_1)" in second
    none = tiny_config(norm="none")
    assert "exact change" in row_caution(none, "decoder", 1) and "No LayerNorm" in row_caution(none, "decoder", 1)
    assert "The layers above come" in row_caution(none, "decoder", 0)
    assert row_caution(tiny_config(), "decoder", 1).startswith("LayerNorm comes between")


def test_verdicts_of_the_leak() -> None:
    assert "it is 9, 3.0 times as much" in bare_verdict(3.0, 9.0).replace("9.00", "9").replace("9.0,", "9,")
    assert "hardly matters" in bare_verdict(3.0, 3.01)
    assert "worse than" in bare_verdict(9.0, 3.0)
