import json
import resource
import subprocess
import sys

import pytest
import torch

from pages.runtime.memory import weigh
from tests.support.build import refusal, saved_checkpoint, tiny_model, tiny_pretrained, tiny_tokenizer
from transformer.checkpoints.folder import (
    CONFIG,
    METRICS,
    RECORDING,
    TOKENIZER,
    WEIGHTS,
    CheckpointError,
    load_checkpoint,
    save_checkpoint,
    trace_bytes,
    write_whole,
)
from transformer.inference.pretrained import load


@pytest.fixture
def folder(tmp_path):
    return saved_checkpoint(tmp_path)


def _change(folder, model=None, **about):
    values = json.loads((folder / CONFIG).read_text())
    values.update(about)
    values["model"].update(model or {})
    (folder / CONFIG).write_text(json.dumps(values))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("changes", [{}, {"norm": "pre", "positions": "learned", "activation": "gelu"}])
def test_round_trip(tmp_path, dtype, changes):
    model = tiny_model(vocab_size=67, **changes)
    save_checkpoint(tmp_path / "mine", model, tiny_tokenizer(), ("Invented", "Imagined"), dtype)
    found = load_checkpoint(tmp_path / "mine")
    assert (found.name, found.languages, found.metrics) == ("mine", ("Invented", "Imagined"), {})
    assert found.model.config == model.config
    for (name, ours), (_, read) in zip(model.named_parameters(), found.model.named_parameters(), strict=True):
        assert read.dtype == torch.float32 and not read.requires_grad, name
        assert torch.equal(read, ours.to(dtype).float()), name
    assert not found.model.training
    assert found.tokenizer.encode("ka lo") == tiny_tokenizer().encode("ka lo")
    if dtype == torch.float32:
        ids = torch.tensor([[5, 6, 3]])
        assert torch.equal(found.model(ids, ids), model(ids, ids))


def test_files_of_a_checkpoint(folder):
    assert sorted(path.name for path in folder.iterdir()) == [CONFIG, WEIGHTS, TOKENIZER]
    assert len({path.stat().st_mode for path in folder.iterdir()}) == 1  # who may read one may read all
    parameters = tiny_model(vocab_size=67).parameter_count()
    assert 2 * parameters < (folder / WEIGHTS).stat().st_size < 2 * parameters + 10_000


def test_saving_again_replaces(folder):
    save_checkpoint(folder, tiny_model(seed=2, vocab_size=67), tiny_tokenizer())
    wanted = tiny_model(seed=2, vocab_size=67).embedding.weight.half().float()
    assert torch.equal(load_checkpoint(folder).model.embedding.weight, wanted)


def test_metrics_of_old_weights_are_removed_with_them(folder):
    for name in (METRICS, RECORDING, "README.md"):
        (folder / name).write_text("{}")
    save_checkpoint(folder, tiny_model(seed=2, vocab_size=67), tiny_tokenizer())
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", CONFIG, WEIGHTS, TOKENIZER]
    (folder / METRICS).write_text("{}")
    save_checkpoint(folder, tiny_model(seed=2, vocab_size=67), tiny_tokenizer())
    assert (folder / METRICS).exists()


def test_a_full_disk_leaves_no_mixture(folder, monkeypatch):
    def full(path, data):
        if path.name == WEIGHTS:
            raise OSError(28, "No space left on device", str(path))
        write_whole(path, data)

    monkeypatch.setattr("transformer.checkpoints.folder.write_whole", full)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(folder, tiny_model(seed=2, vocab_size=67), tiny_tokenizer())
    refusal(folder, WEIGHTS)


def test_metrics_are_read(folder):
    (folder / METRICS).write_text('{"bleu": 33.5}')
    assert load_checkpoint(folder).metrics == {"bleu": 33.5}
    (folder / METRICS).write_text("[1, 2]")
    assert load_checkpoint(folder).metrics == {}
    (folder / METRICS).write_text('{"bleu": ')
    refusal(folder, METRICS, "not JSON")


def test_write_whole_leaves_the_old_file_when_it_fails(tmp_path, monkeypatch):
    write_whole(tmp_path / "a.json", b"old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_whole(tmp_path / "a.json", b"new")
    assert (tmp_path / "a.json").read_bytes() == b"old"


def test_no_folder(tmp_path):
    refusal(tmp_path / "none", "there is no checkpoint folder", "none")
    (tmp_path / "file").write_text("")
    refusal(tmp_path / "file", "there is no checkpoint folder")


@pytest.mark.parametrize("name", [CONFIG, WEIGHTS, TOKENIZER])
def test_a_missing_file(folder, name):
    (folder / name).unlink()
    refusal(folder, f"{name} is missing")
    (folder / name).mkdir()
    refusal(folder, f"{name} is missing")


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"format": ' + b"9" * 10_000 + b"}", b"PK\x03\x04", b"\x80\x04\x95"],
    ids=["empty", "cut", "no UTF-8", "deep", "long number", "zip", "pickle"],
)
def test_config_that_is_no_json(folder, text):
    (folder / CONFIG).write_bytes(text)
    refusal(folder, CONFIG, "not JSON in UTF-8")


def test_config_of_another_size(folder):
    (folder / CONFIG).write_bytes(b" " * 1_000_001)
    refusal(folder, "config.json has 1,000,001 bytes; the limit is 1,000,000")


@pytest.mark.parametrize(
    ("about", "word"),
    [
        ({"architecture": "marian"}, "'marian'"),
        ({"architecture": None}, "None"),
        ({"architecture": "x" * 10**5}, "xxx"),
    ],
    ids=["marian", "none", "long"],
)
def test_another_architecture(folder, about, word):
    _change(folder, **about)
    refusal(folder, "another architecture", word, "'headscope-transformer' can be opened")


@pytest.mark.parametrize("text", ["[]", "null", "7", '"x"', '{"model_type": 3}'])
def test_json_of_other_models_is_refused(folder, text):
    (folder / CONFIG).write_text(text)
    refusal(folder, "another architecture")


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("gpt2", "GPT-2", " model, which has only a decoder; Headscope opens Marian (OPUS-MT), BART"),
        ("llama", "Llama", " model, which has only a decoder; Headscope opens Marian (OPUS-MT), BART"),
        ("bert", "BERT", " model, which has only an encoder; Headscope opens Marian (OPUS-MT), BART"),
        ("fsmt", "FSMT", " model; of Hugging Face's models, Headscope opens Marian (OPUS-MT), BART"),
        ("x\n" * 99, "x", " model; of Hugging Face's models, Headscope opens Marian (OPUS-MT), BART"),
        ("new_one", "new_one", " model; of Hugging Face's models, Headscope opens Marian (OPUS-MT), BART"),
    ],
)
def test_other_models_of_hugging_face_are_named(tmp_path, kind, name, words):
    """Also where files are missing that only our checkpoints have."""
    (tmp_path / CONFIG).write_text(json.dumps({"model_type": kind, "architectures": ["T5ForConditionalGeneration"]}))
    message = refusal(tmp_path, f"holds a {name}", words)
    with pytest.raises(CheckpointError) as error:
        load(tmp_path)
    assert str(error.value) == message


@pytest.mark.parametrize("number", [2, 0, None, "1", "1" * 10**5], ids=str)
def test_another_format(folder, number):
    _change(folder, format=number)
    refusal(folder, "this version reads format 1")


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"layers": 3}, "a model configuration has no field 'layers'"),
        ({"x" * 10**5: 3}, "a model configuration has no field"),
        ({"d_model": 10**300}, "d_model is"),
        ({"d_model": "64"}, "d_model is '64'"),
        ({"vocab_size": -1}, "vocab_size is -1"),
        ({"encoder_layers": 10**6}, "encoder_layers is 1000000"),
        ({"max_positions": 2**40}, "max_positions is"),
        ({"dropout": float("nan")}, "dropout is nan"),
        ({"norm": ["pre"] * 10**4}, "norm is"),
        ({"heads": 5}, "with 5 heads; choose a d_model that is divisible"),
        ({"pad_id": 5}, "special ids are (5, 1, 2, 3)"),
    ],
    ids=lambda value: str(value)[:20],
)  # fmt: skip
def test_invalid_model_configurations_are_refused(folder, model, words):
    _change(folder, model)
    refusal(folder, words)


@pytest.mark.parametrize("model", [None, [], "tiny", {}, 7])
def test_a_model_that_is_not_a_table_is_refused(folder, model):
    values = json.loads((folder / CONFIG).read_text())
    values["model"] = model
    (folder / CONFIG).write_text(json.dumps(values))
    refusal(folder, "configuration")


@pytest.mark.parametrize(
    "model",
    [
        {
            "vocab_size": 10**6,
            "d_model": 8192,
            "heads": 128,
            "d_ff": 65_536,
            "encoder_layers": 64,
            "decoder_layers": 64,
        },
        {"positions": "learned", "max_positions": 16_384},
        {"vocab_size": 10**6},
        {"d_ff": 65_536},
    ],
    ids=["all", "positions", "vocabulary", "d_ff"],
)
def test_big_numbers_are_refused_before_memory_is_taken(folder, model):
    _change(folder, model)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refusal(folder, "a trace of" if "d_model" in model else "config.json needs")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024  # KiB here, bytes on macOS


def test_a_model_is_built_without_random_numbers(folder):
    saved = load_checkpoint(folder).model.state_dict()
    state = torch.random.get_rng_state()
    opened = load_checkpoint(folder).model
    assert torch.equal(torch.random.get_rng_state(), state)  # drawing them would have changed it
    assert all(torch.equal(value, saved[name]) for name, value in opened.state_dict().items())
    assert not any(one.requires_grad for one in opened.parameters())


def test_reading_one_needs_no_compiler() -> None:
    """Importing torch's takes 1.7 s and 70 MB of every server, and a folder for temporary files."""
    code = "import sys, transformer as t\nfor name in t.available(): t.load(name).trace('1')\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "torch" in done.stdout.split() and "torch._dynamo" not in done.stdout.split()


@pytest.mark.parametrize(
    ("value", "shown"),
    [("x" * 99, "x" * 40), (" a\x1b\n b ", "a b"), ("", "source"), (7, "source"), (["x"], "source"), (None, "source")],
)
def test_a_language_is_a_short_text(folder, value, shown):
    _change(folder, source=value)
    assert load_checkpoint(folder).languages == (shown, "Imagined")


def test_half_a_character_is_no_text(folder):
    """JSON may hold it, and nothing that shows it could be sent to a browser."""
    _change(folder, source="\ud800")
    refusal(folder, CONFIG, "not JSON in UTF-8")
    _change(folder, source="\U0001f600")  # json.dumps writes two halves, which are one character
    assert load_checkpoint(folder).languages[0] == "\U0001f600"


def test_scores_that_cannot_be_shown_are_left_out(folder):
    (folder / METRICS).write_text('{"bleu": 1%s, "chrf": NaN, "perplexity": -Infinity, "exact": 0.5}' % ("0" * 400))
    assert load_checkpoint(folder).metrics == {"exact": 0.5}


def test_a_target_vocabulary_of_another_size_belongs_to_another_tokenizer(folder):
    model = tiny_model(vocab_size=67, target_vocab_size=90)
    save_checkpoint(folder, model, tiny_tokenizer())
    refusal(folder, "tokenizer and model do not match, 67 pieces against 90")


def test_the_size_of_traces_is_limited(folder):
    _change(folder, {"d_model": 128, "heads": 128, "encoder_layers": 64, "decoder_layers": 64})
    refusal(folder, "64 + 64 layers with 128 heads", "takes 3.8 GB; the limit is 1.1 GB")


@pytest.mark.parametrize("count", [3, 20])
def test_the_estimated_size_of_a_trace_is_close_to_the_real_size(count):
    model = tiny_pretrained()
    text = " ".join(["ka"] * count)
    trace = model.trace(text, text)
    assert len(trace.source_ids) == len(trace.target_in)
    assert 0.7 * weigh(trace) < trace_bytes(model.config, len(trace.source_ids)) < 1.3 * weigh(trace)


def test_weights_that_do_not_fit_into_memory_are_refused(folder, monkeypatch):
    monkeypatch.setattr("transformer.checkpoints.folder.free_bytes", lambda: 10_000)
    refusal(folder, "takes 0.0 GB in memory, and 0.0 GB are free", "machine with more memory")
    monkeypatch.setattr("transformer.checkpoints.folder.free_bytes", lambda: None)  # nobody knows
    assert load_checkpoint(folder).model
