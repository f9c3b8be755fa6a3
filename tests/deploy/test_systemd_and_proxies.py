"""The files of deploy/ that stand around the service: the units of systemd, and what two proxies pass on."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import shutil
import socket
import subprocess
import time
from itertools import product

import pytest
from django.conf import settings

from tests.fakes.http_server import FakeHttpServer, answer
from tests.live import ROOT, free_port, wait_until
from tests.servers import caddy, nginx
from tests.servers.caddy import Caddy
from tests.servers.nginx import Nginx
from verification.api.serializers.errors import problem_address
from verification.core.error_codes import CATALOGUE
from verification.worker.liveness import BEAT_SECONDS

UNITS = sorted((ROOT / "deploy" / "systemd").glob("*.service"))
WORST_EXPOSURE = 29  # tenths: 100 is a process that may do everything
TOOL = shutil.which("systemd-analyze")


def can_judge_files():
    return TOOL and "--offline" in subprocess.run([TOOL, "--help"], capture_output=True, text=True).stdout


@pytest.mark.skipif(not can_judge_files(), reason="systemd 250 or later is not installed.")
def test_systemd_finds_little_that_a_process_of_the_service_may_do():
    assert len(UNITS) == 4
    judge = [TOOL, "security", "--offline=yes", "--no-pager", f"--threshold={WORST_EXPOSURE}"]
    judged = subprocess.run([*judge, *UNITS], capture_output=True, text=True)
    assert judged.returncode == 0, judged.stdout[-500:]
    assert judged.stdout.count("Overall exposure level") == len(UNITS)
    assert "Unknown" not in judged.stderr  # settings that systemd would ignore


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_a_unit_starts_a_command_that_there_is(unit):
    starts = re.findall(
        r"(?m)^ExecStart=/(?:opt/watchword/bin/watchword |usr/local/bin/watchword-)([a-z]+)\b", unit.read_text()
    )
    (command,) = starts
    commands = ROOT / "verification" / "management" / "commands"
    assert (commands / f"{command}.py").exists() or (ROOT / "deploy" / command).exists()


@pytest.mark.skipif(not TOOL, reason="systemd is not installed.")
def test_systemd_reads_the_units_and_the_timer(tmp_path):
    """It looks for the programs too, which are a copy's here."""
    for unit in (ROOT / "deploy" / "systemd").iterdir():
        text = re.sub(r"(?m)^(Exec\w+=)/(opt/watchword|usr/local)/bin/\S+", r"\1/bin/true", unit.read_text())
        (tmp_path / unit.name).write_text(text)
    checked = subprocess.run([TOOL, "verify", *tmp_path.iterdir()], capture_output=True, text=True)
    assert [line for line in checked.stderr.splitlines() if "watchword-" in line] == []


def test_a_reload_tries_the_new_code_and_then_tells_gunicorn():
    unit = (ROOT / "deploy" / "systemd" / "watchword-web.service").read_text()
    reload = re.findall(r"(?m)^ExecReload=(.+)$", unit)
    assert reload == ["/opt/watchword/bin/watchword check", "/bin/kill -HUP $MAINPID"]


def test_the_units_together_leave_memory_to_the_database_beside_them():
    shares = {unit.stem: int(re.findall(r"(?m)^MemoryMax=(\d+)%$", unit.read_text())[0]) for unit in UNITS}
    assert sum(shares.values()) <= 80


def test_systemd_watches_over_every_worker_and_no_core_is_written_of_one_that_hangs():
    for name in ("worker", "connections"):
        unit = (ROOT / "deploy" / "systemd" / f"watchword-{name}.service").read_text()
        (seconds,) = re.findall(r"(?m)^WatchdogSec=(\d+)$", unit)
        assert int(seconds) > 5 * BEAT_SECONDS and "\nWatchdogSignal=SIGTERM\n" in unit


@pytest.mark.skipif(not (nginx.PROGRAM and nginx.has_ipv6()), reason="There is no nginx, or no IPv6.")
def test_nginx_is_reached_over_ipv6_too(node):
    with Nginx([node.port]) as running:
        wait_until(lambda: socket.socket(socket.AF_INET6).connect_ex(("::1", running.port)) == 0, "it listens")
        connection = http.client.HTTPConnection("::1", running.port, timeout=30)
        connection.request("GET", "/livez")
        assert connection.getresponse().status == 200
        assert node.requests[-1].headers["x-forwarded-for"] == "::1"


def test_the_guide_names_files_and_commands_that_there_are():
    guide = (ROOT / "docs" / "install.md").read_text()
    files = set(re.findall(r"\b(?:deploy|requirements)/[\w./-]*\w", guide))
    assert {"deploy/caddy/Caddyfile", "deploy/helm/watchword", "requirements/production.txt"} <= files
    assert [file for file in files if not (ROOT / file).exists()] == []
    commands = set(re.findall(r"(?m)^watchword ([a-z]+)", guide)) - {"check", "createsuperuser"}  # Django's own
    assert commands == {"migrate", "createproject", "addprovider", "doctor"}
    for command in commands:
        assert (ROOT / "verification" / "management" / "commands" / f"{command}.py").exists()


@pytest.fixture(scope="module")
def node():
    with FakeHttpServer() as server:
        yield server


@pytest.fixture(
    scope="module",
    params=[
        pytest.param("nginx", marks=pytest.mark.skipif(not nginx.PROGRAM, reason="nginx is not installed.")),
        pytest.param("caddy", marks=pytest.mark.skipif(not caddy.PROGRAM, reason="Caddy is not installed.")),
    ],
)
def proxy(request, node):
    with Nginx([node.port]) if request.param == "nginx" else Caddy([node.port]) as running:
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", running.port)) == 0, "the proxy listens")
        yield running


def ask(proxy, path, *, method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=30)
    connection.request(method, path, body, headers)
    return connection.getresponse().status


@pytest.mark.parametrize(
    "path", ["/metrics", "/metrics/", "/readyz", "/readyz/?x=1", "//metrics", "/x/../readyz", "/%6detrics"]
)
def test_the_world_gets_neither_metrics_nor_what_is_degraded(proxy, node, path):
    assert ask(proxy, path, Authorization="Bearer known") == 404
    assert [each.target for each in node.requests if re.search("etrics|readyz", each.target)] == []


def test_the_caller_is_who_the_proxy_says(proxy, node):
    headers = {"X-Forwarded-For": "10.9.8.7", "Host": "codes.example.com"}
    assert ask(proxy, "/livez", **headers) == 200
    seen = node.requests[-1].headers
    assert (seen["x-forwarded-for"], seen["x-forwarded-proto"], seen["host"]) == (
        "127.0.0.1",
        "http",
        "codes.example.com",
    )


def test_the_proxy_tells_when_it_passed_a_request_on_whatever_the_caller_says(proxy, node):
    before = time.time()
    assert ask(proxy, "/livez", **{"X-Request-Start": "t=1", "Host": "codes.example.com"}) == 200
    told = float(node.requests[-1].headers["x-request-start"].removeprefix("t="))
    assert before - 1 <= (told / 1000 if told > 1e11 else told) <= time.time() + 1  # nginx's clock is a coarse one


def test_the_largest_bundle_of_reports_passes(proxy, node):
    large = b"x" * 3_000_000
    assert ask(proxy, "/hooks/1/secret", method="POST", body=large) == 200
    assert node.requests[-1].body == large


def test_no_body_is_passed_on_beyond_what_the_service_reads(proxy, node):
    with contextlib.suppress(OSError):  # nginx hangs up on what it will not take; Caddy 2.6.2 cuts it off
        ask(proxy, "/hooks/1/secret", method="POST", body=b"x" * 5_000_000)
    assert all(len(each.body) <= settings.HOOK_MAX_BYTES for each in node.requests)


@pytest.fixture(params=["nginx", "caddy"])
def proxy_alone(request):
    """A proxy behind which nobody listens, as while the service starts anew."""
    module, kind = (nginx, Nginx) if request.param == "nginx" else (caddy, Caddy)
    if not module.PROGRAM:
        pytest.skip(f"{request.param} is not installed.")
    with kind([free_port()]) as running:
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", running.port)) == 0, "the proxy listens")
        yield running


@pytest.mark.requirement(97)
def test_no_secret_is_in_the_proxys_error_log_while_the_service_is_away(proxy_alone):
    """Each restart of a single node meets some requests."""
    headers = {"x-api-key": "secret-key", "referer": "https://codes.example.com/admin/invitation/secret/"}
    asked = [
        ask(proxy_alone, "/hooks/11111111-2222/secret", method="POST", body=b"{}"),
        ask(proxy_alone, "/admin/invitation/secret/?email=secret@example.com"),
        ask(proxy_alone, "/admin/verification/session/find/?q=secret@example.com"),
        ask(proxy_alone, "/session/settings", **headers),
    ]
    assert set(asked) <= {502, 503}
    proxy_alone.stop()
    assert "secret" not in proxy_alone.errors()


ONLY_NGINX = pytest.mark.parametrize(
    "proxy",
    [pytest.param("nginx", marks=pytest.mark.skipif(not nginx.PROGRAM, reason="nginx is not installed."))],
    indirect=True,
)


@ONLY_NGINX  # before Caddy the service itself refuses a body that is too large
def test_no_secret_is_in_the_proxys_error_log_of_a_body_that_is_too_large(proxy):
    paths = ("/hooks/11111111-2222/secret", "/admin/invitation/secret/?email=secret@example.com")
    for path, port in product(paths, (proxy.port, proxy.plain_port)):
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n".encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            assert answer.status == 413
    assert "secret" not in proxy.errors()


@ONLY_NGINX  # Caddy writes no such log
def test_no_secret_that_an_address_holds_is_in_the_proxys_log(proxy):
    paths = ["/hooks/1/secret", "/admin/invitation/secret/", "/%61dmin//invitation/secret", "/admin/?next=secret"]
    assert {ask(proxy, path) for path in paths} == {200}
    wait_until(lambda: '"GET /admin/" 200' in proxy.log(), "the proxy writes its log")
    assert "secret" not in proxy.log()


@pytest.fixture(
    params=[
        pytest.param("nginx", marks=pytest.mark.skipif(not nginx.PROGRAM, reason="nginx is not installed.")),
        pytest.param("caddy", marks=pytest.mark.skipif(not caddy.PROGRAM, reason="Caddy is not installed.")),
    ],
)
def proxy_of_nobody(request):
    port = free_port()
    with Nginx([port]) if request.param == "nginx" else Caddy([port]) as running:
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", running.port)) == 0, "the proxy listens")
        yield running


@pytest.mark.parametrize(("method", "path"), [("POST", "/session/create"), ("GET", "/session/settings")])
def test_while_no_node_answers_callers_read_a_problem_that_says_when_to_come_back(proxy_of_nobody, method, path):
    connection = http.client.HTTPConnection("127.0.0.1", proxy_of_nobody.port, timeout=30)
    connection.request(method, path, b"{}", {"Host": "codes.example.com"})
    response = connection.getresponse()
    assert response.status == 503
    assert (response.headers["Content-Type"], response.headers["Retry-After"]) == ("application/problem+json", "1")
    problem = json.loads(response.read())
    assert (problem["code"], problem["status"], problem["retry_after"]) == ("service_unavailable", 503, 1)
    assert problem["title"] == CATALOGUE["service_unavailable"].title
    assert problem["type"] == problem_address("", "service_unavailable")


def test_what_a_node_answers_is_passed_on(proxy, node):
    node.script(answer(503, b"its own words"))
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=30)
    connection.request("GET", "/livez")
    response = connection.getresponse()
    assert (response.status, response.read()) == (503, b"its own words")
