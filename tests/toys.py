"""A toy asset of three sentence pairs, the sources of its card, and a place to serve it from."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HEADER = ["", "sent_more", "sent_less", "stereo_antistereo", "bias_type"]
ROWS = [[str(n), f'She said "{n}",\nthen left.', f"He said {n}.", "stereo", "gender"] for n in range(3)]
# worked out without the code under test: the rows as compact JSON
CONTENT = hashlib.sha256(json.dumps([HEADER, *ROWS], separators=(",", ":")).encode()).hexdigest()


def table(line_end: str = "\n", rows: list[list[str]] = ROWS) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([HEADER, *rows])
    return out.getvalue().replace("\n", line_end).encode()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass
class Site:
    """A web server on this machine. `pages` maps a path to its bytes; `stall_after` sends so much and then waits."""

    pages: dict[str, bytes] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    stall_after: int | None = None
    break_after: int | None = None
    address: str = ""

    def serve(self) -> ThreadingHTTPServer:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self.answer(send=False)

            def do_GET(self) -> None:
                site.asked.append(self.path)
                self.answer(send=True)

            def answer(self, send: bool) -> None:
                page = site.pages.get(self.path)
                self.send_response(404 if page is None else 200)
                for name, value in site.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/octet-stream")
                self.send_header("Content-Length", str(len(page or b"")))
                self.end_headers()
                if send and page:
                    self.body(page)

            def body(self, page: bytes) -> None:
                if site.break_after is not None:
                    self.wfile.write(page[: site.break_after])
                    return
                cut = len(page) if site.stall_after is None else site.stall_after
                self.wfile.write(page[:cut])
                self.wfile.flush()
                while site.stall_after is not None:
                    time.sleep(0.01)
                self.wfile.write(page[cut:])

            def log_message(self, *_: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.address = f"http://127.0.0.1:{server.server_port}/"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server


def at_address(address: str, content: bytes | None = None, at: str = "toy.csv") -> str:
    pin = f'sha256 = "{sha256(table() if content is None else content)}"'
    return f'[[sources]]\nvia = "address"\nat = "{address}"\nfiles = [{{ name = "toy.csv", at = "{at}", {pin} }}]\n'


def on_index(package: str, archive: Path, member: str, content: bytes) -> str:
    packed = archive.read_bytes()
    return (
        f'[[sources]]\nvia = "index"\nat = "{package}"\n'
        f'archive = {{ name = "{archive.name}", bytes = {len(packed)}, sha256 = "{sha256(packed)}" }}\n'
        f'files = [{{ name = "toy.csv", at = "{member}", sha256 = "{sha256(content)}" }}]\n'
    )


def on_hub(revision: str, content: bytes) -> str:
    return (
        f'[[sources]]\nvia = "hub"\nat = "org/toy"\nrevision = "{revision}"\n'
        f'files = [{{ name = "toy.csv", at = "data/toy.csv", sha256 = "{sha256(content)}" }}]\n'
    )


def left_in(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir()) if home.exists() else []


DRIVER = (
    "import sys; from pathlib import Path; from trueprobe.assets import catalogue; "
    "catalogue.CARDS = Path(sys.argv.pop(1)); from trueprobe.cli import main; main()"
)


def wait_until(condition, seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
