"""A real llama.cpp server in a process of its own, on loopback: `with serving(file) as server: server.url`."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

_SERVE = """
import sys, time
import xllamacpp as x

p = x.CommonParams()
p.model.path, p.port, p.hostnames = sys.argv[1], int(sys.argv[2]), ["127.0.0.1"]
p.n_parallel, p.n_ctx, p.warmup = 2, 1024, False
p.cache_type_k = p.cache_type_v = x.ggml_type.GGML_TYPE_F32
p.flash_attn_type = x.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = 1
server = x.Server(p)
print("listening", flush=True)
time.sleep(600)
"""


@dataclass
class LlamaServer:
    file: Path
    port: int
    process: subprocess.Popen

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def start(file: Path, port: int | None = None) -> LlamaServer:
    port = port or free_port()
    arguments = [sys.executable, "-c", _SERVE, str(file), str(port)]
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < deadline:
        try:
            urlopen(f"http://127.0.0.1:{port}/health").close()
            return LlamaServer(file, port, process)
        except OSError:  # nothing listens yet, or 503: it loads the model
            time.sleep(0.05)
    process.kill()
    raise AssertionError("llama.cpp's server did not start")


@contextmanager
def serving(file: Path) -> Iterator[LlamaServer]:
    server = start(file)
    try:
        yield server
    finally:
        server.kill()


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return trial.getsockname()[1]
