"""Starting and ending the app: ports, Ctrl+C at any moment, a disk without room, a folder nobody may write to."""

import asyncio
import contextlib
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from tests.attack.client import Attacker, run
from tests.support.processes import children, gone
from tests.support.server import APP, answers, ended_cleanly, free_port, started, until
from tests.support.trainer import Trainer
from transformer import startup
from transformer.__main__ import main
from transformer.cli import serve
from transformer.cli.common import CommandError

pytestmark = pytest.mark.slow  # starts processes

ROOT = Path(__file__).resolve().parents[2]
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")


# -- ports ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def listener() -> Iterator[Callable[[str, int], int]]:
    """What listens on a port, as another program would; 0: any."""
    with contextlib.ExitStack() as stack:

        def listen(address: str, port: int = 0) -> int:
            one = stack.enter_context(socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET))
            try:
                one.bind((address, port))
            except OSError:
                pytest.skip(f"this machine cannot listen on {address!r}")
            one.listen()
            return int(one.getsockname()[1])

        yield listen


@pytest.mark.parametrize("address", ["", "127.0.0.1", "::", "::1"])
def test_a_port_in_use_is_found_for_every_address(listener: Callable[..., int], address: str) -> None:
    port = listener(address)
    assert serve.taken(port) and serve.taken(port, address or None)


def test_a_free_port_stays_free_after_the_look(listener: Callable[..., int]) -> None:
    port = free_port()
    assert not serve.taken(port) and not serve.taken(port, "127.0.0.1")
    assert listener("", port) == port


def test_a_requested_port_in_use_names_a_free_one(listener: Callable[..., int], capsys: Any) -> None:
    port = listener("")
    assert main(["app", "--port", str(port)]) == 2
    said = re.fullmatch(
        rf"error: another program uses port {port}; end it, or choose --port (\d+), which is free\n",
        capsys.readouterr().err,
    )
    assert said and int(said[1]) > port and not serve.taken(int(said[1]))


def test_without_a_requested_port_the_next_free_one_is_used(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(serve, "taken", lambda port, address: port in (8501, 8502))
    assert serve.find_port(None, None) == 8503
    assert capsys.readouterr().err == (
        "Another program uses port 8501; the app starts on port 8503 (choose one with --port).\n"
    )
    monkeypatch.setattr(serve, "taken", lambda port, address: True)
    for asked in (None, 65_535):
        with pytest.raises(
            CommandError, match=r"^another program uses port \d+; end it, or choose another port with --port$"
        ):
            serve.find_port(asked, None)


def test_a_foreign_address_gives_a_message() -> None:
    for address in ("192.0.2.1", "2001:db8::1", "no such name"):  # of documentation: nobody has them
        with pytest.raises(CommandError, match=f"does not have the address {address!r}; choose another --address"):
            serve.taken(free_port(), address)


def test_the_address_reaches_streamlit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_DEVICE", "before")
    port, asked = free_port(), lambda: serve.prepare(given)[1:]
    given: Any = SimpleNamespace(
        checkpoint=None, device="cpu", max_tokens=None, port=port, address="127.0.0.1", language=None,
        trainings=None, training_seconds=None, memory=None, operator=False, no_engine=False,
        rooms=None,
    )  # fmt: skip
    monkeypatch.delenv(serve.ADDRESS, raising=False)
    assert asked() == (port, "127.0.0.1")
    given.address = None
    assert asked() == (port, None)
    monkeypatch.setenv(serve.ADDRESS, "127.0.0.1")  # as deploy/compose.yaml and Streamlit's own users say it
    assert asked() == (port, "127.0.0.1")


# -- a running app ----------------------------------------------------------------------------------------------------


def importing(process: subprocess.Popen[bytes]) -> bool:
    """Whether the package's own code runs: before, Ctrl+C is the interpreter's to answer."""
    try:
        return "torch" in Path(f"/proc/{process.pid}/maps").read_text()
    except OSError:
        return False


EACH_TIME = (0, 4, 6, 11)  # of the moments below; the others before a release


@pytest.fixture(scope="module")
def start_time(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds from the first line of the package until the app answers, on this machine, today."""
    log, port = tmp_path_factory.mktemp("start") / "log.txt", free_port()
    process = started(log, "--port", str(port))
    until(lambda: importing(process), process, log)
    begun = time.monotonic()
    until(lambda: answers(port), process, log)
    took = time.monotonic() - begun
    process.send_signal(signal.SIGINT)
    ended_cleanly(process, log)
    return took


@POSIX
@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="how far a process is, is read from /proc")
@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=() if seed in EACH_TIME else pytest.mark.long) for seed in range(12)]
)
def test_ctrl_c_during_the_start_ends_cleanly(seed: int, start_time: float, tmp_path: Path) -> None:
    """Twelve moments, from the first import to just after the first answer; every third time the key is hit twice."""
    rng = random.Random(seed)
    moment = start_time * (seed + rng.random()) / 11
    log, port = tmp_path / "log.txt", free_port()
    process = started(log, "--port", str(port))
    until(lambda: importing(process), process, log)
    time.sleep(moment)
    process.send_signal(signal.SIGINT)
    if seed % 3 == 0:
        time.sleep(rng.random() * 0.05)
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGINT)
    ended_cleanly(process, log)


@POSIX
@pytest.mark.parametrize("hits", [1, 5])
def test_ctrl_c_with_a_connected_viewer_ends_cleanly(hits: int, tmp_path: Path) -> None:
    """A viewer is connected, and waits for a long sentence to be traced."""
    websockets = pytest.importorskip("websockets.sync.client")
    from streamlit.proto.BackMsg_pb2 import BackMsg
    from streamlit.proto.ClientState_pb2 import ClientState

    log, port = tmp_path / "log.txt", free_port()
    process = started(log, "--port", str(port))
    until(lambda: answers(port), process, log)
    with websockets.connect(
        f"ws://127.0.0.1:{port}/_stcore/stream", subprotocols=["streamlit"], max_size=None
    ) as viewer:
        asked = ClientState(query_string="source=" + "+".join(["cat"] * 120))
        viewer.send(BackMsg(rerun_script=asked).SerializeToString())
        viewer.recv(timeout=60)
        for _ in range(hits):
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        ended_cleanly(process, log)


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """Port and log of a running app."""
    log, port = tmp_path_factory.mktemp("serving") / "log.txt", free_port()
    process = started(log, "--port", str(port), "--address", "127.0.0.1")
    until(lambda: answers(port), process, log)
    yield port, log
    process.send_signal(signal.SIGINT)
    process.wait(60)


@POSIX
def test_pages_of_the_server_s_own_machine_get_a_session_and_others_do_not(serving: tuple[int, Path]) -> None:
    """Streamlit lets those in on any port; an address of documentation stands for the host that the visitor called. It
    would look for the machine's public address on the web, and keep everybody waiting meanwhile."""
    websockets = pytest.importorskip("websockets.sync.client")
    from streamlit import net_util
    from websockets.exceptions import InvalidStatus

    def opens(origin: str | None) -> bool:
        address = "ws://headscope.school.example/_stcore/stream"
        connection = socket.create_connection(("127.0.0.1", serving[0]))
        try:
            with websockets.connect(address, sock=connection, subprotocols=["streamlit"], origin=origin, proxy=None):
                return True
        except InvalidStatus as error:
            assert error.response.status_code == 403
            return False

    own = ["localhost", "127.0.0.1", "0.0.0.0", *filter(None, [net_util.get_internal_ip()])]
    assert all(opens(f"{scheme}://{host}:9999") for host in own for scheme in ("http", "https"))
    assert opens("https://headscope.school.example") and opens(None)  # no browser leaves the origin out
    for origin in ("http://evil.example", "https://headscope.school.example:9", "http://localhost.evil.example"):
        assert not opens(origin)
    assert not opens("null") and not opens("file://")  # a page from a disk, or in a sandbox
    text = serving[1].read_text()
    assert "Rejecting WebSocket connection of a page with another origin" in text and "external IP" not in text


@POSIX
def test_a_message_of_more_than_25_mb_ends_the_connection(serving: tuple[int, Path]) -> None:
    """By what it announces: none of it is read."""
    websockets = pytest.importorskip("websockets.sync.client")
    from websockets.exceptions import ConnectionClosed

    with (
        websockets.connect(f"ws://127.0.0.1:{serving[0]}/_stcore/stream", subprotocols=["streamlit"]) as viewer,
        pytest.raises(ConnectionClosed) as closed,
    ):
        viewer.socket.sendall(struct.pack(">BBQI", 0x82, 0xFF, 25_000_001, 0))  # binary, masked, in one frame
        viewer.recv(timeout=60)
    assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009


@POSIX
def test_nothing_can_be_uploaded(serving: tuple[int, Path]) -> None:
    """Not even by a visitor with a session of its own, through the address Streamlit keeps open for it."""
    host = f"127.0.0.1:{serving[0]}"

    async def visit() -> None:
        async with Attacker(host) as visitor:
            await visitor.open()
            address = f"http://{host}/_stcore/upload_file/{visitor.session}/1"
            files = {"file": ("a", b"abc")}
            browser = requests.Session()
            browser.get(f"http://{host}/_stcore/health", timeout=20)
            headers = {"X-Xsrftoken": browser.cookies["_streamlit_xsrf"]}
            assert browser.put(address, files=files, headers=headers, timeout=20).status_code == 413

    run(visit())


def metrics(port: int, key: str = "") -> tuple[int, str]:
    """Status and text of Streamlit's address for metrics."""
    answer = requests.get(f"http://127.0.0.1:{port}/_stcore/metrics?key={key}", timeout=20)
    return answer.status_code, answer.text


@POSIX
def test_metrics_are_for_the_operator_alone(serving: tuple[int, Path], tmp_path: Path) -> None:
    """Without the option there are none for anybody; with it, for who has the key, which is printed once."""
    assert metrics(serving[0]) == metrics(serving[0], "x") == (404, "Not Found")
    assert "operator" not in serving[1].read_text()
    log, port = tmp_path / "log.txt", free_port()
    process = started(log, "--port", str(port), "--operator", HEADSCOPE_OPERATOR="")
    until(lambda: answers(port), process, log)
    (key,) = re.findall(rf"For the operator: http://localhost:{port}/operator\?key=(\S{{32,}})\n", log.read_text())
    assert metrics(port) == metrics(port, key[:-1]) == (404, "Not Found")
    status, text = metrics(port, key)
    assert status == 200 and "\nactive_sessions 0\n" in text  # Streamlit's own
    assert "\nheadscope_viewers 0\n" in text and 'headscope_memory_bytes{kind="budget"}' in text
    assert log.read_text().count(key) == 1
    process.send_signal(signal.SIGINT)
    ended_cleanly(process, log)


def test_only_the_program_itself_changes_what_ctrl_c_does(monkeypatch: pytest.MonkeyPatch) -> None:
    for arguments, whole, expected in (
        (["-m"], ["python", "-m", "transformer", "app"], True),
        (["/usr/bin/headscope"], ["python", "/usr/bin/headscope"], True),
        (["-m"], ["python", "-m", "pytest"], False),
        (["-c"], ["python", "-c", "import transformer"], False),
        (["notebook.py"], ["python", "notebook.py"], False),
        ([], ["python"], False),
    ):
        monkeypatch.setattr(sys, "argv", arguments)
        monkeypatch.setattr(sys, "orig_argv", whole)
        assert startup.is_program() is expected


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        for ours in (signal.SIG_IGN, lambda *_: None):
            signal.signal(signal.SIGINT, ours)
            startup.at_once()
            startup.done()
            assert signal.getsignal(signal.SIGINT) is ours
        signal.signal(signal.SIGINT, signal.default_int_handler)
        startup.at_once()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        elsewhere = threading.Thread(target=startup.done)  # only the main thread may; another is left in peace
        elsewhere.start()
        elsewhere.join()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_DFL
        startup.done()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


# -- its end while visitors train -------------------------------------------------------------------------------------

MOMENTS = {"ahead": 0, "starting": 1, "training": 1, "ended": 0}  # and how many are at work then, besides one ahead


@POSIX
@pytest.mark.long
@pytest.mark.parametrize("hits", [1, 3])
@pytest.mark.parametrize("moment", MOMENTS)
def test_ctrl_c_during_a_training_ends_cleanly(moment: str, hits: int, tmp_path: Path) -> None:
    """No word of it, and no process left."""
    log, port = tmp_path / "log.txt", free_port()
    process = started(log, "--port", str(port), "--trainings", "1")
    until(lambda: answers(port), process, log)

    async def visit() -> None:
        trainer = Trainer(f"127.0.0.1:{port}")
        await trainer.open()
        until(lambda: bool(children(process.pid)), process, log)  # one is started ahead while the page is open
        if moment != "ahead":
            await trainer.press("training_train")
        while moment in ("training", "ended") and (await trainer.ask())[0]["stage"] != "training":
            await asyncio.sleep(0.1)
        if moment == "ended":
            await trainer.tell("command", run=next(iter(trainer.held)), do="stop")
            while (await trainer.ask())[0]["stage"] != "done":
                await asyncio.sleep(0.1)
        found = set(children(process.pid))
        assert len(found) >= MOMENTS[moment]
        for _ in range(hits):
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        await asyncio.to_thread(ended_cleanly, process, log)
        assert gone(found)

    run(visit())


# -- no room to write -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize(
    ("command", "unbuffered"),
    [
        ("describe --checkpoint reverse", ""),
        ("describe --checkpoint reverse", "1"),
        ("translate --checkpoint sort", ""),
    ],
)
def test_a_full_disk_gives_one_sentence(command: str, unbuffered: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*APP[:-1], *command.split()],
            cwd=ROOT,
            input=b"123\n",
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment,
        )
    assert done.returncode == 2
    assert (
        done.stderr
        == b"error: the output cannot be written: No space left on device; free some space, or choose another disk\n"
    )


@POSIX
@pytest.mark.parametrize("command", ["describe --checkpoint reverse --all", "translate --checkpoint reverse --batch 1"])
def test_a_closed_output_is_no_error(command: str) -> None:
    with subprocess.Popen(
        [*APP[:-1], *command.split()], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(b"abc\n" * 20)
            process.stdin.close()
        said = process.stderr.read()
    assert said == b"" and process.returncode == 141


@POSIX
def test_a_closed_standard_output_gives_one_sentence() -> None:
    done = subprocess.run(
        ["sh", "-c", f"exec '{sys.executable}' -m transformer describe --checkpoint reverse >&-"],
        cwd=ROOT, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1) and b"closed" in done.stderr
