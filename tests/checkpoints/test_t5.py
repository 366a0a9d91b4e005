"""T5 folders: every number as `transformers.T5ForConditionalGeneration` computes it, every text as `T5Tokenizer` cuts
it."""

import json
import random
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import Unigram

import transformer
from tests.support.imported import (
    CLOSE,
    SENTENCES,
    WORKS,
    attention_is_theirs,
    beam_is_theirs,
    greedy_is_theirs,
    logits_are_theirs,
    refusal,
)
from tests.support.t5 import KINDS, scripts, t5_folder
from transformer.inference.pretrained import Pretrained
from transformer.model.config import ModelConfig
from transformer.model.positions import RelativeBias


@pytest.fixture(scope="module", params=sorted(KINDS))
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Pretrained, object, Path]:
    """Our model, theirs, and the folder."""
    folder = tmp_path_factory.mktemp("t5") / request.param
    theirs = t5_folder(folder, request.param)
    return transformer.load(folder), theirs, folder


def test_logits_are_theirs_for_padded_batches(pair) -> None:
    logits_are_theirs(*pair[:2], length=17)


def test_every_attention_and_every_state_of_a_trace_is_theirs(pair) -> None:
    ours, theirs, _ = pair
    trace = ours.trace(SENTENCES[0], " ".join(SENTENCES[1:6]))
    assert len(trace.target_in) > ours.config.farthest or ours.config.farthest == 128
    wanted = attention_is_theirs(trace, theirs)
    for name, stack, begin in (
        ("encoder_hidden_states", trace.encoder_ff, trace.source_embedding),
        ("decoder_hidden_states", trace.decoder_ff, trace.target_embedding),
    ):
        states = torch.stack([state[0] for state in wanted[name][:-1]])  # the last one is normed
        torch.testing.assert_close(torch.cat((begin[None], stack.leaves[:-1])), states, **CLOSE)
    assert trace.target_in_ids[0] == theirs.config.decoder_start_token_id and trace.target_in[0] == "<pad>"


@pytest.mark.parametrize("holds", WORKS)
def test_patching_the_lab_attribution_and_exports_work(pair, holds: Callable[[Pretrained], None]) -> None:
    holds(pair[0])


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 10), (12, 9), (7, 20)])
def test_buckets_are_theirs(both_ways: bool, buckets: int, farthest: int) -> None:
    from transformers.models.t5.modeling_t5 import T5Attention

    distances = torch.arange(-300, 301)
    config = ModelConfig(9, d_model=6, heads=3, positions="relative", buckets=buckets, farthest=farthest)
    wanted = T5Attention._relative_position_bucket(distances, both_ways, buckets, farthest)
    assert torch.equal(RelativeBias(config, both_ways).buckets(distances), wanted)


@pytest.mark.parametrize("limit", [3, 21])
def test_greedy_output_is_theirs(pair, limit: int) -> None:
    written = greedy_is_theirs(*pair[:2], limit)
    assert limit < 9 or len({len(one.ids) for one in written}) > 1  # they end in different places


@pytest.mark.slow
@pytest.mark.parametrize(("beams", "alpha"), [(4, 1.0), (3, 0.0)])
def test_beam_output_is_theirs(pair, beams: int, alpha: float) -> None:
    beam_is_theirs(*pair[:2], beams, alpha)


@pytest.fixture(scope="module", params=["spiece.model", "tokenizer.json"])
def of_scripts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Pretrained, object]:
    """A model whose pieces are of five scripts, from SentencePiece's file and from what transformers 5 writes, with one
    added token; and its tokenizer."""
    from transformers import T5Tokenizer

    folder = tmp_path_factory.mktemp("scripts")
    t5_folder(folder, size=420, of=tuple(text for text in scripts()[::2] if not set(text) & set("😀€日")))
    theirs = T5Tokenizer.from_pretrained(folder)
    if request.param == "tokenizer.json":
        theirs.add_tokens(["<name>"])
        theirs.save_pretrained(folder)
        (folder / "spiece.model").unlink()
    assert (folder / request.param).is_file()
    return transformer.load(folder), T5Tokenizer.from_pretrained(folder)


def test_ids_and_texts_of_five_scripts_are_theirs(of_scripts) -> None:
    ours, theirs = of_scripts
    unknown = 0
    for text in scripts():
        text = unicodedata.normalize("NFC", text)
        *wanted, end = theirs(text)["input_ids"]
        assert ours.tokenizer.encode(text) == wanted and end == ours.config.end_id, text
        assert len(ours.tokenizer.surfaces(text)) == len(wanted)
        assert ours.tokenizer.pieces(wanted) == theirs.convert_ids_to_tokens(wanted)
        unknown += ours.config.unk_id in wanted
        if ours.config.unk_id not in wanted:
            assert ours.tokenizer.decode(wanted) == theirs.decode(wanted, skip_special_tokens=True)
    assert 0 < unknown < len(scripts()) / 2


def test_extra_tokens_are_one_token_each(of_scripts) -> None:
    ours, theirs = of_scripts
    rng = random.Random(3)
    parts = ["<extra_id_0>", "<extra_id_99>", "<name>", " ", "  ", ".", *scripts()[:5]]
    for _ in range(300):
        text = " ".join("".join(rng.choices(parts, k=rng.randint(1, 6))).split())
        if not text:
            continue
        wanted = theirs(text)["input_ids"][:-1]
        assert ours.tokenizer.encode(text) == wanted, text
    assert ours.encode("<extra_id_0>")[0] == len(theirs) - 1 - ("<name>" in theirs.get_vocab())
    assert ours.tokenizer.decode(ours.encode("<extra_id_1>")) == ""
    assert ours.config.vocab_size > len(theirs) and ours.tokenizer.pieces([len(theirs)]) == [f"<{len(theirs)}>"]
    assert ours.config.end_id not in ours.tokenizer.encode("</s> <pad>")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    t5_folder(tmp_path, "mt5")
    return tmp_path


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"feed_forward_proj": "tanh"}, ["feed_forward_proj is 'tanh'", "relu"]),
        ({"feed_forward_proj": "wide-relu"}, ["feed_forward_proj is 'wide-relu'"]),
        ({"feed_forward_proj": "relu"}, ["wi_0.weight", "does not belong to the model"]),
        ({"architectures": ["MT5EncoderModel"]}, ["holds ['MT5EncoderModel'], not an encoder-decoder"]),
        ({"relative_attention_max_distance": 16}, ["farthest is 16 with 32 buckets"]),
        ({"d_kv": 9}, ["has shape", "config.json needs"]),
        ({"vocab_size": 170}, ["the tokenizer has 173 tokens, and the embedding table has 170 rows"]),
        ({"num_layers": 2}, ["no tensor model.encoder.block.1"]),
        ({"d_kv": "wide"}, ["d_k is 'wide'"]),
        ({"eos_token_id": None}, ["special ids"]),
    ],
)
def test_an_invalid_configuration_is_refused(folder: Path, changes: dict, words: list[str]) -> None:
    about = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**about, **changes}))
    refusal(folder, *words)


def test_a_damaged_tokenizer_is_refused(folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps({"extra_ids": -1}))
    refusal(folder, "extra_ids is -1", "0 to 10,000")
    (folder / "tokenizer_config.json").unlink()
    (folder / "spiece.model").write_bytes(b"no")
    refusal(folder, "spiece.model")
    (folder / "spiece.model").unlink()
    refusal(folder, "spiece.model and tokenizer.json are both missing")
    other = Tokenizer(Unigram([("<unk>", 0.0)], 0)).to_str()
    for damaged, words in (("[]", "is not a tokenizer that"), (other, "has no token <pad>")):
        (folder / "tokenizer.json").write_text(damaged)
        refusal(folder, f"tokenizer.json {words}")


def test_files_of_other_years_give_the_same_model(tmp_path: Path) -> None:
    """The same table three times, a table that no one reads, and a config.json that does not say what is scaled."""
    t5_folder(tmp_path, "1.0")
    plain = transformer.load(tmp_path).model
    weights = load_file(tmp_path / "model.safetensors")
    copies = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
    weights |= {name: weights["shared.weight"].clone() for name in copies}
    unused = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    save_file({**weights, unused: torch.zeros(8, 3)}, tmp_path / "model.safetensors")
    about = json.loads((tmp_path / "config.json").read_text())
    about = {name: value for name, value in about.items() if "scale" not in name and "tie" not in name}
    (tmp_path / "config.json").write_text(json.dumps(about))
    old = transformer.load(tmp_path).model
    assert old.config == plain.config and old.config.tied_output and old.config.embedding_scale
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), old.parameters(), strict=True))
