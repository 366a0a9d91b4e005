"""A probe set with switches: the numbers equal those of a plain loop over traces, whatever the groups."""

import dataclasses
import math
from pathlib import Path

import pytest
import sacrebleu

from tests.support.build import sentences, tiny_model, tiny_pretrained
from tests.support.reports import Reports
from transformer.analysis.translation import perplexity, repetition
from transformer.cancellation import Stopped
from transformer.inference.pretrained import InputError, Pretrained, load
from transformer.interventions.sets import NONE, InterventionError, Interventions
from transformer.probing.probes import COUNT, ProbeScores, probe, probe_pairs, task_of
from transformer.text.tokenizer import Tokenizer
from transformer.training.evaluation import surprise
from transformer.training.tasks import task_pairs

MODEL = tiny_pretrained()

TEXTS = list(dict.fromkeys(sentences()))
PAIRS = list(zip(TEXTS[:11], TEXTS[20:31], strict=True))
DIGITS = task_pairs("sort", 10, (3, 6), 1)
SWITCHES = [
    "", "scaling=off", "causal=off", "padding=off", "pad=3", "padding=off pad=3", "causal=off padding=off",
    "zero=cross", "zero=cross.1.2", "weights=argmax@cross", "hide=source.1",
]  # fmt: skip


def parse(switches: str) -> Interventions:
    return Interventions.parse(switches) if switches else NONE


def plainly(model: Pretrained, switches: Interventions) -> ProbeScores:
    """The definition: pair by pair, over traces."""
    texts, nats, tokens, repeated, ended = [], 0.0, 0, 0.0, 0
    for source, target in DIGITS:
        written = model.translate(source, interventions=switches)
        texts.append(written.text)
        repeated += repetition([token for token in written.tokens if token != "</s>"])
        ended += written.tokens[-1] == "</s>"
        trace = model.trace(source, target, interventions=switches)
        nats += math.log(perplexity(trace)) * len(trace.target_out)
        tokens += len(trace.target_out)
    return ProbeScores(
        sentences=len(DIGITS),
        bleu=sacrebleu.corpus_bleu(texts, [[target for _, target in DIGITS]]).score,
        perplexity=math.exp(nats / tokens),
        repetition=repeated / len(DIGITS),
        exact=sum(text == target for text, (_, target) in zip(texts, DIGITS, strict=True)) / len(DIGITS),
        cut_off=1 - ended / len(DIGITS),
        texts=tuple(texts),
        references=tuple(target for _, target in DIGITS),
    )


@pytest.mark.slow
@pytest.mark.parametrize("switches", SWITCHES)
def test_the_numbers_are_those_of_a_plain_loop_whatever_the_groups(switches: str) -> None:
    """With a trained model, because a random one repeats one token for any input."""
    model, on = load("sort"), parse(switches)
    expected = plainly(model, on)
    assert 1 < len({len(source) for source, _ in DIGITS}) < len(DIGITS)
    for group in (1, 3, 100):
        scores = probe(model, DIGITS, on, group=group)
        for name in ("sentences", "bleu", "perplexity", "repetition", "exact", "cut_off"):
            assert getattr(scores, name) == pytest.approx(getattr(expected, name), rel=1e-5), name
        assert (scores.texts, scores.references) == (expected.texts, expected.references)
    if switches == "zero=cross":
        assert expected.exact == 0 and expected.perplexity > 3
    elif not switches:
        assert expected.exact == 1 and expected.perplexity < 1.2 and expected.cut_off == 0


@pytest.mark.parametrize("switches", SWITCHES)
def test_perplexity_ignores_the_padding_of_its_batch(switches: str) -> None:
    model, on = tiny_pretrained(), parse(switches)
    alone = [surprise(model, [pair], interventions=on) for pair in PAIRS]
    total, tokens, measured = surprise(model, PAIRS, interventions=on)
    assert (tokens, measured) == (sum(pair[1] for pair in alone), len(PAIRS))
    assert total == pytest.approx(sum(pair[0] for pair in alone), rel=1e-5)


def test_a_source_that_does_not_fit_with_its_padding_is_left_out() -> None:
    assert surprise(MODEL, PAIRS, interventions=parse("pad=64"))[2] == 0
    with pytest.raises(InputError, match="64 pad tokens"):
        probe(MODEL, PAIRS, parse("pad=64"))


def test_progress_is_reported_and_can_stop() -> None:
    reports = Reports()
    probe(MODEL, PAIRS, progress=reports, group=2)
    assert reports[0] == (0, 11) and reports[-1] == (11, 11)
    assert [done for done, _ in reports] == sorted({done for done, _ in reports}) and len(reports) >= 6
    for most in (1, 3):
        with pytest.raises(Stopped):
            probe(MODEL, PAIRS, progress=(stopped := Reports(most)), group=2)
        assert stopped == reports[:most]


def test_unmeasurable_input_is_an_error() -> None:
    with pytest.raises(ValueError, match="no sentence pair"):
        probe(MODEL, [])
    with pytest.raises(InterventionError, match="layer 9"):
        probe(MODEL, PAIRS, parse("zero=cross.9"))
    with pytest.raises(InputError, match="target text is empty"):
        probe(MODEL, [("ka", "")])


def test_a_model_that_never_ends_is_cut_off_and_repeats() -> None:
    """The random model feeds its last token back and soon repeats one piece."""
    assert all(MODEL.translate(source).tokens[-1] != "</s>" for source, _ in PAIRS[:3])
    scores = probe(MODEL, PAIRS[:3])
    assert (scores.cut_off, scores.exact) == (1.0, 0.0) and scores.repetition > 0.9


def lettered(languages: tuple[str, str], **sizes: int) -> Pretrained:
    tokenizer = Tokenizer.train(["abcdefghijklmnopqrstuvwxyz 0123456789"] * 3, 64, "char")
    model = tiny_model(vocab_size=len(tokenizer), **sizes)
    return Pretrained("toy", Path("toy"), model, tokenizer, languages, {})


@pytest.mark.parametrize(("languages", "task"), [(("letters", "reversed"), "reverse"), (("digits", "sorted"), "sort")])
def test_toys_are_probed_with_their_own_task(languages: tuple[str, str], task: str) -> None:
    model = lettered(languages)
    pairs = probe_pairs(model)
    assert task_of(model) == task and pairs and pairs == probe_pairs(model)
    assert len(set(pairs)) == COUNT >= 100
    right = {"reverse": lambda text: text[::-1], "sort": lambda text: "".join(sorted(text))}[task]
    assert all(target == right(source) for source, target in pairs)
    few = probe_pairs(lettered(languages, max_positions=10))
    assert few and len(few) < COUNT and max(len(source) for source, _ in few) == 9


def test_probe_sets_of_other_models() -> None:
    assert task_of(MODEL) is None and probe_pairs(MODEL) is None
    pairs = probe_pairs(dataclasses.replace(MODEL, languages=("English", "German")))
    assert pairs is None or all(len(MODEL.encode(source)) <= 64 for source, _ in pairs)
    en_de = probe_pairs(dataclasses.replace(lettered(("English", "German"), max_positions=256)))
    assert en_de and len(en_de) == COUNT
