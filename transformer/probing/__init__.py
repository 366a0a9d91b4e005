"""A model over many sentences: the effect of switches, and the activity of neurons.

Modules are imported when they are named, as in `transformer.probing.patching`.
"""

from typing import TYPE_CHECKING

from transformer.lazy import modules_of

if not TYPE_CHECKING:
    __getattr__, __dir__ = modules_of(__name__, __path__)
