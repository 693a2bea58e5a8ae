"""Mutated files of every format that trueprobe reads, through the readers of its commands.

`targets.py` has the readers and the files to begin with, `mutations.py` what is done to them, `harness.py` runs them
with a limit on time and memory, `findings/` has every file that once ended in a traceback.
"""
