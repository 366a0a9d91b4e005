"""The anatomy's drawing on a page without a server: what it needs of a model, and a first sentence.

anatomy.pack.gz     the pack "trace" of the model's first example (`transformer.view.anatomy_pack`), which is drawn
                    until the engine is there; "facts" without an example
anatomy-open.pack.gz its pack "open" of the first layers
"""

from pathlib import Path

from transformer.checkpoints.folder import TOKENS
from transformer.files import write_gzip
from transformer.inference.pretrained import Pretrained
from transformer.texts import ENGLISH, in_language
from transformer.view.anatomy_pack import facts_pack, open_pack, trace_pack
from transformer.view.anatomy_state import LONGEST
from transformer.view.examples import read_examples


def write_anatomy(model: Pretrained, folder: Path) -> None:
    """Write these files into the folder of a model, which has no parts of T5: the drawing lacks them."""
    with in_language(ENGLISH):  # the page adds its own texts
        for example in read_examples(model)[:1]:
            trace = model.trace(example.source, example.target or None, limit=TOKENS)
            if max(len(trace.source_ids), len(trace.target_in_ids)) <= LONGEST:
                write_gzip(folder / "anatomy.pack.gz", trace_pack(model, trace))
                write_gzip(folder / "anatomy-open.pack.gz", open_pack(trace, 0, 0))
                return
        write_gzip(folder / "anatomy.pack.gz", facts_pack(model, {}, {}))
