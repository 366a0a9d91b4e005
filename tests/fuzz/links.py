"""Links and what a browser reports: parameters of any page, of the right kind, of another's, or of none."""

from __future__ import annotations

from hypothesis import strategies as st

from pages.registry import pages
from tests.fuzz.common import ANYTHING, NUMBERS, PATHS, SHORT, TEXT, near
from transformer.interventions.sets import SWITCHES, Interventions
from transformer.view import anatomy_state
from transformer.view.state import CHOICES

OTHERS = ("threshold", "cell", "big", "layer", "head", "part", "training")
PARTS = [part for page in pages() for part in page.content.parts()]
OWN = sorted({name for page in pages() for name in page.content.names})
WORDS = (
    *anatomy_state.ZOOMS, *anatomy_state.PLACES, *anatomy_state.MATRICES, "x", "softmax", "project", "source", "target",
    "encoder", "decoder", "map", "gauss", "relu", "gelu", "1", "2", "3", "5", "17", "64", "all", "0.3", "2,3", "9,0",
)  # fmt: skip
EXAMPLES: dict[str, list[str]] = {}  # name of a switch -> texts
for name, text in (example.split("=") for sort in SWITCHES for example in sort.EXAMPLES):
    EXAMPLES.setdefault(name, []).append(text)


def option(name: str) -> st.SearchStrategy[str]:
    """A value for one parameter."""
    allowed = CHOICES.get(name) or (PARTS if name == "part" else WORDS)
    return st.sampled_from(allowed) | st.sampled_from((*NUMBERS, *PATHS, *WORDS)).flatmap(near) | TEXT


def switch(name: str) -> st.SearchStrategy[str]:
    """What a switch may be set to, often allowed, often nearly."""
    examples = st.sampled_from(EXAMPLES.get(name, ["1"]))
    placed = st.tuples(examples, st.sampled_from(("cross.1.1", "all", "encoder.*", "cross.1.²", "x"))).map("@".join)
    return examples | (examples | placed).flatmap(near) | SHORT


def some(values: dict[str, st.SearchStrategy[str]], most: int) -> st.SearchStrategy[dict[str, str]]:
    names = st.lists(st.sampled_from(list(values)), unique=True, max_size=most)
    return names.flatmap(lambda chosen: st.fixed_dictionaries({name: values[name] for name in chosen}))


SWITCH_PARAMS = some({name: switch(name) for name in (*Interventions.PARAMS, "x", "", "scaling ")}, 4)
PARAMS = st.builds(
    lambda *found: {name: text for one in found for name, text in one.items()},
    some({name: option(name) for name in (*CHOICES, *OTHERS, *OWN)}, 8),
    st.just({}) | SWITCH_PARAMS,
    some({"checkpoint": st.sampled_from((*PATHS, "reverse", "tiny")) | SHORT, "source": TEXT, "target": TEXT}, 3),
    st.sampled_from(({}, {}, {}, {"</s>\0": "\0"})),
)
REPORTED = (*CHOICES, *OTHERS, "zoom", "place", "encoder", "decoder", "step", "matrix", "row", "col", "t", "switches")
REPORT = some({name: st.sampled_from(CHOICES.get(name, WORDS)) | st.integers(-2, 9) | ANYTHING for name in REPORTED}, 6)
ANY_REPORT = REPORT | REPORT | REPORT | ANYTHING
