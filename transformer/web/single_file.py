"""The site without a server as one HTML file, for a memory stick: everything stands in the page, as base64."""

import base64
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from transformer.files import write_whole
from transformer.inference.pretrained import Pretrained
from transformer.texts import _
from transformer.web.site import ENTRY, html_page, write_files

_POLICY = (
    "script-src 'unsafe-inline' 'wasm-unsafe-eval' blob:; worker-src blob:; connect-src data: blob:; "
    "style-src 'unsafe-inline'; img-src data: blob:"
)
_IMPORT = re.compile(r"(from|import\(?)\"\./")  # in a built script, before the name of another one
# Gives every script an address, by the bare name that the others call it.
_START = """
const imports = {};
for (const script of document.querySelectorAll('script[type="text/plain"]'))
  imports[script.id] = URL.createObjectURL(new Blob([script.textContent], { type: "text/javascript" }));
const map = document.createElement("script");
map.type = "importmap";
map.textContent = JSON.stringify({ imports });
document.head.append(map);
"""


def write_single_file(path: Path, models: Sequence[Pretrained], codes: Sequence[str] = ()) -> None:
    """Write the file; the arguments are those of `transformer.web.site.write_site`. Raises SiteError, ExportError,
    OSError."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_files(folder, models, codes)
        style = (folder / f"{ENTRY}.css").read_text(encoding="utf-8")
        scripts = {
            file.name: _IMPORT.sub(r'\1"', file.read_text(encoding="utf-8"))
            for file in sorted(folder.glob(f"{ENTRY}*.js"))
        }
        inside = {
            file.relative_to(folder).as_posix(): base64.b64encode(file.read_bytes()).decode("ascii")
            for file in sorted(folder.rglob("*"))
            if file.is_file() and file.name not in {*scripts, f"{ENTRY}.css", "index.html"}
        }
    head = [
        f"<style>{style}</style>",
        *(f'<script type="application/octet-stream" id="file:{name}">{data}</script>' for name, data in inside.items()),
        # built with every `</script` escaped
        *(f'<script type="text/plain" id="{name}">{script}</script>' for name, script in scripts.items()),
        f"<script>{_START}</script>",
        f'<script type="module">import "{ENTRY}.js";</script>',
    ]
    wait = _("This page needs JavaScript.")
    write_whole(path, html_page("\n".join(head), _POLICY, wait).encode("utf-8"))
