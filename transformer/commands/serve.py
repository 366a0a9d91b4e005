"""Start the app in the browser."""

from __future__ import annotations

import argparse
import os
import runpy
import socket
import sys
from pathlib import Path

from transformer.commands.common import CommandError, add_checkpoint, add_device, find_device, whole
from transformer.places import app_folder
from transformer.pretrained import available, load


def add(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser, required=False)
    add_device(parser)
    parser.add_argument("--port", type=whole(1, 65_535), default=8501, metavar="N", help="default 8501")
    parser.add_argument(
        "--max-tokens", type=whole(2, 16_384), metavar="N", help="longest text, in tokens a side (default 128)"
    )


def taken(port: int) -> bool:
    """Whether another program listens on the port."""
    with socket.socket() as probe:
        if sys.platform != "win32":  # there the option would allow a port that is in use
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except PermissionError as error:
            raise CommandError(f"port {port} is reserved for the system; choose one above 1023 with --port") from error
        except OSError:
            return True
    return False


def prepare(options: argparse.Namespace) -> list[str]:
    """Check everything that can be checked before the server starts, hand the settings to app.py through the
    environment, and return the arguments of Streamlit."""
    script = app_folder() / "app.py"
    if not script.is_file():
        raise CommandError(f"{script} is missing; the installation is not complete, install the package again")
    if options.checkpoint:
        load(options.checkpoint)
        bundled = options.checkpoint in available()
        os.environ["HEADSCOPE_CHECKPOINT"] = options.checkpoint if bundled else str(Path(options.checkpoint).resolve())
    os.environ["HEADSCOPE_DEVICE"] = find_device(options.device).type
    if options.max_tokens:
        os.environ["HEADSCOPE_MAX_TOKENS"] = str(options.max_tokens)
    if taken(options.port):
        raise CommandError(f"port {options.port} is taken by another program; end it or choose another with --port")
    return ["run", str(script), f"--server.port={options.port}"]


def run(options: argparse.Namespace) -> int:
    sys.argv = ["streamlit", *prepare(options)]
    # As `python -m streamlit` would, in this process: Ctrl+C and signals arrive where they should on every system.
    # Streamlit finds .streamlit/config.toml beside app.py.
    runpy.run_module("streamlit", run_name="__main__", alter_sys=True)
    return 0
