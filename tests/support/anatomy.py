"""The model, the switches and the passes that tests of the anatomy look at."""

from typing import Any

from tests.support.build import pretrained_variant
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import Interventions
from transformer.tracing.trace import Trace

SWITCHES: dict[str, dict[str, str]] = {
    "nothing": {},
    "scale": {"scaling": "off@cross,0.5@encoder_self.2.1"},
    "unmask": {"causal": "off@decoder_self.1.2", "padding": "off@cross", "pad": "2"},
    "pad": {"pad": "3"},
    "hide": {"hide": "source.2,target.2@decoder_self.1"},
    "knock out": {"zero": "cross.2.3,encoder_self.1"},
    "replace": {"weights": "uniform@decoder_self.2,argmax@cross.1.2"},
    "reposition": {"positions": "shift.5@source,scale.2.5@target,reverse@target"},
    "skip": {"skip": "encoder.1.ff,decoder.2.cross,encoder.3.self"},
    "silence": {"neurons": "encoder.1.5,decoder.2.7,decoder.2.3"},
}
SWITCHES["everything"] = {name: text for one in SWITCHES.values() for name, text in one.items()}
LAYERS = (3, 2)  # of encoder and decoder, so that neither passes for the other


def tiny(**changes: Any) -> Pretrained:
    return pretrained_variant(**{"encoder_layers": LAYERS[0], "decoder_layers": LAYERS[1], **changes})


def traced(model: Pretrained, switched: str = "nothing") -> Trace:
    return model.trace("ka lo minu", "re sta vu", interventions=Interventions.parse(SWITCHES[switched]))
