"""Several trainings of one setup that differ only in their seed: prepared once, run side by side, resumed."""

from __future__ import annotations

import json
import multiprocessing
import os
import queue
import shutil
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from trueprobe.errors import BadInput, FailedRun
from trueprobe.paths import locked, write_text
from trueprobe.training.examples import Examples, Masks, Special, draw_masks, draw_told, make_pairs, make_runs
from trueprobe.training.networks import config_of
from trueprobe.training.recipe import Order, Setup
from trueprobe.training.trainer import Recipe, Told

_ARRAYS = ("ids", "starts", "second", "follows")


class Show(Protocol):
    """Where the trainings stand."""

    def waiting(self, for_what: str) -> None: ...
    def told(self, told: Told) -> None: ...
    def stop(self) -> None: ...


def pretrain(order: Order, show: Show) -> list[Path]:
    """Train what is not trained yet; the folders of all seeds."""
    order.check()
    cores = os.cpu_count() or 1
    asked = order.setup(cores)
    if order.start_from:
        config_of(order.kind, order.start_from, order.length)
    with locked(order.out, "training"):
        setup = _same_setup(order.out, asked)
        folders = [order.out / f"seed_{seed}" for seed in order.seeds]
        missing = [seed for seed, folder in zip(order.seeds, folders, strict=True) if not is_done(folder)]
        if missing:
            show.waiting("making training examples of the corpus")
            prepare(order, setup)
            write_text(order.out / "setup.json", json.dumps(asdict(setup), indent=1) + "\n")
            show.waiting("starting")
            _side_by_side(order, missing, order.jobs or max(1, cores // setup.threads), show)
            if all(is_done(order.out / name.name) for name in order.out.glob("seed_*")):
                shutil.rmtree(order.out / "data", ignore_errors=True)
    return folders


def is_done(folder: Path) -> bool:
    return (folder / "training.json").exists()


def _same_setup(out: Path, setup: Setup) -> Setup:
    """The setup, with the number of threads a training was begun with; another setup is refused."""
    file = out / "setup.json"
    if not file.exists():
        shutil.rmtree(out / "data", ignore_errors=True)  # of a preparation that did not end
        return setup
    asked, held = json.loads(json.dumps(asdict(setup))), json.loads(file.read_text(encoding="utf-8"))
    flat = [{**said, **said["recipe"]} for said in (held, asked)]
    changed = [key for key in flat[1] if key not in ("recipe", "threads") and flat[0].get(key) != flat[1][key]]
    if changed:
        raise BadInput(f"{out} holds trainings of another setup (other {', '.join(changed)}); name another --out")
    return Setup(**{**asdict(setup), "recipe": setup.recipe, "threads": held["threads"]})


def prepare(order: Order, setup: Setup) -> None:
    """Examples as plain arrays beside the trainings, so that every process maps the same ones."""
    from trueprobe.training import baselines, corpus

    data = order.out / "data"
    if (data / "told.json").exists():
        return
    data.mkdir(parents=True, exist_ok=True)
    documents = corpus.read_documents(order.corpus)
    train, held_out = corpus.split(documents)
    folder = order.start_from or order.tokenizer
    if folder is None:
        tokenizer = corpus.train_tokenizer(order.kind, train, setup.vocab)
    else:
        tokenizer = corpus.given_tokenizer(order.kind, folder)
    special = Special.of(tokenizer, order.kind)
    make = make_pairs if order.kind == "masked" else make_runs
    recipe = setup.recipe
    parts = {}
    for name, texts in (("train", train), ("held_out", held_out)):
        encoded = corpus.encode(tokenizer, texts)
        parts[name] = make(encoded, special, setup.length, setup.short, recipe.data_seed)
        for array in _ARRAYS:
            np.save(data / f"{name}-{array}.npy", getattr(parts[name], array))
    masks = _judging_masks(parts["held_out"], special, recipe)
    tokenizer.model_max_length = setup.length
    tokenizer.save_pretrained(str(data / "tokenizer"))
    counts: dict[str, Any] = {
        "documents": len(train),
        "held_out_documents": len(held_out),
        "tokens_per_pass": len(parts["train"].ids),
    }
    if order.kind == "masked":
        drawn = float(parts["held_out"].follows.mean())
        counts["next_chance"] = max(drawn, 1 - drawn)
    told = counts | baselines.unigram_and_trigram(parts["train"], parts["held_out"], masks, len(tokenizer))
    write_text(data / "told.json", json.dumps(told, indent=1))


def prepared(data: Path, recipe: Recipe) -> tuple[Any, Special, Examples, Examples, Masks]:
    """Tokenizer, its special ids, examples to train on, held-out examples and the masks these are judged with."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(data / "tokenizer"))
    special = Special.of(tokenizer, recipe.kind)
    train, held_out = (
        Examples(*(np.load(data / f"{part}-{name}.npy", mmap_mode="r") for name in _ARRAYS))
        for part in ("train", "held_out")
    )
    return tokenizer, special, train, held_out, _judging_masks(held_out, special, recipe)


def _judging_masks(held_out: Examples, special: Special, recipe: Recipe) -> Masks:
    """Hidden as BERT hides, and all of a causal model's tokens, whatever training does: losses can be compared."""
    if recipe.kind == "causal":
        return draw_told(held_out, 1.0, recipe.data_seed)
    return draw_masks(held_out, special, 0.15, recipe.data_seed)


def _side_by_side(order: Order, seeds: Sequence[int], jobs: int, show: Show) -> None:
    context = multiprocessing.get_context("spawn")
    news: Any = context.Queue()
    waiting, running = list(seeds), dict[int, Any]()
    start_from = str(order.start_from) if order.start_from else None
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                seed = waiting.pop(0)
                arguments = (str(order.out), seed, start_from, order.device, order.save_seconds, news)
                running[seed] = context.Process(target=_train_seed, args=arguments, daemon=True)
                running[seed].start()
            try:
                show.told(news.get(timeout=0.2))
            except queue.Empty:
                for seed, process in list(running.items()):
                    if process.is_alive():
                        continue
                    del running[seed]
                    if not is_done(order.out / f"seed_{seed}"):
                        raise FailedRun(
                            f"the training of seed {seed} ended early (exit code {process.exitcode}); "
                            "what it reached is kept: the same command goes on"
                        ) from None
    finally:
        show.stop()
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.join()


def _end_with_parent() -> None:
    """A training whose parent was killed stops too; else it would write beside the one that goes on."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _train_seed(out: str, seed: int, start_from: str | None, device: str, save_seconds: float, news: Any) -> None:
    """In a process of its own: the number of threads is part of the setup."""
    import signal

    import torch
    from transformers.utils import logging

    from trueprobe.training import cards, networks
    from trueprobe.training.trainer import Training, held_out

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    folder, data = Path(out) / f"seed_{seed}", Path(out) / "data"
    setup = json.loads((Path(out) / "setup.json").read_text(encoding="utf-8"))
    recipe = Recipe(**setup["recipe"])
    torch.set_num_threads(setup["threads"])
    tokenizer, special, train, held, masks = prepared(data, recipe)
    if start_from:
        network = networks.continued(recipe.kind, Path(start_from), setup["length"], recipe.dropout, seed)
    else:
        size = networks.Size.parse(setup["size"])
        network = networks.new_network(recipe.kind, size, tokenizer, setup["length"], recipe.dropout, seed)
    network.config.trained_by = "trueprobe pretrain"
    network.tie_weights()
    if setup["freeze_embeddings"]:
        networks.freeze_embeddings(network)
    network.to(device=("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)

    def save(path: Path) -> None:
        network.save_pretrained(str(path))
        tokenizer.save_pretrained(str(path))

    training = Training(recipe, seed, network, folder, train, special, save_seconds)
    folder.mkdir(parents=True, exist_ok=True)
    training.go(save, lambda: held_out(network, held, masks, special, 4 * recipe.batch_tokens), news.put)
    save(folder)
    told = json.loads((data / "told.json").read_text(encoding="utf-8"))
    cards.write(folder, setup, training, told)
    training.state_file.unlink(missing_ok=True)
    news.close()
    news.join_thread()
