"""Arrays and labels in, plotly figures out; the only part that knows plotly.

Modules are imported when they are named, as in `transformer.figures.positions`. Every figure takes its arrays first
and then, by keyword, `theme`, "light" or "dark". Its texts are in the reader's language (`transformer.texts`).
"""

from typing import TYPE_CHECKING

from transformer.lazy import modules_of

if not TYPE_CHECKING:  # a type checker knows the modules that were imported, and should complain about the others
    __getattr__, __dir__ = modules_of(__name__, __path__)
