"""Who is let in: the page itself, with the token. All else is refused, and no file of the machine is reachable."""

from __future__ import annotations

import json
import re
import socket
from contextlib import ExitStack, suppress
from importlib import resources

import pytest

from trueprobe.explore import guard
from trueprobe.explore.guard import MOST_BYTES, ServerAddress
from trueprobe.explore.serving import AT_ONCE

ASKED = {"prompts": [{"text": "The ___ works as a nurse."}], "lists": "gender"}
BODY = json.dumps(ASKED).encode()
POST = "POST /{token}/api/ask HTTP/1.1\nHost: 127.0.0.1:{port}\nContent-Type: application/json\n"


def test_the_page_and_its_files_are_there_with_a_strict_policy(explorer):
    for name, kind in (("", "text/html"), ("main.js", "text/javascript"), ("report.css", "text/css")):
        status, headers, content = explorer.send("GET", f"/{name}")
        assert (status, headers["content-type"].split(";")[0]) == (200, kind)
        assert content
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert headers["referrer-policy"] == "no-referrer"  # the address holds the token
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


@pytest.mark.parametrize("token", ["", "wrong", "x" * 32, "..", "%00"])
def test_without_the_token_nothing_is_answered(token, explorer):
    for path in ("/", "/api/start", "/main.js"):
        assert explorer.send("GET", path, token=token)[0] == 403
    assert explorer.send("POST", "/api/ask", BODY, token=token)[0] == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:{port}.evil.example",
        "0.0.0.0:{port}",
        "",
        "localhost:{port}:{port}",
        "192.168.1.7:{port}",
        "127.0.0.1:" + "9" * 5000,
    ],
)
def test_another_host_is_refused_though_it_knows_the_token(host, explorer):
    """DNS rebinding: the browser resolves a foreign name to this machine, and sends that name."""
    host = host.format(port=explorer.address.port)
    assert explorer.send("GET", "/api/start", host=host)[0] == 421
    assert explorer.send("POST", "/api/ask", BODY, host=host)[0] == 421


def test_its_own_names_are_answered(explorer):
    for name in ("127.0.0.1", "localhost", "LOCALHOST", "[::1]"):
        assert explorer.send("GET", "/api/start", host=f"{name}:{explorer.address.port}")[0] == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        "https://127.0.0.1:{port}",
        "http://localhost:{port}",
        "http://127.0.0.1:{port}.evil.example",
        "",
    ],
)
def test_a_post_of_another_origin_is_refused(origin, explorer):
    origin = origin.format(port=explorer.address.port)
    assert explorer.send("POST", "/api/ask", BODY, origin=origin)[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_request_that_another_site_made_is_refused(site, explorer):
    assert explorer.send("POST", "/api/ask", BODY, sec_fetch_site=site)[0] == 403
    assert explorer.send("GET", "/api/start", sec_fetch_site=site)[0] == 403


def test_the_page_itself_may_ask(explorer):
    own = f"http://127.0.0.1:{explorer.address.port}"
    assert explorer.send("POST", "/api/ask", BODY, origin=own, sec_fetch_site="same-origin")[0] == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", None])
def test_what_a_form_can_send_is_refused(kind, explorer):
    assert explorer.send("POST", "/api/ask", BODY, content_type=kind)[0] == 415


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(method, explorer):
    assert explorer.send(method, "/api/ask")[0] == 405


def raw(explorer, head: str, body: bytes = b"") -> bytes:
    """As bytes on the wire; the server may close before it has read all."""
    with socket.create_connection(("127.0.0.1", explorer.address.port), timeout=30) as connection:
        connection.sendall(
            head.format(token=explorer.address.token, port=explorer.address.port).replace("\n", "\r\n").encode()
        )
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(body)
        answer = b""
        with suppress(ConnectionResetError):
            while b"\r\n\r\n" not in answer and (more := connection.recv(4096)):
                answer += more
    return answer


def test_ten_megabytes_are_refused_before_they_are_read(explorer):
    head = f"{POST}Content-Length: 10000000\n\n"
    assert raw(explorer, head).startswith(b"HTTP/1.1 413")  # nothing of the body was sent


def test_a_body_of_unknown_length_is_read_up_to_the_limit_only(explorer):
    head = f"{POST}Transfer-Encoding: chunked\n\n"
    chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
    assert raw(explorer, head, chunk * 640).startswith(b"HTTP/1.1 413")
    assert 0x4000 * 640 > 10_000_000 > MOST_BYTES


def test_a_wrong_length_is_refused(explorer):
    for length in ("-1", "9" * 40, "abc"):
        head = f"{POST}Content-Length: {length}\n\n"
        assert re.match(rb"HTTP/1.1 4(00|13)", raw(explorer, head))


@pytest.mark.parametrize("part", ["", "GET /", POST, f"{POST}Content-Length: 100\n\n{{{{"])
def test_a_request_that_does_not_end_is_closed(part, explorer, monkeypatch, capfd):
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.2)
    assert raw(explorer, part) == b""
    assert explorer.send("GET", "/")[0] == 200
    assert "Traceback" not in capfd.readouterr().err


def test_the_next_request_of_a_connection_has_a_time_limit_too(explorer, monkeypatch):
    monkeypatch.setattr(guard, "REQUEST_SECONDS", 0.2)
    port, token = explorer.address.port, explorer.address.token
    head = f"GET /{token}/main.js HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\nGET /half"
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head.encode())
        answer = b""
        while more := connection.recv(65536):
            answer += more
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.count(b"HTTP/1.1") == 1


def test_half_sent_requests_keep_nobody_out(explorer):
    """Those of one client are closed, the oldest first, once there are more than a few."""
    place = ("127.0.0.1", explorer.address.port)
    with ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(place, timeout=30)) for _ in range(3 * AT_ONCE)]
        for connection in held:
            with suppress(BrokenPipeError, ConnectionResetError):
                connection.sendall(b"GET / HTTP/1.1\r\n")
        assert explorer.send("GET", "/api/start")[0] == 200
        with suppress(ConnectionResetError):
            assert held[0].recv(1) == b""  # closed, and not with an answer


TRAVERSAL = (
    "../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e/%2e%2e/etc/passwd",
    "....//etc/passwd",
    "/etc/passwd",
    "..\\..\\etc\\passwd",
    "static/main.js",
    "server.py",
    "../server.py",
    "main.js/..",
    "main.js%00.html",
    "__init__.py",
    "api/../server.py",
    "file:///etc/passwd",
    "%2fetc%2fpasswd",
)


@pytest.mark.parametrize("path", TRAVERSAL)
def test_no_file_but_those_of_the_page_is_reachable(path, explorer):
    head = f"GET /{{token}}/{path} HTTP/1.1\nHost: 127.0.0.1:{{port}}\nConnection: close\n\n"
    answer = raw(explorer, head)
    assert re.match(rb"HTTP/1.1 (404|403|400)", answer), answer[:80]


def test_a_page_served_to_all_interfaces_takes_addresses_and_no_foreign_names():
    address = ServerAddress("0.0.0.0", 80, "token")
    assert address.admits_host("192.168.1.7:80")
    assert address.admits_host("192.168.1.7")
    assert not address.admits_host("evil.example:80")
    named = ServerAddress("lab.example", 8000, "token")
    assert named.admits_host("lab.example:8000")
    assert not named.admits_host("evil.example:8000")
    assert not named.admits_host("192.168.1.7:8000")
    assert named.url == "http://lab.example:8000/token/"
    assert ServerAddress("::1", 8000, "token").url == "http://[::1]:8000/token/"


def test_the_files_of_the_page_ask_nobody_else_and_parse_no_html():
    folder = resources.files("trueprobe.explore") / "static"
    for file in folder.iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text, file.name
        assert "https:" not in text, file.name
        assert "//cdn" not in text, file.name
        for unsafe in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "DOMParser",
            "srcdoc",
        ):
            assert unsafe not in text, (file.name, unsafe)
        assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=\"|style=\"", text), file.name
