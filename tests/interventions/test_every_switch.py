"""Rules for every class of SWITCHES, also a new one: only its examples are used here."""

import dataclasses

import pytest
import torch

from pages.components.descriptions import in_words, phrases
from tests.support.build import T5, pretrained_variant, tiny_pretrained
from transformer.analysis.attention import check
from transformer.interventions.edits import edits_of
from transformer.interventions.sets import SWITCHES, HeadSwitch, InterventionError, Interventions, Pad, Switch, Unbias
from transformer.model.tap import KINDS

EXAMPLES = [(switch_class, text) for switch_class in SWITCHES for text in switch_class.EXAMPLES]
SOURCE, TARGET = "ka lo mi", "re sta"
every_example = pytest.mark.parametrize(("switch_class", "text"), EXAMPLES, ids=[text for _, text in EXAMPLES])


def test_names_in_links_are_distinct() -> None:
    assert (
        len(Interventions.PARAMS)
        == len(set(Interventions.PARAMS))
        == sum(len(switch_class.PARAMS) for switch_class in SWITCHES)
    )
    assert {text.split("=")[0] for _, text in EXAMPLES} == set(Interventions.PARAMS)  # an example of each


@every_example
def test_an_example_is_parsed_written_and_described(switch_class: type[Switch], text: str) -> None:
    value = Interventions.parse(text)
    (switch,) = value.switches
    assert type(switch) is switch_class and str(value) == text and f"{switch.param}={switch.value}" == text
    assert dataclasses.replace(switch) == switch  # type: ignore[type-var]
    if isinstance(switch, HeadSwitch):
        assert set(switch.kinds) <= set(KINDS) and switch.param in switch.PARAMS
    for words in (in_words(value), in_words(value, tiny_pretrained().config)):
        assert words and not set("{}=_") & set(words), words
    others = [in_words(Interventions.parse(example)) for _, example in EXAMPLES if example != text]
    assert in_words(value) not in others


@every_example
def test_an_example_changes_a_pass_and_only_by_tensors_that_there_are(switch_class: type[Switch], text: str) -> None:
    model, value = pretrained_variant(**T5) if switch_class is Unbias else tiny_pretrained(), Interventions.parse(text)
    beside = Interventions((Pad(3),)) if text.startswith("padding") else Interventions()
    plain = model.trace(SOURCE, TARGET, interventions=beside)
    switched = model.trace(SOURCE, TARGET, interventions=beside + value)  # an edit of no tensor is a TapError
    if switch_class is Pad:
        assert len(switched.source_ids) == len(plain.source_ids) + value.pads and not edits_of(value, model.config)
    else:
        assert not torch.equal(switched.logits, plain.logits)
    assert all(check(switched.attention(kind)).hold for kind in KINDS)  # what the trace says of its heads is true
    assert model.translate(SOURCE, limit=12, interventions=value).tokens


def test_without_relative_positions_there_is_no_bias_to_switch_off() -> None:
    with pytest.raises(InterventionError, match="this model has no relative positions"):
        tiny_pretrained().trace(SOURCE, TARGET, interventions=Interventions((Unbias(),)))
    model = pretrained_variant(**T5)
    plain, off = (model.trace(SOURCE, TARGET, interventions=Interventions(given)) for given in ((), (Unbias(),)))
    for kind in ("encoder_self", "decoder_self"):
        one, two = plain.attention(kind), off.attention(kind)
        assert one.bias is not None and two.bias is not None and one.bias.any() and not two.bias.any()
        visible = torch.where(one.mask, one.scores - one.bias, 0)
        torch.testing.assert_close(torch.where(two.mask, two.scores, 0)[0], visible[0])  # later layers read other x


def test_all_switches_together_have_one_phrase_each() -> None:
    firsts = Interventions(
        tuple(Interventions.parse(switch_class.EXAMPLES[0]).switches[0] for switch_class in SWITCHES[:8])
    )
    assert phrases(firsts) == [in_words(Interventions((switch,))) for switch in firsts.switches]
