"""Metadata of GGUF files, written by hand: lengths that cannot be are refused before anything reads them."""

from __future__ import annotations

import struct

import pytest

from trueprobe.assets.unpack import refuse_impossible_lengths

BYTE, UINT32, FLOAT32, TEXT, LIST = 0, 4, 6, 8, 9


def text(content: bytes, order: str) -> bytes:
    return struct.pack(f"{order}Q", len(content)) + content


def list_of(kind: int, length: int, values: bytes, order: str) -> bytes:
    return struct.pack(f"{order}IQ", kind, length) + values


def file(tmp_path, order: str, *pairs: tuple[bytes, int, bytes], announced: int | None = None):
    path = tmp_path / "x.gguf"
    header = b"GGUF" + struct.pack(f"{order}IQQ", 3, 0, len(pairs) if announced is None else announced)
    named = (text(key, order) + struct.pack(f"{order}I", kind) + value for key, kind, value in pairs)
    path.write_bytes(header + b"".join(named))
    return path


@pytest.mark.parametrize("order", ["<", ">"])
def test_what_the_format_allows_is_walked_to_its_end(order, tmp_path):
    words = text(b"the", order) + text(b"", order)
    nested = list_of(BYTE, 2, b"ab", order) + list_of(TEXT, 2, words, order)
    pairs = [
        (b"architecture", TEXT, text(b"llama", order)),
        (b"layers", UINT32, struct.pack(f"{order}I", 2)),
        (b"words", LIST, list_of(TEXT, 2, words, order)),
        (b"scores", LIST, list_of(FLOAT32, 3, bytes(12), order)),
        (b"nothing", LIST, list_of(FLOAT32, 0, b"", order)),
        (b"nested", LIST, list_of(LIST, 2, nested, order)),
    ]
    refuse_impossible_lengths(file(tmp_path, order, *pairs))
    with pytest.raises(ValueError, match="ends behind the file"):
        refuse_impossible_lengths(file(tmp_path, order, *pairs, announced=len(pairs) + 1))


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (LIST, list_of(FLOAT32, 2**40, bytes(40), "<"), "ends behind the file"),
        (LIST, list_of(TEXT, 2**63, bytes(40), "<"), "ends behind the file"),
        (TEXT, struct.pack("<Q", 2**62), "ends behind the file"),
        (99, b"", "a value of type 99"),
        (LIST, list_of(LIST, 1, b"", "<") * 6, "a value of type 9"),
    ],
)
def test_lengths_that_cannot_be_are_refused_at_once(kind, value, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        refuse_impossible_lengths(file(tmp_path, "<", (b"key", kind, value)))


@pytest.mark.parametrize("content", [b"", b"GGUF", b"GGML" + bytes(40)])
def test_another_file_is_refused(content, tmp_path):
    path = tmp_path / "x.gguf"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"does not begin as a GGUF file|ends behind the file|empty file"):
        refuse_impossible_lengths(path)
