"""Find a Chromium or Chrome to test in, an nginx to put before the app and a Redis server for rooms, or fetch one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

VARIABLE = "HEADSCOPE_BROWSER"
SERVER_PLACES = ("/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin")
NAMES = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge",
    "microsoft-edge-stable", "msedge",
)  # fmt: skip
PLACES = (
    "/usr/lib/chromium/chromium",
    "/opt/google/chrome/chrome",
    "/snap/bin/chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "{PROGRAMFILES}/Google/Chrome/Application/chrome.exe",
    "{PROGRAMFILES(X86)}/Google/Chrome/Application/chrome.exe",
    "{LOCALAPPDATA}/Google/Chrome/Application/chrome.exe",
    "{PROGRAMFILES(X86)}/Microsoft/Edge/Application/msedge.exe",
)
# Headless, without a sandbox (containers have none), and silent on the network.
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip


class NoBrowser(Exception):
    """No browser was found; the message lists what was tried."""


class NoServer(Exception):
    """No such server program was found; the message lists what was tried."""


def do_without(what: str) -> NoReturn:
    """Skip a test that needs a program, loudly; with CI=true it fails."""
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(f"CI needs {what}", pytrace=False)
    pytest.skip(f"TESTS NOT RUN for want of {what}")


def _runs(path: str | Path, ask: str = "--version") -> bool:
    """Whether it can be executed; a distribution's stub that only asks for another package cannot."""
    if sys.platform == "win32":  # chrome.exe --version opens a window there
        return Path(path).is_file()
    try:
        done = subprocess.run([str(path), ask], capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _installed() -> Iterator[str]:
    for name in NAMES:
        if path := shutil.which(name):
            yield path
    for place in PLACES:
        for variable in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"):
            place = place.replace(f"{{{variable}}}", os.environ.get(variable, f"{{{variable}}}"))
        if Path(place).is_file():
            yield place


def _playwrights_own() -> Path:
    """Where Playwright keeps its Chromium, whether or not it is there. Asked in another process: Playwright's sync
    interface may be started once only."""
    code = "from playwright.sync_api import sync_playwright as s\nwith s() as p: print(p.chromium.executable_path)"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    return Path(asked.stdout.strip() or os.devnull)


def _try(*command: str, seconds: int) -> str:
    """Run a command that fetches a program; returns "" or why it failed."""
    print(f"looking for a program: {' '.join(command)}", file=sys.stderr)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "PLAYWRIGHT_DOWNLOAD_CONNECTION_TIMEOUT": "10000"},
        )
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


def _find_server(program: str, variable: str, ask: str) -> str:
    """The path of a server program that runs. Raises NoServer.

    In this order: the one the variable names, the one installed, Debian's package of the same name (installed where we
    are root). ask: its option for its version.
    """
    if named := os.environ.get(variable):
        if _runs(named, ask):
            return named
        raise NoServer(f"{variable} is {named!r}, which does not run; name the program file of a {program}")
    where = os.pathsep.join([os.environ.get("PATH", ""), *SERVER_PLACES])  # sbin is on few people's path
    if (path := shutil.which(program, path=where)) and _runs(path, ask):
        return path
    failed = _from_debian(program)
    if failed == "" and (path := shutil.which(program, path=where)) and _runs(path, ask):
        return path
    tried = "" if failed is None else f", and 'apt-get install {program}' failed ({failed or 'it does not run'})"
    raise NoServer(f"no {program} is installed{tried}. Install one, or name its program file in {variable}")


def find_nginx() -> str:
    return _find_server("nginx", "HEADSCOPE_NGINX", "-v")


def find_redis() -> str:
    return _find_server("redis-server", "HEADSCOPE_REDIS_SERVER", "--version")


def find_browser() -> str:
    """The path of a Chromium or Chrome that runs. Raises NoBrowser.

    In this order: the one HEADSCOPE_BROWSER names, those installed, Playwright's own (fetched if need be), Debian's
    package (installed where we are root).
    """
    if named := os.environ.get(VARIABLE):
        if _runs(named):
            return named
        raise NoBrowser(f"{VARIABLE} is {named!r}, which does not run; name the program file of a Chromium or Chrome")
    for path in _installed():
        if _runs(path):
            return path
    tried = ["none is installed"]
    playwright_browser = _playwrights_own()
    if not playwright_browser.is_file():
        failed = _try(sys.executable, "-m", "playwright", "install", "chromium", seconds=120)
        tried.append(f"'playwright install chromium' failed ({failed})" if failed else "Playwright fetched one")
    if playwright_browser.is_file() and _runs(playwright_browser):
        return str(playwright_browser)
    failed = _from_debian("chromium")
    if failed is not None:
        if not failed and (path := shutil.which("chromium")) and _runs(path):
            return path
        tried.append(f"'apt-get install chromium' failed ({failed or 'it does not run'})")
    raise NoBrowser(f"no Chromium or Chrome: {'; '.join(tried)}. Install one, or name its program file in {VARIABLE}")


if __name__ == "__main__":  # before tests run in several processes, so that only one of them installs
    for find in (find_browser, find_nginx, find_redis):
        try:
            find()
        except (NoBrowser, NoServer) as error:
            print(error, file=sys.stderr)  # the tests that need it say so, or fail with CI=true
