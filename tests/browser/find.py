"""Find a Chromium or Chrome to test in, an nginx to put before the app and a Redis server for rooms, or fetch one."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

VARIABLE = "HEADSCOPE_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge")
PLACES = ("/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin", "/snap/bin")  # are on few people's path
# Headless, without a sandbox (containers have none), and silent on the network.
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip


class NoProgram(Exception):
    """No such program was found; the message lists what was tried."""


def needed(find: Callable[[], str], what: str) -> str:
    """The program file that is found. Without one a test is skipped, loudly; with CI=true it fails."""
    try:
        return find()
    except NoProgram as error:
        lacks = f"{what}: {error}"
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"CI needs {lacks}", pytrace=False)
    pytest.skip(f"TESTS NOT RUN for want of {lacks}")


def _runs(path: str | Path, ask: str = "--version") -> bool:
    """Whether it can be executed; a distribution's stub that only asks for another package cannot."""
    if sys.platform == "win32":  # chrome.exe --version opens a window there
        return Path(path).is_file()
    return not _try(str(path), ask, seconds=30)


def _installed(name: str, ask: str = "--version") -> str | None:
    """The path of an installed program that runs."""
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *PLACES]))
    return path if path and _runs(path, ask) else None


def _playwrights_own() -> Path:
    """Where Playwright keeps its Chromium, whether or not it is there. Asked in another process: Playwright's sync
    interface may be started once only."""
    code = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    return Path(asked.stdout.strip() or os.devnull)


def _try(*command: str, seconds: int) -> str:
    """Run a command; returns "" or why it failed."""
    quiet = {"DEBIAN_FRONTEND": "noninteractive", "PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": "10000"}
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL,
            env={**os.environ, **quiet},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"not done within {seconds} s"
    except OSError as error:
        return error.strerror or str(error)
    return "" if done.returncode == 0 else f"exit status {done.returncode}"


def _from_debian(package: str) -> str | None:
    """Install a Debian package. Returns "" or why it failed; None without apt-get or root rights."""
    if not shutil.which("apt-get") or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    install = ("apt-get", "install", "-y", "--no-install-recommends", package)
    failed = _try(*install, seconds=300)
    if failed:  # a fresh container has no package lists yet
        failed = _try("apt-get", "update", seconds=120) or _try(*install, seconds=300)
    return failed


def _named(variable: str, kind: str, ask: str = "--version") -> str | None:
    """The program file that a variable names, if one does. Raises NoProgram if it does not run."""
    named = os.environ.get(variable)
    if named and not _runs(named, ask):
        raise NoProgram(f"{variable} is {named!r}, which does not run; name the program file of {kind}")
    return named or None


def _find_server(program: str, variable: str, ask: str) -> str:
    """The path of a server program that runs: the one the variable names, the one installed, Debian's package of the
    same name (installed where we are root). ask: its option for its version. Raises NoProgram."""
    if path := _named(variable, f"a {program}", ask) or _installed(program, ask):
        return path
    failed = _from_debian(program)
    if failed == "" and (path := _installed(program, ask)):
        return path
    tried = "" if failed is None else f", and 'apt-get install {program}' failed ({failed or 'it does not run'})"
    raise NoProgram(f"no {program} is installed{tried}. Install one, or name its program file in {variable}")


def find_nginx() -> str:
    return _find_server("nginx", "HEADSCOPE_NGINX", "-v")


def find_redis() -> str:
    return _find_server("redis-server", "HEADSCOPE_REDIS_SERVER", "--version")


def find_browser() -> str:
    """The path of a Chromium or Chrome that runs: the one HEADSCOPE_BROWSER names, one installed, Playwright's own
    (fetched if need be), Debian's package (installed where we are root). Raises NoProgram."""
    if path := _named(VARIABLE, "a Chromium or Chrome") or next(filter(None, map(_installed, NAMES)), None):
        return path
    tried = ["none is installed"]
    own = _playwrights_own()
    if not own.is_file():
        failed: str | None = _try(sys.executable, "-m", "playwright", "install", "chromium", seconds=120)
        tried.append(f"'playwright install chromium' failed ({failed})" if failed else "Playwright fetched one")
    if own.is_file() and _runs(own):
        return str(own)
    failed = _from_debian("chromium")
    if failed == "" and (path := _installed("chromium")):
        return path
    if failed is not None:
        tried.append(f"'apt-get install chromium' failed ({failed or 'it does not run'})")
    raise NoProgram(f"no Chromium or Chrome: {'; '.join(tried)}. Install one, or name its program file in {VARIABLE}")


if __name__ == "__main__":  # before tests run in several processes, so that only one of them installs
    for find in (find_browser, find_nginx, find_redis):
        try:
            find()
        except NoProgram as error:
            print(error, file=sys.stderr)  # the tests that need it say so, or fail with CI=true
