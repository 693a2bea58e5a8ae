"""The command line: one file per group of commands, short bodies.

Files with many options have no `from __future__ import annotations`: typer evaluates the text of each several times.
"""

from __future__ import annotations

import atexit
import gc
import sys

from trueprobe.cli import asking, caching, checks, data, scoring, templates, training, using
from trueprobe.cli.common import Interrupted, app
from trueprobe.errors import BadInput, FailedRun

__all__ = ["app", "main"]
# each registers its commands when it is imported, in this order
COMMANDS = (asking, checks, data, scoring, training, using, templates, caching)
# Importing torch and transformers makes 400,000 objects that live to the end. Python looks for garbage among the newest
# every 700 objects; every 10,000, and still among all every 200,000, a small run takes a quarter less CPU time.
COLLECTOR = (10_000, 10, 1)


def main() -> None:
    gc.set_threshold(*COLLECTOR)
    atexit.register(gc.freeze)  # the process ends: nobody needs its memory back piece by piece
    try:
        app()
    except BadInput as error:
        print(f"trueprobe: {error}", file=sys.stderr)
        sys.exit(2)
    except FailedRun as error:
        print(f"trueprobe: {error}", file=sys.stderr)
        sys.exit(1)
    except Interrupted as error:
        print(f"trueprobe: stopped; {error}", file=sys.stderr)
        sys.exit(130)
