"""The pages with Marian folders: their sentences are true of that model."""

import json
import shutil
from pathlib import Path

import pytest

import transformer
from pages.components.pieces import shown
from pages.embeddings import inputs
from pages.model import card
from tests.support.app import SOURCE, TARGET, components, figures, messages, model_sizes, open_variant, page_text
from tests.support.marian import marian_folder
from transformer.analysis.embedding import neighbours
from transformer.inference.pretrained import Pretrained, readable
from transformer.probing.neuron_survey import reading
from transformer.probing.probes import probe_pairs

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("variants")]


def test_the_text_fields_count_the_tokens_of_their_own_side(variants: Path) -> None:
    model = transformer.load(variants / "apart")
    trace = model.trace(SOURCE, TARGET)
    assert len(trace.source_ids) != len(model.encode(SOURCE, "target"))  # or the test could not tell
    first, second = (field.label for field in open_variant("apart").text_input)
    assert f"Source · en · {len(trace.source_ids)} of 40 tokens" in first
    assert f"Target · de · your text · {len(trace.target_in_ids)} of 40 tokens" in second


@pytest.mark.parametrize("side", ["source", "target"])
def test_neighbours_are_words_of_one_side_from_its_table(variants: Path, side: str) -> None:
    model = transformer.load(variants / "apart")
    tokenizer, config = model.tokenizer_of(side), model.config
    app = open_variant("apart", "embeddings", "neighbours", side=side, word="zen")
    token_id = tokenizer.encode("zen")[int(app.selectbox(key="embeddings_token").value) - 1]
    table = model.model.embedding.weight if side == "source" else model.model.target_embedding.weight
    specials = (config.pad_id, config.unk_id, config.start_id, config.end_id)
    nearest = neighbours(table, token_id, inputs.NEAREST, (*specials, *inputs._parts(model, side)))
    labels = figures(app)["embedding-neighbours"]["layout"]["meta"]["labels"]["y"]
    assert labels == list(shown(model, nearest.ids, side))
    assert f"this is the table of the {side}" in page_text(app) and f"Of the {len(table)} rows" in page_text(app)


def test_a_decoder_s_first_token_is_never_a_special_word_to_start_with(variants: Path) -> None:
    """<pad> stands last in the vocabulary here, not among the first four ids."""
    model = transformer.load(variants / "swish")
    start = open_variant("swish", "embeddings", "neighbours", side="target").selectbox(key="embeddings_token").value
    ids = model.trace(SOURCE, TARGET).target_out_ids
    assert ids[int(start) - 1] not in (model.config.pad_id, model.config.end_id, model.config.unk_id)


@pytest.mark.parametrize(
    ("kind", "tables", "projection", "product"),
    [
        ("swish", "One table of 102 × 40 numbers", "the shared table of section 3.4, and a learned bias", "Eᵀ + b"),
        (
            "apart",
            "Another one, of 71 × 44, is the input of the decoder",
            "the table of the target's embeddings",
            "Eᵀ + b",
        ),
        ("untied", "the output projection another one of that size", "a separate matrix W", "Wᵀ + b"),
        ("apart-untied", "the output projection another one of that size", "a separate matrix W", "Wᵀ + b"),
    ],
)
def test_the_output_names_the_embedding_tables(kind: str, tables: str, projection: str, product: str) -> None:
    app = open_variant(kind, "embeddings", "output")
    text = page_text(app)
    assert tables in text and projection in text and f"decoder output × {product} in 64-bit" in text
    letter = product[0]
    assert (
        f"{letter}<sup>⊤</sup> + <i>b</i>" in figures(app)["output-candidates"]["layout"]["title"]["subtitle"]["text"]
    )
    lens = open_variant(kind, "embeddings", "lens")
    assert projection in page_text(lens) and ("input and output share one table" in page_text(lens)) == (letter == "E")
    assert f"{letter}<sup>⊤</sup> + <i>b</i>" in figures(lens)["logit-lens"]["layout"]["title"]["subtitle"]["text"]


def test_the_page_says_whether_embeddings_are_multiplied() -> None:
    text = page_text(open_variant("relu", "embeddings", "norms"))
    assert "This model adds its embeddings without the factor" in text and "made without that factor" in text
    assert "Without the factor" not in text
    text = page_text(open_variant("swish", "embeddings", "norms"))
    assert "made without" not in text and "√40 = 6.325" in text


def test_the_page_explains_the_order_of_marians_positions() -> None:
    """The picture explains it, as it is told."""
    for part in ("encoding", "distance"):
        (picture,) = components(open_variant("swish", "positions", part), "positions")
        assert (data := json.loads(picture.json))["layout"] == "halves" and data["own"] == 40
    (picture,) = components(open_variant("reverse", "positions", "encoding", source="abc", target=""), "positions")
    assert json.loads(picture.json)["layout"] == ""


def test_swish_is_drawn_and_named() -> None:
    app = open_variant("swish", "feedforward", "nonlinearity")
    figure = figures(app)["feedforward-nonlinearity"]
    curves = figure["data"][:6:2]
    names = [curve["name"] for curve in curves]
    assert names == ["swish, this model", "ReLU", "GELU"]
    assert len({curve["line"]["dash"] for curve in curves}) == 3
    assert "swish gives numbers from −0.278 to 0" in page_text(app)
    (picture,) = components(open_variant("swish", "feedforward", "activity"), "feedforward")
    data = json.loads(picture.json)
    assert data["numbers"]["activation"] == "swish" and data["state"]["threshold"] == 30


def test_the_model_page_lists_differences_and_unknown_values(variants: Path) -> None:
    app = open_variant("apart-untied", "model")
    text = page_text(app)
    for words in ("From en to de", "swish", "sines before all cosines", "not multiplied by √ d model", "output matrix",
                  "a bias on every logit", "starts with the padding token", "licence does not cover it"):  # fmt: skip
        assert words in text
    assert model_sizes(app)["vocabulary of the source"] == "71"
    text = page_text(open_variant("reverse", "model", source="abc", target=""))
    assert (
        "Built as in the paper, except for: a bias in every projection of attention." in text and "Marian" not in text
    )


def test_the_front_matter_of_a_card_stays_readable() -> None:
    shown = card.tamed("---\nlicense: cc-by-4.0\ntags:\n- translation\n---\n# Title\n\ntext\n---\n")
    assert shown.startswith("```yaml\nlicense: cc-by-4.0\ntags:\n- translation\n```\n\n## Title")
    assert card.tamed("text\n---\nmore\n---\n") == "text\n---\nmore\n---\n"
    assert card.tamed("---\nno end") == "---\nno end"


@pytest.mark.filterwarnings("ignore:zz-noted")
def test_what_is_done_in_another_way_is_said_on_opening_and_on_the_model_page(variants: Path) -> None:
    noted = variants / "zz-noted"
    marian_folder(noted, "relu")
    (noted / "generation_config.json").write_text(json.dumps({"do_sample": True}))
    try:
        app = open_variant("zz-noted")
        assert "settings that Headscope does not follow" in messages(app) and not app.exception
        assert not messages(app.run())
        assert "settings that Headscope does not follow" in page_text(open_variant("zz-noted", "model"))
    finally:
        shutil.rmtree(noted)


@pytest.fixture(scope="module")
def apart(every_variant: Path) -> Pretrained:
    return transformer.load(every_variant / "apart")


def test_a_pair_is_read_with_the_tokenizer_of_each_side(apart: Pretrained) -> None:
    pair = (f"{SOURCE}", TARGET)
    trace = apart.trace(*pair)
    encoder, decoder = (reading(apart, pair, stack) for stack in ("encoder", "decoder"))
    assert encoder.ids == trace.source_ids and encoder.labels == trace.source_labels
    assert decoder.ids == trace.target_in_ids and decoder.labels == trace.target_in_labels
    assert decoder.pieces[0] == "<pad>" and decoder.following == trace.target_out_ids
    assert apart.languages == ("en", "de") and probe_pairs(apart)


def test_labels_name_the_words_of_their_own_side(apart: Pretrained) -> None:
    ids = list(range(2, 40))
    for side in ("source", "target"):
        plain = readable(apart.tokenizer_of(side).pieces(ids))
        assert tuple(label.removeprefix("…") for label in shown(apart, ids, side)) == plain
    assert shown(apart, ids, "source") != shown(apart, ids, "target")
