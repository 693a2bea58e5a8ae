"""Rich's console and lines for texts that a file or a server gave: the terminal shows them and does not obey them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from rich.console import Console as AnyConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from trueprobe.errors import printable, printable_lines
from trueprobe.results.render.width import UNLIMITED, width


class Console(AnyConsole):
    """Writes out control characters in whatever it renders; its own colours and movements are no texts."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable_lines(segment.text))


def text_line(text: str, style: str = "", no_wrap: bool | None = None) -> Text:
    """A text that may quote a file or a server, and breaks no lines of its own."""
    return Text(printable(text), style=style, no_wrap=no_wrap)


def print_lines(lines: Iterable[str], console: Console | None = None) -> None:
    """Whole: the terminal wraps what is too long."""
    console = console or Console(highlight=False)
    for line in lines:
        console.print(text_line(line), soft_wrap=True)


def table_lines(header: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[str] = ()) -> list[str]:
    """A table as plain text, as wide as it needs to be unless COLUMNS is set; `right`: columns of numbers."""
    whole = width(UNLIMITED)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in header:
        side: Literal["left", "right"] = "right" if name in right else "left"
        table.add_column(name, justify=side, no_wrap=whole == UNLIMITED, overflow="fold")
    for row in rows:
        table.add_row(*map(text_line, row))
    console = Console(width=whole, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return [line.rstrip() for line in capture.get().splitlines()]
