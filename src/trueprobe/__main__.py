"""`python -m trueprobe` is `trueprobe`."""

from trueprobe.cli import main

main()
