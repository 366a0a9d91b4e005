"""The viewer's choices: one typed value, kept in the address bar.

The browser's choices and defaults are generated from this class (`transformer.view.generate`): another choice is
another field here, and what the picture draws for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from transformer.texts import _, any_of

ALL = "all"


def _choice(*allowed: str, default: str | None = None) -> Any:
    """A field that is one of these texts; the first one unless a default is given."""
    return field(default=default or allowed[0], metadata={"allowed": allowed})


@dataclass(frozen=True)
class View:
    """The state of the picture; the same names serve the browser, the address bar and Python. The bar of switches
    offers the choices in this order.

    kind:      kind of attention, or "all" three side by side
    layer, head: index from 0, or None for all of them summarised
    rows:      label of decoder rows: the token "predicted" by the step or the token "fed" into it
    pieces:    "pieces", "marked" (with the piece mark) or merged into "words"
    special:   special tokens "shown", "hidden" or hidden with rows "renormalised"
    scale:     colours from 0 to "one", to the largest weight in "common", or to the largest of each "head"
    summary:   how all are summarised, "mean" or "max"
    threshold: weights below it are not drawn
    view:      "heatmap" or "lines"
    cell:      chosen (query, key), indices of pieces, or None
    big:       big text for a projector; the viewer's, so no link holds it, but a link may ask for it
    training:  recorded step of the model's training that is looked at, or None: the model as it is. The picture does
               not know of it; who mounts the slider of the training tells both.
    meanings:  "on": what the words mean, under their labels
    sight:     "all" of it; or for a first sight the sentence, its translation, the lines of one head and small pictures
               of the others, without switches ("first"), or with the numbers of that head ("how")
    """

    kind: str = _choice("encoder_self", "decoder_self", "cross", ALL, default="cross")
    layer: int | None = 0
    head: int | None = 0
    rows: str = _choice("predicted", "fed")
    pieces: str = _choice("pieces", "marked", "words")
    special: str = _choice("shown", "hidden", "renormalised")
    scale: str = _choice("one", "common", "head")
    summary: str = _choice("mean", "max")
    threshold: float = 0.0
    view: str = _choice("heatmap", "lines")
    cell: tuple[int, int] | None = None
    big: bool = False
    training: int | None = None
    meanings: str = _choice("off", "on")
    sight: str = _choice("all", "first", "how")

    def of_example(self, view: View) -> View:
        """The view of an example, for whoever looks at this one."""
        return replace(view, big=self.big, training=self.training, sight=self.sight)

    def to_browser(self) -> dict[str, Any]:
        """As the view's JavaScript holds it: indices from 0, "all" for None."""
        values = asdict(self)
        del values["training"]
        values["layer"] = ALL if self.layer is None else self.layer
        values["head"] = ALL if self.head is None else self.head
        values["cell"] = list(self.cell) if self.cell else None
        return values

    def to_params(self) -> dict[str, str]:
        """As the address bar holds it: numbers counted from 1, and only what differs from the default; layer and head
        always, and big text never: it belongs to the viewer."""
        params = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name in ("layer", "head"):
                params[one.name] = ALL if value is None else str(value + 1)
            elif value != one.default and one.name != "big":
                if one.name == "cell":
                    params["cell"] = f"{value[0] + 1},{value[1] + 1}"
                elif one.name == "threshold":
                    params["threshold"] = f"{value:g}"
                else:
                    params[one.name] = str(value)
        return {"kind": self.kind, **params}


CHOICES: dict[str, tuple[str, ...]] = {
    one.name: one.metadata["allowed"] for one in fields(View) if "allowed" in one.metadata
}


def _number(text: str, low: int, high: int) -> int | None:
    """A whole number written in ASCII digits, or None; sizes are bounded before int() sees them."""
    if text.isascii() and text.isdigit() and len(text) <= 6 and low <= int(text) <= high:
        return int(text)
    return None


def layers_of(kind: str, layers: Mapping[str, int]) -> int:
    """Layers that can be chosen for a kind; for "all" those of the deepest stack."""
    return max(layers.values()) if kind == "all" else layers[kind]


def _changed(view: View, name: str, value: Any) -> View:
    """The view with one field exchanged, by its name."""
    return replace(view, **{name: value})


def view_from_params(
    params: Mapping[str, str], layers: Mapping[str, int], heads: int, start: View | None = None
) -> tuple[View, list[str]]:
    """Read the address bar. Everything is untrusted: an invalid value is replaced and reported.

    params: name -> text. layers: kind -> number of layers; heads: number of heads. start: values of missing names.
    Returns the view, and one sentence for every invalid parameter. `fit_cell` limits `cell`.
    """
    view = start or View()
    notices: list[str] = []

    def complain(name: str, allowed: str) -> None:
        sentence = _("The link asks for {name} {asked!r}; choose {allowed}.")
        notices.append(sentence.format(name=name, asked=params[name][:40], allowed=allowed))

    for name, allowed in CHOICES.items():
        if name in params:
            if params[name] in allowed:
                view = _changed(view, name, params[name])
            else:
                complain(name, str(any_of(allowed)))
    for name, count in (("layer", layers_of(view.kind, layers)), ("head", heads)):
        if name in params:
            number = _number(params[name], 1, count)
            if params[name] == ALL:
                view = _changed(view, name, None)
            elif number is not None:
                view = _changed(view, name, number - 1)
            else:
                complain(name, _("a number from 1 to {count}, or {every}", count=count, every=ALL))
        value = getattr(view, name)
        if value is not None and value >= count:
            view = _changed(view, name, count - 1)
    if "threshold" in params:
        try:
            threshold = float(params["threshold"])
        except ValueError:
            threshold = math.nan
        if 0 <= threshold <= 1:
            view = replace(view, threshold=round(threshold, 4))
        else:
            complain("threshold", _("a number from 0 to 1"))
    if "cell" in params:
        numbers = [_number(part, 1, 100_000) for part in params["cell"].split(",")]
        if len(numbers) == 2 and numbers[0] and numbers[1]:
            view = replace(view, cell=(numbers[0] - 1, numbers[1] - 1))
        else:
            complain("cell", _("row,column counted from 1"))
    if "training" in params:
        digits = params["training"]
        if digits.isascii() and digits.isdigit() and len(digits) <= 9:
            view = replace(view, training=int(digits))
        else:
            complain("training", _("a step, a whole number from 0"))
    if "big" in params:
        if params["big"] in ("0", "1"):
            view = replace(view, big=params["big"] == "1")
        else:
            complain("big", str(any_of(("0", "1"))))
    return view, notices


def _counted(index: int | float) -> str:
    """An index from 0 as text for a link, counted from 1; empty for an impossible index."""
    return f"{index + 1:g}" if abs(index) < 1e9 else "none"


def view_from_browser(values: Any, layers: Mapping[str, int], heads: int, start: View) -> View:
    """The browser's report, checked like a link; invalid values keep their value in `start`."""
    if not isinstance(values, Mapping):
        return start
    params: dict[str, str] = {}
    for name, value in values.items():
        if name in ("layer", "head") and type(value) in (int, float):
            params[name] = _counted(value)
        elif name == "cell" and isinstance(value, list | tuple) and len(value) == 2:
            if all(type(part) in (int, float) for part in value):
                params["cell"] = ",".join(map(_counted, value))
        elif name == "training":
            continue  # the picture does not know of it
        elif name == "big":
            params[name] = "1" if value is True else "0"
        elif isinstance(value, str) or (isinstance(value, int | float) and abs(value) < 1e9):
            params[str(name)] = str(value)
    if "cell" in values and values["cell"] is None:
        start = replace(start, cell=None)
    return view_from_params(params, layers, heads, start)[0]


def fit_cell(view: View, rows: int, columns: int) -> View:
    """The same view, without its chosen cell if the picture has no such cell."""
    if view.cell and not (view.cell[0] < rows and view.cell[1] < columns):
        return replace(view, cell=None)
    return view
