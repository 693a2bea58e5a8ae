"""The explorer: a local page on which a person types a sentence and sees what models take for granted.

Positive numbers lean to the first of two word groups (female, of the shipped lists); a shift is what a sentence in
front adds. Masked models give the numbers of `run` to the bit: the same requests go through the same engine and store.
One prompt is an anecdote: no interval stands next to it, only the spread over seeds.
"""

from __future__ import annotations

from trueprobe.explore.serving import Serving, find_models, prepare

__all__ = ["Serving", "find_models", "prepare"]
