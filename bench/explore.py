"""How long a question of the explorer takes, from the page's request to its last line: new, and cached.

A question is a sentence with a blank, alone and with a sentence in front, asked of every seed of a family. Wall time is
what a person waits; CPU time, of server and client together, depends less on what else the machine does. The ratio is
wall time to that of the bare forward passes of the same rows.

    python bench/explore.py [--model nursery] [--rounds 30]
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path

import torch

from trueprobe.explore import Serving, find_models, prepare
from trueprobe.explore.guard import ServerAddress
from trueprobe.models import open_source
from trueprobe.types import FillBlank

NEW_MS, CACHED_MS = 150, 40  # what is promised on an idle machine
PLACES = ("bank", "school", "house", "court", "station", "church", "office", "bridge", "river", "market")


def questions(rounds: int) -> list[dict[str, object]]:
    """Distinct prompts of about the same length."""
    texts = [(PLACES[i % 10], PLACES[i // 10 % 10], i) for i in range(rounds)]
    return [
        {
            "prompts": [
                {"text": f"The ___ in the {a} near the {b} works as a nurse {i}."},
                {
                    "text": f"The ___ in the {a} near the {b} works as a nurse {i}.",
                    "before": f"The man was at the {b}.",
                },
            ],
            "lists": "gender",
        }
        for a, b, i in texts
    ]


def asked(address: ServerAddress, question: dict[str, object]) -> tuple[float, float]:
    """Wall and CPU milliseconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    connection = http.client.HTTPConnection(address.host, address.port, timeout=60)
    headers = {"content-type": "application/json", "x-client": "bench"}
    connection.request("POST", f"/{address.token}/api/ask", json.dumps(question), headers)
    lines = connection.getresponse().read().splitlines()
    connection.close()
    if json.loads(lines[-1]) != {"end": True}:
        raise SystemExit(lines[-1].decode())
    return 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - cpu)


def bare(models, question) -> float:
    """Milliseconds of the networks' forward passes over the two rows, unpadded, one after the other."""
    prompts = question["prompts"]
    rows = []
    for prompt in prompts:
        left, right = prompt["text"].split("___")
        (read,) = models[0].reads(FillBlank(left, right, prompt.get("before")))
        rows.append(torch.tensor([read.row.ids]))
    began = time.perf_counter()
    with torch.inference_mode():
        for model in models:
            for ids in rows:
                model.network.model(ids)
    return 1000 * (time.perf_counter() - began)


def line(name: str, times: list[tuple[float, float]], promised: int, passes: float) -> str:
    wall, cpu = zip(*times, strict=True)
    slow = sorted(wall)[int(0.9 * len(wall))]
    middle = statistics.median(wall)
    return (
        f"{name:8} wall {middle:6.1f} ms (9 in 10 below {slow:.1f}), CPU {statistics.median(cpu):6.1f} ms, "
        f"{middle / passes:.2f} × the bare passes; promised {promised} ms on an idle machine"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="nursery")
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        serving = Serving([options.model], store=Path(folder) / "answers.sqlite")
        selected = find_models(serving)
        models = [open_source(one.source, one.options) for one in selected.checkpoints.values()]
        prepared = prepare(serving, selected)
        thread = threading.Thread(target=prepared.run)
        thread.start()
        first, *each = questions(options.rounds + 1)
        while not prepared.server.started:
            time.sleep(0.01)
        opening, _ = asked(prepared.address, first)
        new = [asked(prepared.address, question) for question in each]
        cached = [asked(prepared.address, question) for question in each]
        passes = statistics.median(bare(models, question) for question in each)
        prepared.server.should_exit = True
        thread.join()
    print(
        f"{options.model}: {len(models)} checkpoints, {options.rounds} questions of two rows; opening {opening:.0f} ms"
    )
    print(line("new", new, NEW_MS, passes))
    print(line("cached", cached, CACHED_MS, passes))


if __name__ == "__main__":
    main()
