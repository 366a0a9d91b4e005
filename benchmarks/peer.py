"""BertViz's `model_view` of a trace, served from this machine together with the libraries it asks the network for."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from transformer.tracing.trace import Trace

FOLDER = Path(sys.prefix) / "benchmarks"  # the libraries, once fetched, lie beside the installed packages
# What a page of BertViz 1.4.1 names -> npm package and the file in it. jQuery 2.0.0 is not on npm; 2.2.4 is its
# successor.
LIBRARIES = {
    "require.min.js": ("requirejs@2.3.6", "package/require.js"),
    "jquery.min.js": ("jquery@2.2.4", "package/dist/jquery.min.js"),
    "d3.min.js": ("d3@5.7.0", "package/dist/d3.min.js"),
}
ADDRESS = re.compile(r"https?://[^'\"\s]+/((?:require|jquery|d3)\.min(?:\.js)?)")


class NoPeer(RuntimeError):
    """BertViz or its libraries are not there; the message says what to install."""


def libraries() -> dict[str, bytes]:
    """The JavaScript a page of BertViz loads: from the folder, else through npm. Raises NoPeer."""
    found = {}
    for name, (package, inside) in LIBRARIES.items():
        path = FOLDER / name
        if not path.is_file():
            npm = shutil.which("npm")
            if npm is None:
                raise NoPeer(
                    f"{package} is fetched with npm, which was not found; install Node.js, or put it at {path}"
                )
            FOLDER.mkdir(exist_ok=True)
            packed = subprocess.run(
                [npm, "pack", "--silent", package], cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False
            )
            archive = FOLDER / packed.stdout.strip().rpartition("\n")[2]
            if packed.returncode or not archive.is_file():
                raise NoPeer(f"'npm pack {package}' failed: {packed.stderr.strip()[-300:]}")
            with tarfile.open(archive) as opened:
                member = opened.extractfile(inside)
                assert member is not None
                path.write_bytes(member.read())
            archive.unlink()
        found[name] = path.read_bytes()
    return found


def html(trace: Trace) -> str:
    """Every head of every kind of attention, as a person would ask BertViz for it."""
    from bertviz.model_view import model_view

    def layers(kind: str) -> list[object]:
        return [layer[None] for layer in trace.attention(kind).weights]  # [1, head, query, key] each

    return model_view(
        encoder_attention=layers("encoder_self"),
        decoder_attention=layers("decoder_self"),
        cross_attention=layers("cross"),
        encoder_tokens=list(trace.source_tokens),
        decoder_tokens=list(trace.target_in),
        html_action="return",
    ).data


class Site:
    """page: what the site's address shows; libraries: by file name, which the browser may keep."""

    def __init__(self, libraries: dict[str, bytes]) -> None:
        self.libraries = libraries
        self.page = b""
        self.address = ""

    def show(self, text: str) -> int:
        """Put up a page of BertViz, its libraries taken from here. Returns its size in bytes."""
        local, count = ADDRESS.subn(lambda match: f"/{match[1]}", text)
        if count != len(self.libraries):
            raise NoPeer(f"a page of BertViz names {count} libraries, not {len(self.libraries)}; update peer.py")
        self.page = ('<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">' + local).encode()
        return len(text.encode())


@contextlib.contextmanager
def serving(port: int) -> Iterator[Site]:
    """A site on this machine. Raises NoPeer."""
    try:
        import bertviz  # noqa: F401
    except ImportError as error:
        raise NoPeer(f"{error}; install it with pip install --no-deps bertviz, and pip install ipython") from None
    site = Site(libraries())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            library = site.libraries.get(self.path.strip("/"))
            body = site.page if library is None else library
            self.send_response(200)
            self.send_header("Content-Type", "text/html" if library is None else "text/javascript")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store" if library is None else "max-age=86400")
            self.end_headers()
            shown = io.BytesIO(body)
            with contextlib.suppress(ConnectionError):
                shutil.copyfileobj(shown, self.wfile, 1 << 20)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("localhost", port), Handler) as server:
        site.address = f"http://localhost:{port}/"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield site
        server.shutdown()
