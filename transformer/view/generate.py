"""`python -m transformer.view.generate`: write what browser and Python share into frontend/src/state/generated.js, and
the texts that both write into texts.js beside it and into frontend/src/site/pages/texts.js.

Choices, defaults, limits and such texts are defined in Python only (`state`, `anatomy_state`, `training_messages`,
`shared_texts`, switches); the scripts that travel are built from the files (`make frontend`).
"""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

from transformer.analysis.activations import ACTIVE, BINS, PUBLISHED, thresholds
from transformer.interventions.pad import PADS
from transformer.interventions.replace import REPLACED
from transformer.interventions.sets import Interventions, forms
from transformer.view.anatomy_state import (
    INNER_STEPS,
    LONGEST,
    MATRICES,
    OPENED,
    PLACES,
    TEMPOS,
    ZOOMS,
    AnatomyState,
    zooms_of,
)
from transformer.view.experiment import DRAWS
from transformer.view.position_figures import D_MODEL, LENGTH, LENGTHS, MOST_CURVES, START_K, START_Q
from transformer.view.shared_texts import PAGE_TEXTS, SHARED_TEXTS
from transformer.view.site_pages import SITE_PAGES
from transformer.view.state import CHOICES, View
from transformer.view.training_messages import COMMANDS, LARGEST_FILE

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "frontend" / "src" / "state" / "generated.js"
TEXTS = GENERATED.with_name("texts.js")
PAGES = ROOT / "frontend" / "src" / "site" / "pages" / "texts.js"
TABLE3 = ROOT / "pages" / "components" / "table3.json"
HEADER = "// Written by `python -m transformer.view.generate` from transformer/view/: change it there.\n"


def exact_of_seeds() -> dict[str, list[float]]:
    """Exact outputs in %, of small models trained with the division by sqrt(d_k) and without, one per seed."""
    rows = json.loads(TABLE3.read_text(encoding="utf-8"))["rows"]
    recipes = {"scaled": "base", "unscaled": "no-scaling"}
    return {name: [100 * share for share in rows[recipe]["exact"]] for name, recipe in recipes.items()}


def trained_exact() -> dict[str, float]:
    """Their means over the seeds."""
    exact = exact_of_seeds()
    return {**{name: fmean(shares) for name, shares in exact.items()}, "seeds": len(exact["scaled"])}


Constants = dict[str, tuple[str, str, Any]]  # name -> what it is, type, value
CONSTANTS: Constants = {
    "CHOICES": ("What can be chosen in the explorer, in the order of its bar.", "const", CHOICES),
    "START_VIEW": ("The state of the explorer before any choice.", "State", View().to_browser()),
    "ZOOMS": ("Of the anatomy.", "const", ZOOMS),
    "PLACES": ("Of the anatomy: parts of the paper's Figure 1.", "const", PLACES),
    "ZOOMS_OF": ("Those that a place has.", "Record<string, string[]>", {place: zooms_of(place) for place in PLACES}),
    "INNER_STEPS": ("Without the input, LayerNorm and residual.", "Record<string, string[]>", INNER_STEPS),
    "START_ANATOMY": ("The state of the anatomy before any choice.", "any", AnatomyState().to_browser()),
    "ANATOMY_CHOICES": (
        "Its values that are one of several.",
        "Record<string, string[]>",
        {"matrix": MATRICES, "opened": OPENED, "tempo": TEMPOS},
    ),
    "LONGEST_DRAWN": ("Tokens of each side that the anatomy draws.", "number", LONGEST),
    "MOST_PADS": ("<pad> that the lab puts behind the source.", "number", PADS[1]),
    "WEIGHT_RULES": ("What makes the weights of a head: the model, or a switch.", "const", ("softmax", *REPLACED)),
    "SWITCHES": ("Parameters of a link that are switches.", "readonly string[]", Interventions.PARAMS),
    "SWITCH_FORMS": (
        "How links write a switch of the Lab: the kinds of attention allowed, whether heads are the whole value, and "
        "all settings if they are few.",
        "Record<string, {kinds: string[], bare: boolean, settings: string[]}>",
        forms(),
    ),
    "TRAINED_EXACT": ("Of small models, as docs/table3.md.", "Record<string, number>", trained_exact()),
    "EXACT_OF_SEEDS": ("The same of each seed.", "Record<string, number[]>", exact_of_seeds()),
    "DRAWS": ("Draws of the random experiment that a site has.", "number", DRAWS),
    "SITE_PAGES": (
        "The pages of the site without a server.",
        "Record<string, {parts: string[], styles: string[], own: string[]}>",
        SITE_PAGES,
    ),
    "ACTIVITY": (
        "Of neurons: thresholds, the first one of every non-linearity, a published share, bins of a histogram.",
        "{thresholds: number[], first: Record<string, number>, published: number, bins: number}",
        {"thresholds": thresholds(), "first": ACTIVE, "published": PUBLISHED, "bins": BINS},
    ),
    "POSITIONS": (
        "Of the encodings: the ends of the sliders, where they start, and how many curves can be told apart.",
        "{d_model: number[], length: number[], lengths: Record<string, number>, start: Record<string, number>, "
        "curves: number}",
        {
            "d_model": D_MODEL,
            "length": LENGTH,
            "lengths": LENGTHS,
            "start": {"k": START_K, "q": START_Q},
            "curves": MOST_CURVES,
        },
    ),
    "RUN_COMMANDS": ("What Python does with a run of the Training page.", "const", COMMANDS),
    "LARGEST_FILE": ("Bytes of a file that can be uploaded.", "number", LARGEST_FILE),
}


SHARED: Constants = {
    "SHARED_TEXTS": ("Texts that pages write, too.", "Record<string, string>", SHARED_TEXTS),
}
OF_PAGES: Constants = {
    "PAGE_TEXTS": ("Texts of pages that the app has, too.", "Record<string, string>", PAGE_TEXTS),
}


def generated(constants: Constants = CONSTANTS) -> str:
    """The module as it should be."""

    def constant(value: Any) -> str:
        if not isinstance(value, dict):
            return json.dumps(value)
        lines = (f"  {json.dumps(key)}: {json.dumps(one, ensure_ascii=False)},\n" for key, one in value.items())
        return "{\n" + "".join(lines) + "}"

    return HEADER + "".join(
        f"\n// {comment}\nexport const {name} = /** @type {{{kind}}} */ ({constant(value)});\n"
        for name, (comment, kind, value) in constants.items()
    )


if __name__ == "__main__":
    GENERATED.write_text(generated(), encoding="utf-8")
    TEXTS.write_text(generated(SHARED), encoding="utf-8")
    PAGES.write_text(generated(OF_PAGES), encoding="utf-8")
