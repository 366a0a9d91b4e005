"""Switches as inputs of the exported graphs; frontend/src/engine/switches.js does the same in a page."""

from collections.abc import Mapping

import torch

from transformer.interventions.edits import edits_of
from transformer.interventions.sets import (
    SUB_LAYERS,
    HeadSwitch,
    Hide,
    InterventionError,
    Interventions,
    KnockOut,
    Mean,
    Pad,
    Replace,
    Reposition,
    Scale,
    Silence,
    Skip,
    SubLayer,
    Switch,
    Unbias,
    Unmask,
    layers_of,
)
from transformer.model.config import ModelConfig
from transformer.web.graphs import OUTPUTS, SIDE, Inputs, kinds_of, switch_inputs

IN_GRAPHS = (Scale, Unbias, Unmask, Pad, Hide, Mean, KnockOut, Replace, Reposition, Skip, Silence)


def needs_server(switch: Switch) -> bool:
    """Whether the graphs lack a switch: it takes another sentence, rows set by hand, or torch's random numbers; or no
    input of theirs is it."""
    return type(switch) not in IN_GRAPHS or (isinstance(switch, Reposition) and switch.rule == "shuffle")


def graph_inputs(
    interventions: Interventions, config: ModelConfig, stack: str, tokens: Mapping[str, int], past: int = 0
) -> Inputs:
    """The inputs of a stack that are switches. tokens: of each side, those of the past included; past: how many the
    decoder was fed before. Raises InterventionError for a switch that the graphs lack, or that does not fit the model.
    """
    interventions.check(config)
    switches = interventions.switches
    if refused := next(filter(needs_server, switches), None):
        raise InterventionError(
            "an exported model cannot compute {name}={value}; open the model in the app",
            name=refused.param, value=refused.value,
        )  # fmt: skip
    inputs = switch_inputs(config, stack, tokens, past)
    for kind in kinds_of(stack):
        for layer in range(layers_of(config, kind)):
            _set_heads(inputs, interventions, SubLayer(kind, layer, config))
    for switch in switches:
        if isinstance(switch, Skip) and switch.stack == stack:
            inputs[f"{stack}.skipped"][switch.layer, SUB_LAYERS[stack].index(switch.part)] = True
        elif isinstance(switch, Silence) and switch.stack == stack:
            inputs[f"{stack}.silenced"][switch.layer, switch.neuron] = True
    moves = edits_of(interventions.only(Reposition), config)
    for name, edited in (("position_ids", "position_ids"), ("position_factor", "positions")):
        if edit := moves.get(f"{SIDE[stack]}.{edited}"):
            inputs[f"{SIDE[stack]}.{name}"] = edit(inputs[f"{SIDE[stack]}.{name}"])
    return inputs


def _set_heads(inputs: Inputs, interventions: Interventions, sub_layer: SubLayer) -> None:
    """Set the inputs of the heads of a sub-layer."""
    kind, layer, config = sub_layer
    inputs[f"{kind}.factor"][layer] = torch.tensor([scale / config.scale for scale in interventions.scales(sub_layer)])
    inputs[f"{kind}.rule"][layer] = torch.tensor(Replace.rules(interventions.switches, sub_layer))
    hidden, output = inputs[f"{kind}.hidden"][layer], inputs[f"{kind}.output"][layer]
    for head, reaching in enumerate(HeadSwitch.by_head(interventions.switches, sub_layer)):
        for switch in reaching:  # in the order of SWITCHES: KnockOut wins over Mean
            if isinstance(switch, Unmask | Unbias):
                inputs[f"{kind}.{switch.mask if isinstance(switch, Unmask) else 'unbiased'}"][layer, head] = True
            elif isinstance(switch, Hide):
                hidden[head, switch.token : switch.token + 1] = True  # a step of decoding may not have it yet
            elif isinstance(switch, Mean | KnockOut):
                output[head] = OUTPUTS.index("mean" if isinstance(switch, Mean) else "zero")
