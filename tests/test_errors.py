"""What a reader throws becomes one line with the file; what is no reader's passes."""

from __future__ import annotations

import json
import lzma
import pickle
import struct
import zlib

import pytest

from trueprobe.errors import LONGEST_MESSAGE, BadInput, FailedRun, printable, reading, shortened


class PanicException(BaseException):
    """As pyo3 has it: no Exception."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("first line\nsecond"), "first line"),
        (KeyError("format"), "no 'format'"),
        (FileNotFoundError(2, "No such file or directory", "x"), "No such file or directory"),
        (MemoryError(), "it needs more memory than there is"),
        (RecursionError("maximum recursion depth exceeded"), "nested too deeply"),
        (PanicException("index out of bounds"), "index out of bounds"),
        (AssertionError(), "AssertionError"),
        *((kind("broken"), "broken") for kind in (zlib.error, lzma.LZMAError, struct.error, pickle.UnpicklingError)),
    ],
)
def test_whatever_a_reader_throws_is_bad_input_with_its_file(error, reason):
    with pytest.raises(BadInput) as caught, reading("x.bin is damaged"):
        raise error
    assert str(caught.value) == f"x.bin is damaged: {reason}"
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("error", [BadInput("mine"), FailedRun("mine"), KeyboardInterrupt(), SystemExit(3)])
def test_what_is_reported_already_and_what_ends_the_program_passes(error):
    with pytest.raises(type(error)) as caught, reading("x"):
        raise error
    assert caught.value is error


def test_a_reason_of_python_itself_has_no_advice_for_programmers():
    with pytest.raises(BadInput) as caught, reading("x.json: not valid JSON"):
        json.loads("9" * 5000)
    assert str(caught.value).endswith("value has 5000 digits")


def test_a_long_message_loses_its_middle():
    text = "a" * 300 + "b" * 300 + "c" * 300
    assert len(shortened(text)) == LONGEST_MESSAGE
    assert (shortened(text)[:264], shortened(text)[-133:]) == (text[:264], "c" * 133)
    assert shortened("short") == "short"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, é, 中, 👍", "plain, é, 中, 👍"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b2J\x07\x00\x7f", r"\x9b2J\x07\x00\x7f"),
        ("two\r\nlines\tand\u2028more", "two  lines and more"),
        ("file\u202egnp.exe", r"file\u202egnp.exe"),
        ("half \ud800", r"half \ud800"),
    ],
)
def test_printable_text_is_one_line_and_commands_no_terminal(text, shown):
    assert printable(text) == shown
