"""The command line: one file per group of commands, short bodies."""

from __future__ import annotations

import sys

from trueprobe.cli import asking, checks, data, training
from trueprobe.cli.common import Interrupted, app
from trueprobe.errors import BadInput, FailedRun

__all__ = ["app", "main"]
COMMANDS = (asking, checks, data, training)  # each registers its commands when it is imported, in this order


def main() -> None:
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
