"""Section 5.2: what training costs, by the paper's formula and counted."""

import streamlit as st

from pages.components.saving import saved
from pages.components.sentences import paragraph, part_layout, point
from pages.components.training_log import training_cost
from pages.components.translation import table
from pages.frame.frame import PageFrame
from transformer.texts import _

OPTIONS = ("speed",)
P100 = 9.5  # TFLOPS that the paper assumes for a P100 GPU
CORES = 0.8  # TFLOPS of two CPU cores with 16-bit matrix products
TRAINED = (("base", 12 * 3600, 8), ("big", 84 * 3600, 8))  # the paper's models: seconds, GPUs


def draw(frame: PageFrame) -> None:
    """Training cost by the paper's formula: time × processors × what each sustains."""
    head, controls, picture = part_layout()
    cost = training_cost(frame.model)
    counted = CORES if cost is None or not cost.seconds else cost.operations / cost.seconds / 1e12
    speed = frame.options.at(controls).fraction(
        "speed", _("TFLOPS that this model's processors sustained together"), 0.01, 1000.0,
        min(1000.0, max(0.01, round(counted, 2))), 0.1, "%.2f",
        help=_("At first the count of the last column, divided by the time. Two CPU cores sustain about 0.8 with "
               "16-bit matrix products."),
    )  # fmt: skip
    names = ("", _("time"), _("processors × TFLOPS"), _("operations"), _("6 × parameters × tokens"))
    spent = {name: f"{seconds * count * P100 * 1e12:.1e}" for name, seconds, count in TRAINED}
    rows = [
        (
            _("the paper's {name}", name=name), _("{hours:g} hours", hours=seconds / 3600),
            f"{count} × {P100:g}", spent[name], "–",
        )
        for name, seconds, count in TRAINED
    ]  # fmt: skip
    numbers: list[list[object]] = [["model", "seconds", "TFLOPS", "operations", "6 × parameters × tokens"]]
    for row, (_name, seconds, count) in zip(rows, TRAINED, strict=True):
        numbers.append([row[0], seconds, count * P100, seconds * count * P100 * 1e12, None])
    text = _("The paper's base model took {base} operations to train, its big one {big}; {model} has no log to count.")
    if cost is not None:
        text = _("The paper's base model took {base} operations to train, its big one {big}; {model} took {own}.")
        spent["own"] = f"{cost.operations:.1e}"
        rows.append(
            (
                frame.model.name, _("{hours:g} hours", hours=round(cost.seconds / 3600, 2)), f"{speed:g}",
                f"{cost.seconds * speed * 1e12:.1e}", spent["own"],
            )
        )  # fmt: skip
        numbers.append([frame.model.name, cost.seconds, speed, cost.seconds * speed * 1e12, cost.operations])
    about = _(
        "Section 5.2 and Table 2: time, times the number of GPUs, times what each sustains. The last column counts "
        "instead: about 2 operations a parameter and token forwards, 4 backwards. R-Drop, with which en-de was "
        "trained, takes twice as many."
    )
    point(text.format(model=frame.model.name, **spent), head)
    with picture, saved("cost", [frame.model.name, "cost", f"{speed:g}"], [about], numbers):
        st.html(table(names, rows, "hs-recipe-cost"))
    paragraph(about, quiet=True)
