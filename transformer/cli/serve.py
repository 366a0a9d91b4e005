"""Start the app in the browser."""

import argparse
import errno
import importlib
import os
import secrets
import socket
import sys
from pathlib import Path
from reprlib import repr as shown

from transformer import startup
from transformer.cli.common import CommandError, add_checkpoint, add_device, find_device, whole
from transformer.inference.pretrained import available, load
from transformer.live_training.training_queue import SECONDS as TRAINING_SECONDS
from transformer.live_training.training_queue import TRAININGS
from transformer.memory import BUDGET, LEAST, read_bytes
from transformer.memory import VARIABLE as MEMORY
from transformer.operator_key import LEAST as LEAST_KEY
from transformer.operator_key import VARIABLE as OPERATOR
from transformer.paths import app_folder
from transformer.rooms import is_url, open_rooms
from transformer.texts import N_, _, any_of
from transformer.view.languages import best_language, languages
from transformer.web.folder import ENGINE

SUMMARY = N_("Start the app in the browser.")
PORT = 8501
TRIED = 100  # how many ports to try after one that is in use
ROOMS = "HEADSCOPE_ROOMS"
ADDRESS = "STREAMLIT_SERVER_ADDRESS"  # Streamlit's own variable, for containers
NO_SUCH_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EINVAL)


def _language(text: str) -> str:
    """An argparse type: the code of a language of the app."""
    if (code := best_language([text])) is None:
        raise argparse.ArgumentTypeError(
            _("unknown language {code}; choose {names}", code=shown(text), names=any_of(languages()))
        )
    return code


def _memory(text: str) -> int:
    """An argparse type: bytes, as "2G" or "800M"."""
    size = read_bytes(text)
    if size is None or size < LEAST:
        raise argparse.ArgumentTypeError(
            _(
                "{text} is not a size of at least {least:.0f} MB; write, for example, 2G or 800M",
                text=shown(text),
                least=LEAST / 1e6,
            )
        )
    return size


def add(parser: argparse.ArgumentParser) -> None:
    add_checkpoint(parser, required=False)
    add_device(parser)
    parser.add_argument(
        "--port",
        type=whole(1, 65_535),
        metavar="N",
        help=_("port of the server (default {port}, or the next free one)", port=PORT),
    )
    parser.add_argument(
        "--address",
        metavar="IP",
        help=_("address of the server; 127.0.0.1: only this machine can open it (default: all)"),
    )
    parser.add_argument(
        "--max-tokens", type=whole(2, 16_384), metavar="N", help=_("longest source and target, in tokens (default 128)")
    )
    parser.add_argument(
        "--language", type=_language, metavar="CODE",
        help=_("language of the pages until a visitor chooses another, e.g. en (default: the browser's)"),
    )  # fmt: skip
    parser.add_argument(
        "--memory", type=_memory, metavar="SIZE",
        help=_(
            "memory of the server, e.g. 2G; when it is reached, what was not used for the longest time is removed "
            "(default {default}; trainings are processes of their own and do not count)", default=f"{BUDGET / 1e9:g}G",
        ),
    )  # fmt: skip
    parser.add_argument(
        "--trainings", type=whole(0, 256), metavar="N",
        help=_(
            "models that visitors can train at the same time, each in its own process; further ones wait in a queue "
            "(default: the number of cores; 0: no training)"
        ),
    )  # fmt: skip
    parser.add_argument(
        "--training-seconds",
        type=whole(1, 86_400),
        metavar="N",
        help=_("limit of a visitor's training in seconds of computing time; waiting does not count (default 120)"),
    )
    parser.add_argument(
        "--rooms", metavar="FILE",
        help=_(
            "where rooms of classes are kept, for the processes of one machine that serve one class (default: a file "
            "in your cache folder); for several machines a Redis server, redis://HOST:PORT/0, better in {variable}, "
            "because others on this machine can read a password in a command", variable=ROOMS,
        ),
    )  # fmt: skip
    parser.add_argument(
        "--no-engine",
        action="store_true",
        help=_("browsers do not download the model, 44 MB each, to compute it themselves: the server computes it"),
    )
    parser.add_argument(
        "--operator",
        action="store_true",
        help=_(
            "a page for you with memory, visitors, queue and trainings of the server, and metrics; its address, with a "
            "new key, is printed at the start (for a key of your own set {variable})", variable=OPERATOR,
        ),
    )  # fmt: skip


def listen(address: str | None, port: int) -> socket.socket:
    """A socket that listens on an address; without one on all, of IPv6, too, where the system has it. Raises OSError.

    It sends small messages at once, and so do the connections that it accepts: otherwise the second of two would wait
    until the browser acknowledges the first, and a browser delays that by 40 ms of every click, measured on Linux.
    asyncio does so only for sockets that it makes.
    """
    if not address and socket.has_ipv6:
        try:
            return listen("::", port)
        except OSError as error:
            if error.errno not in NO_SUCH_ADDRESS:
                raise
    address = address or "0.0.0.0"
    found = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    try:
        if sys.platform != "win32":  # there the option would allow a port that is in use
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if address == "::":  # IPv4 too
            found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        found.bind((address, port))
        found.listen()
    except BaseException:
        found.close()
        raise
    return found


def taken(port: int, address: str | None = None) -> bool:
    """Whether another program uses the port. Raises CommandError for an invalid port or address."""
    try:
        listen(address, port).close()
    except PermissionError as error:
        raise CommandError(
            "port {port} is reserved for the system; choose a port above 1023 with --port", port=port
        ) from error
    except (OSError, TypeError, UnicodeError) as error:  # the last two: a text that cannot be the name of a machine
        if not isinstance(error, OSError) or isinstance(error, socket.gaierror) or error.errno in NO_SUCH_ADDRESS:
            raise CommandError(
                "this machine does not have the address {address}; choose another --address", address=shown(address)
            ) from None
        return True
    return False


def find_port(asked: int | None, address: str | None) -> int:
    """The port to start on: the requested one, or else the default or the next free one, with a note on stderr.

    A requested port is never replaced, because a proxy, a bookmark or a firewall relies on it. Raises CommandError.
    """
    first = asked or PORT
    if not taken(first, address):
        return first
    free = next((port for port in range(first + 1, min(first + TRIED, 65_535) + 1) if not taken(port, address)), None)
    if asked is not None or free is None:
        if free is None:
            raise CommandError(
                "another program uses port {port}; end it, or choose another port with --port", port=first
            )
        raise CommandError(
            "another program uses port {port}; end it, or choose --port {free}, which is free", port=first, free=free
        )
    print(
        _(
            "Another program uses port {port}; the app starts on port {free} (choose one with --port).",
            port=first,
            free=free,
        ),
        file=sys.stderr,
        flush=True,
    )
    return free


def find_key(asked: bool) -> str | None:
    """Pass the key of the operator's page to the app. Returns one that was made now and that nobody knows yet. Raises
    CommandError."""
    given = os.environ.get(OPERATOR, "")
    if given and len(given) < LEAST_KEY:
        raise CommandError(
            "the key in {variable} needs at least {count} characters", variable=OPERATOR, count=LEAST_KEY
        )
    if given or not asked:
        return None
    os.environ[OPERATOR] = key = secrets.token_urlsafe()
    return key


def prepare(options: argparse.Namespace) -> tuple[Path, int, str | None]:
    """Check the options, and pass the settings to the app through the environment. Returns its script, the port and the
    address to listen on, None for all of this machine."""
    script = app_folder() / "pages" / "app.py"
    if not script.is_file():
        raise CommandError(
            "{script} is missing, so the installation is incomplete; install the package again", script=script
        )
    if options.checkpoint:
        load(options.checkpoint)
        bundled = options.checkpoint in available()
        os.environ["HEADSCOPE_CHECKPOINT"] = options.checkpoint if bundled else str(Path(options.checkpoint).resolve())
    os.environ["HEADSCOPE_DEVICE"] = find_device(options.device).type
    settings = {
        ENGINE: "off" if options.no_engine else None,
        "HEADSCOPE_LANGUAGE": options.language,
        "HEADSCOPE_MAX_TOKENS": options.max_tokens,
        MEMORY: options.memory,
        TRAININGS: options.trainings,
        TRAINING_SECONDS: options.training_seconds,
    }
    os.environ.update({name: str(value) for name, value in settings.items() if value is not None})
    if options.rooms:
        os.environ[ROOMS] = options.rooms if is_url(options.rooms) else str(Path(options.rooms).resolve())
    if is_url(os.environ.get(ROOMS, "")):
        open_rooms(os.environ[ROOMS]).close()  # an address that cannot be used is said now, not to the class
    address = options.address or os.environ.get(ADDRESS) or None
    return script, find_port(options.port, address), address


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def run(options: argparse.Namespace) -> int:
    script, port, address = prepare(options)
    key = find_key(options.operator)
    # Until the server handles Ctrl+C itself, it ends the process at once: nothing needs cleaning up yet, and an
    # exception during an import or the first steps of the event loop would print a traceback.
    startup.at_once()
    sys.path.insert(0, str(app_folder()))
    # Streamlit imports plotly, if it is there, for a theme of its own charts: 18 MB and 0.5 s. Ours do without.
    sys.modules["plotly"] = None  # type: ignore[assignment]
    streamlit_side = importlib.import_module("pages.runtime.streamlit")
    del sys.modules["plotly"]
    server = importlib.import_module("pages.server")
    host = "localhost" if address in (None, "0.0.0.0", "::") else _host(address)
    others = streamlit_side.address_for_others(address)
    if others is not None:
        print("\n  " + _("For others in the network: {address}", address=f"http://{_host(others)}:{port}"), flush=True)
    if key is not None:
        operator = f"http://{host}:{port}/operator?key={key}"
        print("\n  " + _("For the operator: {address}", address=operator), flush=True)
    # In this process, so that Ctrl+C and signals reach it on every system.
    with listen(address, port) as listening:
        status: int = server.run(script, listening, host)
    return status
