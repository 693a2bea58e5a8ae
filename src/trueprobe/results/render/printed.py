"""Rich's console and lines for texts that a file or a server gave: the terminal shows them and does not obey them."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console as AnyConsole
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from trueprobe.errors import printable, printable_lines


class Console(AnyConsole):
    """Writes out control characters in whatever it renders; its own colours and movements are no texts."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable_lines(segment.text))


def text_line(text: str, style: str = "", no_wrap: bool | None = None) -> Text:
    """A text that may quote a file or a server, and breaks no lines of its own."""
    return Text(printable(text), style=style, no_wrap=no_wrap)
