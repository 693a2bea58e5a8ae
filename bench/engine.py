"""How close the engine comes to the bare network: tokens per second, as a ratio within one run.

The bare pass is the encoder alone over the same rows, grouped by exact length, unpadded, without a head, without
a cache. A bert-base-shaped random network and a probe's rows; timings alternate, the median counts.

    python bench/engine.py [--probe counteracts] [--items 2680] [--rounds 3] [--causal]

`--split`: where the CPU seconds of a whole run go, on one thread, so that a busy machine disturbs them little.
"""

from __future__ import annotations

import argparse
import functools
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

import trueprobe
from trueprobe.engine import AnswerStore, Engine
from trueprobe.models import open_model
from trueprobe.probes import make, spread
from trueprobe.runs.records import ObservationFiles
from trueprobe.runs.tables import RunTables
from trueprobe.types import WhyNot


def build(folder: Path, causal: bool, probe: str) -> None:
    """A checkpoint of bert-base's (gpt2's) shape and vocabulary size, random weights, whole-word tokenizer."""
    size = 50257 if causal else 30522
    asked = make(probe)
    lists = getattr(asked, "candidates", {}).values()
    text = " ".join([*(item.text for item in asked.items()), *(word for words in lists for word in words.words)])
    words = sorted({word.strip(".,").lower() for word in text.split()} | {"target", ".", "is"})
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {word: i for i, word in enumerate([*specials, *words, *(f"filler{i}" for i in range(size))][:size])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if not causal:
        tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    names |= {"bos_token": "[CLS]"} if causal else {}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    torch.manual_seed(0)
    model = GPT2LMHeadModel(GPT2Config()) if causal else BertForMaskedLM(BertConfig())
    model.save_pretrained(folder)


def bare_seconds(encoder, rows) -> float:
    """The encoder over the same tokens and nothing else."""
    by_length: dict[int, list] = {}
    for row in rows:
        by_length.setdefault(len(row.ids), []).append(row.ids)
    began = time.perf_counter()
    with torch.inference_mode():
        for length, ids in by_length.items():
            at_once = max(1, 1024 // length)
            for start in range(0, len(ids), at_once):
                encoder(torch.tensor(ids[start : start + at_once]))
    return time.perf_counter() - began


def engine_seconds(model, requests, whole_layer=False) -> tuple[float, Engine]:
    """`whole_layer`: the last layer at all positions, as it is computed for hidden states."""
    short = model.network.last_layer
    model.network.last_layer = None if whole_layer else short
    engine = Engine(model, AnswerStore(":memory:"))
    began = time.perf_counter()
    engine.answer(requests)
    seconds = time.perf_counter() - began
    model.network.last_layer = short
    return seconds, engine


class Stages:
    """CPU seconds of functions, without those of the timed functions that they call."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._inner = [0.0]

    def time(self, owner: type, name: str, stage: str) -> None:
        setattr(owner, name, self._timed(getattr(owner, name), stage))

    def _timed(self, function: Callable, stage: str) -> Callable:
        @functools.wraps(function)
        def timed(*args, **options):
            began = time.thread_time()
            self._inner.append(0.0)
            try:
                return function(*args, **options)
            finally:
                whole, inner = time.thread_time() - began, self._inner.pop()
                self.seconds[stage] += whole - inner
                self._inner[-1] += whole

        return timed


def split(folder: Path, name: str, items: int) -> None:
    """A run from texts to tables, with an empty store on disk."""
    torch.set_num_threads(1)
    stages, model = Stages(), open_model(str(folder / "model"))
    for stage, method in (("tokenise", "reads"), ("forward", "forward"), ("assemble", "assemble")):
        stages.time(type(model), method, stage)
    for method in ("has", "get", "put"):
        stages.time(AnswerStore, method, "store")
    stages.time(type(make(name)), "observe", "observe")
    stages.time(ObservationFiles, "add", "write observations")
    for method in ("add", "write"):
        stages.time(RunTables, method, "count")
    began = time.thread_time()
    trueprobe.run(name, [str(folder / "model")], folder / "run", limit=items, store=folder / "store")
    whole = time.thread_time() - began
    stages.seconds["other"] = whole - sum(stages.seconds.values())
    shares = (f"{stage} {seconds / whole:.1%}" for stage, seconds in stages.seconds.most_common())
    print(f"{name}: {whole:.1f} CPU s; {', '.join(shares)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--probe", default="counteracts")
    parser.add_argument("--items", type=int, default=2680)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--split", action="store_true")
    options = parser.parse_args()
    if options.split:
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder) / "model", options.causal, options.probe)
            split(Path(folder), options.probe, options.items)
        return
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), options.causal, options.probe)
        model = open_model(folder)
    probe = make(options.probe)
    asks = [probe.ask(item, model.card) for item in spread(probe.items(), options.items)]
    requests = [request for ask in asks if not isinstance(ask, WhyNot) for request in ask]
    rows = {read.row for request in requests for read in model.reads(request)}
    tokens = sum(len(row.ids) for row in rows)
    assert model.network.readout.linear
    bare, ours, whole = [], [], []
    for _ in range(options.rounds):
        bare.append(bare_seconds(model.network.model.base_model, rows))
        seconds, engine = engine_seconds(model, requests)
        ours.append(seconds)
        whole.append(engine_seconds(model, requests, whole_layer=True)[0])
    planned = engine.counts.planned["tokens_planned"]
    print(
        f"{len(requests):,} requests, {len(rows):,} distinct rows, {tokens:,} tokens, {planned:,} with shared prefixes"
    )
    print(f"bare encoder  {tokens / statistics.median(bare):8,.0f} tokens/s")
    print(f"engine        {tokens / statistics.median(ours):8,.0f} tokens/s, answers included")
    print(f"ratio         {statistics.median(b / e for b, e in zip(bare, ours, strict=True)):8.2f}")
    saved = statistics.median(w / e for w, e in zip(whole, ours, strict=True))
    print(f"whole layer   {saved:8.2f} times the engine's time, where the last layer is computed at all positions")


if __name__ == "__main__":
    main()
