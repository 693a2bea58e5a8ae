"""A family of models that differ only in their seed: prepared once, trained side by side, resumed."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import queue
import shutil
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import compress
from operator import not_
from pathlib import Path
from typing import Any

import numpy as np

from trueprobe.errors import BadInput, FailedRun, reading, reason
from trueprobe.paths import ANOTHER_OUT, locked, write_text
from trueprobe.signals import raise_pending_signal
from trueprobe.training.examples import (
    Examples,
    Masks,
    Special,
    draw_masks,
    draw_targets,
    make_pairs,
    make_runs,
    make_singles,
)
from trueprobe.training.networks import config_of
from trueprobe.training.recipe import PretrainRecipe, Size
from trueprobe.training.trainer import Status
from trueprobe.types import NoProgress, Progress, Task

Documents = list[list[str]]
_ARRAYS = ("ids", "starts", "second", "follows")
_SAFE_PATH = "PYTHONSAFEPATH"
_SETUP, _COUNTS = "setup.json", "corpus.json"
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # glibc's names of two settings of its allocator


def pretrain(
    recipe: PretrainRecipe,
    progress: Progress | None = None,
    measured: Callable[[Status], object] = lambda status: None,
) -> list[Path]:
    """Train what is not trained yet; the folders of all seeds. `measured` gets every held-out measurement."""
    progress = progress or NoProgress()
    cores = os.cpu_count() or 1
    setup = recipe.setup(cores)
    if recipe.start_from:
        config_of(recipe.kind, recipe.start_from, recipe.length)
    with locked(recipe.out, "training", ANOTHER_OUT):
        setup["threads"] = _same_setup(recipe.out, setup)
        folders = {seed: recipe.out / f"seed_{seed}" for seed in recipe.model_seeds}
        missing = [seed for seed, folder in folders.items() if not is_done(folder)]
        if missing:
            with progress.task("making training examples of the corpus"):
                prepare(recipe)
            write_text(recipe.out / _SETUP, json.dumps(setup, indent=1) + "\n")
            _side_by_side(recipe, missing, recipe.jobs or max(1, cores // setup["threads"]), progress, measured)
        if all(map(is_done, recipe.out.glob("seed_*"))):  # also what a kill left of them
            _remove_examples(recipe.out / "data")
    return list(folders.values())


def is_done(folder: Path) -> bool:
    return (folder / "training.json").exists()


def _same_setup(out: Path, setup: dict[str, Any]) -> int:
    """The number of threads the family was begun with; another setup is refused."""
    if not (out / _SETUP).exists():
        _remove_examples(out / "data")  # of a preparation that did not end
        return int(setup["threads"])
    assumed = {"precision": "float32", "single": 0.0}  # not in files of before there was a choice
    with reading(f"{out / _SETUP} is damaged"):
        before = json.loads((out / _SETUP).read_text(encoding="utf-8"))
        threads = int(before["threads"])
        old, new = (assumed | one | one["recipe"] for one in (before, json.loads(json.dumps(setup))))
    changed = [key for key in new if key not in ("recipe", "threads") and old.get(key) != new[key]]
    if changed:
        raise BadInput(f"{out} holds models of a different setup (different {', '.join(changed)}); {ANOTHER_OUT}")
    return threads


def _remove_examples(data: Path) -> None:
    """First the file that says they are whole."""
    (data / _COUNTS).unlink(missing_ok=True)
    shutil.rmtree(data, ignore_errors=True)


def prepare(recipe: PretrainRecipe) -> None:
    """Examples as plain arrays next to the seeds, so that every process maps the same ones."""
    from trueprobe.training import cards, corpus

    data = recipe.out / "data"
    if (data / _COUNTS).exists():
        return
    data.mkdir(parents=True, exist_ok=True)
    train, held_out = corpus.split(recipe.corpus)
    folder = recipe.start_from or recipe.tokenizer
    if folder is None:
        tokenizer = corpus.train_tokenizer(recipe.kind, train, recipe.vocab)
    else:
        tokenizer = corpus.open_tokenizer(recipe.kind, folder)
    special = Special.of(tokenizer, recipe.kind)
    alone, rest = _drawn_alone(train, recipe) if recipe.single else ([], train)
    parts = {
        name: _examples(tokenizer, texts, special, recipe) for name, texts in (("train", rest), ("held_out", held_out))
    }
    if alone:
        parts["train"] += make_singles(corpus.encode(tokenizer, alone), special, recipe.length)
    for name, part in parts.items():
        for array in _ARRAYS:
            np.save(data / f"{name}-{array}.npy", getattr(part, array))
    tokenizer.model_max_length = recipe.length
    tokenizer.save_pretrained(str(data / "tokenizer"))
    counts: dict[str, Any] = {
        "documents": len(train),
        "held_out_documents": len(held_out),
        "tokens_per_pass": len(parts["train"].ids),
    }
    if recipe.kind == "masked":
        drawn = float(parts["held_out"].follows.mean())
        counts["next_chance"] = max(drawn, 1 - drawn)
    masks = _judging_masks(parts["held_out"], special, recipe)
    counts |= cards.unigram_and_trigram(parts["train"], parts["held_out"], masks, len(tokenizer))
    write_text(data / _COUNTS, json.dumps(counts, indent=1))


def _drawn_alone(documents: Documents, recipe: PretrainRecipe) -> tuple[Documents, Documents]:
    """Those whose sentences are read alone, and the rest; a document of one sentence makes no pair."""
    drawn = np.random.default_rng([recipe.data_seed, 4]).random(len(documents)) < recipe.single
    alone = [bool(chosen) or len(document) == 1 for chosen, document in zip(drawn, documents, strict=True)]
    return list(compress(documents, alone)), list(compress(documents, map(not_, alone)))


def _examples(tokenizer: Any, documents: Documents, special: Special, recipe: PretrainRecipe) -> Examples:
    from trueprobe.training import corpus

    make = make_pairs if recipe.kind == "masked" else make_runs
    if recipe.kind == "masked" and all(len(document) == 1 for document in documents):
        raise BadInput(
            "no document of two sentences is left for training, or for the held-out part: "
            "use --single below 1, and add a text with documents of several sentences"
        )
    return make(corpus.encode(tokenizer, documents), special, recipe.length, recipe.short, recipe.data_seed)


def prepared(data: Path, recipe: PretrainRecipe) -> tuple[Any, Special, Examples, Examples, Masks]:
    """Tokenizer, its special ids, examples to train on, held-out examples and the masks these are judged with."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(data / "tokenizer"), local_files_only=True, trust_remote_code=False)
    special = Special.of(tokenizer, recipe.kind)
    train, held_out = (
        Examples(*(np.load(data / f"{part}-{name}.npy", mmap_mode="r") for name in _ARRAYS))
        for part in ("train", "held_out")
    )
    return tokenizer, special, train, held_out, _judging_masks(held_out, special, recipe)


def _judging_masks(held_out: Examples, special: Special, recipe: PretrainRecipe) -> Masks:
    """Hidden as BERT hides, and all of a causal model's tokens, whatever training does: losses can be compared."""
    if recipe.kind == "causal":
        return draw_targets(held_out, 1.0, recipe.data_seed)
    return draw_masks(held_out, special, 0.15, recipe.data_seed)


@contextmanager
def _safe_path() -> Iterator[None]:
    """Python processes that start inside import nothing from the current folder, which may be a stranger's."""
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        del os.environ[_SAFE_PATH]
        if before is not None:
            os.environ[_SAFE_PATH] = before


def _side_by_side(
    recipe: PretrainRecipe, seeds: Sequence[int], jobs: int, progress: Progress, measured: Callable[[Status], object]
) -> None:
    context = multiprocessing.get_context("spawn")
    waiting, running, bars = list(seeds), dict[int, Any](), dict[int, Task]()
    with ExitStack() as stack:
        stack.enter_context(_safe_path())
        news: Any = context.Queue()
        stack.callback(_stop, running)
        while waiting or running:
            raise_pending_signal()
            while waiting and len(running) < jobs:
                seed = waiting.pop(0)
                running[seed] = context.Process(target=_train_seed, args=(recipe, seed, news), daemon=True)
                running[seed].start()
            try:
                status: Status | FailedRun = news.get(timeout=0.2)
            except queue.Empty:
                _drop_ended(running, recipe.out)
                continue
            if isinstance(status, FailedRun):
                raise status
            if status.seed not in bars:
                task = progress.task(f"seed {status.seed}", status.steps, "steps")
                bars[status.seed] = stack.enter_context(task)
            note = f"loss {status.loss:.2f}, {status.tokens_per_second:,.0f} tokens/s"
            bars[status.seed].reach(status.step, note=note)
            if status.held_out:
                measured(status)


def _drop_ended(running: dict[int, Any], out: Path) -> None:
    for seed, process in list(running.items()):
        if process.is_alive():
            continue
        del running[seed]
        if not is_done(out / f"seed_{seed}"):
            raise FailedRun(
                f"the training of seed {seed} ended early (exit code {process.exitcode}); "
                "its state is saved: the same command continues"
            )


def _stop(running: dict[int, Any]) -> None:
    for process in running.values():
        process.terminate()
    for process in running.values():
        process.join()


def _end_with_parent() -> None:
    """A training whose parent was killed stops too; else it would write next to the one that goes on."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _train_seed(recipe: PretrainRecipe, seed: int, news: Any) -> None:
    """In a process of its own: the number of threads is part of the setup."""
    try:
        _train(recipe, seed, news)
    except Exception as error:
        advice = "what it reached is saved: the same command goes on"
        news.put(FailedRun(f"the training of seed {seed} failed: {reason(error)}; {advice}"))
    news.close()
    news.join_thread()


def _train(recipe: PretrainRecipe, seed: int, news: Any) -> None:
    import signal

    import torch
    from transformers.utils import logging

    from trueprobe.training import cards
    from trueprobe.training.trainer import Training, held_out

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    folder, data = recipe.out / f"seed_{seed}", recipe.out / "data"
    setup = json.loads((recipe.out / _SETUP).read_text(encoding="utf-8"))
    torch.set_num_threads(setup["threads"])
    _keep_freed_memory()
    tokenizer, special, train, held, masks = prepared(data, recipe)
    network = _network(recipe, tokenizer, seed)

    def save(path: Path) -> None:
        network.save_pretrained(str(path))
        tokenizer.save_pretrained(str(path))

    training = Training(recipe, seed, network, folder, train, special)
    folder.mkdir(parents=True, exist_ok=True)
    training.go(save, lambda: held_out(network, held, masks, special, 4 * recipe.batch_tokens), news.put)
    save(folder)
    before = cards.tokens_read(recipe.start_from) if recipe.start_from else 0
    cards.write(folder, setup, training, json.loads((data / _COUNTS).read_text(encoding="utf-8")), before)
    training.state_file.unlink(missing_ok=True)


def _keep_freed_memory() -> None:
    """A step's logits are so large that glibc would give their pages back to the system and fetch them again in every
    step, which takes a third of the time. Other systems' allocators have no such settings."""
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        library.mallopt(_MMAP_MAX, 0)
        library.mallopt(_TRIM_THRESHOLD, 2**31 - 1)


def _network(recipe: PretrainRecipe, tokenizer: Any, seed: int) -> Any:
    import torch

    from trueprobe.training import networks

    if recipe.start_from:
        network = networks.continued(recipe.kind, recipe.start_from, recipe.length, recipe.dropout, seed)
    else:
        size = Size.parse(recipe.size)
        network = networks.new_network(recipe.kind, size, tokenizer, recipe.length, recipe.dropout, seed)
    network.config.trained_by = "trueprobe pretrain"
    network.tie_weights()
    if recipe.freeze_embeddings:
        networks.freeze_embeddings(network)
    auto = "cuda" if torch.cuda.is_available() else "cpu"
    return network.to(device=auto if recipe.device == "auto" else recipe.device)
