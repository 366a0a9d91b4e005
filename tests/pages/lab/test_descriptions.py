"""Switches in plain words."""

import dataclasses
from statistics import fmean

import pytest

from pages.components.descriptions import in_words, scaling_note, trained_exact
from transformer.inference.pretrained import load
from transformer.interventions.sets import NONE, Interventions, KnockOut, Scale, Where

CONFIG = load("en-de").config  # 4 + 4 layers of 8 heads


@pytest.mark.parametrize(
    ("switches", "expected"),
    [
        ("none", "no switches"),
        ("scaling=off", "scaling off"),
        ("scaling=off@cross", "scaling off in cross-attention"),
        ("scaling=0.5@cross.2", "scores × 0.5 in cross-attention, layer 2"),
        ("scaling=off,0.25@encoder_self.1", "scaling off; scores × 0.25 in encoder self-attention, layer 1"),
        ("causal=off@decoder_self", "causal mask off"),
        ("causal=off@decoder_self.1", "causal mask off in decoder self-attention, layer 1"),
        ("padding=off pad=4", "padding mask off; 4 <pad> after the source"),
        ("hide=source.3", "token 3 of the source hidden"),
        ("hide=source.11,source.3,target.2@decoder_self", None),
        ("hide=target.1@decoder_self.1", "token 1 of the target hidden in decoder self-attention, layer 1"),
        ("hide=" + ",".join(f"source.{n}" for n in range(1, 12)), "11 tokens of the source hidden"),
        ("zero=cross.2.5", "1 head knocked out: cross-attention, layer 2, head 5"),
        ("zero=cross.2.5,encoder_self.1.1,decoder_self.4.1,cross.1.1,cross.1.2", "5 heads knocked out"),
        ("zero=all", "every head knocked out"),
        ("zero=all.*.3", "12 heads knocked out: head 3 of every layer"),
        ("weights=uniform@cross.*.3", "weights uniform in cross-attention, head 3 of every layer"),
        ("weights=argmax@all.2,argmax@all.3.1", None),
        ("positions=shift.5@source,remove@target", "positions of the source shifted by 5; no positions in the target"),
        ("positions=scale.0.5", "positions of both sides × 0.5"),
        (
            "skip=decoder.2.ff,encoder.1.self",
            "left out: feed-forward, decoder layer 2 and self-attention, encoder layer 1",
        ),
        (
            "neurons=encoder.1.17,decoder.2.3,decoder.2.4",
            "2 neurons of decoder layer 2 silenced; neuron 17 of encoder layer 1 silenced",
        ),
        (
            "mean=cross.2.5,encoder_self",
            "heads at their mean in cross-attention, layer 2, head 5 and encoder self-attention",
        ),
        ("resample=7@cross.2", "head outputs from a sentence drawn with seed 7 in cross-attention, layer 2"),
        (
            "resample=text.%7Bx%7D+_@cross,text.a@all.1",
            "head outputs from another sentence in cross-attention and layer 1 of every attention",
        ),
        ("weights=uniform@" + ",uniform@".join(f"cross.1.{n}" for n in range(1, 6)), "weights uniform in 5 places"),
    ],
)
def test_every_switch_has_words(switches: str, expected: str | None) -> None:
    text = in_words(Interventions.parse(switches), CONFIG)
    assert "{" not in text and "=" not in text and "@" not in text and "_" not in text
    if expected is None:
        expected = {
            "h": "tokens 3, 11 of the source hidden; token 2 of the target hidden in decoder self-attention",
            "w": "weights argmax in layer 2 of every attention and layer 3, head 1 of every attention",
        }[switches[0]]
    assert text == expected


def test_without_a_config_heads_are_named_and_not_counted() -> None:
    def say(text: str) -> str:
        return in_words(Interventions.parse(text))

    assert say("zero=cross.2") == "heads knocked out in cross-attention, layer 2"
    assert say("zero=cross.1.2,encoder_self") == (
        "heads knocked out in cross-attention, layer 1, head 2 and encoder self-attention"
    )
    assert say("zero=cross.1.1,cross.1.2,cross.1.3,cross.1.4") == "heads knocked out in 4 places"
    assert say("zero=all") == "every head knocked out"


def test_many_switches_are_counted() -> None:
    many = Interventions(tuple(Scale(0.1 + n / 1000, Where("cross", 0, 1)) for n in range(900)))
    assert in_words(many).endswith("; 893 more switches") and len(in_words(many)) < 500
    assert in_words(Interventions(tuple(KnockOut(Where("cross", n)) for n in range(4))), CONFIG) == (
        "32 heads knocked out"
    )


def test_the_note_about_scaling_matches_the_switches() -> None:
    def note(text: str, brief: bool = False) -> str:
        return scaling_note(Interventions.parse(text), CONFIG, brief)

    assert "so switching it off now only makes its softmax sharper" in note("scaling=off zero=cross")
    assert "so a larger factor now only makes its softmax sharper" in note("scaling=0.9,off@cross")
    assert "so a smaller factor now only makes its softmax flatter" in note("scaling=0.01")
    assert "only change how sharp its softmax is" in note("scaling=0.01,off@cross")
    assert "regions where it has extremely small gradients" in note("scaling=off")
    assert len(note("scaling=off", True)) < len(note("scaling=off")) / 1.5 and "3.2.1" in note("scaling=off", True)
    assert note("zero=cross") == "" == scaling_note(Interventions((Scale(CONFIG.scale),)), CONFIG)
    unscaled = dataclasses.replace(CONFIG, scaling=False)
    assert scaling_note(Interventions.parse("scaling=0.5"), unscaled) == "" == scaling_note(NONE, CONFIG)


def test_the_note_has_the_mean_of_the_trained_models() -> None:
    mean = f"{fmean(trained_exact('no-scaling')):.1f}"
    assert f"{mean}% of the outputs" in scaling_note(Interventions.parse("scaling=off"), CONFIG)
