"""The benchmarks run, and compare what they say they compare. Nothing here is timed."""

import tomllib
from pathlib import Path

import pytest
import torch

from benchmarks import __main__, attribution, decoding, peer, report, server, table3, timing, trace
from tests.support.build import tiny_pretrained
from tests.support.processes import Sample
from tests.support.sentences import GERMAN, of_length, pairs, typed
from tests.support.viewer import Run
from transformer import load
from transformer.analysis.alignment import read_gold
from transformer.attribution import METHODS
from transformer.training.recipe import read_recipe

pytestmark = pytest.mark.slow  # runs every benchmark


def test_everything_that_takes_turns_sees_the_same_pass() -> None:
    model = tiny_pretrained()
    off, fused, recorded, whole = (run() for run in trace.passes(model, 9).values())
    assert torch.allclose(off, fused, atol=1e-4)
    assert torch.equal(recorded["logits"], off[0]) and torch.equal(whole.logits, off[0])
    assert len(whole.source_tokens) == len(whole.target_in) == 9


def test_the_trace_benchmark_runs_in_its_smallest_setting() -> None:
    before = torch.get_num_threads()
    (table,) = trace.measure(tiny_pretrained(), quick=True, lengths=(5, 7))
    assert torch.get_num_threads() == before
    assert {row.cells[0] for row in table.rows} == {"5", "7"}
    assert all(len(row.cells) == len(table.columns) and row.good is not None for row in table.rows)
    assert "| reached |" in table.markdown() and "Load before: " in table.markdown()


def test_decoding_compares_the_same_sentences() -> None:
    table = decoding.beside_ctranslate(load("reverse"), quick=True, batches=(2,))
    assert [row.cells[:2] for row in table.rows] == [("1", "2"), (str(decoding.BEAMS), "2")]
    assert [row.cells[7].split(", ")[0] for row in table.rows] == ["4", "4"]  # the app writes the same tokens


def test_texts_have_the_tokens_asked_for() -> None:
    tokenizer = tiny_pretrained().tokenizer
    for tokens in (5, 12, 40):
        assert len(tokenizer.encode(of_length(tokenizer, tokens, 3, GERMAN))) + 1 == tokens
    found = pairs(tokenizer, 20, 5)
    assert len({source for source, _ in found}) == 5 and len({target for _, target in found}) == 1
    assert len(set(typed(330))) == 330


def test_turns_alternate_and_the_first_rounds_do_not_count() -> None:
    calls: list[str] = []
    times = timing.take_turns({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 3, warm=1)
    assert "".join(calls) in ("abbaabba", "baabbaab")
    assert {name: len(values) for name, values in times.items()} == {"a": 3, "b": 3}


def test_ratios_by_hand() -> None:
    found = timing.ratio({"a": [3.0, 2.0, 9.0], "b": [1.0, 2.0, 4.0]}, "a", "b")
    assert (found.median, found.best, str(found)) == (1.5, 2.0, "1.50 / 2.00")
    assert timing.cell([3.0, 2.0, 9.0]) == "3 / 2"


def test_pages_and_memory_are_judged_by_hand() -> None:
    times = {server.NEW: [900.0], "": [10.0] * 19 + [500.0], "lab": [10.0, 101.0]}
    runs = {what: [Run(time, 20_000) for time in found] for what, found in times.items()}
    rows = {row.cells[:2]: row for row in server.all_pages(runs, 30, 10, 2.0).rows}
    assert rows["Heads", "a click"].cells[2:6] == ("20", "10", "10", "500") and rows["Heads", "a click"].good
    assert rows["Lab", "a click"].good is False and rows["all", server.NEW].good is None
    assert rows["all", "a click"].cells[2] == "22" and rows["all", "a click"].good is False

    def memory(*sizes: int) -> report.Row:
        samples = [Sample(second, size * 1_000_000, 5, 30, 0.1 * second) for second, size in enumerate(sizes)]
        return server.resources("", samples).rows[0]

    growing = memory(500, 530, 549, 560)  # by 19.9 a second
    assert growing.good is False and growing.cells[1:5] == ("500", "560", "500", "560")
    assert growing.cells[5].startswith("+60 MB") and memory(500, 540, 500).good


def test_a_part_replaces_only_the_text_between_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "top\n<!-- measured: {0} -->\nold\n<!-- end: {0} -->\n"
    page.write_text(text.format("trace") + text.format("room"))
    report.write(page, "new\n", "trace")
    assert page.read_text() == text.format("trace").replace("old", "\nnew\n") + text.format("room")
    with pytest.raises(ValueError, match="put them back"):
        report.write(page, "new", "server")


def test_the_readme_has_a_place_for_every_part() -> None:
    for name in __main__.PARTS:
        assert report.around(__main__.README, name)


def test_an_unknown_part_gives_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        __main__.main(["speed"])
    assert f"unknown benchmark 'speed'; choose {', '.join(__main__.PARTS)}" in capsys.readouterr().err


def test_a_page_of_bertviz_loads_the_libraries_beside_it() -> None:
    page = peer.local(
        '<script src="https://cdn.test/require.js/2.3.6/require.min.js"></script>'
        "d3: 'https://cdn.test/d3/5.7.0/d3.min', jquery: 'https://cdn.test/jquery/2.0.0/jquery.min',"
    )
    assert 'src="require.min.js"' in page and "'d3.min'" in page and "'jquery.min'" in page and "cdn.test" not in page
    with pytest.raises(ValueError, match="names 0 libraries, not 3"):
        peer.local("<svg></svg>")


def test_every_method_is_compared_with_every_other_and_with_random_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution, "gold_pairs", lambda: read_gold("head\tdaeh\t0-0\n"))
    agreement, faithfulness, integrated = attribution.measure(load("reverse"), quick=True)
    assert [row.cells[0] for row in agreement.rows] == list(METHODS)
    for number, row in enumerate(agreement.rows):
        assert row.cells[1 + number] == "1.00"
        assert row.cells[1:] == tuple(other.cells[1 + number] for other in agreement.rows)  # the same both ways
    assert {row.cells[0] for row in faithfulness.rows} == {*METHODS, attribution.RANDOM}
    heights = [float(row.cells[1]) for row in faithfulness.rows]
    assert heights == sorted(heights)
    assert sum(int(row.cells[3].rstrip("%")) for row in faithfulness.rows if row.cells[3]) == pytest.approx(100, abs=5)
    adaptive, fixed = integrated.rows[:2]
    assert float(adaptive.cells[2].rstrip("%")) <= 1 and fixed.cells[0].endswith("64 points")


def test_table3_has_a_row_for_every_recipe_and_each_changes_one_line() -> None:
    names = {path.stem for path in table3.RECIPES.glob("*.toml")}
    assert names == set(table3.ROWS)
    base = read_recipe(table3.RECIPES / "base.toml")
    for name in names - {"base"}:
        own = tomllib.loads((table3.RECIPES / f"{name}.toml").read_text(encoding="utf-8"))
        assert own.pop("like") == "base.toml" and sum(len(section) for section in own.values()) == 1
        assert read_recipe(table3.RECIPES / f"{name}.toml") != base


def test_table3_is_stored_and_shown_with_mean_and_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table3, "NUMBERS", tmp_path / "table3.json")
    runs = [table3.Found(0.5, 1.5), table3.Found(1.0, 1.0), table3.Found(0.9, 1.1)]
    table3.store({"heads-1": runs})
    assert table3.stored() == {"heads-1": runs}
    row = "| `heads-1` | 1 head of 64 | 80.0 (50.0 to 100.0) | 1.200 (1.000 to 1.500) |"
    assert row in table3.table(table3.stored())
