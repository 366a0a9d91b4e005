"""A model without some of its heads, by a name that links carry: "en-de~cross.2.5,cross.2.6".

What stands after the mark is written as in the switch `zero`. Such a model shares every tensor with the whole one but
W^O of the layers that lose heads, so a few of them are kept for all viewers.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from pages.runtime.shared import SharedCache, identity, owner_of, register
from transformer.checkpoints.folder import EXAMPLES, LARGEST_BESIDE, WORDS, CheckpointError
from transformer.files import Packed
from transformer.inference.pretrained import Pretrained
from transformer.interventions.sets import InterventionError, Interventions, KnockOut
from transformer.model.config import ModelConfig
from transformer.probing.importance import Head, all_heads, name_of, without
from transformer.texts import _, reader_language

MARK = "~"
MOST = 8  # models at a time; others are made again when they are asked for
MODULES_BYTES = 500_000  # of the modules of a model without its tensors, measured with en-de: 0.4 MB


def _own_bytes(model: Pretrained) -> int:
    """The most bytes that a model without some heads takes in addition to the whole model."""
    matrices = (value for name, value in model.model.named_parameters() if name.endswith("_attention.output.weight"))
    return MODULES_BYTES + 2 * sum(matrix.nbytes for matrix in matrices)  # twice, since `reorder` keeps a copy


MODELS: SharedCache[Pretrained] = SharedCache("models without some heads", most=MOST, weigh=_own_bytes)


@lru_cache(64)
def heads_of(text: str, config: ModelConfig) -> tuple[Head, ...]:
    """The heads that a text names, each once. Raises CheckpointError for a text that names none of this model's."""
    try:
        switches = Interventions.parse({KnockOut.PARAMS[0]: text})
        switches.check(config)
    except InterventionError as error:
        raise CheckpointError("the heads {heads!r} cannot be left out: {error}", heads=text[:60], error=error) from None
    wheres = [switch.where for switch in switches.switches if isinstance(switch, KnockOut)]
    return tuple(head for head in all_heads(config) if any(where.covers(*head) for where in wheres))


def _title(model: Pretrained, heads: Sequence[Head]) -> str:
    if len(heads) == 1:
        return _("{model} without {head}", model=model.name, head=name_of(heads[0]))
    return _("{model} without {count} heads", model=model.name, count=len(heads))


def pruned(model: Pretrained, text: str) -> Pretrained:
    """The model without the heads that the text names, the same as with the switch `zero`. Its name says so in the
    reader's language; scores, model card and what was measured of the whole model stay behind. Raises
    CheckpointError."""
    heads = heads_of(text, model.config)

    def made() -> Pretrained:
        files = {}
        with contextlib.suppress(OSError):
            for file in (EXAMPLES, WORDS):
                if data := model.beside(file, LARGEST_BESIDE[file]):
                    files[file] = data
        title = _title(model, heads)
        found = replace(without(model, heads), name=title, metrics={}, packed=Packed(title, files))
        register(found, f"{identity(model)}{MARK}{heads}", owner_of(model))
        return found

    key = (identity(model), heads, reader_language().code)
    return MODELS.get(key, made, queued=True, owner=owner_of(model))
