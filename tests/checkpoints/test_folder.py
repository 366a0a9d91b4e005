import json
import resource
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from pages.runtime.memory import weigh
from tests.support.build import refusal, saved_checkpoint, sentences, tiny_model, tiny_pretrained, tiny_tokenizer
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
from transformer.text.tokenizer import Tokenizer

EMBEDDING, TAKE = "embedding.weight", "take both files from the same checkpoint"
DEEP = dict(d_model=128, heads=128, encoder_layers=64, decoder_layers=64)  # many layers and heads, and few numbers


@pytest.fixture
def folder(tmp_path):
    return saved_checkpoint(tmp_path)


def _change(folder, fields=None, /, **about):
    values = json.loads((folder / CONFIG).read_text())
    values.update(about)
    if fields:
        values["model"].update(fields)
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


NO_JSON = (
    b"",
    b"{",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"format": ' + b"9" * 10_000 + b"}",
    b"PK\x03\x04",
    b"\x80\x04\x95",
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((text, "not JSON in UTF-8") for text in NO_JSON),
        (b" " * 1_000_001, "config.json has 1,000,001 bytes; the limit is 1,000,000"),
        *((text, "another architecture") for text in (b"[]", b"null", b"7", b'"x"', b'{"model_type": 3}')),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_config_of_another_kind_is_refused(folder, text, words):
    (folder / CONFIG).write_bytes(text)
    refusal(folder, CONFIG if "JSON" in words else "", words)


@pytest.mark.parametrize(
    ("about", "model", "words"),
    [
        ({"architecture": "marian"}, {}, "another architecture, 'marian'; only 'headscope-transformer' can be opened"),
        ({"architecture": None}, {}, "another architecture, 'None'; only"),
        ({"architecture": "x" * 10**5}, {}, "another architecture, 'xxx"),
        *(({"format": number}, {}, "this version reads format 1") for number in (2, 0, None, "1", "1" * 10**5)),
        *(({"model": model}, {}, "configuration") for model in (None, [], "tiny", {}, 7)),
        ({}, {"layers": 3}, "a model configuration has no field 'layers'"),
        ({}, {"d_model": 10**300}, "d_model is"),
        ({}, {"dropout": float("nan")}, "dropout is nan"),
        ({}, DEEP, "takes 3.8 GB; the limit is 1.1 GB"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_a_config_says_is_checked(folder, about, model, words):
    _change(folder, model, **about)
    refusal(folder, words)


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


@pytest.mark.parametrize(
    "model",
    [
        dict(vocab_size=10**6, d_model=8192, heads=128, d_ff=65_536, encoder_layers=64, decoder_layers=64),
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


def _tensors(folder, change):
    tensors = load_file(folder / WEIGHTS)
    change(tensors)
    save_file(tensors, folder / WEIGHTS)


@pytest.mark.parametrize("share", [0.0, 1e-5, 0.001, 0.1, 0.5, 0.9999])
def test_truncated_weights(folder, share):
    data = (folder / WEIGHTS).read_bytes()
    (folder / WEIGHTS).write_bytes(data[: int(len(data) * share)])
    refusal(folder, WEIGHTS, "not a complete safetensors file")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.pop(EMBEDDING), f"has no tensor {EMBEDDING}, but config.json needs it; {TAKE}"),
        (
            lambda t: t.update(z=torch.zeros(2)),
            f"a tensor 'z' that does not belong to the model in config.json; {TAKE}",
        ),
        (lambda t: t.update({"z" * 10**4: torch.zeros(2)}), "has a tensor 'zzz"),
        (
            lambda t: t.update({EMBEDDING: t[EMBEDDING].T.contiguous()}),
            "[66, 67]; config.json needs [67, 66], so " + TAKE,
        ),
        (lambda t: t.update({EMBEDDING: t[EMBEDDING].to(torch.int8)}), "has type torch.int8; it must be float16"),
        (lambda t: t.update({EMBEDDING: t[EMBEDDING].double()}), "has type torch.float64; it must be float16"),
        (lambda t: t[EMBEDDING][3].fill_(torch.nan), "embedding.weight has values that are not finite numbers; copy"),
        (lambda t: t["decoder.1.cross_attention.key.bias"][:1].fill_(-torch.inf), "decoder.1.cross_attention.key.bias"),
    ],
)
def test_tensors_that_do_not_fit(folder, change, words):
    _tensors(folder, change)
    refusal(folder, WEIGHTS, words)


def test_a_tokenizer_of_another_size(folder):
    save_checkpoint(folder, tiny_model(vocab_size=67, target_vocab_size=90), tiny_tokenizer())
    refusal(folder, "tokenizer and model do not match, 67 pieces against 90")
    Tokenizer.train(sentences(), 59).save(folder / TOKENIZER)
    refusal(folder, "tokenizer and model do not match, 59 pieces against 67")


def test_a_damaged_tokenizer(folder):
    (folder / TOKENIZER).write_bytes((folder / TOKENIZER).read_bytes()[:1_000])
    refusal(folder, "not a SentencePiece model")
    with (folder / TOKENIZER).open("wb") as file:
        file.truncate(50_000_001)
    refusal(folder, "tokenizer.model is larger than 5,000,000 bytes")
