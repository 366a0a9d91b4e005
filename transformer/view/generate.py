"""`python -m transformer.view.generate`: write what browser and Python share into frontend/src/state/generated.js.

Choices, defaults and limits are defined in Python only (`state`, `anatomy_state`, `training_messages`, switches);
the scripts that travel are built from the file (`make frontend`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from transformer.interventions.pad import PADS
from transformer.interventions.replace import REPLACED
from transformer.view.anatomy_state import INNER_STEPS, PLACES, ZOOMS, AnatomyState, zooms_of
from transformer.view.state import CHOICES, View
from transformer.view.training_messages import COMMANDS, LARGEST_FILE

GENERATED = Path(__file__).resolve().parents[2] / "frontend" / "src" / "state" / "generated.js"
HEADER = "// Written by `python -m transformer.view.generate` from transformer/view/: change it there.\n"
CONSTANTS: dict[str, tuple[str, str, Any]] = {  # name -> what it is, type, value
    "CHOICES": ("What can be chosen in the explorer, in the order of its bar.", "const", CHOICES),
    "START_VIEW": ("The state of the explorer before any choice.", "State", View().to_browser()),
    "ZOOMS": ("Of the anatomy.", "const", ZOOMS),
    "PLACES": ("Of the anatomy: parts of the paper's Figure 1.", "const", PLACES),
    "ZOOMS_OF": ("Those that a place has.", "Record<string, string[]>", {place: zooms_of(place) for place in PLACES}),
    "INNER_STEPS": ("Without the input, LayerNorm and residual.", "Record<string, string[]>", INNER_STEPS),
    "START_ANATOMY": ("The state of the anatomy before any choice.", "any", AnatomyState().to_browser()),
    "MOST_PADS": ("<pad> that the lab puts behind the source.", "number", PADS[1]),
    "WEIGHT_RULES": ("What makes the weights of a head: the model, or a switch.", "const", ("softmax", *REPLACED)),
    "RUN_COMMANDS": ("What Python does with a run of the Training page.", "const", COMMANDS),
    "LARGEST_FILE": ("Bytes of a file that can be uploaded.", "number", LARGEST_FILE),
}


def generated() -> str:
    """The module as it should be."""

    def constant(value: Any) -> str:
        if not isinstance(value, dict):
            return json.dumps(value)
        return "{\n" + "".join(f"  {json.dumps(key)}: {json.dumps(one)},\n" for key, one in value.items()) + "}"

    return HEADER + "".join(
        f"\n// {comment}\nexport const {name} = /** @type {{{kind}}} */ ({constant(value)});\n"
        for name, (comment, kind, value) in CONSTANTS.items()
    )


if __name__ == "__main__":
    GENERATED.write_text(generated(), encoding="utf-8")
