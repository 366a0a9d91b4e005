"""The Results page as a script: BLEU of what is typed, recorded subsets, Tables 2 and 3."""

import json
import re
import unicodedata
from pathlib import Path

import pytest
import sacrebleu
from streamlit.testing.v1 import AppTest

import transformer
from pages.components.seeds import direction
from pages.results import table2
from pages.results.bleu import PAIRS, _lit
from pages.results.comparable import names, subsets_of
from pages.results.table3 import PAPER, Row, described, rows, verdict
from tests.support.app import ROOT, address, components, figures, messages, open_link, open_page, page_text
from transformer.analysis.bleu import REFERENCES, bleu
from transformer.text.bleu_tokenizers import tokenizer_for
from transformer.training.evaluation import LONG, SHORT


def test_typed_texts_are_scored_as_sacrebleu_scores_them() -> None:
    references = {"reference1": "Der Hund schläft.", "reference2": "Ein Hund schläft."}
    typed = {"hypothesis": "Der Hund schläft <b>.", **references}
    app = open_page("results", **typed, n="2")
    assert not messages(app)
    wanted = sacrebleu.sentence_bleu(typed["hypothesis"], [*references.values()])
    text = page_text(app)
    assert f"{wanted.score:.4f}" in text and "nrefs:2|case:mixed|eff:yes|tok:13a" in text
    bodies = " ".join(one.proto.body for one in app.get("html"))
    assert "<b>." not in bodies and "&lt;" in bodies
    assert typed.items() <= address(app).items() and address(app)["n"] == "2"


def test_texts_that_only_look_alike_and_decomposed_ones_are_told_apart() -> None:
    apart = unicodedata.normalize("NFD", "Das schöne Haus.")
    text = page_text(open_page("results", hypothesis=apart, reference1="Das schöne Haus."))
    assert "100.0000" in text and "(NFD) are put together" in text and "looks the same" not in text
    text = page_text(open_page("results", hypothesis="Das Ha\u00adus.", reference1="Das Haus."))
    assert "100.0000" not in text and "(NFD)" not in text and "“Ha\u00adus”, only a word that looks the same" in text


def test_korean_is_divided_by_its_own_tokenizer() -> None:
    text = page_text(open_link("results", checkpoint="ko-numbers", hypothesis="이백 삼", reference1="이백삼"))
    used = tokenizer_for("Korean")
    wanted = sacrebleu.sentence_bleu("이백 삼", ["이백삼"], tokenize=used)
    assert f"{wanted.score:.4f}" in text and f"|tok:{used}" in text and (f"is {used}." in text or "(char)" in text)


def test_what_is_missing_or_the_models_own_is_said() -> None:
    assert "hypothesis is empty" in messages(open_page("results", hypothesis=" ", reference1="Ja."))
    assert "no reference" in messages(open_page("results", reference1=" "))
    said = "reference 1 is the model's own output"
    assert said in page_text(open_page("results", target=""))
    assert said not in page_text(open_page("results", target="", reference1="cba"))
    assert said not in page_text(open_page("results"))  # with a target


def test_the_bundled_model_starts_with_its_own_translation_of_an_example() -> None:
    app = open_link("results", checkpoint="en-de", pair="2")
    assert not app.exception and not messages(app)
    assert app.text_input(key="results_reference1").value == list(PAIRS.values())[1][0]
    assert app.text_input(key="results_hypothesis").value.strip()
    app.text_input(key="results_hypothesis").input("Ich weiß es nicht.").run()
    assert not app.exception and address(app)["hypothesis"] == "Ich weiß es nicht."
    assert all(1 < len(references) <= REFERENCES for references in PAIRS.values())


def test_the_saved_table_has_all_that_was_counted_by_hand() -> None:
    app = open_page("results", hypothesis="a b a", reference1="a b", reference2=" ")
    (menu,) = [json.loads(one.json) for one in components(app, "saving")]
    head, *rows = menu["rows"]
    assert menu["stem"] == ["bleu", "n1"]  # the menu puts the name of the app before it
    assert menu["caption"] == ["a b a", "a b"] and head[:3] == ["quantity", "n", "n-gram"]
    assert rows[:-3] == [
        ["n-gram", 1, "a", 2, 1, 1, None], ["n-gram", 1, "b", 1, 1, 1, None],
        ["n-gram", 2, "a b", 1, 1, 1, None], ["n-gram", 2, "b a", 1, 0, 0, None],
        ["n-gram", 3, "a b a", 1, 0, 0, None],
        ["precision in %", 1, None, 3, None, 2, pytest.approx(200 / 3)], ["precision in %", 2, None, 2, None, 1, 50],
        ["precision in %", 3, None, 1, None, 0, 50],  # nothing matches: half of one in one
    ]  # fmt: skip
    assert rows[-3] == ["brevity penalty", None, None, 3, 2, None, 1]
    assert rows[-2][-1] == pytest.approx((200 / 3 * 50 * 50) ** (1 / 3))
    assert rows[-1][-1] == sacrebleu.sentence_chrf("a b a", ["a b"]).score


@pytest.mark.parametrize(
    "n, hypothesis, reference",
    [(1, ["the", "the", "cat"], ["the", "cat", "the"]), (2, ["the", "cat"], ["the", "cat"]), (3, [], [])],
)
def test_lit_tokens_are_in_matched_groups(n: int, hypothesis: list[str], reference: list[str]) -> None:
    # Of "the the cat" and "the cat saw the" one bigram matches. The other reference shares no word.
    lines = _lit(bleu("the the cat", ["the cat saw the", "a dog"]), n).split("<div><b>")[1:]
    lit = [re.findall("<span class=hs-bleu-lit>(.*?)</span>", line) for line in lines]
    assert lit == [hypothesis, reference, []]


def test_recorded_subsets_are_drawn_and_others_said_to_be_missing(folder: Path) -> None:
    app = open_page("results", part="subsets")
    assert not components(app, "figure") and "no recorded scores" in page_text(app)
    part = {"bleu": 40.5, "sentences": 12, "words": 6.5}
    metrics = {"subsets": {"all": part, "short": part, "long": {"bleu": "x"}, "other": part}}
    assert list(subsets_of(metrics)) == ["all", "short"]
    (folder / "tiny" / "metrics.json").write_text(json.dumps(metrics))
    app = open_page("results", part="subsets")
    assert len(components(app, "figure")) == 1 and "40.5" in page_text(app)


def test_the_bundled_model_has_recorded_every_subset() -> None:
    labels = names()
    assert labels["short"].endswith(f"at most {SHORT} words") and labels["long"] == f"more than {LONG} words"
    assert labels["middle"] == f"{SHORT + 1} to {LONG} words"
    metrics = json.loads((ROOT / "checkpoints" / "en-de" / "metrics.json").read_text(encoding="utf-8"))
    found = subsets_of(metrics)
    assert list(found) == list(names()) and found["all"]["bleu"] == metrics["bleu"]
    assert found["one_reference"]["bleu"] < found["all"]["bleu"] and found["long"]["bleu"] < found["short"]["bleu"]
    assert sum(found[name]["sentences"] for name in ("short", "middle", "long")) == metrics["sentences"]


def test_directions_and_verdicts_by_hand() -> None:
    assert direction([0.7, 0.8], [0.9, 1.0]) == -1
    assert direction([0.9], [0.8]) == 1 and direction([0.7, 0.9], [0.8]) == 0
    base = Row("base", (0.9, 0.91))
    assert verdict(Row("d_k-4", (0.8, 0.85)), base) == "same"
    assert verdict(Row("d_k-4", (0.8, 0.95)), base) == "unclear"
    assert verdict(Row("dropout", (0.8, 0.85)), base) == "other"
    assert verdict(Row("positions-learned", (0.8,)), base) == "other"  # 25.7 of 25.8 counts as no difference
    assert verdict(Row("positions-learned", (0.9,)), base) == "same"
    assert verdict(Row("gelu", (0.8,)), base) == verdict(base, base) == ""
    assert set(PAPER) <= {row.name for row in rows()}


def test_table_3_is_drawn() -> None:
    app = open_page("results", part="tables")
    assert not messages(app) and len(components(app, "figure")) == 1
    assert set(described()) == {row.name for row in rows()}
    assert all(what in page_text(app) for what, _paper in described().values())
    ours, paper = figures(app)["table-3"]["data"]
    names = {what: name for name, (what, _paper) in described().items()}
    changes = {names[row]: change for row, change in zip(paper["y"], paper["x"], strict=True)}
    assert changes == {  # Table 3: BLEU of the row, less that of its base
        "base": 0, "heads-1": -0.9, "heads-8": -0.4, "d_k-4": -0.7, "positions-learned": -0.1, "no-smoothing": -0.5,
        "dropout": 1.2,
    }  # fmt: skip
    assert ours["y"][0] == paper["y"][0] == described()["base"][0] and set(paper["y"]) <= set(ours["y"])


def table2_rows(app: AppTest) -> list[list[str]]:
    (found,) = [one.proto.body for one in app.get("html") if "hs-results-table2" in one.proto.body]
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall("<tr>(.*?)</tr>", found, re.DOTALL)]


def test_the_open_model_stands_below_table_2(folder: Path) -> None:
    app = open_page("results", part="table2")
    assert not messages(app) and len(components(app, "figure")) == 1
    assert "gets 27.3 BLEU for 3.3e+18 operations" in page_text(app) and "the cheapest takes 9.6e+18" in page_text(app)
    *paper, own = table2_rows(app)
    assert [row[1:] for row in paper[-2:]] == [
        ["27.30", "newstest2014", "3.3e+18"], ["28.40", "newstest2014", "2.3e+19"],
    ]  # fmt: skip
    assert own == ["tiny", "–", "–", "–"]  # it has no scores and no log
    assert table2._verdict(None, False) in page_text(app) and "counted from its log" not in page_text(app)
    (folder / "tiny" / "metrics.json").write_text(json.dumps({"bleu": 12.345}))
    (folder / "tiny" / "training.csv").write_text("step,seconds,tokens\n5,10,1000000\n9,20,500000\n")
    parameters = sum(one.numel() for one in transformer.load(folder / "tiny").model.parameters())
    app = open_page("results", part="table2")
    own = table2_rows(app)[-1]
    assert own == ["tiny", "12.35", "its own test set", f"{9e6 * parameters:.1e}"]  # 6 × 1.5 million × parameters
    assert table2._verdict(9e6 * parameters, True) in page_text(app)


@pytest.mark.parametrize(
    "spent, scored, said",
    [
        # Table 2: base 3.3e18, big 2.3e19, the cheapest earlier model 9.6e18.
        (1.1e15, True, "Cost: yes, lower than that of every earlier model. The base model took 3,000 times as many "
         "operations, the big one 21,000 times. BLEU: on other sentences, so it cannot be compared"),
        (9.5e18, False, "Cost: yes, lower than that of every earlier model. The base model took 0.35 times as many "
         "operations, the big one 2.4 times. BLEU: it has no score"),
        (9.6e18, True, "Cost: no, not lower than that of every earlier model. The base model took 0.34 times"),
        (None, False, "Cost: not known, it has no training log. BLEU: it has no score"),
    ],
)  # fmt: skip
def test_the_verdict_on_the_open_model_by_hand(spent: float | None, scored: bool, said: str) -> None:
    assert said in table2._verdict(spent, scored)


def test_a_single_token_is_said_to_be_one() -> None:
    """As of a model that writes letters backwards."""
    right = page_text(open_page("results", hypothesis="cba", reference1="cba"))
    assert "BLEU 100.0 of 100: the hypothesis is a single token, and it is in a reference." in right
    assert "penalty × p₁" in right and "groups of 1" not in right
    wrong = page_text(open_page("results", hypothesis="cbd", reference1="cba"))
    character = sacrebleu.sentence_chrf("cbd", ["cba"]).score
    assert "BLEU 0.0 of 100: the hypothesis is a single token, and no reference has it." in wrong
    assert f"chrF counts characters and gives {character:.1f}." in wrong
