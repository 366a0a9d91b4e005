"""Two processes behind nginx with the files of deploy/. Only the ports differ from the shipped files."""

import contextlib
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.server import free_port, spawn, start, stop, until

SET_ASIDE = 6.5  # seconds: nginx tries again when more than fail_timeout, 5 of its whole seconds, have gone
DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def placed(folder: Path, listen: int, replicas: list[int]) -> Path:
    """The shipped configuration in a folder, at these ports. Returns its nginx.conf."""
    for name in ("nginx.conf", "replicas.conf", "listen.conf"):
        text = (DEPLOY / name).read_text(encoding="utf-8")
        for old, new in zip((8080, 8501, 8502), (listen, *replicas), strict=True):
            text = re.sub(rf"(?m)^((?:listen |server 127\.0\.0\.1:)){old}\b", rf"\g<1>{new}", text)
        (folder / name).write_text(text, encoding="utf-8")
    return folder / "nginx.conf"


@dataclass
class Replicas:
    """address: of nginx; log: its access log; ports: of the replicas; processes: port -> process;
    environment: of the replicas; revived: how often one was started again."""

    address: str
    log: Path
    ports: list[int]
    processes: dict[int, subprocess.Popen[bytes]]
    folder: Path
    environment: dict[str, str]
    revived: int = 0

    def served(self) -> list[tuple[str, int]]:
        """(path, port of the replica that answered last) of every request that nginx has logged."""
        lines = [line.split() for line in self.log.read_text().splitlines() if line.startswith("127.0.0.1 [")]
        ports = [re.findall(r"127\.0\.0\.1:(\d+)", " ".join(words[8:])) for words in lines]  # all that were tried
        return [(words[4], int(tried[-1])) for words, tried in zip(lines, ports, strict=True) if tried]

    def revive(self, port: int) -> None:
        """Start a killed replica again, as a supervisor would, and wait until nginx tries it again."""
        self.revived += 1
        log = self.folder / f"{port}.again{self.revived}.txt"
        self.processes[port], _ = start(log, port, **self.environment)
        time.sleep(SET_ASIDE)


def asked(address: str, method: str = "GET", **headers: str) -> Any:
    """The answer to one request with any status; None if no server listens."""
    request = urllib.request.Request(address, headers=headers, method=method)
    try:
        return urllib.request.urlopen(request, timeout=20)
    except urllib.error.HTTPError as error:
        return error
    except OSError:
        return None


def status(address: str, method: str = "GET", **headers: str) -> int:
    answer = asked(address, method, **headers)
    if answer is None:
        return 0
    with answer:
        return int(answer.status)


@contextlib.contextmanager
def running_replicas(nginx: str, folder: Path, **environment: str) -> Iterator[Replicas]:
    """Two replicas with this environment and the nginx at that path, ended afterwards. folder: gets their logs."""
    processes, proxy = {}, None
    try:
        for number in range(2):
            process, address = start(folder / f"{number}.txt", **environment)
            processes[int(urlsplit(address).port or 0)] = process
        ports, listen = list(processes), free_port()
        command = [nginx, "-e", "stderr", "-p", str(folder), "-c", str(placed(folder, listen, ports))]
        log = folder / "nginx.txt"
        proxy = spawn(log, *command)
        running = Replicas(f"http://localhost:{listen}", log, ports, processes, folder, environment)
        until(lambda: status(f"{running.address}/_stcore/health") == 200, proxy, log)
        yield running
    finally:
        for process in (*processes.values(), *([proxy] if proxy else [])):
            stop(process)
