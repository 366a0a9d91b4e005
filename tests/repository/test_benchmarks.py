"""The benchmarks run, and compare what they say they compare. Nothing here is timed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from benchmarks import (
    __main__,
    anatomy,
    attribution,
    commands,
    decoding,
    lab,
    many,
    peer,
    report,
    table3,
    timing,
    trace,
    training,
)
from benchmarks.plain import PlainAttention, plain_copy
from benchmarks.sentences import GERMAN, of_length, pairs, typed
from benchmarks.wire import Wire
from tests.support.build import (
    VARIANTS,
    padded_sources,
    random_ids,
    targets_in,
    tiny_model,
    tiny_pretrained,
    variant_name,
)
from transformer import load
from transformer.__main__ import COMMANDS
from transformer.analysis.alignment import read_gold
from transformer.attribution import METHODS
from transformer.inference.search import greedy
from transformer.training.loop import _Losses
from transformer.training.recipe import read_recipe
from transformer.training.settings import Settings
from transformer.view.anatomy_pack import MATRICES
from transformer.view.anatomy_state import steps_of

pytestmark = pytest.mark.slow  # runs every benchmark

COPIED = [one for one in VARIANTS if not one.keys() & {"norm", "residual", "causal"}]


@pytest.mark.parametrize("changes", COPIED, ids=variant_name)
@torch.inference_mode()
def test_the_plain_copy_is_the_model_to_the_last_bit(changes: dict[str, str]) -> None:
    model = tiny_model(**changes)
    plain = plain_copy(model)
    for source, target in (
        (random_ids(1, 2, 7), targets_in(2, 2)),
        (torch.tensor([[5, 3, 0, 0]]), targets_in(3, 1, 11)),
    ):
        assert torch.equal(plain(source, target), model(source, target))
    assert isinstance(plain.encoder[0].self_attention, PlainAttention)
    assert type(model.encoder[0].self_attention) is not PlainAttention
    mine = {id(parameter) for parameter in model.parameters()}
    assert {id(parameter) for parameter in plain.parameters()} == mine


def test_the_plain_copy_refuses_unsupported_models() -> None:
    with pytest.raises(ValueError, match="norm='pre'"):
        plain_copy(tiny_model(norm="pre"))
    with pytest.raises(ValueError, match="training=True"):
        plain_copy(tiny_model().train())


def test_everything_that_takes_turns_sees_the_same_pass() -> None:
    model = tiny_pretrained()
    plain, off, fused, recorded, whole = (run() for run in trace.passes(model, 9).values())
    assert torch.equal(plain, off) and torch.allclose(off, fused, atol=1e-4)
    assert torch.equal(recorded["logits"], off[0]) and torch.equal(whole.logits, off[0])
    assert len(whole.source_tokens) == len(whole.target_in) == 9


def test_the_trace_benchmark_runs_in_its_smallest_setting() -> None:
    before = torch.get_num_threads()
    traced, idle = trace.measure(tiny_pretrained(), quick=True, lengths=(5, 7))
    assert torch.get_num_threads() == before
    for table in (traced, idle):
        assert {row.cells[0] for row in table.rows} == {"5", "7"}
        assert all(len(row.cells) == len(table.columns) and row.good is not None for row in table.rows)
        assert "| reached |" in table.markdown() and "Load before: " in table.markdown()


def test_switches_are_measured_on_the_same_tokens() -> None:
    found = {name: run() for name, run in lab.passes(tiny_pretrained(), 9).items()}
    plain = found.pop("none")
    assert not plain.interventions and found.keys() == lab.SWITCHES.keys()
    for name, trace_of in found.items():
        assert trace_of.interventions and not torch.equal(trace_of.logits, plain.logits), name
        assert (trace_of.source_ids, trace_of.target_in_ids) == (plain.source_ids, plain.target_in_ids)


def a_film(*frames: tuple[float, bool]) -> anatomy.Film:
    painted = sum(moves for _, moves in frames)
    return anatomy.Film(first=20.0, settled=frames[-1][0], frames=frames, painted=painted, busy=5.0 * painted)


def test_gaps_between_frames_by_hand() -> None:
    film = a_film((0, False), (16, True), (33, True), (66, True), (83, False), (400, True), (417, True), (434, False))
    assert film.gaps == [17, 33, 17]  # neither the wait before a movement nor between two
    table = report.Table("frames", ("",) * 12)
    anatomy.add_frames(table, 20, {"a zoom": [film, a_film((0, True), (17, True), (31, True), (50, False))]})
    anatomy.add_frames(table, 60, {"a zoom": [a_film((0, True), (40, True), (57, True), (97, True))]}, ", first time")
    smooth, late = table.rows
    assert smooth.cells == ("20", "a zoom", "2", "5", "100%", "17.0", "33.0", "20%", "33", "17", "242", "5.0")
    assert smooth.good and not late.good
    assert late.cells[1:9] == ("a zoom, first time", "1", "3", "100%", "40.0", "40.0", "67%", "40")


def test_the_first_picture_has_a_limit_at_twenty_tokens() -> None:
    table = report.Table("opening", ("",) * 4)
    for tokens in (20, 60):
        anatomy.add_opening(table, tokens, {"link again": [900.0, 1300.0, 800.0], "click on its name": [1001.0]})
    assert [row.good for row in table.rows] == [True, False, None, None]
    assert table.rows[0].cells == ("20", "link again", "900 / 800", "1000")


def test_sent_data_is_counted_by_kind() -> None:
    wire = Wire()
    script, pack, other, end = ForwardMsg(), ForwardMsg(), ForwardMsg(), ForwardMsg()
    component = script.delta.new_element.bidi_component
    component.component_name, component.js_content, component.css_content = "headscope.anatomy", "ä" * 300, "b" * 50
    component = pack.delta.new_element.bidi_component
    component.component_name, component.js_content, component.bytes = "headscope.anatomy_place", "c" * 9, b"d" * 4000
    other.delta.new_element.markdown.body = "What am I looking at?"
    end.script_finished = ForwardMsg.FINISHED_SUCCESSFULLY
    messages = [one.SerializeToString() for one in (script, pack, other, end)]
    wire.asked(2.0)
    for number, message in enumerate(messages):
        wire.take(message, 2.01 + number / 100)
    assert wire.scripts == 600 + 50 + 9 and wire.packs == {"anatomy_place": 4000}
    assert wire.received == sum(map(len, messages))
    (run,) = wire.runs
    assert run.milliseconds == pytest.approx(40) and run.received == wire.received
    table = report.Table("travels", ("",) * 8)
    anatomy.add_travels(table, 60, {"first": wire, "a sub-layer": wire})
    assert table.rows[0].cells[:4] == ("60", "the first picture", "1", "4") and table.rows[0].good
    assert table.rows[1].cells[5:] == (f"{wire.received / 1e3:.0f}", "", "") and table.rows[1].good is None


def test_the_anatomy_is_walked_through_all_its_steps() -> None:
    config = tiny_pretrained().config
    assert {place: len(steps_of(place, config)) - 1 for place in anatomy.STEPS} == anatomy.STEPS
    for place, steps in anatomy.NUMBERS.items():
        assert set(steps) <= set(steps_of(place, config))
    assert {step for steps in anatomy.NUMBERS.values() for step in steps} - {"hidden"} == set(MATRICES)


def test_the_peer_of_training_is_the_same_model() -> None:
    """With the weights copied over, torch.nn.Transformer gives our trainer's loss: both sides do the same work."""
    pretrained = tiny_pretrained()
    model, config = pretrained.model, pretrained.config
    other = training.Peer(config).eval()
    with torch.no_grad():
        other.embedding.weight.copy_(model.embedding.weight)
        for theirs, ours in zip(
            (*other.transformer.encoder.layers, *other.transformer.decoder.layers),
            (*model.encoder, *model.decoder),
            strict=True,
        ):
            copy_layer(theirs, ours)
    batch = training.batches(config, 2, 200)[0]
    loss, _ = _Losses(model, Settings(smoothing=training.SMOOTHING))(batch.source, batch.target_in, batch.target_out)
    tokens = int((batch.target_out != 0).sum())
    # nn.Transformer ends each stack in one more LayerNorm, which the paper and we do without.
    other.transformer.encoder.norm = other.transformer.decoder.norm = None
    assert torch.allclose(other(batch), loss / tokens, atol=1e-4)


def copy_layer(theirs: torch.nn.Module, ours: torch.nn.Module) -> None:
    """The weights of one of our layers into one of torch's."""
    for name, attention in (("self_attn", "self_attention"), ("multihead_attn", "cross_attention")):
        if hasattr(theirs, name):
            into, out = getattr(theirs, name), getattr(ours, attention)
            into.in_proj_weight.copy_(torch.cat((out.query.weight, out.key.weight, out.value.weight)))
            into.in_proj_bias.copy_(torch.cat((out.query.bias, out.key.bias, out.value.bias)))
            into.out_proj.load_state_dict(out.output.state_dict())
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    residuals = [ours.self_residual, *([ours.cross_residual] if hasattr(ours, "cross_residual") else []),
                 ours.feed_forward_residual]  # fmt: skip
    for number, residual in enumerate(residuals, 1):
        getattr(theirs, f"norm{number}").load_state_dict(residual.norm.state_dict())


def test_training_is_timed_on_the_same_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, list[Any]] = {"ours": [], "theirs": []}
    for side, name in (("ours", "our_step"), ("theirs", "peer_step")):
        make = getattr(training, name)

        def watched(*rest: Any, make: Any = make, side: str = side) -> Any:
            step = make(*rest)
            return lambda batch: (given[side].append(batch), step(batch))[1]

        monkeypatch.setattr(training, name, watched)
    (table,) = training.measure(tiny_pretrained(), quick=True, precisions=("float32",))
    assert len(table.rows) == 1 and table.rows[0].good is not None
    assert given["ours"] and all(one is other for one, other in zip(given["ours"], given["theirs"], strict=True))


def test_decoding_writes_equally_much_on_both_sides() -> None:
    table = decoding.beside_marian(tiny_pretrained(), quick=True)
    assert [row.cells[0] for row in table.rows] == ["1", "32"] and table.rows[0].good is not None


def test_the_model_that_decodes_never_ends() -> None:
    endless = decoding.ours(tiny_pretrained())
    for found in greedy(endless, padded_sources(1, vocab=67), 9):
        assert len(found.ids) == 9 and 3 not in found.ids


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


def test_ratios_and_percentiles_by_hand() -> None:
    found = timing.ratio({"a": [3.0, 2.0, 9.0], "b": [1.0, 2.0, 4.0]}, "a", "b")
    assert (found.median, found.best, str(found)) == (1.5, 2.0, "1.50 / 2.00")
    assert timing.percentile([5, 1, 4, 2, 3], 0.5) == 3 and timing.percentile(range(1, 101), 0.95) == 95
    assert timing.percentile([7], 0.95) == 7


def test_a_part_replaces_only_the_text_between_its_markers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "README", tmp_path / "README.md")
    text = "top\n<!-- measured: {0} -->\nold\n<!-- end: {0} -->\n"
    report.README.write_text(text.format("trace") + text.format("server"))
    report.write("trace", "new\n")
    assert report.README.read_text() == text.format("trace").replace("old", "\nnew\n") + text.format("server")
    with pytest.raises(ValueError, match="put them back"):
        report.write("rendering", "new")


def test_the_readme_has_a_place_for_every_part() -> None:
    content = report.README.read_text(encoding="utf-8")
    for name in __main__.PARTS:
        assert content.count(f"<!-- measured: {name} -->") == content.count(f"<!-- end: {name} -->") == 1


def test_an_unknown_part_gives_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        __main__.main(["speed"])
    assert f"unknown benchmark 'speed'; choose {', '.join(__main__.PARTS)}" in capsys.readouterr().err


def test_a_page_of_bertviz_loads_its_libraries_from_here() -> None:
    site = peer.Site(dict.fromkeys(peer.LIBRARIES, b""))
    page = (
        '<script src="https://cdn.test/require.js/2.3.6/require.min.js"></script>'
        "d3: 'https://cdn.test/d3/5.7.0/d3.min', jquery: 'https://cdn.test/jquery/2.0.0/jquery.min',"
    )
    assert site.show(page) == len(page)
    assert b'src="/require.min.js"' in site.page and b"'/d3.min'" in site.page and b"'/jquery.min'" in site.page
    assert b"cdn.test" not in site.page
    with pytest.raises(peer.NoPeer, match="names 0 libraries, not 3"):
        site.show("<svg></svg>")


def test_tensors_of_many_pairs_are_those_of_single_traces() -> None:
    table, worth = many.measure(load("en-de"), quick=True)
    *kept, single = table.rows
    assert [row.cells[0] for row in kept] == list(many.KEPT) and single.cells[3] == ""
    assert all(float(row.cells[3]) <= 1e-5 for row in kept)
    assert worth.title.startswith("2 heads") and [row.cells[0][-4:] for row in worth.rows] == ["zero", "mean"]


@pytest.mark.long
def test_every_command_is_measured_but_those_that_do_not_end_or_need_a_network() -> None:
    (table,) = commands.measure(load("reverse"), quick=True)
    names = {row.cells[0].strip("`").split()[0] for row in table.rows}
    assert COMMANDS.keys() - names == {"app", "get"}
    for row in table.rows:
        assert float(row.cells[2]) > 0 and float(row.cells[3]) > 0 and float(row.cells[4].replace(",", "")) > 50
    assert "2 pairs" in next(row for row in table.rows if row.cells[0] == "`align`").cells


def test_the_rate_that_is_wanted_by_hand(tmp_path: Path) -> None:
    found = {job.name: job for job in commands.jobs(load("en-de"), tmp_path) if job.rate}
    align = found.pop("`align`").rate
    assert not found and align
    assert align(commands.Usage(60.0, 1.0, 1)) == ("3,000 pairs a minute", True)
    assert align(commands.Usage(120.0, 1.0, 1)) == ("1,500 pairs a minute", False)


def test_the_memory_of_a_command_is_its_own_and_not_that_of_the_benchmarks() -> None:
    mine = bytearray(b"a" * 300_000_000)
    small, large = (commands.use(["-S", "-c", code]) for code in ("pass", "x = b'a' * 200_000_000"))
    assert len(mine) > small.peak + 200_000_000 and 200_000_000 < large.peak < len(mine)
    with pytest.raises(commands.CommandFailed, match=r"(?s)-c 1 / 0: .*ZeroDivisionError"):
        commands.use(["-c", "1 / 0"])


def test_every_method_is_compared_with_every_other_and_with_random_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution, "gold_pairs", lambda: read_gold("head\tdaeh\t0-0\n"))
    agreement, faithfulness, integrated, memory = attribution.measure(load("reverse"), quick=True)
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
    assert [row.cells[0] for row in memory.rows] == list(METHODS)


def test_table3_has_a_row_for_every_recipe_and_each_changes_one_line() -> None:
    names = {path.stem for path in table3.RECIPES.glob("*.toml")}
    assert names == set(table3.ROWS)
    base = read_recipe(table3.RECIPES / "base.toml")
    for name in names - {"base"}:
        own = tomllib.loads((table3.RECIPES / f"{name}.toml").read_text(encoding="utf-8"))
        assert own.pop("like") == "base.toml" and sum(len(section) for section in own.values()) == 1
        assert read_recipe(table3.RECIPES / f"{name}.toml") != base


def test_table3_is_written_with_mean_and_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table3, "PAGE", tmp_path / "table3.md")
    monkeypatch.setattr(table3, "NUMBERS", tmp_path / "table3.json")
    (tmp_path / "table3.md").write_text(f"before {report.START} old {report.END} after")
    runs = [table3.Found(0.5, 1.5), table3.Found(1.0, 1.0), table3.Found(0.9, 1.1)]
    table3.write({"heads-1": runs})
    page = (tmp_path / "table3.md").read_text()
    assert "| `heads-1` | 1 head of 64 | 80.0 (50.0 to 100.0) | 1.200 (1.000 to 1.500) |" in page
    assert page.startswith("before ") and page.endswith(" after") and "old" not in page
    assert json.loads((tmp_path / "table3.json").read_text())["rows"]["heads-1"]["exact"] == [0.5, 1.0, 0.9]
