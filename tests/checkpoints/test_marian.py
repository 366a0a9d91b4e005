"""Marian folders: every number as `transformers.MarianMTModel` computes it, every text as `MarianTokenizer` cuts it."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings, strategies
from safetensors.torch import load_file, save_file
from torch import Tensor

import transformer
from tests.support.build import saved_checkpoint, sentences
from tests.support.marian import CODE, KINDS, marian_folder, pieces_of, random_marian, splitter, vocabulary
from transformer.checkpoints.beam_rule import BeamRule
from transformer.checkpoints.folder import CheckpointError
from transformer.checkpoints.importers import languages_of, open_folder
from transformer.inference.pretrained import Pretrained
from transformer.inference.search import beam, greedy

CLOSE = dict(atol=1e-5, rtol=1e-5)
SENTENCES = sentences()[:12]
RULES = {
    early: BeamRule("length", ends, cut=True)
    for early, ends in ((False, "present"), (True, "full"), ("never", "overtaken"))
}


@pytest.fixture(scope="module", params=sorted(KINDS))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Pretrained, object, Path]:
    """Our model, theirs, and the folder."""
    folder = tmp_path_factory.mktemp("marian") / request.param
    theirs = marian_folder(folder, request.param)
    return transformer.load(folder), theirs, folder


def batch(model: Pretrained, texts: tuple[str, ...] = SENTENCES) -> tuple[Tensor, Tensor]:
    """Sources of several lengths, padded, and what tells padding: [batch, source] each."""
    rows = [model.encode(text) for text in texts]
    ids = torch.full((len(rows), max(map(len, rows))), model.config.pad_id)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
    return ids, (ids != model.config.pad_id).long()


def fed(model: Pretrained, count: int, length: int = 7) -> Tensor:
    """What a decoder is fed: the start token and any others but <pad>."""
    others = torch.randint(0, model.config.output_size - 1, (count, length), generator=torch.Generator().manual_seed(5))
    return torch.cat((torch.full((count, 1), model.config.start_id), others), 1)


@pytest.mark.slow
def test_logits_are_theirs_for_padded_batches(pair) -> None:
    ours, theirs, _ = pair
    source, mask = batch(ours)
    target = fed(ours, len(source))
    with torch.inference_mode():
        wanted = theirs(input_ids=source, attention_mask=mask, decoder_input_ids=target)
        torch.testing.assert_close(ours.model(source, target), wanted.logits, **CLOSE)
        memory = ours.model.encode(source)
    real = mask.bool()
    torch.testing.assert_close(memory[real], wanted.encoder_last_hidden_state[real], **CLOSE)


def test_every_attention_and_every_state_of_a_trace_is_theirs(pair) -> None:
    ours, theirs, _ = pair
    trace = ours.trace(SENTENCES[0], SENTENCES[1])
    with torch.inference_mode():
        wanted = theirs(
            input_ids=torch.tensor([trace.source_ids]),
            decoder_input_ids=torch.tensor([trace.target_in_ids]),
            output_attentions=True,
            output_hidden_states=True,
        )
    kinds = {"encoder_self": "encoder_attentions", "decoder_self": "decoder_attentions", "cross": "cross_attentions"}
    for kind, name in kinds.items():
        theirs_all = torch.stack([layer[0] for layer in wanted[name]])  # [layer, head, query, key]
        torch.testing.assert_close(getattr(trace, kind).weights, theirs_all, **CLOSE)
    torch.testing.assert_close(trace.logits, wanted.logits[0], **CLOSE)
    entering = trace.source_embedding + trace.source_positions
    torch.testing.assert_close(entering, wanted.encoder_hidden_states[0][0], **CLOSE)
    entering = trace.target_embedding + trace.target_positions
    torch.testing.assert_close(entering, wanted.decoder_hidden_states[0][0], **CLOSE)
    for name, stack in (("encoder_hidden_states", trace.encoder_ff), ("decoder_hidden_states", trace.decoder_ff)):
        states = torch.stack([state[0] for state in wanted[name][1:]])
        torch.testing.assert_close(stack.leaves, states, **CLOSE)
    assert trace.target_in_ids[0] == theirs.config.decoder_start_token_id and trace.target_in[0] == "<pad>"


def generated(theirs, source: Tensor, mask: Tensor, limit: int, **changes: object) -> list[list[int]]:
    """What `generate` writes, without the start token and the padding behind </s>."""
    pad, start = theirs.config.pad_token_id, theirs.config.decoder_start_token_id
    blocked = sorted({pad, start})
    with torch.inference_mode():
        found = theirs.generate(
            input_ids=source, attention_mask=mask, max_length=limit + 1, do_sample=False, forced_eos_token_id=None,
            bad_words_ids=[[one] for one in blocked], **changes,
        )  # fmt: skip
    rows = []
    for row in found[:, 1:].tolist():
        rows.append(row[: row.index(0) + 1] if 0 in row else [one for one in row if one != pad])
    return rows


@pytest.mark.parametrize("limit", [3, 21])
def test_greedy_output_is_theirs(pair, limit: int) -> None:
    ours, theirs, _ = pair
    source, mask = batch(ours)
    wanted = generated(theirs, source, mask, limit, num_beams=1)
    for cached in (True, False):
        assert [list(one.ids) for one in greedy(ours.model, source, limit, cached)] == wanted
    assert limit < 9 or len({len(row) for row in wanted}) > 1  # they end in different places


@pytest.mark.slow
@pytest.mark.parametrize("ends", [False, True, "never"])
@pytest.mark.parametrize(("beams", "alpha"), [(2, 1.0), (4, 1.0), (5, 0.4), (3, 0.0)])
def test_beam_output_is_theirs(pair, beams: int, alpha: float, ends: bool | str) -> None:
    ours, theirs, _ = pair
    source, mask = batch(ours)
    wanted = generated(theirs, source, mask, 17, num_beams=beams, length_penalty=alpha, early_stopping=ends)
    found = beam(ours.model, source, beams, alpha, 17, rule=RULES[ends])
    assert [list(one.ids) for one in found] == wanted


def test_scores_may_be_those_among_the_tokens_that_may_be_written(pair) -> None:
    ours, theirs, _ = pair
    source, mask = batch(ours)
    wanted = generated(theirs, source, mask, 17, num_beams=4, renormalize_logits=True)
    found = beam(ours.model, source, 4, 1.0, 17, rule=BeamRule("length", "present", renormalise=True, cut=True))
    assert [list(one.ids) for one in found] == wanted


def test_the_search_settings_come_from_the_folder(pair) -> None:
    ours, theirs, folder = pair
    assert (ours.rule, ours.alpha) == (RULES[False], 1.0)
    about = {"length_penalty": 0.7, "early_stopping": True, "renormalize_logits": True}
    (folder / "generation_config.json").write_text(json.dumps(about))
    found = transformer.load(folder)
    assert (found.rule, found.alpha) == (BeamRule("length", "full", True, True), 0.7)
    source, mask = batch(found, SENTENCES[:1])
    limit = min(source.shape[1] + 50, found.config.max_positions)
    (wanted,) = generated(theirs, source, mask, limit, num_beams=3, **about)
    assert found.translate(SENTENCES[0], beam=3).tokens == tuple(found.tokenizer.pieces(wanted))
    (folder / "generation_config.json").write_text(json.dumps({"length_penalty": "long", "early_stopping": []}))
    assert transformer.load(folder).rule == RULES[False]
    (folder / "generation_config.json").unlink()


@pytest.mark.filterwarnings("ignore")  # what the other library warns of is not ours
@given(text=strategies.text(max_size=40) | strategies.sampled_from([*SENTENCES, f"{CODE} ka lo", f"{CODE}ka", "a  b"]))
@settings(max_examples=60)
def test_ids_and_texts_are_theirs(pair, text: str) -> None:
    ours, _, folder = pair
    theirs = their_tokenizer(folder)
    text = transformer.text.tokenizer.clean(text)
    if any(one in text for one in ("</s>", "<unk>", "<pad>")):
        return  # theirs reads these as the tokens themselves, ours as text
    wanted = theirs(text_target=text)["input_ids"][:-1]
    assert ours.tokenizer.encode(text) == wanted
    assert len(ours.tokenizer.surfaces(text)) == len(wanted)
    assert ours.tokenizer.pieces(wanted) == theirs.convert_ids_to_tokens(wanted)
    wanted = theirs(text)["input_ids"][:-1]
    assert ours.tokenizer_of("source").encode(text) == wanted
    assert len(ours.tokenizer_of("source").surfaces(text)) == len(wanted)


def test_decoded_text_is_theirs(pair) -> None:
    ours, _, folder = pair
    theirs = their_tokenizer(folder)
    for text in SENTENCES:
        ids = ours.encode(text, "target")
        wanted = theirs.decode(ids, skip_special_tokens=True, use_source_tokenizer=False)
        assert ours.tokenizer.decode(ids) == wanted == text
    assert ours.tokenizer.decode([ours.config.pad_id, ours.config.unk_id, 0]) == "⁇"


_TOKENIZERS: dict[Path, object] = {}


def their_tokenizer(folder: Path):
    from transformers import MarianTokenizer

    if folder not in _TOKENIZERS:
        _TOKENIZERS[folder] = MarianTokenizer.from_pretrained(folder)
    return _TOKENIZERS[folder]


def test_a_language_code_is_one_token_and_shows_itself(tmp_path: Path) -> None:
    marian_folder(tmp_path / "several", "relu")
    found = transformer.load(tmp_path / "several")
    trace = found.trace(f"{CODE} ka lo")
    assert trace.source_tokens[0] == CODE == trace.source_labels[0]
    assert found.encode("x>>deu<<")[0] != found.encode(CODE)[0]
    assert found.encode("</s>")[:-1].count(found.config.end_id) == 0


def test_languages_are_read_without_opening_the_model(tmp_path: Path) -> None:
    marian_folder(tmp_path / "marian", "relu")
    ours = saved_checkpoint(tmp_path)
    for folder in (tmp_path / "marian", ours):
        assert languages_of(folder) == open_folder(folder).languages != ("source", "target")
    (ours / "config.json").write_text("[1]")
    (tmp_path / "marian" / "tokenizer_config.json").write_text("{")
    for folder in (tmp_path / "marian", ours, tmp_path / "missing"):
        assert languages_of(folder) == ("source", "target")


@pytest.mark.parametrize("weights", ["pickled", "legacy", "sharded"])
def test_other_files_of_weights_give_the_same_model(tmp_path: Path, weights: str) -> None:
    marian_folder(tmp_path / "new", "swish")
    marian_folder(tmp_path / "old", "swish", weights)
    one, two = transformer.load(tmp_path / "new").model, transformer.load(tmp_path / "old").model
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), two.parameters(), strict=True))
    assert not one.training and not any(parameter.requires_grad for parameter in two.parameters())


def test_a_damaged_index_of_several_files_is_refused(tmp_path: Path) -> None:
    marian_folder(tmp_path, "swish", "sharded")
    path = tmp_path / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    names = sorted(set(index["weight_map"].values()))
    assert len(names) > 2 and not (tmp_path / "model.safetensors").exists()
    first = next(iter(index["weight_map"]))
    for damaged, words in (
        ([], ["weight_map"]),
        ({"weight_map": {first: 3}}, ["weight_map"]),
        ({"weight_map": {first: "../other/model.safetensors"}}, ["'../other/model.safetensors' is not the name of a"]),
        ({"weight_map": {first: "/etc/passwd"}}, ["'/etc/passwd' is not the name"]),
        ({"weight_map": {str(n): f"{n}.safetensors" for n in range(101)}}, ["101 files", "100"]),
        ({"weight_map": {first: names[0]}}, ["has no tensor"]),
        ({"weight_map": {first: "gone.safetensors"}}, ["gone.safetensors", "cannot be read"]),
    ):
        path.write_text(json.dumps(damaged))
        refusal(tmp_path, *words)
    path.write_text(json.dumps(index))
    good = (tmp_path / names[0]).read_bytes()
    (tmp_path / names[0]).write_bytes(good[:-9])
    refusal(tmp_path, names[0], "not a complete safetensors file")
    (tmp_path / names[0]).write_bytes((tmp_path / names[1]).read_bytes())
    refusal(tmp_path, names[1], "a second time")


def test_half_precision_files_open(tmp_path: Path) -> None:
    theirs = marian_folder(tmp_path / "half", "relu")
    weights = {name: tensor.half() for name, tensor in load_file(tmp_path / "half" / "model.safetensors").items()}
    table = theirs.model.encoder.embed_positions.weight.half().contiguous()
    weights |= {"model.encoder.embed_positions.weight": table}  # older files keep it
    save_file(weights, tmp_path / "half" / "model.safetensors")
    found = transformer.load(tmp_path / "half").model
    assert found.embedding.weight.dtype == torch.float32
    torch.testing.assert_close(found.embedding.weight, theirs.model.shared.weight.half().float())


def refusal(folder: Path, *words: str) -> None:
    with pytest.raises(CheckpointError) as caught:
        open_folder(folder)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "\n" not in message and len(message) < 600


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("good") / "marian"
    marian_folder(folder, "relu")
    return folder


@pytest.fixture
def folder(good: Path, tmp_path: Path) -> Path:
    """A good folder of its own, to damage."""
    for file in good.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"activation_function": "tanh"}, ["activation_function", "tanh", "swish"]),
        ({"activation_function": ["relu"]}, ["activation_function", "relu"]),
        ({"normalize_before": True}, ["normalize_before", "false"]),
        ({"decoder_ffn_dim": 38}, ["d_ff", "37", "38"]),
        ({"decoder_attention_heads": 6}, ["heads", "3", "6"]),
        ({"decoder_vocab_size": 7}, ["decoder_vocab_size", "7", "shared table"]),
        ({"vocab_size": 10**9}, ["vocab_size", "1000000000"]),
        ({"d_model": 1.5}, ["d_model", "1.5"]),
        ({"d_model": 4096, "encoder_attention_heads": 4, "decoder_attention_heads": 4}, ["parameters", "500,000,000"]),
        ({"encoder_layers": None}, ["encoder_layers", "None"]),
        ({"decoder_start_token_id": 0}, ["special ids"]),
        ({"pad_token_id": 4_000}, ["special ids"]),
        ({"eos_token_id": [0, 5]}, ["special ids"]),
        ({"encoder_layers": 3}, ["model.safetensors", "model.encoder.layers.2", "take all files from the same model"]),
        (
            {"encoder_layers": 1},
            ["model.safetensors", "rs.1.fc1.bias", "does not belong", "take all files from the same model"],
        ),
        ({"tie_word_embeddings": False}, ["lm_head.weight"]),
        ({"scale_embedding": "yes"}, ["embedding_scale", "yes"]),
        (
            {"encoder_layers": 64, "encoder_attention_heads": 66, "decoder_layers": 64, "decoder_attention_heads": 66},
            ["a trace of", "GB"],
        ),
    ],
)
def test_an_invalid_configuration_is_refused(folder: Path, changes: dict, words: list[str]) -> None:
    about = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**about, **changes}))
    refusal(folder, *words)


@pytest.mark.parametrize("name", ["vocab.json", "source.spm", "target.spm", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / name).unlink()
    refusal(folder, name)


def test_damaged_vocabularies_are_refused(folder: Path) -> None:
    table = json.loads((folder / "vocab.json").read_text())
    for damaged, words in (
        ([1], ["vocab.json", "<unk>"]),
        ({name: number for name, number in table.items() if name != "<unk>"}, ["vocab.json", "<unk>"]),
        ({**table, "zz": 10**30}, ["vocabulary", "choose 0 to"]),
        ({**table, "zz": True}, ["vocabulary", "True"]),
        ({**table, "zz": 7}, ["7", "two pieces"]),
        ({**table, "<unk>": "one"}, ["special ids"]),
    ):
        (folder / "vocab.json").write_text(json.dumps(damaged))
        refusal(folder, *words)
    (folder / "vocab.json").write_text("{")
    refusal(folder, "vocab.json", "JSON")


def test_damaged_weights_and_splitters_are_refused(folder: Path) -> None:
    good = load_file(folder / "model.safetensors")
    path = folder / "model.safetensors"
    save_file({**good, "final_logits_bias": good["final_logits_bias"] * torch.nan}, path)
    refusal(folder, "final_logits_bias", "finite", "copy the file again")
    save_file({**good, "final_logits_bias": good["final_logits_bias"].double()}, path)
    refusal(folder, "final_logits_bias", "float64")
    save_file({**good, "model.encoder.embed_positions.weight": torch.zeros(64, 66)}, path)
    refusal(folder, "embed_positions", "sinusoidal")
    save_file({**good, "surprise": torch.zeros(2)}, path)
    refusal(folder, "surprise")
    path.write_bytes(path.read_bytes()[:-9])
    refusal(folder, "model.safetensors", "complete")
    save_file(good, path)
    (folder / "source.spm").write_bytes((folder / "source.spm").read_bytes()[:900])
    refusal(folder, "source.spm")


class Exploit:
    """What runs a command when it is unpickled."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self):
        return os.mkdir, (str(self.proof),)


def test_a_pickle_is_not_run(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    path, proof = folder / "pytorch_model.bin", folder / "ran"
    path.write_bytes(pickle.dumps({"model.shared.weight": Exploit(proof)}))
    refusal(folder, "pytorch_model.bin", "does not hold only tensors")
    torch.save({"model.shared.weight": Exploit(proof)}, path)
    refusal(folder, "pytorch_model.bin", "does not hold only tensors")
    torch.save([torch.zeros(2)], path)
    refusal(folder, "pytorch_model.bin", "table")
    path.write_bytes(b"")
    refusal(folder, "pytorch_model.bin")
    torch.save({"model.shared.weight": torch.zeros(500_000)}, path)
    with zipfile.ZipFile(path) as stored, zipfile.ZipFile(folder / "bomb", "w", zipfile.ZIP_DEFLATED) as packed:
        for one in stored.infolist():
            packed.writestr(one.filename, stored.read(one))
    (folder / "bomb").replace(path)
    refusal(folder, "pytorch_model.bin", "unpacks from")
    assert not proof.exists()


def test_marian_builders_are_reproducible() -> None:
    table = vocabulary(pieces_of(splitter("unigram", 71)), [CODE])
    assert table["</s>"] == 0 and table["<unk>"] == 1 and table["<pad>"] == len(table) - 1 and CODE in table
    one, two = (random_marian(3, 50, 50, heads=2, ffn=9, d_model=12, encoder_layers=1, decoder_layers=1) for _ in "ab")
    assert torch.equal(one.final_logits_bias, two.final_logits_bias)
    assert torch.equal(one.model.shared.weight, two.model.shared.weight)
