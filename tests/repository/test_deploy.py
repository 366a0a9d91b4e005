"""What deploy/ and docs/security.md say, held against the files and the code."""

import ast
import http.client
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from pages.server import PING
from tests.support.server import free_port, spawn, stop, until
from transformer.live_training.training_queue import MOST_WAITING, trainings
from transformer.live_training.worker_process import MEMORY
from transformer.paths import app_folder

pytestmark = pytest.mark.slow  # starts processes

yaml = pytest.importorskip("yaml", reason="PyYAML comes with transformers, of the test extra")

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
SECURITY = ROOT / "docs" / "security.md"


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def code(path: Path) -> str:
    """A configuration without its comments."""
    return re.sub(r"(?m)(^|\s)#.*$", "", text(path))


# -- compose ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    """compose.yaml, with what it says once for both replicas put in both."""
    return dict(yaml.safe_load(text(DEPLOY / "compose.yaml")))


def test_two_replicas_without_rights_and_without_a_way_out(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert set(services) == {"one", "two", "nginx"} and services["one"] == services["two"]
    for name, service in services.items():
        assert service["read_only"] is True and service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"] and service["mem_limit"], name
        assert not service.get("privileged") and not str(service["user"]).startswith("0"), name
    replica = services["one"]
    assert "ports" not in replica and replica["networks"] == ["inside"] and replica["init"] is True
    assert compose["networks"]["inside"]["internal"] is True
    assert "/_stcore/health" in " ".join(replica["healthcheck"]["test"]) and replica["restart"] == "unless-stopped"


def test_a_replica_has_room_for_its_trainings(compose: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The server with its caches full, every training at its largest, and the worker that was started ahead."""
    replica = compose["services"]["one"]
    monkeypatch.setenv("HEADSCOPE_TRAININGS", replica["environment"]["HEADSCOPE_TRAININGS"])
    assert trainings() == 1 and replica["mem_limit"].endswith("g")
    assert int(replica["mem_limit"][:-1]) * 2**30 > 1.1e9 + trainings() * MEMORY + 0.3e9


def test_replicas_believe_the_address_that_nginx_passes_on(compose: dict[str, Any]) -> None:
    """Anybody's header counts, so nobody but nginx may reach them, and nginx replaces what a visitor claims."""
    replica = compose["services"]["one"]
    assert replica["environment"]["FORWARDED_ALLOW_IPS"] == "*"
    assert replica["networks"] == ["inside"] and "ports" not in replica
    forwarded = re.findall(r"proxy_set_header X-Forwarded-For (.+);", code(DEPLOY / "nginx.conf"))
    assert forwarded == ["$remote_addr"]


def test_the_health_check_is_a_program_that_can_fail(compose: dict[str, Any]) -> None:
    command = compose["services"]["one"]["healthcheck"]["test"]
    assert command[:3] == ["CMD", "python", "-c"]
    compile(command[3], "healthcheck", "exec")
    nobody = command[3].replace(":8501", ":9")
    assert subprocess.run([sys.executable, "-c", nobody], stderr=subprocess.DEVNULL).returncode != 0


def test_compose_and_nginx_name_the_same_files_services_and_ports(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for mount in services["nginx"]["volumes"]:
        source, target, mode = mount.split(":")
        assert (DEPLOY / source).is_file() and mode == "ro" and target.startswith("/etc/headscope/")
    servers = re.findall(r"^server (\w+):(\d+) ", code(DEPLOY / "replicas.compose.conf"), re.MULTILINE)
    assert {name for name, _ in servers} == set(services) - {"nginx"} and {port for _, port in servers} == {"8501"}
    outer, inner = services["nginx"]["ports"][0].split(":")
    assert outer == inner == re.findall(r"listen (\d+);", code(DEPLOY / "listen.conf"))[0]
    build = services["one"]["build"]
    assert (DEPLOY / build["context"]).resolve() == ROOT and (ROOT / build["dockerfile"]).is_file()


def test_commented_lines_are_valid_too(compose: dict[str, Any]) -> None:
    lines = text(DEPLOY / "compose.yaml").splitlines()
    start = next(at for at, line in enumerate(lines) if line.strip() == "# environment:")
    said = yaml.safe_load("\n".join(line.replace("# ", "", 1) for line in lines[start : start + 7]))["environment"]
    here = compose["services"]["one"]["environment"]
    assert set(said) == {*here, "HEADSCOPE_CHECKPOINTS", "STREAMLIT_SERVER_ALLOWED_HOSTS"}
    assert here == {name: said[name] for name in here} and said["HEADSCOPE_TRAININGS"] == "1"
    assert json.loads(said["STREAMLIT_SERVER_ALLOWED_HOSTS"]) == ["headscope.school.example"]


# -- the image --------------------------------------------------------------------------------------------------------


def test_the_image_copies_existing_files_and_all_that_a_wheel_needs() -> None:
    lines = [line.split() for line in code(DEPLOY / "Dockerfile").splitlines()]
    copied = {name for words in lines if words[:1] == ["COPY"] for name in words[1:-1]}
    assert copied and all((ROOT / name).exists() for name in copied)
    build = tomllib.loads(text(ROOT / "pyproject.toml"))
    found = re.search(r"(?ms)^APP = (\(.+?\))$", text(ROOT / "hatch_build.py"))
    assert found
    needed = {*ast.literal_eval(found[1]), "transformer", "hatch_build.py", "LICENSE"}
    assert needed | {build["project"]["readme"], "pyproject.toml", "constraints.txt"} == copied
    ignore = text(DEPLOY / "Dockerfile.dockerignore").splitlines()
    assert ignore[1] == "*" and copied == {line[1:] for line in ignore if line.startswith("!")}


def test_the_image_runs_without_rights_and_names_its_port() -> None:
    dockerfile = code(DEPLOY / "Dockerfile")
    assert re.search(r"(?m)^USER 10001:10001$", dockerfile) and dockerfile.index("USER") < dockerfile.index("CMD")
    command = json.loads(re.findall(r"(?m)^CMD (.+)$", dockerfile)[-1])
    assert command == ["headscope", "--port", "8501"]
    constraint = re.search(r"grep '(\S+)' constraints.txt", dockerfile)
    assert constraint and len(re.findall(rf"(?m){constraint[1]}", text(ROOT / "constraints.txt"))) == 1


# -- nginx ------------------------------------------------------------------------------------------------------------


def nginx() -> str | None:
    return os.environ.get("HEADSCOPE_NGINX") or shutil.which(
        "nginx", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
    )


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_braces_and_semicolons_of_the_shipped_files() -> None:
    for path in sorted(DEPLOY.glob("*.conf")):
        bare = re.sub(r'"[^"]*"' + r"|'[^']*'", "x", code(path))
        assert bare.count("{") == bare.count("}"), path
        for line in filter(None, (line.strip() for line in bare.splitlines())):
            assert line[-1] in "{};" or not line.endswith(","), (path, line)


@pytest.mark.skipif(nginx() is None, reason="no nginx here; tests/browser/test_replicas.py installs one where it must")
def test_nginx_takes_the_shipped_files_as_they_are(tmp_path: Path) -> None:
    done = subprocess.run(
        [str(nginx()), "-e", "stderr", "-p", str(tmp_path), "-t", "-c", str(DEPLOY / "nginx.conf")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "[warn]" not in done.stderr, done.stderr


class Answers(http.server.BaseHTTPRequestHandler):
    """A replica that says the same to everybody."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.mark.skipif(nginx() is None, reason="no nginx here; tests/browser/test_replicas.py installs one where it must")
def test_nginx_limits_new_sessions_of_one_address(tmp_path: Path) -> None:
    """240 at once pass, then 5 a second; pages and scripts are not counted."""
    port = free_port()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as replica:
        threading.Thread(target=replica.serve_forever, daemon=True).start()
        shutil.copy(DEPLOY / "nginx.conf", tmp_path)
        (tmp_path / "listen.conf").write_text(f"listen 127.0.0.1:{port};\n")
        (tmp_path / "replicas.conf").write_text(f"server 127.0.0.1:{replica.server_port};\n")
        command = [str(nginx()), "-e", "stderr", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
        process = spawn(tmp_path / "log.txt", *command)
        try:

            def asked(path: str, count: int) -> list[int]:
                found = []
                for _ in range(count):
                    connection.request("GET", path)
                    answer = connection.getresponse()
                    answer.read()
                    found.append(answer.status)
                return found

            until(lambda: listens(port), process, tmp_path / "log.txt")
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            begun = time.monotonic()
            sessions = asked("/_stcore/stream", 400)
            passed = time.monotonic() - begun
            assert sessions[:241] == [404] * 241 and 241 <= sessions.count(404) <= 242 + 5 * passed
            assert set(sessions[241:]) <= {404, 429} and (429 in sessions or passed > 30)
            assert asked("/static/a.js", 20) == [404] * 20
            connection.close()
        finally:
            stop(process)
            replica.shutdown()


def test_the_limits_of_nginx_are_those_of_the_readme() -> None:
    configuration = code(DEPLOY / "nginx.conf")
    burst, rate = re.findall(r"burst=(\d+)", configuration), re.findall(r"rate=(\d+)r/s", configuration)
    (most,) = re.findall(r"limit_conn viewers (\d+);", configuration)
    words = " ".join(text(DEPLOY / "README.md").split())
    assert int(burst[0]) >= 3 * 2 * 40 and int(most) >= 3 * 2 * 40  # a class with two pages each comes back three times
    assert f"{burst[0]} sessions at once, then {rate[0]} per second, {most} open." in words
    assert f"Of the {MOST_WAITING} places in the queue of trainings it can take {MOST_WAITING // 2}." in words


def test_the_proxy_is_more_patient_than_the_server_pings() -> None:
    stream = code(DEPLOY / "nginx.conf").split("location = /_stcore/stream")[1].split("}")[0]
    assert {name: int(seconds) for name, seconds in re.findall(r"(proxy_\w+_timeout) (\d+)s;", stream)} == {
        "proxy_read_timeout": 3 * PING,
        "proxy_send_timeout": 3 * PING,
    }


def test_the_log_has_paths_without_typed_text() -> None:
    configuration = code(DEPLOY / "nginx.conf")
    logged = re.search(r"log_format paths ([^;]+);", configuration)
    assert logged and "$uri" in logged[1] and "access_log /dev/stdout paths;" in configuration
    assert not re.search(r"\$(request(?![_\w])|request_uri|args|query_string|http_referer|cookie)", logged[1])


# -- what docs/security.md says ---------------------------------------------------------------------------------------


def test_every_named_test_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text(SECURITY))
    assert len(named) > 12
    for file, name in named:
        assert re.search(rf"(?m)^(async )?def {name}\(", text(ROOT / file)), f"{file}::{name}"


def test_the_server_reports_nothing_and_takes_nothing() -> None:
    settings = tomllib.loads(text(app_folder() / "pages" / ".streamlit" / "config.toml"))
    assert settings["browser"] == {"gatherUsageStats": False, "serverAddress": "localhost"}
    server = settings["server"]
    assert server["enableXsrfProtection"] is True and server["maxUploadSize"] == 0
    assert server["enableStaticServing"] is False and "enableCORS" not in server  # on, unless switched off
    assert "enableAgentApi" not in server  # off, unless switched on
    assert settings["client"]["showErrorDetails"] == "type"


def test_hosts_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from streamlit import config
    from streamlit.web.server.starlette.starlette_websocket import is_host_allowed

    monkeypatch.setattr(config, "get_option", {"server.allowedHosts": ["headscope.school.example"]}.get)
    assert is_host_allowed("headscope.school.example:8080") and not is_host_allowed("evil.example:8080")
