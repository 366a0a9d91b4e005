"""Switches as inputs of the graphs. Most are tested by what the graphs compute with them, in test_graphs.py."""

import pytest
import torch

from tests.support.build import tiny_config
from transformer.interventions.sets import SWITCHES, InterventionError, Interventions, Unbias
from transformer.web.graphs import switch_inputs
from transformer.web.switches import IN_GRAPHS, graph_inputs, needs_server

TOKENS = {"source": 7, "target": 5}
SERVER = {"positions=shuffle.7", *(param for sort in SWITCHES if sort not in IN_GRAPHS for param in sort.PARAMS)}
# No exported model has relative positions.
EXAMPLES = [text for switch in SWITCHES for text in switch.EXAMPLES if switch is not Unbias]


def test_without_switches_the_inputs_are_those_of_the_trained_model() -> None:
    config = tiny_config()
    for stack in ("encoder", "decoder"):
        inputs, plain = graph_inputs(Interventions(), config, stack, TOKENS, 0), switch_inputs(config, stack, TOKENS)
        assert inputs.keys() == plain.keys()
        assert all(torch.equal(inputs[name], plain[name]) for name in plain)


@pytest.mark.parametrize("text", EXAMPLES)
def test_a_switch_changes_an_input_or_needs_the_server(text: str) -> None:
    """But for padding, which makes the source longer."""
    switches, config = Interventions.parse(text), tiny_config()
    if text in SERVER or text.split("=")[0] in SERVER:
        assert all(map(needs_server, switches.switches))
        with pytest.raises(InterventionError, match="an exported model cannot compute"):
            graph_inputs(switches, config, "encoder", TOKENS)
        return
    changed = {
        name
        for stack in ("encoder", "decoder")
        for name, tensor in graph_inputs(switches, config, stack, TOKENS).items()
        if not torch.equal(tensor, switch_inputs(config, stack, TOKENS)[name])
    }
    assert bool(changed) == (text != "pad=4")


def test_the_switches_of_a_step_know_where_it_is() -> None:
    switches = Interventions.parse("positions=shift.5@target positions=scale.0.5@target hide=target.3 hide=target.9")
    inputs = graph_inputs(switches, tiny_config(), "decoder", {"source": 7, "target": 4}, past=3)
    assert inputs["target.position_ids"].tolist() == [3 + 5]
    assert inputs["target.position_factor"].item() == 0.5
    assert inputs["decoder_self.hidden"].shape == (2, 3, 4)
    assert inputs["decoder_self.hidden"].any(0).any(0).tolist() == [False, False, True, False]
    assert not inputs["cross.hidden"].any()


def test_a_head_that_is_knocked_out_has_no_mean() -> None:
    inputs = graph_inputs(Interventions.parse("zero=cross.1.2 mean=cross.1"), tiny_config(), "decoder", TOKENS)
    assert inputs["cross.output"].tolist() == [[2, 1, 2], [0, 0, 0]]


def test_a_head_that_the_model_lacks_is_refused() -> None:
    with pytest.raises(InterventionError, match="asks for head 4"):
        graph_inputs(Interventions.parse("zero=cross.1.4"), tiny_config(), "encoder", TOKENS)
