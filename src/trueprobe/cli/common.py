"""What the commands share: the application itself and common options."""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trueprobe import __version__
from trueprobe.errors import BadInput, printable, printable_lines
from trueprobe.signals import interruptible

if TYPE_CHECKING:
    from trueprobe.models import Source
    from trueprobe.types import Card

__all__ = [
    "AllowCode",
    "AllowPickle",
    "AllowServers",
    "Json",
    "Setting",
    "Store",
    "app",
    "check_app",
    "example",
    "interruptible",
    "new_app",
    "note",
    "note_damaged",
    "note_network_store",
    "say",
    "settings_of",
]

app = typer.Typer(
    name="trueprobe",
    help="What does a language model take for granted, and how far can the answer be trusted?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"trueprobe {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version and exit")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="print the traceback of an error; also after a command")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="report what is opened, cached, computed and repeated; also after a command"),
    ] = False,
) -> None:
    pass


check_app = typer.Typer(help="Run the public contract tests on a probe or a model.", no_args_is_help=True)
app.add_typer(check_app, name="check")
new_app = typer.Typer(help="Write a skeleton of a probe.", no_args_is_help=True)
app.add_typer(new_app, name="new")

Setting = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="a setting of the probe; repeatable")
]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for scripts")]
AllowUnequal = Annotated[
    bool,
    typer.Option("--allow-unequal", help="compare numbers although their signatures differ; the difference is printed"),
]
AllowCode = Annotated[
    bool, typer.Option("--allow-code", help="run the code of probes that a study or run folder names by a path")
]
AllowPickle = Annotated[bool, typer.Option("--allow-pickle", help="read pickled weights; a pickle can run code")]
AllowServers = Annotated[
    bool,
    typer.Option("--allow-servers", help="contact servers that a study or run folder names; a study's get your key"),
]
Store = Annotated[Path | None, typer.Option(help="the answer store; default: one in your cache folder")]


def example(*lines: str) -> str:
    return "Examples:\n\n" + "\n\n".join(lines)


def settings_of(pairs: list[str] | None) -> dict[str, str]:
    settings = {}
    for pair in pairs or []:
        key, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"--set takes KEY=VALUE, not '{pair}'")
        settings[key.strip()] = value.strip()
    return settings


def note(lines: Iterable[str]) -> None:
    """What a user should know that is no error and no result."""
    for line in lines:
        print(f"trueprobe: {printable(line)}", file=sys.stderr)


def note_chat_templates(sources: "Iterable[Source]", cards: "Iterable[Card]") -> None:
    """Says which causal models have a chat template and were asked without one, where the user did not say so."""
    unsaid = {source.name for source in sources if not source.chat}
    note(
        f"{card.name} has a chat template and was asked without it; SPEC?chat=auto asks with it, chat=none says so"
        for card in cards
        if card.has_template and card.kind == "causal" and card.name in unsaid
    )


def say(text: str, end: str = "\n") -> None:
    """Prints what may quote a file or a server. JSON is printed as it is."""
    print(printable_lines(text), end=end, flush=True)


def note_damaged(answers: int) -> None:
    """Says how many answers of the store were damaged; the numbers are right."""
    if answers:
        were = "answer was" if answers == 1 else "answers were"
        print(f"trueprobe: {answers:,} cached {were} damaged and computed again", file=sys.stderr)


def note_network_store(store: Path | None) -> None:
    """Says so where the answer store lies on a network file system, and what follows."""
    from trueprobe.engine import default_path, network_file_system

    path = store or default_path()
    kind = network_file_system(path)
    if kind:
        print(
            f"trueprobe: {path} lies on a network file system ({kind}), where SQLite's write-ahead log does not work; "
            "a rollback journal is used, which is slower: let one process write it, or name a local file with --store",
            file=sys.stderr,
        )
