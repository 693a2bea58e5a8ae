"""What every command is put through, as a table: how it is started, and what it leaves when nothing goes wrong."""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import made_runs
import processes
import toy_association
import trueprobe
import zoo
from old_stores import old_store
from processes import Surroundings
from trueprobe.engine import AnswerStore

ROWS = [[str(n), "She said so. " * 50, "He said so. " * 50, "stereo", "gender"] for n in range(2000)]
TEXT = "".join(f"the nurse met man {n}.\nshe was late, and he knew.\n\n" for n in range(60))
TASK = "sentence\tlabel\n" + "".join(f"{'good' if n % 3 else 'bad'} text number {n}\t{n % 3 > 0}\n" for n in range(80))


@dataclass(frozen=True)
class Command:
    """`{made}` stands for the files that all of them read, `{here}` for a folder of each one's own."""

    line: str
    result: str  # the file or folder in `{here}` that it makes
    before: Callable[[Path], object] | None = None  # makes what it needs in that folder
    alone: bool = True  # a second process is refused, not served
    room: int = 4_000  # bytes of a file that a full disk still takes
    read: Callable[[Path], dict[str, bytes]] = lambda path: tree(path)  # what must be the same again
    prepare: Callable[[], object] | None = None  # in its process, before it begins
    code: int = 0  # with which it ends

    def arguments(self, made: Path, here: Path) -> list[str]:
        return [part.format(made=made, here=here) for part in self.line.split()]


def _run_to_report(here: Path) -> None:
    numbers = [made_runs.estimate("solo", name, 0.7, category=c) for name in ("preference", "ties") for c in "ab"]
    made_runs.write(here / "run", [made_runs.card("solo")], numbers)


def _damaged_store(here: Path) -> None:
    put_answers(here / "store.sqlite", "bert", range(4_000))
    with closing(sqlite3.connect(here / "store.sqlite")) as db, db:
        db.execute("UPDATE answers SET value = x'00' WHERE rowid % 7 = 0")


def _old_answers(here: Path) -> None:
    put_answers(here / "store.sqlite", "bert", range(6_000))
    with closing(sqlite3.connect(here / "store.sqlite")) as db, db:
        db.execute("UPDATE answers SET made = made - 100 WHERE rowid % 7")


@cache
def _counted(probe: str, names: tuple[str, ...] = ("bert",), **settings: str) -> Path:
    """A run of networks, and its answers."""
    folder = Path(mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    models = [str(zoo.save(name, folder / name)) for name in names]
    trueprobe.run(probe, models, folder / "run", settings=settings, limit=24, store=folder / "store.sqlite")
    return folder


def _run_to_count(here: Path) -> None:
    shutil.copytree(_counted("crows_pairs", data="sample"), here, dirs_exist_ok=True)


def _run_to_compare(here: Path) -> None:
    shutil.copytree(_counted("crows_pairs", ("bert", "bert-no-next"), data="sample"), here, dirs_exist_ok=True)


def _run_with_words(here: Path) -> None:
    shutil.copytree(_counted("counteracts"), here, dirs_exist_ok=True)


# a new command that writes anything belongs here
COMMANDS = {
    "run": Command(
        "run counteracts --model {made}/bert --limit 60 --batch-tokens 64 --out {here}/run --store {here}/store.sqlite",
        "run",
    ),
    "report": Command("report {here}/run", "run/report.html", _run_to_report),
    "fetch": Command("fetch toy --from {made}/toy.csv", "cache/trueprobe/assets/toy", alone=False),
    "pretrain": Command(
        "pretrain --kind causal --corpus {made}/text.txt --tokens 15000 --size L1-H16 --vocab 120 --length 48 "
        "--checkpoints 2 --batch-tokens 256 --threads 1 --save-seconds 0.1 --device cpu --out {here}/trained",
        "trained",
    ),
    "downstream": Command(
        "downstream --model {made}/bert --data {made}/task.tsv --text-column sentence --label-column label "
        "--epochs 2 --threads 1 --device cpu --out {here}/tuned",
        "tuned",
        room=300,  # its files are small
    ),
    "cache merge": Command(
        "cache merge {made}/one.sqlite {made}/two.sqlite --into {here}/merged.sqlite",
        "merged.sqlite",
        alone=False,
        room=60_000,  # a store's index is larger than 4,000
        read=lambda path: answers(path),
    ),
    "cache check": Command(
        "cache check --repair --store {here}/store.sqlite",
        "store.sqlite",
        _damaged_store,
        alone=False,
        room=60_000,
        read=lambda path: answers(path),
    ),
    "cache info": Command(  # of a store without checksums, which gets them; as with every command that opens one
        "cache info --store {here}/store.sqlite",
        "store.sqlite",
        lambda here: old_store(here / "store.sqlite", rows=4_000, size=300),
        alone=False,
        room=60_000,
        read=lambda path: answers(path),
    ),
    "cache prune": Command(
        "cache prune --older-than 50 --yes --store {here}/store.sqlite",
        "store.sqlite",
        _old_answers,
        alone=False,
        room=60_000,
        read=lambda path: answers(path),
    ),
    "gate": Command(
        "gate {here}/run --rule pairs:preference[category=*]<1 --markdown {here}/gate.md",
        "gate.md",
        _run_to_report,
        alone=False,
        room=100,
        read=lambda path: {"gate": path.read_bytes().partition(b"\n")[2]},  # the first line names the folder
    ),
    "export": Command(
        "export {here}/run --csv {here}/findings.csv", "findings.csv", _run_to_report, alone=False, room=100
    ),
    "compare": Command("compare {here}/run --a bert --b bert-no-next", "run", _run_to_compare, alone=False, room=100),
    "score": Command(
        "score {made}/sentences.txt --model {made}/bert --by token --out {here}/tokens.csv --store {here}/s.sqlite",
        "tokens.csv",
        alone=False,
    ),
    "verbalizer": Command(
        "verbalizer {here}/run --top 300 --threshold 0.5 --out {here}/words.toml --store {here}/store.sqlite",
        "words.toml",
        _run_with_words,
        alone=False,
        room=100,
    ),
    "reproduce": Command(  # numbers of a random network: it ends with 1
        "reproduce crows_pairs --all --models {made}/papers --size base --set data=sample --out {here}/all "
        "--store {here}/s.sqlite",
        "all",
        code=1,
    ),
    "multiverse": Command(
        "multiverse {here}/run --store {here}/store.sqlite --figures svg", "run", _run_to_count, alone=False
    ),
    "plan": Command(
        "plan crows_pairs --model {made}/bert --set data=sample --effect 5"
        " --out {here}/plan.toml --store {here}/s.sqlite",
        "plan.toml",
        alone=False,
        room=100,
    ),
    "sensitivity": Command(
        "sensitivity pairs --model toy={made}/seed_* --association {made}/toy.toml --filler {made}/neutral.txt "
        "--doses 0,0.5,1 --assignments 1 --relabellings 2 --out {here}/out --store {here}/store.sqlite",
        "out",
        prepare=toy_association.short_trainings,
    ),
}


@dataclass(frozen=True)
class Trial:
    """A command in a folder of its own."""

    command: Command
    made: Path
    here: Path
    out: Path | str = ""  # where it is told to write, if not here

    @property
    def surroundings(self) -> Surroundings:
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.here / "cache"), "HF_HUB_OFFLINE": "1"}
        cards, prepare = self.made / "cards", self.command.prepare
        return Surroundings(self.here / "stderr", environment=environment, cards=cards, prepare=prepare)

    def start(self, **changes: object) -> processes.BaseProcess:
        around = replace(self.surroundings, **changes)
        return processes.start_in(self.command.arguments(self.made, Path(self.out or self.here)), around)

    def finish(self, **changes: object) -> tuple[int, str]:
        """Its exit code and what it printed as an error."""
        process = self.start(**changes)
        process.join()
        return process.exitcode, (self.here / "stderr").read_text()

    def clear(self) -> None:
        shutil.rmtree(self.here)
        self.begin()

    def begin(self) -> None:
        self.here.mkdir()
        if self.command.before:
            self.command.before(self.here)

    def left(self) -> dict[str, bytes]:
        """What depends neither on the clock nor on the folder's name."""
        left, here = self.command.read(self.here / self.command.result), str(self.here).encode()
        return {name: content.replace(here, b"{here}") for name, content in left.items() if _timeless(name)}


def tree(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {path.name: path.read_bytes()}
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def answers(store: Path) -> dict[str, bytes]:
    """Of every model, by question."""
    with closing(sqlite3.connect(store)) as db:
        columns = "name, key, what, value, checksum"
        rows = db.execute(f"SELECT {columns} FROM answers JOIN models ON models.id = answers.model")
        return {f"{name} {key.hex()} {what}": value + checksum for name, key, what, value, checksum in rows}


def put_answers(store: Path, name: str, numbers: Iterable[int]) -> None:
    """Each of them as an answer of the model, the same in every store."""
    card = replace(made_runs.card(name), compute_id=name)
    with closing(AnswerStore(store)) as opened:
        values = (((number.to_bytes(32), "blank"), bytes([number % 7]) * 1200) for number in numbers)
        opened.put_bytes(values, model=opened.use(card))


def _timeless(name: str) -> bool:
    return name.rpartition("/")[2] not in ("timing.json", "training.json", "README.md", "asset.json", ".lock")
