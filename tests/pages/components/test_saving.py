"""What saved pictures hold and say: the numbers that are drawn under headings, the sentences, and the switches."""

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import transformer
from pages.components.saving import describe_trace
from pages.recipe.rate import recorded
from pages.results import table3
from tests.support.app import open_page
from tests.support.build import tiny_pretrained
from transformer.analysis.leak import moved
from transformer.analysis.lens import logit_lens
from transformer.cost.complexity import Sizes, costs
from transformer.interventions.sets import Interventions

SOURCE, TARGET = "ka lo mi", "re sta vu"


def data_of(app: AppTest, component: str) -> list[dict[str, Any]]:
    """The data of every component of a name, in the order of the page."""
    found = [e.proto for e in app.get("bidi_component") if e.proto.component_name == f"headscope.{component}"]
    return [json.loads(proto.json or proto.mixed.json) for proto in found]


def test_captions_and_names_say_the_model_the_sentences_and_the_switches() -> None:
    model = tiny_pretrained()
    trace = model.trace(SOURCE, TARGET)
    plain = {"model": trace.checkpoint, "sentences": "ka lo mi → re sta vu", "switches": [], "in_words": ""}
    assert describe_trace(trace) == plain
    switches = Interventions.parse("scaling=off zero=cross.1.2")
    after = model.retrace(trace, switches)
    assert describe_trace(after) == describe_trace(trace, switches) == {
        **plain,
        "switches": ["scaling-off", "zero-cross.1.2"],
        "in_words": "Switched: scaling off; heads knocked out in cross-attention, layer 1, head 2",
    }  # fmt: skip
    assert describe_trace(after, Interventions()) == plain


def test_the_leak_is_saved_with_its_numbers(folder: Path) -> None:
    app = open_page("lab", part="leak", position="3", token="lo")
    (data,) = data_of(app, "saving")
    head, *rows = data["rows"]
    assert head == ["position", "fed", "predicts", "with the mask", "without"]
    model = transformer.load(str(folder / "tiny"))
    trace = model.trace(SOURCE, TARGET)
    (token,) = [i for i in model.tokenizer.encode("lo") if model.tokenizer.pieces([i]) != ["▁"]][:1]
    for column, switches in ((3, Interventions()), (4, Interventions.parse("causal=off"))):
        distances = moved(model.retrace(trace, switches), model.retrace(trace, switches, fed={2: token}))
        assert [row[column] for row in rows] == pytest.approx(distances.tolist(), abs=1e-6)
    assert [row[0] for row in rows] == list(range(1, len(rows) + 1))
    assert "→" in rows[2][1] and rows[1][1] == trace.target_in_labels[1]
    assert data["caption"][0].startswith("At position 3") and data["caption"][1] == f"{SOURCE} → {TARGET}"
    assert data["stem"][:3] == [trace.checkpoint, "leak", "position3"]


def test_table_1_is_saved_with_whole_numbers() -> None:
    (data,) = data_of(open_page("anatomy", part="compare", n="9"), "saving")
    config = tiny_pretrained().config
    found = costs(Sizes(9, config.d_model, config.heads, 3, 5, config.d_k))
    assert data["rows"][0][:3] == ["Layer", "Complexity per layer · Table 1", "Complexity per layer · as built"]
    assert data["rows"][1][0] == "Self-attention"
    for row, cost in zip(data["rows"][1:], found, strict=True):
        assert row[1:5] == [cost.order, cost.multiply_adds, cost.sequential_order, cost.sequential]
        assert row[5:] == pytest.approx([cost.path_order, cost.path])
    assert data["stem"][:2] == ["table-1", "n9"] and "n = 9 tokens" in data["caption"][0]


def test_the_tables_of_the_lens_are_saved_with_all_their_tokens(folder: Path) -> None:
    steps, step = data_of(open_page("embeddings", part="lens", step="2"), "saving")
    model = transformer.load(str(folder / "tiny"))
    lens = logit_lens(model.trace(SOURCE, TARGET), model.model)
    head, *rows = steps["rows"]
    assert head == ["step", "fed", "after layer", "place", "token", "probability"]
    assert len(rows) == lens.probabilities.numel()
    for number, _fed, layer, place, _token, probability in rows:
        assert probability == pytest.approx(float(lens.probabilities[layer, number - 1, place - 1]), abs=1e-5)
    assert step["rows"] == [head, *(row for row in rows if row[0] == 2)] and step["stem"][-1] == "step2"


def test_the_cost_of_training_is_saved_in_numbers(folder: Path) -> None:
    (folder / "tiny" / "training.csv").write_text("step,seconds,tokens\n5,3600,1000\n9,7200,500\n")
    (data,) = data_of(open_page("recipe", part="cost", speed="0.5"), "saving")
    counted = 9000 * transformer.load(folder / "tiny").model.parameter_count()  # 6 × 1,500 tokens
    assert data["stem"] == ["tiny", "cost", "0.5"] and data["caption"][0].startswith("Section 5.2")
    assert data["rows"] == [
        ["model", "seconds", "TFLOPS", "operations", "6 × parameters × tokens"],
        ["the paper's base", 43_200, 76, pytest.approx(3.2832e18), None],
        ["the paper's big", 302_400, 76, pytest.approx(2.29824e19), None],
        ["tiny", 7200, 0.5, 3.6e15, counted],
    ]  # fmt: skip


def test_label_smoothing_is_saved_run_by_run() -> None:
    (data,) = data_of(open_page("recipe", part="smoothing"), "saving")
    head, *rows = data["rows"]
    assert head == ["epsilon", "seed", "perplexity", "accuracy", "exact", "confidence"]
    runs = recorded()["smoothing"]
    assert [row[0] for row in rows] == [float(name) for name in runs for _run in runs[name]]
    for row, run in zip(rows, (run for found in runs.values() for run in found), strict=True):
        assert row[2:] == [run[key] for key in head[2:]]
    assert [row[1] for row in rows] == recorded()["seeds"] * len(runs)


def test_tables_2_and_3_are_saved_with_what_they_show(folder: Path) -> None:
    (folder / "tiny" / "metrics.json").write_text(json.dumps({"bleu": 12.345}))
    (data,) = data_of(open_page("results", part="table2"), "saving")
    head, *rows = data["rows"]
    assert head == ["model", "BLEU", "test set", "operations"] and data["stem"] == ["tiny", "table-2"]
    assert rows[0] == ["GNMT + RL", 24.6, "newstest2014", 2.3e19]
    assert rows[-1] == ["tiny", 12.345, "its own", None]  # without a log
    (data,) = data_of(open_page("results", part="tables"), "saving")
    head, *rows = data["rows"]
    assert head == ["what differs", *(f"exact, run {n}" for n in (1, 2, 3)), "change of BLEU in the paper",
                    "as in the paper"]  # fmt: skip
    for row, line in zip(rows, table3.rows(), strict=True):
        assert row[1:4] == list(line.exact) and row[5] == (table3.verdict(line, table3.rows()[0]) or None)
    assert [row[4] for row in rows[:3]] == [0, -0.9, -0.4] and None in [row[4] for row in rows]


@pytest.mark.parametrize(
    ("page", "part"), [("embeddings", "residual"), ("feedforward", "nonlinearity"), ("positions", "order")]
)
def test_figures_of_a_sentence_say_it(page: str, part: str) -> None:
    figures = data_of(open_page(page, part=part), "figure")
    assert figures and all(figure["told"]["sentences"] == f"{SOURCE} → {TARGET}" for figure in figures)
