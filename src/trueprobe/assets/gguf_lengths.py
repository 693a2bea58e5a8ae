"""A GGUF file's metadata, walked without being kept: a length in it can be any number, and the package that reads such
files goes on for that long, behind the file's end too.

The format: magic, version, number of tensors and of pairs; each pair is a key, a type and a value; a text has its
length before it, a list its type and length.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a number, by its type
_TEXT, _LIST = 8, 9
_DEEPEST = 4  # lists within lists
_HEADER = 8  # bytes: magic and version


def refuse_impossible_lengths(path: Path) -> None:
    """A ValueError where a text or list of the metadata would end behind the file."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content[:4] != b"GGUF" or len(content) < _HEADER:
            raise ValueError("it does not begin as a GGUF file")
        order = "<" if content[4:6] != b"\0\0" else ">"
        walk = _Walk(content, order, _HEADER)
        _, pairs = walk.number("Q"), walk.number("Q")
        for _ in range(pairs):
            walk.skip_text()
            walk.skip_value(walk.number("I"))


@dataclass
class _Walk:
    content: mmap.mmap
    order: str
    at: int

    def number(self, code: str) -> int:
        start = self.at
        self.skip(struct.calcsize(f"={code}"))
        (value,) = struct.unpack_from(self.order + code, self.content, start)
        return int(value)

    def skip(self, size: int) -> None:
        if self.at + size > len(self.content):
            raise ValueError("its metadata ends behind the file")
        self.at += size

    def skip_text(self) -> None:
        self.skip(self.number("Q"))

    def skip_value(self, kind: int, depth: int = 0) -> None:
        if kind in _SIZES:
            self.skip(_SIZES[kind])
        elif kind == _TEXT:
            self.skip_text()
        elif kind == _LIST and depth < _DEEPEST:
            self._skip_list(depth)
        else:
            raise ValueError(f"its metadata has a value of type {kind}")

    def _skip_list(self, depth: int) -> None:
        kind, length = self.number("I"), self.number("Q")
        if kind in _SIZES:
            self.skip(length * _SIZES[kind])
            return
        for _ in range(length):
            self.skip_value(kind, depth + 1)
