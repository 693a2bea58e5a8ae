"""`python -m trueprobe` is `trueprobe`. Signals are handled before anything else is imported."""

from __future__ import annotations

from trueprobe.signals import Stopped, stop_on_signals


def main() -> None:
    stop_on_signals()
    try:
        from trueprobe.cli import main as command

        command()
    except Stopped as stopped:  # during the imports
        stopped.end()


if __name__ == "__main__":
    main()
