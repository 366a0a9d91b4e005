"""Marian folders: every number as `transformers.MarianMTModel` computes it, every text as `MarianTokenizer` cuts it."""

import itertools
import json
import pickle
import re
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings, strategies
from safetensors.torch import load_file, save_file

import transformer
from tests.fuzz.folders import MARK, Bomb
from tests.support.build import saved_checkpoint
from tests.support.imported import (
    CLOSE,
    SENTENCES,
    attention_is_theirs,
    batch,
    beam_is_theirs,
    generated,
    greedy_is_theirs,
    logits_are_theirs,
    refusal,
)
from tests.support.marian import CODE, KINDS, marian_folder, pieces_of, splitter
from transformer.checkpoints.beam_rule import BeamRule
from transformer.checkpoints.constraints import Constraints
from transformer.checkpoints.importers import languages_of, open_folder
from transformer.checkpoints.importers.generation import ENDS, FOLLOWED, NAMED
from transformer.inference.pretrained import CheckpointWarning, Pretrained
from transformer.inference.search import beam, greedy


@pytest.fixture(scope="module", params=sorted(KINDS))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Pretrained, object, Path]:
    """Our model, theirs, and the folder."""
    folder = tmp_path_factory.mktemp("marian") / request.param
    theirs = marian_folder(folder, request.param)
    return transformer.load(folder), theirs, folder


@pytest.mark.slow
def test_logits_are_theirs_for_padded_batches(pair) -> None:
    logits_are_theirs(*pair[:2])


def test_every_attention_and_every_state_of_a_trace_is_theirs(pair) -> None:
    ours, theirs, _ = pair
    trace = ours.trace(SENTENCES[0], SENTENCES[1])
    wanted = attention_is_theirs(trace, theirs)
    entering = trace.source_embedding + trace.source_positions
    torch.testing.assert_close(entering, wanted.encoder_hidden_states[0][0], **CLOSE)
    entering = trace.target_embedding + trace.target_positions
    torch.testing.assert_close(entering, wanted.decoder_hidden_states[0][0], **CLOSE)
    for name, stack in (("encoder_hidden_states", trace.encoder_ff), ("decoder_hidden_states", trace.decoder_ff)):
        states = torch.stack([state[0] for state in wanted[name][1:]])
        torch.testing.assert_close(stack.leaves, states, **CLOSE)
    assert trace.target_in_ids[0] == theirs.config.decoder_start_token_id and trace.target_in[0] == "<pad>"


@pytest.mark.parametrize("limit", [3, 21])
def test_greedy_output_is_theirs(pair, limit: int) -> None:
    written = greedy_is_theirs(*pair[:2], limit)
    # </s> is Marian's last token at the limit, too: then the output was cut off.
    assert all(one.ids[-1] == 0 and one.complete == (len(one.ids) < limit) for one in written)
    assert limit < 9 or len({len(one.ids) for one in written}) > 1  # they end in different places


@pytest.mark.slow
@pytest.mark.parametrize("ends", [False, True, "never"])
@pytest.mark.parametrize(("beams", "alpha"), [(2, 1.0), (4, 1.0), (5, 0.4), (3, 0.0)])
def test_beam_output_is_theirs(pair, beams: int, alpha: float, ends: bool | str) -> None:
    ours, theirs, _ = pair
    beam_is_theirs(ours, theirs, beams, alpha, replace(ours.rule, ends=ENDS[ends]), early_stopping=ends)


def test_the_search_settings_come_from_the_folder(pair) -> None:
    ours, theirs, folder = pair
    assert (ours.rule, ours.alpha) == (BeamRule("length", "present", cut=True, constraints=Constraints(last=0)), 1.0)
    about = {"length_penalty": 0.7, "early_stopping": True, "renormalize_logits": True, "forced_eos_token_id": None}
    (folder / "generation_config.json").write_text(json.dumps(about))
    found = transformer.load(folder)
    assert (found.rule, found.alpha) == (BeamRule("length", "full", True, True), 0.7)
    source, mask = batch(found, SENTENCES[:1])
    limit = min(source.shape[1] + 50, found.config.max_positions)
    (wanted,) = generated(theirs, source, mask, limit, num_beams=3, **about)
    assert found.translate(SENTENCES[0], beam=3).tokens == tuple(found.tokenizer.pieces(wanted))
    (folder / "generation_config.json").write_text(json.dumps({"length_penalty": "long", "early_stopping": []}))
    with pytest.warns(CheckpointWarning, match=r"not follow.*length_penalty: 'long', early_stopping: \[\]"):
        assert transformer.load(folder).rule == BeamRule("length", "present", cut=True)
    (folder / "generation_config.json").unlink()
    assert transformer.load(folder).rule == ours.rule  # config.json has them, too


# Settings of generation_config.json that change the output. {0}, {1}: ids that a model often writes.
SETTINGS: list[dict[str, object]] = [
    {"no_repeat_ngram_size": 1},
    {"no_repeat_ngram_size": 2, "min_length": 9},
    {"repetition_penalty": 1.7},
    {"repetition_penalty": 0.6, "renormalize_logits": True},
    {"min_length": 12},
    {"min_new_tokens": 12, "min_length": 3},
    {"suppress_tokens": ["0", "1"]},
    {"bad_words_ids": [["0"], ["1", "2"], [0]]},
    {"begin_suppress_tokens": ["0", "1"]},
    {"forced_bos_token_id": "2"},
    {"forced_bos_token_id": "2", "begin_suppress_tokens": ["0"], "forced_eos_token_id": "1"},
]


@pytest.mark.slow
@pytest.mark.parametrize("beams", [1, 4])
@pytest.mark.parametrize("about", SETTINGS, ids=lambda about: "+".join(about))
def test_each_setting_of_generate_is_followed(about: dict, beams: int, tmp_path: Path) -> None:
    from transformers import MarianMTModel

    marian_folder(tmp_path, "gelu")
    plain = transformer.load(tmp_path)
    source, mask = batch(plain)
    before = [one.ids for one in beam(plain.model, source, beams, 1.0, 17, rule=plain.rule)]
    often = [token for token, _ in Counter(itertools.chain(*before)).most_common() if token]
    filled = json.loads(re.sub(r'"(\d)"', lambda match: str(often[int(match[1])]), json.dumps(about)))
    path = tmp_path / "generation_config.json"
    filled["bad_words_ids"] = [*filled.get("bad_words_ids", ()), [plain.config.pad_id]]
    path.write_text(json.dumps({**json.loads(path.read_text()), **filled}))
    ours, theirs = transformer.load(tmp_path), MarianMTModel.from_pretrained(tmp_path, attn_implementation="eager")
    wanted = generated(theirs, source, mask, 17, num_beams=beams, bad_words_ids=filled["bad_words_ids"])
    if beams == 1:
        found = greedy(ours.model, source, 17, constraints=ours.rule.constraints)
    else:
        found = beam(ours.model, source, beams, ours.alpha, 17, rule=ours.rule)
    assert [list(one.ids) for one in found] == wanted != [list(ids) for ids in before]
    source, mask = batch(ours, SENTENCES[:1])
    (wanted,) = generated(theirs, source, mask, 17, num_beams=beams, bad_words_ids=filled["bad_words_ids"])
    assert ours.translate(SENTENCES[0], beam=beams, limit=17).tokens == tuple(ours.tokenizer.pieces(wanted))


def test_every_other_setting_of_generate_is_named_or_changes_nothing(folder: Path) -> None:
    from transformers import GenerationConfig

    chosen = "max_length max_new_tokens num_beams num_return_sequences temperature top_k top_p top_h min_p typical_p"
    chosen += " epsilon_cutoff eta_cutoff"  # by the caller, as here by beam=, limit= and Sampling
    ids = "eos_token_id pad_token_id bos_token_id decoder_start_token_id"
    nothing = """
        use_cache cache_implementation cache_config max_cache_len output_attentions output_hidden_states output_scores
        output_logits return_dict_in_generate remove_invalid_values low_memory prefill_chunk_size compile_config
        disable_compile continuous_batching_config transformers_version _from_model_config is_assistant use_mtp
        num_assistant_tokens num_assistant_tokens_schedule assistant_confidence_threshold speculation_type
        assistant_early_exit assistant_lookbehind target_lookbehind prompt_lookup_num_tokens max_matching_ngram_size
    """
    assert set(GenerationConfig().to_dict()) <= {*FOLLOWED, *NAMED, *f"{chosen} {ids} {nothing}".split()}
    path = folder / "generation_config.json"
    path.write_text(json.dumps({"do_sample": True, "encoder_no_repeat_ngram_size": 3, "num_beam_groups": 1}))
    with pytest.warns(CheckpointWarning, match="do_sample: True, encoder_no_repeat_ngram_size: 3$"):
        assert len(transformer.load(folder).notes) == 1


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


def test_double_precision_and_gelu_in_python_open(tmp_path: Path) -> None:
    theirs = marian_folder(tmp_path, "gelu").double()
    theirs.save_pretrained(tmp_path)
    about = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**about, "activation_function": "gelu_python"}))
    assert about["dtype"] == "float64"
    logits_are_theirs(transformer.load(tmp_path), theirs.float())


@pytest.mark.parametrize("kind", ["relu", "apart"])
def test_a_model_without_an_output_layer_opens_as_transformers_opens_it(tmp_path: Path, kind: str) -> None:
    from transformers import MarianModel, MarianMTModel

    marian_folder(tmp_path, kind)
    MarianModel.from_pretrained(tmp_path).save_pretrained(tmp_path)
    theirs = MarianMTModel.from_pretrained(tmp_path, attn_implementation="eager")
    with pytest.warns(CheckpointWarning, match="holds a MarianModel, which has no output layer"):
        ours = transformer.load(tmp_path)
    assert not ours.config.output_bias and not theirs.final_logits_bias.any()
    logits_are_theirs(ours, theirs)
    about = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**about, "tie_word_embeddings": False}))
    refusal(tmp_path, "no output layer, lm_head.weight", "nothing makes the logits")


def test_several_ends_are_named_and_the_first_of_the_vocabulary_is_used(folder: Path) -> None:
    for name in ("config.json", "generation_config.json"):
        about = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps({**about, "eos_token_id": [5, 0]}))
    with pytest.warns(CheckpointWarning, match=r"not follow.*eos_token_id: \[5, 0\]"):
        assert transformer.load(folder).config.end_id == 0


ADDITIONS = (">>kor<<", "<name>", "<name>+", "Straße")


@pytest.fixture(scope="module", params=["relu", "apart", "older"])
def grown(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Pretrained, object]:
    """A folder to whose vocabulary tokens were added, as transformers writes it; and its tokenizer."""
    from transformers import MarianTokenizer

    folder = tmp_path_factory.mktemp("grown")
    theirs = marian_folder(folder, "relu" if request.param == "older" else request.param)
    tokenizer = MarianTokenizer.from_pretrained(folder, clean_up_tokenization_spaces=True)
    tokenizer.add_tokens(list(ADDITIONS))
    tokenizer.add_special_tokens({"extra_special_tokens": ["<sep>"]})
    theirs.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    theirs.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if request.param == "older":  # as before version 4.34
        path = folder / "tokenizer_config.json"
        about = json.loads(path.read_text())
        about = {
            name: value for name, value in about.items() if name not in ("added_tokens_decoder", "extra_special_tokens")
        }
        path.write_text(json.dumps(about))
        (folder / "special_tokens_map.json").write_text(json.dumps({"additional_special_tokens": ["<sep>"]}))
    return transformer.load(folder), MarianTokenizer.from_pretrained(folder)


@pytest.mark.filterwarnings("ignore")
@given(
    parts=strategies.lists(
        strategies.sampled_from([*ADDITIONS, "<sep>", CODE, *SENTENCES[:3], " ", "ka", "kalo", "é"]), max_size=9
    )
)
@settings(max_examples=100)
def test_added_tokens_are_read_and_written_as_theirs(grown, parts: list[str]) -> None:
    ours, theirs = grown
    text = transformer.text.tokenizer.clean("".join(parts))
    wanted = theirs(text)["input_ids"][:-1]
    assert ours.tokenizer_of("source").encode(text) == wanted
    assert len(ours.tokenizer_of("source").surfaces(text)) == len(wanted)
    if theirs.separate_vocabs:
        return  # its target table has no rows for them
    assert ours.tokenizer.pieces(wanted) == theirs.convert_ids_to_tokens(wanted)
    ids = [token for token in ours.tokenizer.encode(text) if token != ours.config.unk_id]
    assert ours.tokenizer.decode(ids) == theirs.decode(ids, skip_special_tokens=True, use_source_tokenizer=False)


def test_tokens_that_the_model_has_no_row_for_are_refused(folder: Path) -> None:
    (folder / "added_tokens.json").write_text(json.dumps({"<name>": 102}))
    refusal(folder, "'<name>'", "102", "resize_token_embeddings")
    for damaged in ([1], {"<name>": []}, {"": 5}, {"<name>": 5}):
        (folder / "added_tokens.json").write_text(json.dumps(damaged))
        refusal(folder, str(folder))


def test_what_a_tokenizer_does_in_another_way_is_named(folder: Path) -> None:
    token = {"content": "▁", "single_word": True}
    about = {"added_tokens_decoder": {"2": token}, "sp_model_kwargs": {"enable_sampling": True}, "eos_token": "<pad>"}
    piece = next(piece for piece, number in json.loads((folder / "vocab.json").read_text()).items() if number == 2)
    token["content"] = piece
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    with pytest.warns(
        CheckpointWarning, match=f"single_word of {re.escape(piece)}: True, eos_token: '<pad>', sp_model"
    ):
        transformer.load(folder)


def test_files_that_do_not_belong_together_are_named(folder: Path) -> None:
    assert transformer.load(folder).notes == ()
    (folder / "source.spm").write_bytes(splitter("unigram", 71, reverse=True))
    table = json.loads((folder / "vocab.json").read_text())
    pieces = pieces_of((folder / "source.spm").read_bytes())
    lacking = sum(piece not in table for piece in pieces if piece != "<unk>")
    assert lacking > len(pieces) / 3
    with pytest.warns(CheckpointWarning, match=f"source.spm and the vocabulary do not fit: {lacking} of its 68 pieces"):
        assert transformer.load(folder).tokenizer_of("source").lacking() == (lacking, 68)


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
        ({"activation_function": "tanh"}, ["activation_function is 'tanh'; Headscope opens", "swish"]),
        ({"activation_function": "gelu_new"}, ["activation_function is 'gelu_new'; Headscope opens"]),
        ({"d_model": 33}, ["d_model is 33; Headscope opens models with an even one"]),
        ({"architectures": ["MarianForCausalLM"]}, ["holds ['MarianForCausalLM'], not an encoder-decoder"]),
        ({"activation_function": ["relu"]}, ["activation_function", "relu"]),
        ({"normalize_before": True}, ["normalize_before", "false"]),
        ({"decoder_ffn_dim": 38}, ["d_ff", "37", "38"]),
        ({"decoder_attention_heads": 6}, ["heads", "3", "6"]),
        ({"decoder_vocab_size": 7}, ["decoder_vocab_size", "7", "shared table"]),
        ({"vocab_size": 10**9}, ["vocab_size", "1000000000"]),
        ({"d_model": 1.5}, ["d_model", "1.5"]),
        ({"d_model": 8192, "encoder_attention_heads": 4, "decoder_attention_heads": 4}, ["1,000,000,000"]),
        ({"encoder_layers": None}, ["encoder_layers", "None"]),
        ({"decoder_start_token_id": 1}, ["special ids"]),
        ({"pad_token_id": 4_000}, ["special ids"]),
        ({"eos_token_id": [101]}, ["special ids"]),
        ({"eos_token_id": []}, ["special ids"]),
        ({"encoder_layers": 3}, ["model.safetensors", "model.encoder.layers.2", "take all files from the same model"]),
        ({"encoder_layers": 1}, ["rs.1.fc1.bias", "does not belong", "take all files from the same model"]),
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
    save_file({**good, "final_logits_bias": good["final_logits_bias"].long()}, path)
    refusal(folder, "final_logits_bias", "int64")
    save_file({**good, "model.encoder.embed_positions.weight": torch.zeros(64, 66)}, path)
    refusal(folder, "embed_positions", "sinusoidal")
    save_file({**good, "surprise": torch.zeros(2)}, path)
    refusal(folder, "surprise")
    path.write_bytes(path.read_bytes()[:-9])
    refusal(folder, "model.safetensors", "complete")
    save_file(good, path)
    (folder / "source.spm").write_bytes((folder / "source.spm").read_bytes()[:900])
    refusal(folder, "source.spm")


def test_a_pickle_is_not_run(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    path = folder / "pytorch_model.bin"
    path.write_bytes(pickle.dumps({"model.shared.weight": Bomb()}))
    refusal(folder, "pytorch_model.bin", "does not hold only tensors")
    torch.save({"model.shared.weight": Bomb()}, path)
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
    assert not MARK.exists()
