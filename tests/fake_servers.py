"""Made-up servers with a real small network behind them: they speak as vLLM, llama.cpp and others do, and can lie.

Numbers come from transformers' own forward pass, not from trueprobe's. `fail` answers in place of the server, `lie`
changes what it answers, `wire` gives the bytes that are sent in place of a reply.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch
import transformers

Failure = tuple[int, dict[str, str], Any]  # status, headers, body


@dataclass
class Fake:
    """`kind` is vllm, llamacpp or other."""

    kind: str
    folder: str
    model: str = "small"
    version: str = "1.0"
    top: int = 20  # how many tokens an `other` server lists at most
    max_logprobs: int = -1
    by_text: bool = False  # lists tokens in a mapping, where those of equal text are one
    fail: Callable[[str, int], Failure | None] = lambda path, call: None
    lie: Callable[[str, Any], Any] = lambda path, reply: reply
    seconds: float = 0.0  # that every answer takes
    wire: Callable[[str, int], Callable[[Any], Iterator[bytes | float]] | None] = lambda path, call: None  # see below
    port: int = 0
    calls: list[tuple[str, dict]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    busiest: int = 0  # calls under way at once
    _busy: int = 0

    def __post_init__(self) -> None:
        self.network = transformers.AutoModelForCausalLM.from_pretrained(self.folder).eval()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder)
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def spec(self, options: str = "") -> str:
        return f"served:{self.url}#{self.model}?tokenizer={self.folder}{options}"

    @property
    def asked(self) -> int:
        """How many prompts."""
        return sum("prompt" in body and "tokenize" not in path for path, body in self.calls)

    # ------------------------------------------------------------ the network

    def logps(self, ids: list[int]) -> torch.Tensor:
        """[positions, vocabulary]"""
        with torch.inference_mode():
            return torch.log_softmax(self.network(torch.tensor([ids])).logits[0].double(), -1)

    def text(self, piece: int) -> str:
        return self.tokenizer.decode([piece])

    # ------------------------------------------------------------ what they speak

    def answer(self, path: str, body: dict) -> Any:
        if path == "/v1/models":
            return {"data": [self._model()]}
        if path == "/version" and self.kind == "vllm":
            return {"version": self.version}
        if path == "/props" and self.kind == "llamacpp":
            settings = {"n_ctx": 512}
            return {"total_slots": 2, "build_info": self.version, "default_generation_settings": settings}
        if path == "/tokenize" and self.kind != "other":
            text = body.get("content", body.get("prompt"))
            return {"tokens": self.tokenizer(text, add_special_tokens=False)["input_ids"]}
        if path == "/completion" and self.kind == "llamacpp":
            return self._llama(body)
        if path == "/v1/completions":
            return self._vllm(body) if self.kind == "vllm" else self._other(body)
        return None

    def _model(self) -> dict:
        vocabulary = self.network.config.vocab_size
        more = {
            "vllm": {"owned_by": "vllm", "max_model_len": 512},
            "llamacpp": {"owned_by": "llamacpp", "meta": {"n_vocab": vocabulary, "n_params": 1000, "size": 4000}},
            "other": {"owned_by": "somebody", "max_model_len": 512},
        }
        return {"id": self.model, **more[self.kind]}

    def _llama(self, body: dict) -> dict:
        best = self.logps(body["prompt"])[-1].sort(descending=True)
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        entries = [{"id": piece, "token": "?", "logprob": logp} for piece, logp in pairs][: body["n_probs"]]
        return {"completion_probabilities": [{"top_logprobs": entries}], "tokens_evaluated": len(body["prompt"])}

    def _vllm(self, body: dict) -> dict | Failure:
        ids, vocabulary = body["prompt"], self.network.config.vocab_size
        wanted = vocabulary if body.get("logprobs") == -1 else body.get("logprobs") or 0
        if 0 <= self.max_logprobs < wanted:
            message = f"Requested sample logprobs of {wanted}, which is greater than max allowed: {self.max_logprobs}"
            return 400, {}, {"error": {"message": message}}
        logps = self.logps(ids)
        best = logps[-1].topk(wanted)
        listed = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        choice: dict[str, Any] = {"logprobs": {"top_logprobs": [{f"token_id:{p}": v for p, v in listed}]}}
        if "prompt_logprobs" in body:
            choice["prompt_logprobs"] = [None] + [_ranked(logps[at], ids[at + 1]) for at in range(len(ids) - 1)]
        return {"choices": [choice], "usage": {"prompt_tokens": len(ids)}, "system_fingerprint": "vllm-1"}

    def _other(self, body: dict) -> dict:
        ids = body["prompt"]
        logps = self.logps(ids)
        best = logps[-1].topk(min(self.top, body["logprobs"]))
        listed = [(self.text(p), v) for p, v in zip(best.indices.tolist(), best.values.tolist(), strict=True)]
        in_order = [{"top_logprobs": [{"token": text, "logprob": logp} for text, logp in listed]}]
        logprobs: dict[str, Any] = {"top_logprobs": [dict(listed)]} if self.by_text else {"content": in_order}
        if body.get("echo"):
            scores = [None] + [float(logps[at, ids[at + 1]]) for at in range(len(ids) - 1)]
            logprobs = {"tokens": [self.text(piece) for piece in ids], "token_logprobs": scores, "top_logprobs": []}
        return {"choices": [{"logprobs": logprobs}], "usage": {"prompt_tokens": len(ids)}}

    # ------------------------------------------------------------ HTTP

    def reply(self, path: str, body: dict, headers: dict[str, str]) -> Failure:
        with self.lock:
            self.calls.append((path, body))
            self.headers.append(headers)
            call = self.asked
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
        try:
            time.sleep(self.seconds)
            answer = self.fail(path, call) or self.answer(path, body)
        finally:
            with self.lock:
                self._busy -= 1
        if isinstance(answer, tuple):
            return answer
        return (
            (404, {}, {"error": {"message": "no such page"}}) if answer is None else (200, {}, self.lie(path, answer))
        )


def _ranked(logps: torch.Tensor, piece: int) -> dict:
    rank = int((logps > logps[piece]).sum()) + 1
    return {str(piece): {"logprob": float(logps[piece]), "rank": rank, "decoded_token": "?"}}


@contextmanager
def listening(fake: Fake) -> Iterator[Fake]:
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: dict) -> None:
            status, headers, content = fake.reply(self.path, body, dict(self.headers))
            if send := fake.wire(self.path, fake.asked):
                return self._send_raw(send(content))
            if status == 0:  # the connection is lost
                self.close_connection = True
                return
            text = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(text)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def _send_raw(self, parts: Iterator[bytes | float]) -> None:
            """Bytes to send and seconds to wait; a negative time resets the connection."""
            self.close_connection = True
            for part in parts:
                if isinstance(part, bytes):
                    self.wfile.write(part)
                elif part < 0:
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return
                elif ended.wait(part):
                    return

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            pass

    server = Quiet(("127.0.0.1", fake.port), Handler)
    fake.port = server.server_address[1]
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
