"""Every identity a Trace promises, on a random model of unequal sizes."""

import copy

import pytest
import torch

import transformer
from tests.support.build import VARIANTS, tiny_model, tiny_pretrained, tiny_tokenizer, variant_name
from transformer.analysis.lens import logit_lens
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions, KnockOut, Where
from transformer.model.tap import Tap, TapError, across_layers
from transformer.tracing.trace import KINDS, AttentionTrace, Trace
from transformer.view.page import html_page

SOURCE, TARGET = "ka lo mi nu", "re sta"


@pytest.fixture(scope="module", params=VARIANTS, ids=variant_name)
def model(request: pytest.FixtureRequest) -> Pretrained:
    tokenizer = tiny_tokenizer()
    model = tiny_model(vocab_size=len(tokenizer), encoder_layers=3, **request.param)
    return Pretrained("t", tiny_pretrained().path, model, tokenizer, ("a", "b"), {})


@pytest.fixture(scope="module")
def trace(model: Pretrained) -> Trace:
    return model.trace(SOURCE, TARGET)


def test_a_trace_has_every_tensor_of_its_pass(model: Pretrained, trace: Trace) -> None:
    """To the last bit, by kind and layer; tests/model/test_properties.py says what holds of the tensors of a pass."""
    tap = Tap()
    model.model(torch.tensor([trace.source_ids]), torch.tensor([trace.target_in_ids]), tap)
    for name, tensor in tap.finish().items():
        kind, _, field = across_layers(name).partition(".")
        if field == "products":  # before the bias of relative positions: no trace has them
            continue
        found = getattr(trace, kind)
        found = getattr(found, field)[int(name.split(".")[1])] if field else found
        assert torch.equal(found, tensor if "position" in name else tensor[0]), name
    for kind in KINDS:
        part = trace.attention(kind)
        assert torch.equal(part.scale, torch.full((part.layers, 3), model.config.scale, dtype=torch.float64))
        assert not any(one.any() or one.shape != part.scale.shape for one in (part.rule, part.zero, part.replaced))
        assert (part.bias is not None) == (model.config.positions == "relative" and kind != "cross")


def test_decoder_axes_are_shifted_by_one_and_say_so(trace: Trace) -> None:
    assert trace.target_in[0] == "<s>" and trace.target_out[-1] == "</s>"
    assert trace.target_in[1:] == trace.target_out[:-1]
    assert trace.source_tokens[-1] == trace.source_labels[-1] == "</s>"
    assert "".join(trace.source_labels[:-1]).replace("␣", "") == SOURCE.replace(" ", "")
    assert trace.target_in_labels[1:] == trace.target_out_labels[:-1]


def test_probabilities_are_the_softmax_of_the_logits(trace: Trace) -> None:
    expected = trace.logits.softmax(-1)[range(len(trace.target_out_ids)), list(trace.target_out_ids)]
    assert torch.equal(trace.probabilities, expected)


def test_the_models_own_target_is_its_greedy_translation() -> None:
    model = tiny_pretrained()
    trace, translation = model.trace(SOURCE, limit=12), model.translate(SOURCE, limit=12)
    assert trace.own and trace.target_out == translation.tokens and trace.target_text == translation.text
    assert torch.allclose(trace.probabilities.double(), torch.tensor(translation.probabilities).double(), atol=1e-5)
    again = model.trace(SOURCE, "  ", limit=12)
    assert again.own and again.target_out == trace.target_out


def test_a_trace_refuses_to_be_changed() -> None:
    trace = tiny_pretrained().trace(SOURCE, TARGET)
    with pytest.raises(AttributeError):
        trace.own = True  # type: ignore[misc]
    with pytest.raises(RuntimeError, match="inference tensor"):
        trace.cross.weights.add_(1)


def test_a_translation_is_decoded_under_the_edits() -> None:
    """An edit that makes a logit the largest at every step, or a head's output 0, as `KnockOut` does."""
    model = tiny_pretrained()
    (wanted,) = model.tokenizer.encode("ka")[:1]

    def favour(logits: torch.Tensor) -> torch.Tensor:
        logits[..., wanted] = 1e3
        return logits

    trace = model.trace(SOURCE, limit=9, edits={"logits": favour})
    assert trace.own and set(trace.target_out_ids) == {wanted} and not trace.complete
    assert trace.target_text == model.translate(SOURCE, limit=9, edits={"logits": favour}).text
    assert model.translate(SOURCE, beam=3, limit=9, edits={"logits": favour}).tokens == trace.target_out

    def silence(outputs: torch.Tensor) -> torch.Tensor:
        return outputs.index_fill(1, torch.tensor([0]), 0)

    edits = {"decoder.0.cross.head_outputs": silence}
    switches = Interventions([KnockOut(Where("cross", 0, 0))])
    switched, edited = model.trace(SOURCE, interventions=switches), model.trace(SOURCE, edits=edits)
    assert edited.target_out == switched.target_out and torch.equal(edited.logits, switched.logits)
    assert edited.target_out != model.trace(SOURCE).target_out
    both = model.trace(SOURCE, interventions=switches, edits={"logits": favour}, limit=9)
    assert set(both.target_out_ids) == {wanted} and not both.cross.head_outputs[0, 0].any()


def test_an_edit_of_one_row_reaches_its_step_and_leaves_earlier_ones() -> None:
    """While decoding, an edit gets all rows written so far, as in the pass that is traced at the end."""
    model = tiny_pretrained()
    plain, shapes = model.trace(SOURCE, limit=9), []

    def third(mask: torch.Tensor) -> torch.Tensor:
        shapes.append(list(mask.shape))
        mask = mask.clone()
        mask[:, :, 2:3, 1:] = False
        return mask

    edited = model.trace(SOURCE, limit=9, edits={"decoder.1.cross.mask": third})
    heads, keys = plain.cross.heads, len(plain.source_ids)
    steps = len(edited.target_out)
    assert shapes == [[1, heads, rows, keys] for rows in (*range(1, steps + 1), steps)]
    assert edited.target_out[:2] == plain.target_out[:2]
    assert torch.equal(edited.cross.weights[1, :, 2, 0], torch.ones(heads))


def test_an_edit_that_fails_while_decoding_says_so() -> None:
    def fifth_row(weights: torch.Tensor) -> torch.Tensor:
        weights[:, :, 4] = 0
        return weights

    model, edits = tiny_pretrained(), {"decoder.0.cross.weights": fifth_row}
    with pytest.raises(
        TapError, match=r"cross\.weights failed while .* the shape \[1, 3, 1, \d\]: index 4 is out .*target$"
    ):
        model.trace(SOURCE, edits=edits)
    assert not model.trace(SOURCE, "re sta re sta re", edits=edits).cross.weights[0, :, 4].any()
    for call in (model.trace, model.translate):
        with pytest.raises(
            TapError, match=r"no tensor 'decoder.0.cross.weight'; did you mean decoder.0.cross.weights\?"
        ):
            call(SOURCE, edits={"decoder.0.cross.weight": fifth_row})  # type: ignore[operator]
        with pytest.raises(TapError, match="the edit of logits is int; give a function"):
            call(SOURCE, edits={"logits": 3})  # type: ignore[operator]


def test_a_trace_records_its_edits() -> None:
    model = tiny_pretrained()
    edits = {name: torch.zeros_like for name in ("logits", "decoder.0.cross.weights")}
    plain = model.trace(SOURCE, TARGET)
    edited = model.retrace(plain, edits=edits)
    assert edited.edits == model.trace(SOURCE, TARGET, edits=edits).edits == ("decoder.0.cross.weights", "logits")
    assert not edited.logits.any() and not edited.cross.weights[0].any() and edited.id != plain.id
    assert plain.edits == model.retrace(edited).edits == () and model.retrace(edited).id == plain.id
    assert html_page(edited).count("edited: decoder.0.cross.weights logits") == 2  # title and heading
    assert "edited:" not in html_page(plain).split("<main")[0]


def test_reprs_are_summaries() -> None:
    model = tiny_pretrained()
    trace = model.trace("ka lo mi nu " * 5, "re sta", interventions=Interventions.parse("scaling=off"))
    shown = "Trace('tiny': 'ka lo mi nu ka lo mi nu ka ... nu ka lo mi nu ka lo mi nu ' -> 're sta' (given target), "
    assert repr(trace).startswith(shown) and repr(trace).endswith("2 + 2 layers, switches: scaling=off)")
    keys = len(trace.source_ids)
    assert repr(trace.cross) == f"AttentionTrace(2 layers of 3 heads, {len(trace.target_in)} queries, {keys} keys)"
    assert repr(trace.encoder_ff) == f"FeedForwardTrace(2 layers, {keys} tokens, 37 neurons)"
    assert "edits: logits)" in repr(model.trace("ka", "re", edits={"logits": torch.zeros_like}))
    assert len(repr(trace)) < 300 and len(repr(model)) < 200
    shown = repr(logit_lens(trace, model.model))
    assert shown.startswith("Lens(") and "probability=float32[" in shown and len(shown) < 500


def test_a_mistyped_name_suggests_the_nearest() -> None:
    trace = tiny_pretrained().trace(SOURCE, TARGET)
    with pytest.raises(ValueError, match="unknown attention kind 'self'; choose encoder_self, decoder_self or cross$"):
        trace.attention("self")
    with pytest.raises(ValueError, match="unknown attention kind 'crosss'; choose .* or cross; did you mean cross\\?$"):
        trace.attention("crosss")
    with pytest.raises(AttributeError, match="no attribute 'cros'; did you mean 'cross'\\?"):
        _ = trace.cros  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'weight'; did you mean 'weights'\\?"):
        _ = trace.cross.weight  # type: ignore[attr-defined]
    for package, near in (("probng", "probing"), ("atribution", "attribution")):
        with pytest.raises(
            AttributeError, match=f"module 'transformer' has no attribute '{package}'; did you mean '{near}'"
        ):
            getattr(transformer, package)
    with pytest.raises(AttributeError, match="has no attribute 'patchin'; did you mean 'patching'"):
        _ = transformer.probing.patchin
    assert transformer.attribution.attribute and transformer.probing.patching.recovery
    assert not hasattr(trace, "_repr_png_") and copy.copy(trace).id == trace.id


def test_docstring_tabulates_every_field() -> None:
    for kind in (AttentionTrace, Trace):
        assert all(name in (kind.__doc__ or "") or name in ("target_out_labels", "target_out_ids", "languages",
                   "checkpoint", "target_in_ids") for name in kind.__dataclass_fields__)  # fmt: skip


def test_an_edit_by_a_field_of_the_trace_is_of_every_layer() -> None:
    model, round_ = tiny_pretrained(), lambda weights: weights.round()
    edited = model.trace(SOURCE, limit=9, edits={"cross.weights": round_, "source_embedding": torch.zeros_like})
    names = [f"decoder.{layer}.cross.weights" for layer in range(edited.cross.layers)]
    each = model.trace(SOURCE, limit=9, edits={**dict.fromkeys(names, round_), "source.embedding": torch.zeros_like})
    assert edited.edits == each.edits == (*names, "source.embedding") and edited.id == each.id
    both = model.trace(SOURCE, TARGET, edits={"cross.weights": lambda w: 2 * w, names[1]: lambda w: 1 + w})
    assert torch.allclose(both.cross.weights.sum(-1)[0], torch.tensor(2.0))
    assert torch.allclose(both.cross.weights.sum(-1)[1], torch.tensor(2.0) + both.cross.weights.shape[-1])


def test_an_edit_reads_while_it_decodes() -> None:
    """A head that attends as the same head of the layer before, at every step and in the trace of what was written."""
    model = tiny_pretrained()
    same: dict = {"decoder.1.cross.weights": lambda weights, seen: seen["decoder.0.cross.weights"]}
    for trace in (model.trace(SOURCE, limit=9, edits=same), model.trace(SOURCE, TARGET, edits=same)):
        assert torch.equal(trace.cross.weights[1], trace.cross.weights[0])
    trace = model.trace(SOURCE, limit=9, edits=same)
    assert trace.target_out == model.translate(SOURCE, limit=9, edits=same).tokens
    assert model.n_best(SOURCE, 2, limit=9, edits=same)
