"""The examples of a checkpoint, read once for all viewers."""

from pages.runtime.shared import shared
from transformer.view.examples import read_examples

examples = shared()(read_examples)
