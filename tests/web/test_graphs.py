"""Exported graphs compute what the model computes: one random model with many options, then (slow) all options."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save, save_file

import transformer
from tests.support.build import (
    PAIRWISE,
    T5,
    pretrained_variant,
    saved_checkpoint,
    tiny_model,
    tiny_pretrained,
    variant_name,
)
from tests.support.marian import marian_folder
from tests.support.reports import Reports
from tests.support.strategies import many_switches
from tests.support.t5 import t5_folder
from transformer.cancellation import Stopped
from transformer.checkpoints.folder import WEIGHTS, save_checkpoint
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import InterventionError, Interventions
from transformer.model.config import ModelConfig
from transformer.probing.importance import without
from transformer.web import folder as web_folder
from transformer.web.check import SWITCHES, ExportError, Graphs, compare
from transformer.web.folder import ABOUT, GRAPHS, OWN_WEIGHTS, STEPS, export_folder, files
from transformer.web.site import _write_model
from transformer.web.switches import needs_server

SOURCE, TARGET = "ka lo mi nu re", "re sta ti vu"
OPTIONS = dict(
    encoder_layers=1, norm="pre", positions="learned", activation="gelu", d_k=13, tied_output=False, output_bias=True
)
Exported = tuple[Pretrained, Graphs, Path]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Exported:
    model, folder = pretrained_variant(**OPTIONS), tmp_path_factory.mktemp("web") / "tiny"
    export_folder(model, folder)
    return model, Graphs(model, folder), folder


def test_a_chunk_after_a_past_gives_the_last_rows_of_the_pass(exported: Exported) -> None:
    model, graphs, _ = exported
    source, fed = model.encode(SOURCE), [model.config.start_id, *model.encode(TARGET, "target")[:-1]]
    encoded = graphs.encode(source)
    whole = graphs.decode(source, encoded, fed)
    for past in (1, len(fed) - 1):
        before = graphs.decode(source, encoded, fed[:past])
        chunk = graphs.decode(source, encoded, fed[past:], past=before)
        for name, tensor in chunk.items():
            expected = whole[name]
            if name not in ("decoder_self.keys", "decoder_self.values"):
                expected = expected[..., past:, :]
            torch.testing.assert_close(tensor, expected, rtol=1e-5, atol=1e-5, msg=name)


@settings(max_examples=50)
@given(st.data())
def test_switches_give_the_numbers_of_python(exported: Exported, data: st.DataObject) -> None:
    model, graphs, _ = exported
    trace = model.trace(SOURCE, TARGET)
    switches = data.draw(many_switches(model.model, len(trace.source_ids)))
    assume(not any(map(needs_server, switches.switches)))
    try:
        changed = model.retrace(trace, switches)
    except InterventionError:  # no key is left, or the sentence is too short
        assume(False)
    compare(graphs, changed)


@pytest.mark.parametrize(
    "switches",
    [
        "zero=cross.1", "skip=decoder.2.ff neurons=encoder.1.3", "hide=source.2 scaling=off", "positions=shift.3",
        "pad=3 padding=off", "mean=all.1.2", "weights=uniform", "causal=off", "positions=reverse@target",
    ],
)  # fmt: skip
def test_greedy_search_with_switches_writes_the_tokens_of_python(exported: Exported, switches: str) -> None:
    """The last two need a pass over all tokens for each step."""
    model, graphs, _ = exported
    trace = model.trace(SOURCE, interventions=Interventions.parse(switches))
    assert len(trace.target_out_ids) > 5
    assert graphs.write(trace.source_ids, trace.interventions) == list(trace.target_out_ids)


def test_the_folder_holds_what_web_json_names(exported: Exported) -> None:
    model, _, folder = exported
    about = json.loads((folder / ABOUT).read_text())
    assert {path.name for path in folder.iterdir()} == {ABOUT, *files(about)}
    assert about["weights"] == OWN_WEIGHTS and about["mean"] is True
    assert ModelConfig.from_dict(about["config"]) == model.config
    assert (folder / "tokenizer.model").read_bytes() == model.tokenizer.to_bytes()


def test_graphs_compute_another_model_with_its_weights_in_the_file(exported: Exported, tmp_path: Path) -> None:
    _, _, folder = exported
    other = replace(pretrained_variant(), model=tiny_model(9, vocab_size=67, **OPTIONS))
    for name in GRAPHS:
        shutil.copyfile(folder / name, tmp_path / name)
    save_file({name: tensor.clone() for name, tensor in other.model.named_parameters()}, tmp_path / OWN_WEIGHTS)
    compare(Graphs(other, tmp_path), other.trace(SOURCE))


# -- what is written, and when nothing is -----------------------------------------------------------------------------


@pytest.fixture
def made_before(exported: Exported, monkeypatch: pytest.MonkeyPatch) -> Pretrained:
    """The model of `exported`, with its graphs at hand."""
    model, _, folder = exported
    monkeypatch.setattr(web_folder, "export", lambda network, stack, *_: (folder / f"{stack}.onnx").read_bytes())
    return model


def refused(model: Pretrained, parent: Path) -> str:
    """The sentence of an export that fails, and leaves everything as it was."""
    folder = parent / "mine"
    folder.mkdir()
    (folder / ABOUT).write_text("{}")
    with pytest.raises(ExportError) as error:
        export_folder(model, folder)
    assert [path.name for path in parent.iterdir()] == ["mine"]
    assert [path.name for path in folder.iterdir()] == [ABOUT] and (folder / ABOUT).read_text() == "{}"
    assert "\n" not in str(error.value)
    return str(error.value)


def changed(model: Pretrained, factor: float) -> bytes:
    """Weights that differ by this factor in one matrix."""
    tensors = {name: tensor.clone() for name, tensor in model.model.named_parameters()}
    tensors["decoder.1.cross_attention.value.weight"] *= factor
    return save(tensors)


def test_other_tokens_are_reported(made_before: Pretrained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = changed(made_before, -9)
    monkeypatch.setattr(web_folder, "_own_weights", lambda model: wrong)
    assert "the model writes" in refused(made_before, tmp_path)


def test_other_numbers_are_reported(made_before: Pretrained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = changed(made_before, 1.0005)
    monkeypatch.setattr(web_folder, "_own_weights", lambda model: wrong)
    assert "(switches: none), cross.values of the graphs of tiny differs by" in refused(made_before, tmp_path)


@pytest.mark.parametrize("switches", [text for text in SWITCHES if text not in ("pad=3", "bias=off")])
def test_a_switch_that_the_graphs_ignore_is_reported(
    exported: Exported, switches: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, graphs, _ = exported
    trace = model.retrace(model.trace(SOURCE, TARGET), Interventions.parse(switches))
    compare(graphs, trace)
    monkeypatch.setattr(graphs, "trace", lambda source, fed, switches: Graphs.trace(graphs, source, fed))
    with pytest.raises(ExportError, match="differs by"):
        compare(graphs, trace)


def test_a_stopped_export_leaves_nothing(made_before: Pretrained, tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        export_folder(made_before, tmp_path / "mine", lambda done, total: done < 5)
    assert not [*tmp_path.iterdir()]


def test_progress_counts_to_its_end(made_before: Pretrained, tmp_path: Path) -> None:
    steps = Reports()
    export_folder(made_before, tmp_path / "mine", steps)
    assert steps == [(done, STEPS) for done in range(1, STEPS + 1)]


def test_without_the_extra_one_sentence_says_what_to_install(
    made_before: Pretrained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_folder, "EXPORTERS", ("onnxruntime", "no_such_package"))
    assert refused(made_before, tmp_path) == (
        "to export a model, no_such_package must be installed: pip install '.[web]'"
    )


def test_an_exporter_that_fails_is_one_sentence(
    made_before: Pretrained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def export(*_: object) -> bytes:
        raise torch.onnx.OnnxExporterError("Failed to decompose\nthe FX graph")

    monkeypatch.setattr(web_folder, "export", export)
    assert refused(made_before, tmp_path).startswith(
        f"torch {torch.__version__} cannot export tiny; install the versions"
    )


@pytest.fixture
def no_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports without graphs, which take seconds."""

    def export(model: Pretrained, folder: Path, weights: str, progress: object) -> None:
        for name in GRAPHS:
            (folder / name).write_bytes(b"")

    monkeypatch.setattr(web_folder, "_export", export)


@pytest.mark.usefixtures("no_graphs")
def test_weights_of_a_checkpoint_are_copied(tmp_path: Path) -> None:
    model = transformer.load(saved_checkpoint(tmp_path))
    export_folder(model, tmp_path / "web")
    assert (tmp_path / "web" / WEIGHTS).read_bytes() == (tmp_path / "mine" / WEIGHTS).read_bytes()


@pytest.mark.usefixtures("no_graphs")
def test_a_model_that_was_changed_has_weights_of_its_own(tmp_path: Path) -> None:
    model = without(transformer.load(saved_checkpoint(tmp_path)), [("cross", 1, 2)])
    export_folder(model, tmp_path / "web")
    assert WEIGHTS not in {path.name for path in (tmp_path / "web").iterdir()}
    written = load_file(tmp_path / "web" / OWN_WEIGHTS)
    assert all(torch.equal(written[name].float(), tensor) for name, tensor in model.model.named_parameters())


@pytest.mark.usefixtures("no_graphs")
def test_weights_of_another_type_have_16_bits_where_they_are_exact(tmp_path: Path) -> None:
    tiny = tiny_pretrained()
    network = tiny_model(vocab_size=67)
    with torch.no_grad():
        next(network.parameters())[5, 6] = 1e-20  # bfloat16 has it, float16 does not
    save_checkpoint(tmp_path / "mine", network, tiny.tokenizer, dtype=torch.bfloat16)
    model = transformer.load(tmp_path / "mine")
    assert export_folder(model, tmp_path / "web")["weights"] == OWN_WEIGHTS
    written, parameters = load_file(tmp_path / "web" / OWN_WEIGHTS), dict(model.model.named_parameters())
    assert all(torch.equal(written[name].float(), tensor) for name, tensor in parameters.items())
    assert {name for name, tensor in written.items() if tensor.dtype == torch.float32} >= {"embedding.weight"}
    assert written["encoder.0.self_attention.query.bias"].dtype == torch.float16


@pytest.mark.usefixtures("no_graphs")
def test_a_marian_folder_has_a_tokenizer_and_a_table_of_ids_for_each_side(tmp_path: Path) -> None:
    marian_folder(tmp_path / "marian", "apart")
    model = transformer.load(tmp_path / "marian")
    about = export_folder(model, tmp_path / "web")
    assert about["tokenizers"].keys() == {"source", "target"} and set(files(about)) == about["files"].keys()
    for side, vocabulary in (("source", "vocab.json"), ("target", "target_vocab.json")):
        names = about["tokenizers"][side]
        assert (tmp_path / "web" / names["model"]).read_bytes() == (tmp_path / "marian" / f"{side}.spm").read_bytes()
        table = json.loads((tmp_path / "web" / names["table"]).read_text())
        assert table["vocabulary"] == json.loads((tmp_path / "marian" / vocabulary).read_text())
        assert table["unknown"] == model.config.unk_id and table["size"] == len(model.tokenizer_of(side))
        assert table["controls"] == sorted({model.config.pad_id, model.config.start_id, model.config.end_id})


@pytest.mark.usefixtures("no_graphs")
def test_both_sides_of_a_t5_folder_have_one_tokenizer(tmp_path: Path) -> None:
    t5_folder(tmp_path / "t5")
    about = export_folder(transformer.load(tmp_path / "t5"), tmp_path / "web")
    assert about["tokenizers"] == {"target": {"model": "target.spm", "table": "target.table.json"}}
    assert (tmp_path / "web" / "target.spm").read_bytes() == (tmp_path / "t5" / "spiece.model").read_bytes()
    table = json.loads((tmp_path / "web" / "target.table.json").read_text())
    assert table["vocabulary"]["<extra_id_0>"] == 172 and not table["codes"]
    assert not _write_model(tmp_path / "site", transformer.load(tmp_path / "t5"))["anatomy"]  # its page says why
    assert not [*(tmp_path / "site").glob("anatomy*")]


def test_settings_that_the_browser_does_not_follow_are_refused(tmp_path: Path) -> None:
    marian_folder(tmp_path / "marian", "swish")
    (tmp_path / "marian" / "generation_config.json").write_text('{"no_repeat_ngram_size": 2}')
    with pytest.raises(ExportError, match="generation_config.json of marian has settings that the browser does not"):
        export_folder(transformer.load(tmp_path / "marian"), tmp_path / "web")


# -- every option -----------------------------------------------------------------------------------------------------

# Fields that PAIRWISE lacks.
MORE: tuple[dict[str, Any], ...] = (
    {"tied_output": False}, {"output_bias": True}, {"embedding_scale": False}, {"layout": "halves"}, {"start_id": 0},
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        *(changes | MORE[number % len(MORE)] for number, changes in enumerate(PAIRWISE)),
        T5,
        {**T5, "norm": "post", "causal": False, "activation": "relu", "biases": True},
    ],
    ids=variant_name,
)
def test_graphs_of_every_option_pass_their_check(changes: dict[str, Any], tmp_path: Path) -> None:
    export_folder(pretrained_variant(**changes), tmp_path / "web")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "kind"),
    [*((marian_folder, kind) for kind in ("relu", "apart", "apart-untied")), (t5_folder, "1.0"), (t5_folder, "1.1")],
)
def test_graphs_of_imported_models_pass_their_check(make: Callable[..., object], kind: str, tmp_path: Path) -> None:
    make(tmp_path / "theirs", kind)
    export_folder(transformer.load(tmp_path / "theirs"), tmp_path / "web")
