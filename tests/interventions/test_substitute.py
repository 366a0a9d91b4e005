"""Mean and resample ablation: head outputs from elsewhere, exact in every kind of pass."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

import transformer
from tests.support.build import TINY_PAIRS, tiny_model, tiny_pretrained, tiny_tokenizer
from transformer.attribution import attribute
from transformer.attribution.gradients import differentiable
from transformer.attribution.vectors import parts
from transformer.inference.pretrained import InputError, Pretrained
from transformer.inference.reference import drawn
from transformer.interventions.edits import edits_of
from transformer.interventions.sets import InterventionError, Interventions, KnockOut, Mean, Resample, Skip, Where
from transformer.model.tap import KINDS
from transformer.probing.importance import without
from transformer.probing.probes import probe_pairs
from transformer.texts import UserError
from transformer.tracing.trace import Trace

MODEL = tiny_pretrained()

SOURCE, TARGET = "ka lo mi nu re", "sta ti vu nu lo mi"
SHORT = ("ti", "ka")  # a sentence with fewer tokens on both sides


def parse(text: str) -> Interventions:
    return Interventions.parse(text)


def rows_of(traces: Sequence[Trace], kind: str, layer: int, head: int) -> torch.Tensor:
    return torch.cat([trace.attention(kind).head_outputs[layer, head] for trace in traces])


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_is_over_all_rows_of_the_reference_pairs(kind: str) -> None:
    plain = MODEL.trace(SOURCE, TARGET)
    trace = MODEL.retrace(plain, Interventions((Mean(Where(kind, 1, 2)),)))
    mean = rows_of([MODEL.trace(*pair) for pair in TINY_PAIRS], kind, 1, 2).mean(0)
    outputs = trace.attention(kind).head_outputs
    torch.testing.assert_close(outputs[1, 2], mean.expand_as(outputs[1, 2]))
    assert torch.equal(outputs[0], plain.attention(kind).head_outputs[0])  # and nothing else of that kind before it
    assert trace.attention(kind).replaced.nonzero().tolist() == [[1, 2]] and not trace.attention(kind).zero.any()
    others = MODEL.with_reference([SHORT]).retrace(plain, trace.interventions).attention(kind).head_outputs[1, 2]
    expected = rows_of([MODEL.trace(*SHORT)], kind, 1, 2).mean(0)
    torch.testing.assert_close(others, expected.expand_as(others))


def test_the_mean_of_a_head_whose_output_is_constant_changes_nothing() -> None:
    """With W^V = 0 a head's output is the bias of V in every row."""
    model, head = tiny_pretrained(), 1
    network = tiny_model(vocab_size=len(tiny_tokenizer()))
    values, width = network.decoder[0].cross_attention.value, model.config.d_model // model.config.heads
    with torch.no_grad():
        values.weight[head * width : (head + 1) * width] = 0
    constant = replace(model, model=network)
    plain = constant.trace(SOURCE, TARGET)
    switched = constant.retrace(plain, parse("mean=cross.1.2"))
    torch.testing.assert_close(switched.logits.clone(), plain.logits.clone())
    assert not torch.equal(constant.retrace(plain, parse("mean=cross.1.1")).logits, plain.logits)


@pytest.mark.parametrize("target", [None, TARGET])
def test_resampling_from_the_same_sentence_changes_nothing(target: str | None) -> None:
    plain = MODEL.trace(SOURCE, target, limit=40)
    switch = Interventions((Resample((SOURCE, target or "")),))
    assert torch.equal(MODEL.trace(SOURCE, target, limit=40, interventions=switch).logits, plain.logits)
    if target is None:
        found, wanted = MODEL.translate(SOURCE, interventions=switch), MODEL.translate(SOURCE)
        assert found.tokens == wanted.tokens  # not bitwise: without edits PyTorch's fused kernel runs
        assert found.probabilities == pytest.approx(wanted.probabilities, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_shorter_sentence_start_again(kind: str) -> None:
    trace = MODEL.trace(SOURCE, TARGET, interventions=Interventions((Resample(SHORT, Where(kind, 0, 1)),)))
    other = MODEL.trace(*SHORT).attention(kind).head_outputs[0, 1]
    found = trace.attention(kind).head_outputs[0, 1]
    assert len(other) < len(found)
    assert torch.equal(found, other[torch.arange(len(found)) % len(other)])


def test_a_seed_draws_a_reference_pair() -> None:
    pairs = {drawn(TINY_PAIRS, seed) for seed in range(20)}
    assert pairs == set(TINY_PAIRS)
    by_seed = MODEL.trace(SOURCE, TARGET, interventions=Interventions((Resample(5),)))
    by_pair = MODEL.trace(SOURCE, TARGET, interventions=Interventions((Resample(drawn(TINY_PAIRS, 5)),)))
    assert torch.equal(by_seed.logits, by_pair.logits)


ALL = ("mean=all", "resample=3@decoder_self,4@cross.2", "resample=text.ti+ka@cross.1.2 mean=encoder_self.2",
       "resample=text.mi+nu|vu+ka@decoder_self.2 zero=cross.1.1 positions=shift.3@target")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", ALL)
def test_a_batch_gives_the_same_as_single_texts(text: str) -> None:
    model, switches = tiny_pretrained(), parse(text)
    texts = ["ka lo mi", "re", "nu re sta ti vu", "lo ka mi"]
    for beams in (1, 2):
        alone = [model.translate(one, beams, interventions=switches).text for one in texts]
        assert [one.text for one in model.translate_all(texts, beams, interventions=switches)] == alone


def test_mean_ablation_is_the_model_with_means_in_its_weights() -> None:
    """`without` puts the mean into the bias of W^O, so that it decodes without any edit."""
    model = transformer.load("reverse")
    pairs = probe_pairs(model) or []
    heads = [("cross", 0, 0), ("decoder_self", 1, 1), ("encoder_self", 0, 0)]
    means = {head: model.outputs_elsewhere(None)[head[:2]][head[2], 0] for head in heads}
    changed = without(model, heads, means)
    switches = Interventions(tuple(Mean(Where(*head)) for head in heads))
    for source, target in pairs[:5]:
        found = model.trace(source, target, interventions=switches).logits.clone()
        torch.testing.assert_close(found, changed.trace(source, target).logits.clone(), atol=1e-4, rtol=1e-4)
    sources = [source for source, _ in pairs[:20]]
    assert [one.text for one in model.translate_all(sources, interventions=switches)] == [
        one.text for one in changed.translate_all(sources)
    ]


def test_the_last_of_zero_resample_and_mean_wins() -> None:
    plain = MODEL.trace(SOURCE, TARGET)

    def logits(*switches: KnockOut | Mean | Resample) -> torch.Tensor:
        return MODEL.retrace(plain, Interventions(switches)).logits

    zero, mean, first, second = KnockOut(Where("cross")), Mean(Where("cross")), Resample(1), Resample(SHORT)
    assert torch.equal(logits(zero, mean), logits(zero))
    assert torch.equal(logits(Mean(Where()), first), logits(first))
    assert torch.equal(logits(first, second), logits(second)) and not torch.equal(logits(first), logits(second))
    both = MODEL.retrace(plain, Interventions((zero, mean))).cross
    assert both.zero.all() and not both.replaced.any()


def test_another_model_has_other_means() -> None:
    other = replace(MODEL, model=tiny_model(5, vocab_size=len(tiny_tokenizer())))
    first, second = (one.outputs_elsewhere(None)["cross", 0] for one in (MODEL, other))
    assert not torch.equal(first, second) and MODEL.outputs_elsewhere(None) is MODEL.outputs_elsewhere(None)


def test_what_is_remembered_is_bounded() -> None:
    model = replace(tiny_pretrained())
    mean = model.outputs_elsewhere(None)
    for seed in range(40):
        model.outputs_elsewhere(seed)
    assert list(model._outputs) == [None, *range(34, 40)] and model.outputs_elsewhere(None) is mean


@pytest.mark.parametrize("text", ["mean=cross.1.2", "resample=2@decoder_self.2,2@encoder_self.1.1"])
def test_contributions_do_not_pass_by_a_replaced_head(text: str) -> None:
    """The vectors of the keys, the residual connection and the constant still add up to what the sub-layer gives."""
    trace = MODEL.trace(SOURCE, TARGET, interventions=parse(text))
    for kind, layer in (("cross", 0), ("decoder_self", 1), ("encoder_self", 0)):
        found = parts(MODEL.model, trace, kind, layer)
        total = found.vectors.sum(1) + found.own + found.constant
        torch.testing.assert_close(total, found.result, atol=1e-4, rtol=1e-4)
    shares = attribute(MODEL, trace, "alti").joined().sum(-1)
    torch.testing.assert_close(shares, torch.ones_like(shares))


def test_no_gradient_passes_by_a_replaced_head() -> None:
    graph = differentiable(MODEL, MODEL.trace(SOURCE, TARGET, interventions=parse("mean=cross.2.1 resample=1@cross.1")))
    weights = [graph.records[f"decoder.{layer}.cross.weights"] for layer in (0, 1)]
    first, second = torch.autograd.grad(graph.log_probs.sum(), weights, allow_unused=True)
    assert first is None or not first.any()
    assert not second[:, 0].any() and second[:, 1:].any()


# -- as text and as values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [0, 9999, "ka lo", ("ka lo", "re, sta"), "7", "a@b,c=d|e %2C+f", "schläft 한글 😀", ("x", "y|z"), "<b>&\"'</b>"],
)
def test_a_sentence_comes_back_from_its_text(other: int | str | tuple[str, str]) -> None:
    value = Interventions((Resample(other, Where("cross", 1)), Skip("encoder", 0, "ff")))
    assert parse(str(value)) == value and Interventions.parse(value.to_params()) == value
    if isinstance(other, str):
        assert value == Interventions((Resample((other, ""), Where("cross", 1)), Skip("encoder", 0, "ff")))


def test_half_a_character_is_replaced() -> None:
    assert Resample("a\ud800").other == ("a?", "")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("resample=@cross", "nothing to resample from"),
        ("resample=word@cross", "write a seed"),
        ("resample=10000", "a seed from 0 to 9999"),
        ("resample=text.@cross", "is empty"),
        ("resample=text.+|x", "is empty"),
        ("resample=text." + "a" * 1001, "has 1,001 characters; at most 1,000 are allowed"),
        ("mean=neck", "does not name heads"),
        ("mean=", "does not name heads"),
    ],
)
def test_a_wrong_text_is_explained(given: str, message: str) -> None:
    with pytest.raises(InterventionError, match=message):
        parse(given)


@pytest.mark.parametrize("other", [True, 1.5, None, -1, ("a",), ("a", 1), ["a", "b"]])
def test_a_wrong_value_is_explained(other: object) -> None:
    with pytest.raises(InterventionError, match="is nothing to resample from; give a sentence, or a seed"):
        Resample(other)  # type: ignore[arg-type]


def test_a_model_without_reference_sentences_says_so() -> None:
    model = replace(tiny_pretrained(), reference=None)
    for text in ("mean=cross.1.1", "resample=1"):
        with pytest.raises(InterventionError, match="no reference sentences from Invented to Imagined"):
            model.trace(SOURCE, TARGET, interventions=parse(text))
    assert model.trace(SOURCE, TARGET, interventions=parse("resample=text.ti"))
    with pytest.raises(InterventionError, match="with a loaded checkpoint"):
        edits_of(parse("mean=cross.1.1"), model.config)
    with pytest.raises(InterventionError, match="the sentence to resample from does not fit: the source text has"):
        model.translate(SOURCE, interventions=Interventions((Resample("ka " * 300),)))


def test_given_pairs_are_checked() -> None:
    with pytest.raises(UserError, match="there are no pairs"):
        MODEL.with_reference([])
    with pytest.raises(InputError, match="pair 2: the target text is empty"):
        MODEL.with_reference([SHORT, ("ka", "")])
    with pytest.raises(UserError, match="pairs"):
        MODEL.with_reference("ka")  # type: ignore[arg-type]


def test_a_loaded_model_has_the_probe_set() -> None:
    model = transformer.load("sort")
    assert list(model.reference_pairs()) == probe_pairs(model)
    assert Pretrained.probe_set is not None
