"""Switches as values: which are refused, which are equal, and how links write them."""

import dataclasses
import itertools
import math
import pickle
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.build import D_FF, tiny_config
from tests.support.reference import switches
from tests.support.refusal import refused
from transformer.interventions.sets import (
    MANY,
    NONE,
    Hide,
    InterventionError,
    Interventions,
    KnockOut,
    Pad,
    Paint,
    Replace,
    Reposition,
    Scale,
    Silence,
    Skip,
    SubLayer,
    Unmask,
    Where,
)
from transformer.model.tap import KINDS


def refusal(make: Callable[[], object], *words: str) -> str:
    return refused(make, InterventionError, *words, most=400)


CONFIG = tiny_config(encoder_layers=3)  # 3 encoder layers, 2 decoder layers, 3 heads
CROSS, CROSS_2, CROSS_2_3 = Where("cross"), Where("cross", 1), Where("cross", 1, 2)


# -- as text --------------------------------------------------------------------------------------------------------

TEXTS = {
    "scaling=off": Scale(1.0),
    "scaling=0.5@cross.2": Scale(0.5, CROSS_2),
    "causal=off": Unmask("causal"),
    "causal=off@decoder_self.1": Unmask("causal", Where("decoder_self", 0)),
    "padding=off": Unmask("padding"),
    "padding=off@cross.2.3": Unmask("padding", CROSS_2_3),
    "pad=4": Pad(4),
    "hide=source.3": Hide("source", 2),
    "hide=target.2@decoder_self.*.1": Hide("target", 1, Where("decoder_self", None, 0)),
    "zero=cross.2.3": KnockOut(CROSS_2_3),
    "zero=all": KnockOut(Where()),
    "zero=all.*.2": KnockOut(Where(None, None, 1)),
    "weights=uniform@cross.*.3": Replace("uniform", Where("cross", None, 2)),
    "weights=argmax": Replace("argmax"),
    "positions=remove": Reposition("remove"),
    "positions=reverse@target": Reposition("reverse", "target"),
    "positions=shift.5@source": Reposition("shift", "source", 5),
    "positions=shuffle.7": Reposition("shuffle", None, 7),
    "positions=scale.0.5@source": Reposition("scale", "source", 0.5),
    "skip=encoder.2.ff": Skip("encoder", 1, "ff"),
    "skip=decoder.1.cross": Skip("decoder", 0, "cross"),
    "neurons=decoder.2.17": Silence("decoder", 1, 16),
    "paint=2:1_3@cross.2.3": Paint(1, (1.0, 3.0), False, CROSS_2_3),
    "paint=1+:0_0.25@decoder_self": Paint(0, (0.0, 0.25), True, Where("decoder_self")),
}


@pytest.mark.parametrize("text", TEXTS)
def test_text_of_every_switch(text: str) -> None:
    value = Interventions((TEXTS[text],))
    assert str(value) == text and Interventions.parse(text) == value
    assert value.to_params() == dict([text.split("=")])


def test_many_switches_of_a_sort_stand_in_one_parameter() -> None:
    value = Interventions((KnockOut(CROSS_2), KnockOut(Where("encoder_self", 0, 0)), Scale(1), Scale(0.25, CROSS)))
    assert value.to_params() == {"scaling": "off,0.25@cross", "zero": "cross.2,encoder_self.1.1"}
    assert str(value) == "scaling=off,0.25@cross zero=cross.2,encoder_self.1.1"
    assert Interventions.parse(["zero=encoder_self.1.1", "zero= cross.2", "scaling=1,0.25@cross"]) == value
    assert str(NONE) == "none" and NONE.to_params() == {} and Interventions.parse("") == Interventions.parse({}) == NONE


def test_a_link_holds_every_head_of_the_papers_model() -> None:
    every = itertools.product(KINDS, range(6), range(8))
    value = Interventions(tuple(KnockOut(Where(*where)) for where in every))
    assert Interventions.parse(value.to_params()) == value


@given(st.lists(switches(), max_size=6).map(tuple))
@settings(max_examples=100)
def test_later_switches_win_in_the_given_order(many: tuple) -> None:
    value = Interventions(many)
    assert Interventions(value.switches) == value == Interventions(many)
    assert set(value.switches) <= set(many)
    # Reading the switches in the order given, the later one wins: the value must do the same.
    pads = [switch.tokens for switch in many if isinstance(switch, Pad)]
    assert value.pads == (pads[-1] if pads else 0)
    for kind, head in itertools.product(KINDS, range(3)):
        reaching = [switch for switch in many if not isinstance(switch, Pad) and switch.where.covers(kind, 1, head)]
        arguments = (value.switches, SubLayer(kind, 1, CONFIG))
        factors = [switch.factor for switch in reaching if isinstance(switch, Scale)]
        rules = [switch.rule for switch in reaching if isinstance(switch, Replace)]
        assert value.scales(arguments[1])[head] == (factors[-1] if factors else CONFIG.scale)
        assert ("softmax", "uniform", "argmax")[Replace.rules(*arguments)[head]] == (rules[-1] if rules else "softmax")
        assert KnockOut.zeros(*arguments)[head] == any(isinstance(switch, KnockOut) for switch in reaching)


# -- equality -------------------------------------------------------------------------------------------------------


def test_sets_with_irrelevant_order_are_equal() -> None:
    sorts = (Scale(2.0), Unmask("causal"), Unmask("padding", CROSS), Pad(3), Hide("source", 1), Hide("target", 2),
             KnockOut(CROSS_2), KnockOut(CROSS_2_3), Replace("uniform"))  # fmt: skip
    value = Interventions(sorts)
    for start in range(len(sorts)):
        turned = Interventions((*sorts[start:], *sorts[:start])[:: 1 if start % 2 else -1])
        assert turned == value and hash(turned) == hash(value) and turned.switches == value.switches
    assert len({Interventions((Scale(1),)), Interventions((Scale(1.0),)), Interventions((Scale(1), Scale(1)))}) == 1


def test_values_are_frozen_hashable_and_picklable() -> None:
    value = Interventions([Scale(2.0), KnockOut(CROSS)])  # type: ignore[arg-type]
    assert isinstance(value.switches, tuple) and isinstance(hash(value), int)
    for item in (value, *value.switches, CROSS):
        name = dataclasses.fields(item)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(item, name, None)
    assert pickle.loads(pickle.dumps(value)) == value


def test_joining_filtering_and_truth_value() -> None:
    value = NONE + Scale(2.0) + Pad(2)
    assert value and not NONE and value == Interventions((Pad(2), Scale(2.0)))
    assert value + Interventions((KnockOut(CROSS), Pad(4))) == Interventions((Scale(2.0), Pad(4), KnockOut(CROSS)))
    assert value.without(Pad) == Interventions((Scale(2.0),)) and value.without(Pad, Scale) == NONE
    assert value.without() == value == value.without(Hide)


def test_pads_and_leaks() -> None:
    assert NONE.pads == 0 and not NONE.leaks
    assert Interventions((Pad(7),)).pads == 7
    assert Interventions((Unmask("causal", Where("decoder_self", 1, 1)),)).leaks
    assert not Interventions((Unmask("padding"), Hide("target", 1))).leaks


# -- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "factor",
    [0, 0.0, -0.0, -1, -1e-3, 1e-5, 5e-324, 1001, 1e4, 10**400, 1e308, math.inf, -math.inf, math.nan,
     True, False, "x", "1", None, 1j, [1.0], {}],
    ids=lambda value: repr(value)[:12],
)  # fmt: skip
def test_factors_that_are_refused(factor: object) -> None:
    message = refusal(lambda: Scale(factor), "scaling cannot have the factor", "a number from 0.0001 to 1,000")  # type: ignore[arg-type]
    assert "1 switches scaling off" in message


@pytest.mark.parametrize("factor", [1e-4, 1000, 1, 0.5])
def test_factors_that_are_allowed(factor: float) -> None:
    assert Interventions.parse(f"scaling={factor!r}") == Interventions((Scale(factor),))


@pytest.mark.parametrize(
    "text",
    ["0", "-1", "nan", "inf", "-inf", "1e99", "x", "", "on", "OFF", "0x10", "1,", "1" * 41, "9" * 1999, "0.5.5", "½",
     "٣", "1_0"],
    ids=lambda text: text[:10] or "blank",
)  # fmt: skip
def test_factors_in_a_link_that_are_refused(text: str) -> None:
    refusal(lambda: Interventions.parse({"scaling": text}), "scaling cannot have the factor", "give a number from")


@pytest.mark.parametrize(
    "text",
    ["", "Cross", "self", "cross.0", "cross.0.1", "cross.1.0", "cross.1.2.3", "cross.-1", "cross.01", "cross.1.",
     "cross.", ".1", "cross 1", "cross.1,2", "cross.１", "cross.²", "cross.٣.1", "cross.1000", "cross.1e1", "cross\n",
     "cross.1\n", " cross", "*", "*.1.2", "all.1.2@x", "\x00", "x" * 1_900],
    ids=lambda text: repr(text)[:14],
)  # fmt: skip
def test_texts_that_name_no_heads_are_refused(text: str) -> None:
    refusal(
        lambda: Where.parse(text), "does not name heads", "counted from 1", "all, encoder_self, decoder_self or cross"
    )


def test_places() -> None:
    for text, where in {
        "all": Where(), "cross": CROSS, "cross.2": CROSS_2, "cross.2.3": CROSS_2_3, "all.2": Where(None, 1),
        "cross.*.3": Where("cross", None, 2), "all.*.3": Where(None, None, 2),
        "encoder_self.999": Where("encoder_self", 998),
    }.items():  # fmt: skip
        assert Where.parse(text) == where and str(where) == text
    assert Where.parse("cross.*") == Where.parse("cross.*.*") == CROSS  # more stars than needed are read, not written
    assert (
        CROSS_2.covers("cross", 1, 0) and not CROSS_2.covers("cross", 0, 0) and not CROSS_2.covers("encoder_self", 1, 0)
    )
    assert Where().covers("encoder_self", 5, 7) and not CROSS_2_3.covers("cross", 1, 1)


def test_a_sub_layer_by_its_name_in_a_pass() -> None:
    for text, where in {
        "decoder.2.cross.3": CROSS_2_3, "decoder.2.cross": CROSS_2, "decoder.*.cross.3": Where("cross", None, 2),
        "encoder.1.self": Where("encoder_self", 0), "decoder.1.self.2": Where("decoder_self", 0, 1),
    }.items():  # fmt: skip
        assert Where.parse(text) == where
    assert Where("decoder.1.cross", head=2) == Where("cross.1", head=2) == CROSS_2_3
    assert Where("encoder.0.self") == Where("encoder_self", 0)
    refusal(lambda: Where("decoder.1.cross", 1), "decoder.1.cross has its layer in its name, so leave out layer=1")
    for kind in ("encoder.0.cross", "decoder.0.ff", "decoder.x.cross", "crosss.1"):
        refusal(lambda kind=kind: Where(kind), "unknown attention kind", "choose encoder_self, decoder_self or cross")
    refusal(lambda: Where.parse("encoder.1.cross"), "does not name heads")
    for one, other in (
        ("skip=cross.1 skip=encoder_ff.2", "skip=decoder.1.cross,encoder.2.ff"),
        ("neurons=decoder_ff.1.17", "neurons=decoder.1.17"), ("neurons=decoder.1.ff.17", "neurons=decoder.1.17"),
        ("zero=decoder.2.cross.3 scaling=off@encoder.1.self", "zero=cross.2.3 scaling=off@encoder_self.1"),
    ):  # fmt: skip
        assert str(Interventions.parse(one)) == str(Interventions.parse(other))


@pytest.mark.parametrize(
    "kind", ["", "all", "self", "Cross", 1, ["cross"], "x" * 10_000], ids=lambda kind: repr(kind)[:9]
)
def test_kinds_that_are_refused(kind: object) -> None:
    refusal(lambda: Where(kind), "unknown attention kind", "choose encoder_self, decoder_self or cross")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1, True, 1.0, "1", "x" * 10_000], ids=lambda value: repr(value)[:9])
@pytest.mark.parametrize("name", ["layer", "head"])
def test_layers_and_heads_that_are_refused(name: str, value: object) -> None:
    refusal(lambda: Where("cross", **{name: value}), f"{name} cannot be ", "give an index from 0, or None for all")  # type: ignore[arg-type]


BAD = {
    "mask": (lambda: Unmask("future"), ("unknown mask 'future'", "causal or padding")),
    "causal elsewhere": (lambda: Unmask("causal", CROSS), ("belongs to decoder_self", "not to cross")),
    "no pads": (lambda: Pad(0), ("0 pad tokens", "a whole number from 1 to 64")),
    "many pads": (lambda: Pad(65), ("65 pad tokens", "from 1 to 64")),
    "pads in parts": (lambda: Pad(1.0), ("1.0 pad tokens",)),  # type: ignore[arg-type]
    "true pads": (lambda: Pad(True), ("True pad tokens",)),
    "side": (lambda: Hide("cross", 0), ("unknown side 'cross'", "source or target")),
    "token": (lambda: Hide("source", -1), ("token -1 cannot be hidden", "its index, from 0")),
    "far token": (lambda: Hide("source", 100_000), ("cannot be hidden",)),
    "token's text": (lambda: Hide("source", "the"), ("token 'the' cannot be hidden",)),  # type: ignore[arg-type]
    "rule": (lambda: Replace("softmax"), ("unknown rule for weights 'softmax'", "uniform or argmax")),
    "no switch": (lambda: Interventions((CROSS,)), ("is not a switch",)),  # type: ignore[arg-type]
    "a text": (lambda: Interventions(("scaling=off",)), ("'scaling=off' is not a switch",)),  # type: ignore[arg-type]
    "only a text": (lambda: Interventions("scaling=off"), ("'scaling=off' is not a list of switches",)),  # type: ignore[arg-type]
    "only a switch": (lambda: Interventions(Scale(1)), ("Scale(", "is not a list of switches")),  # type: ignore[arg-type]
    "parse 5": (lambda: Interventions.parse(5), ("5 is not a text", "NAME=VALUE")),  # type: ignore[arg-type]
    "parse numbers": (lambda: Interventions.parse([5]), ("5 is not a switch", "NAME=VALUE")),  # type: ignore[list-item]
    "parse values": (lambda: Interventions.parse({"pad": 4}), ("the value of pad is 4", "text")),  # type: ignore[dict-item]
    "mistyped": (lambda: Interventions.parse("scalin=off"), ("unknown switch 'scalin'", "did you mean scaling?")),
    "mistyped kind": (lambda: Where.parse("Cros.2"), ("does not name heads", "did you mean cross?")),
    "mistyped rule": (lambda: Replace("unifrom"), ("unknown rule", "did you mean uniform?")),
    "many": (lambda: Interventions((Scale(1),) * (MANY + 1)), ("these are 1,001 switches", "at most 1,000")),
    "nothing by 1": (lambda: Reposition("remove", "source", 1), ("remove takes no number; leave out 1",)),
    "shift in parts": (lambda: Reposition("shift", "source", 2.5), ("shifted by 2.5", "a whole number")),
    "true shift": (lambda: Reposition("shift", "source", True), ("shifted by True",)),
    "times nan": (lambda: Reposition("scale", "source", math.nan), ("multiplied by nan",)),
    "times a text": (lambda: Reposition("scale", "source", "2"), ("multiplied by '2'",)),  # type: ignore[arg-type]
    "rules": (lambda: Reposition(["remove"]), ("unknown change of positions",)),  # type: ignore[arg-type]
    "both stacks": (lambda: Skip("both", 0, "ff"), ("unknown stack 'both'", "encoder or decoder")),
    "layer -1": (lambda: Skip("encoder", -1, "ff"), ("layer cannot be -1",)),
    "neuron -1": (lambda: Silence("encoder", 0, -1), ("neuron -1 cannot be silenced",)),
    "neuron in parts": (lambda: Silence("encoder", 0, 1.0), ("neuron 1.0",)),  # type: ignore[arg-type]
    "no layer": (lambda: Silence("encoder", None, 1), ("layer cannot be None",)),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_values_that_are_refused(name: str) -> None:
    make, words = BAD[name]
    refusal(make, *words)


LINKS = {
    "scaling": ("'scaling' is not a switch", "write NAME=VALUE"),
    "volume=11": ("unknown switch 'volume'", f"choose {', '.join(Interventions.PARAMS[:-1])} or "),
    "Scaling=off": ("unknown switch 'Scaling'",),
    "=": ("unknown switch ''",),
    "scaling=off@": ("'' does not name heads",),
    "scaling=0.5@cross@cross": ("'cross@cross' does not name heads",),
    "causal=on": ("causal cannot be 'on'", "only off is allowed"),
    "causal=off@encoder_self": ("belongs to decoder_self",),
    "padding=": ("padding cannot be ''",),
    "pad=-1": ("pad cannot be '-1'", "from 1 to 64"),
    "pad=٣": ("pad cannot be '٣'",),
    "pad=4@cross": ("pad cannot be '4@cross'",),
    "pad=" + "9" * 1_900: ("pad cannot be '999", "from 1 to 64"),
    "hide=3": ("'3' is not a token", "source.N or target.N"),
    "hide=source": ("'source' is not a token",),
    "hide=source.0": ("'source.0' is not a token",),
    "hide=source.1.2": ("'source.1.2' is not a token",),
    "hide=source.²": ("'source.²' is not a token",),
    "hide=source.2@decoder_self": ("decoder_self attends to the target", "name another kind"),
    "hide=target.2@cross.1": ("cross attends to the source",),
    "zero=": ("'' does not name heads",),
    "zero=cross.1,": ("'' does not name heads",),
    "zero=cross.0.1": ("'cross.0.1' does not name heads",),
    "zero=cross.1@cross": ("does not name heads",),
    "weights=off": ("unknown rule for weights 'off'", "uniform or argmax"),
    "positions=remove.3": ("remove", "takes no number"),
    "positions=shift": ("shift.N",),
    "positions=shift.0": ("shifted by 0", "from 1"),
    "positions=shift.1.5": ("whole number",),
    "positions=shuffle.99999": ("seed", "9,999"),
    "positions=scale.-1": ("multiplied by -1", "from 0 to 100"),
    "positions=scale.nan": ("multiplied by 'nan'",),
    "positions=turn@source": ("'turn'", "remove, shuffle, reverse, shift or scale"),
    "positions=remove@middle": ("'middle'", "source or target"),
    "skip=encoder.2.cross": ("unknown sub-layer of the encoder 'cross'", "self or ff"),
    "skip=encoder.ff": ("encoder.LAYER.PART",),
    "skip=encoder.0.ff": ("counted from 1",),
    "neurons=encoder.1.0": ("is not a neuron",),
    "neurons=cross.1.1": ("is not a neuron",),
    "softmax=all": ("unknown switch 'softmax'",),
    "zero=" + "x" * 40_000: ("the value of zero has 40,000 characters", "at most 30,000"),
    "x" * 10_000 + "=1": ("unknown switch 'xxx",),
}  # fmt: skip


@pytest.mark.parametrize("text", LINKS, ids=lambda text: text[:24])
def test_links_that_are_refused(text: str) -> None:
    refusal(lambda: Interventions.parse([text]), *LINKS[text])
    name, equals, value = text.partition("=")
    if equals:
        refusal(lambda: Interventions.parse({name: value}), *LINKS[text])


# -- the model they are for -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "switch",
    [KnockOut(Where("encoder_self", 2, 2)), KnockOut(Where("cross", 1)), KnockOut(Where(None, 2)), Scale(2, CROSS),
     Unmask("causal", Where(None, 1)), Replace("uniform", Where(None, None, 2)), Hide("source", 999), Pad(64)],
    ids=repr,
)  # fmt: skip
def test_heads_and_layers_that_the_model_has(switch: object) -> None:
    Interventions((switch,)).check(CONFIG)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("switch", "words"),
    [
        (KnockOut(Where("encoder_self", 3)), ("encoder_self.4 asks for layer 4", "has 3 there")),
        (KnockOut(Where("decoder_self", 2)), ("decoder_self.3 asks for layer 3", "has 2 there")),
        (Scale(1, Where("cross", 2, 0)), ("cross.3.1 asks for layer 3", "has 2 there")),
        (Replace("argmax", Where(None, 3)), ("all.4 asks for layer 4", "has 3 there")),
        (Unmask("causal", Where(None, 2)), ("all.3 asks for layer 3", "has 2 there")),
        (Unmask("padding", Where("cross", 98)), ("layer 99",)),
        (Hide("source", 1, Where("cross", 0, 3)), ("cross.1.4 asks for head 4", "has 3 per layer")),
        (KnockOut(Where(None, None, 3)), ("all.*.4 asks for head 4", "has 3 per layer")),
        (Skip("encoder", 3, "ff"), ("encoder.4.ff asks for layer 4", "has 3")),
        (Skip("decoder", 2, "self"), ("layer 3", "has 2")),
        (Silence("encoder", 0, D_FF), (f"neuron {D_FF + 1}", f"has {D_FF}")),
        (Silence("decoder", 2, 0), ("layer 3", "has 2")),
        (Reposition("shift", None, CONFIG.max_positions), (f"this model has {CONFIG.max_positions}",)),
    ],
    ids=str,
)
def test_heads_and_layers_that_the_model_lacks(switch: object, words: tuple[str, ...]) -> None:
    refusal(lambda: Interventions((Pad(1), switch)).check(CONFIG), *words)  # type: ignore[arg-type]
