"""CTranslate2 has our weights: with 32 bits it writes what greedy search writes, with 8 bits it drafts that."""

import sys
from dataclasses import replace

import pytest
import torch

from tests.inference.test_search import lively_model
from tests.support.build import VARIANTS, padded_sources, sentences, tiny_pretrained, variant_name
from transformer.inference.pretrained import load
from transformer.inference.search import greedy

pytest.importorskip("ctranslate2", reason="pip install '.[fast]'")

from transformer.inference import ctranslate
from transformer.inference.ctranslate import Translator, expressible, translator

OTHERS = [
    {"layout": "halves"},
    {"activation": "swish"},
    {"target_vocab_size": 37},
    {"output_bias": True, "embedding_scale": False, "layer_norm_eps": 0.1, "start_id": 0},
]


@pytest.mark.parametrize("changes", [*VARIANTS, *OTHERS], ids=variant_name)
def test_with_32_bits_it_writes_what_greedy_search_writes(changes):
    model, lengths = lively_model(2, **changes), (7, 4, 2, 5, 3)
    source = padded_sources(2, lengths)
    if not expressible(model.config):
        assert translator(model) is None
        return
    before = {name: value.clone() for name, value in model.state_dict().items()}
    theirs, limit, prefix = Translator(model, "float32"), 12, (5, 9)
    sources = [row[:length].tolist() for row, length in zip(source, lengths, strict=True)]
    for prefixes in ([()] * 5, [prefix] * 5):
        wanted = [one.ids for one in greedy(model, source, limit, prefixes=prefixes)]
        assert theirs(sources, prefixes, limit) == wanted
    assert translator(model)(sources, [()] * 5, limit)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_only_what_it_cannot_express_is_left_out():
    left = [changes for changes in VARIANTS if not expressible(lively_model(1, **changes).config)]
    assert all({"d_k", "residual", "causal"} & {*changes} or changes["norm"] == "none" for changes in left)


@pytest.mark.parametrize("name", ["en-de", "ko-numbers", "reverse-gelu", "reverse-learned"])
def test_translations_after_prepare_draft_are_those_before(name):
    texts = {
        "en-de": ["Hello.", "The man who called me yesterday is my brother.", "I " * 60, "Stop.", "qqq zz xx"],
        "ko-numbers": ["12", "9401", "삼백"],
    }.get(name, ["abc", "headscope", "transformer"])
    plain, model = load(name), load(name)
    model.prepare_draft()
    assert model._drafting() is not None and sys.getsizeof(model._draft[0]) > plain.model.parameter_count()
    for text in texts:
        ours, wanted = model.translate(text), plain.translate(text)
        assert (ours.tokens, ours.complete) == (wanted.tokens, wanted.complete)
        assert ours.probabilities == pytest.approx(wanted.probabilities, rel=1e-3)
        assert model.trace(text).target_out_ids == plain.trace(text).target_out_ids
    assert [one.ids for one in model.translate_all(texts)] == [one.ids for one in plain.translate_all(texts)]


@pytest.mark.parametrize("missing", ["package", "processor", "room"])
def test_where_it_cannot_be_used_nothing_changes(missing, monkeypatch):
    model = replace(tiny_pretrained())
    wanted = model.translate(sentences()[0])
    if missing == "package":
        monkeypatch.setitem(sys.modules, "transformer.inference.ctranslate", None)
    elif missing == "processor":
        monkeypatch.setattr(ctranslate.ctranslate2, "get_supported_compute_types", lambda device: {"float32"})
    else:
        monkeypatch.setattr(ctranslate.tempfile, "TemporaryDirectory", lambda dir: (_ for _ in ()).throw(OSError))
    model.prepare_draft()
    assert not any(model._draft) and model.translate(sentences()[0]) == wanted
