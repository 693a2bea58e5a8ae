"""What is done to a file: changes of its bytes, and changes that leave it a file of its format."""

from __future__ import annotations

import bz2
import copy
import gzip
import io
import json
import lzma
import random
import re
import sqlite3
import struct
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

Mutation = Callable[[bytes, random.Random], bytes]

_DEEP = 20_000
_LARGEST = 100_000_000  # bytes that a change of every row may add: a larger file only takes long to write
_BIG = "BIG_INTEGER"  # replaced in the text: Python itself refuses to print one of 5,000 digits
TEXTS = (
    *("", " ", "x", "nan", "inf", "-1", "2", "1e400", "9" * 400, "9" * 5000, "null", "[]", "{}", "\x00", "\ufeff"),
    *(
        "é" * 300,
        "\u2028",
        "../../x",
        "/etc/passwd",
        "a/b",
        "=1+1",
        "___",
        "{",
        "{x}",
        "{0}",
        "{target:>3000000000}",
        "%s",
        "\\",
        '"',
        "'",
        "\t",
    ),
    *("\n", "\r", ";", ",", "[MASK]", "<script>alert(1)</script>", "x" * 200_000, "😀", "(" * 3000, "[" * 3000),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3.5, -0.0, 1e308, float("nan"), float("inf"), 2**31, 2**63, 2**70, _BIG),
    *([], {}, [None], [[]], [1, "a"], {"a": 1}, {"": None}, "\ud800", *TEXTS),
)


# ---------------------------------------------------------------- bytes


def bytes_changed(content: bytes, rng: random.Random) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        content = rng.choice(_BYTES)(content, rng)
    return content


def _flip(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(rng.choice((1, 1, 3, 20))):
        changed[_near_an_end(len(changed), rng)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _near_an_end(length: int, rng: random.Random) -> int:
    """Headers and footers are where lengths and types are."""
    match rng.randrange(3):
        case 0:
            return rng.randrange(min(length, 400))
        case 1:
            return length - 1 - rng.randrange(min(length, 400))
    return rng.randrange(length)


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content) + 1)]


def _remove(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + content[at + rng.choice((1, 4, 16, 300)) :]


def _insert(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    new = rng.choice(
        (rng.randbytes(4), b"\xff" * 8, b"\0" * 16, b"\xef\xbb\xbf", b"\xed\xa0\x80", content[at : at + 200])
    )
    return content[:at] + new + content[at:]


def _number(content: bytes, rng: random.Random) -> bytes:
    at = _near_an_end(max(len(content), 1), rng)
    number = rng.choice((0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 2**31 - 1, 2**32 - 1, 2**40))
    packed = struct.pack(rng.choice(("<Q", ">Q")), number)[: rng.choice((4, 8))]
    return content[:at] + packed + content[at + len(packed) :]


_BYTES: tuple[Mutation, ...] = (_flip, _flip, _cut, _remove, _insert, _number)


# ---------------------------------------------------------------- text: lines and cells


def lines_changed(content: bytes, rng: random.Random) -> bytes:
    lines = content.decode("utf-8", "replace").split("\n")
    at = rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[rng.randrange(len(lines))])
        case 2:
            lines[at] = rng.choice(TEXTS)
        case 3:
            lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
        case 4:
            lines[at] += rng.choice(TEXTS)
        case _:
            rng.shuffle(lines)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def cells_changed(content: bytes, rng: random.Random) -> bytes:
    lines = content.decode("utf-8", "replace").split("\n")
    separator = next((sign for sign in "\t,;" if sign in lines[0]), ",")
    column, text = rng.randrange(lines[0].count(separator) + 1), rng.choice(TEXTS)
    if rng.random() < 0.2 and len(text) * len(lines) < _LARGEST:  # in all rows
        lines = [_other_cell(line, separator, column, text) for line in lines]
    else:
        at = rng.randrange(len(lines))
        lines[at] = _other_cell(lines[at], separator, column, text)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _other_cell(line: str, separator: str, column: int, text: str) -> str:
    cells = line.split(separator)
    if column < len(cells):
        cells[column] = text
    return separator.join(cells)


# ---------------------------------------------------------------- JSON, JSON lines, TOML


def json_changed(content: bytes, rng: random.Random) -> bytes:
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError):
        return bytes_changed(content, rng)
    for _ in range(rng.choice((1, 1, 1, 3))):
        whole = _other_node(whole, rng)
    text = json.dumps(whole, indent=rng.choice((None, 1)))
    if rng.random() < 0.02:
        text = "[" * _DEEP + text
    return text.replace(f'"{_BIG}"', "9" * 5000).encode()


def _other_node(whole: Any, rng: random.Random) -> Any:
    places = list(_places(whole))
    if not places:
        return copy.deepcopy(rng.choice(VALUES))
    parent, key = rng.choice(places)
    other = rng.choice(places)
    match rng.randrange(6):
        case 0 if isinstance(parent, (dict, list)):
            del parent[key]
        case 1:
            parent[key] = copy.deepcopy(other[0][other[1]]) if other[1] in _keys(other[0]) else None
        case 2 if isinstance(parent, list):
            parent.append(parent[key])
        case 3 if isinstance(parent, dict):
            parent[str(rng.choice(TEXTS))[:100]] = parent.pop(key)
        case _:
            parent[key] = copy.deepcopy(rng.choice(VALUES))  # a later change of it must not reach VALUES
    return whole


def _keys(node: Any) -> Any:
    return node if isinstance(node, dict) else range(len(node))


def _places(node: Any, depth: int = 0) -> Any:
    for key in list(_keys(node)) if isinstance(node, (dict, list)) and depth < 12 else ():
        yield node, key
        if isinstance(node, list) and len(node) > 40 and key > 5:
            continue
        yield from _places(node[key], depth + 1)


def json_line_changed(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = json_changed(lines[at], rng)
    return b"\n".join(lines)


_TOML_VALUES = (
    *("1", "-1", "true", "nan", "inf", "1e400", "9" * 5000, '""', '"x"', "[]", "{}", '["a"]', "[[1]]", "{ a = 1 }"),
    *('"../../x"', '"{x}"', '"{"', '"\\u0000"', "1979-05-27", "07:32:00", "[" * 3000 + "]" * 3000, f'"{"x" * 20000}"'),
)


def toml_changed(content: bytes, rng: random.Random) -> bytes:
    text = content.decode("utf-8", "replace")
    for _ in range(rng.choice((1, 1, 2))):
        if rng.random() < 0.3:
            text = lines_changed(text.encode(), rng).decode("utf-8", "replace")
            continue
        values = list(re.finditer(r"\"[^\"\n]*\"|(?<== )[\w.+-]+|\[[^\[\]\n]*\]", text))
        if values:
            one = rng.choice(values)
            text = text[: one.start()] + rng.choice((*_TOML_VALUES, rng.choice(values)[0])) + text[one.end() :]
    return (rng.choice(("", "", "", "\ufeff")) + text).encode("utf-8", "surrogatepass")


# ---------------------------------------------------------------- tables


def parquet_changed(content: bytes, rng: random.Random) -> bytes:
    import pandas as pd

    try:
        frame = pd.read_parquet(io.BytesIO(content))
    except Exception:
        return bytes_changed(content, rng)
    if frame.shape[1]:
        frame = _other_frame(frame, rng)
    try:
        return frame.to_parquet(None, index=rng.random() < 0.05)
    except Exception:
        return bytes_changed(content, rng)


def _other_frame(frame: Any, rng: random.Random) -> Any:
    name = rng.choice(list(frame.columns))
    value = rng.choice(
        (None, "", "x", "nan", -1, 0, 2.5, float("nan"), float("inf"), 2**62, True, b"\xff", "\x00", [1], {"a": 1})
    )
    match rng.randrange(8):
        case 0:
            return frame.drop(columns=name)
        case 1:
            return frame.rename(columns={name: rng.choice(("x", "", f"condition_{name}", "value", "model", "item"))})
        case 2:
            return frame.assign(**{str(name): [value] * len(frame)})
        case 3:
            return frame.astype({name: "str"})
        case 4:
            return frame.iloc[: rng.randrange(len(frame) + 1)]
        case 5:
            return frame.sample(frac=1, random_state=rng.randrange(1000)) if len(frame) else frame
        case 6:
            return frame.loc[list(frame.index) * 2]
    cells = list(frame[name])
    if cells:
        cells[rng.randrange(len(cells))] = value
    return frame.assign(**{str(name): cells})


def sqlite_changed(content: bytes, rng: random.Random) -> bytes:
    """Values and tables of a store, by SQL."""
    db = sqlite3.connect(":memory:")
    try:
        db.deserialize(content)
        db.execute(
            rng.choice(
                (
                    "UPDATE answers SET value = x'00'",
                    "UPDATE answers SET value = NULL WHERE 0",
                    "UPDATE answers SET value = 'text'",
                    "UPDATE answers SET value = substr(value, 1, 7)",
                    "UPDATE answers SET value = zeroblob(100000)",
                    "UPDATE answers SET made_with = 'x'",
                    "UPDATE answers SET what = what || 'x'",
                    "UPDATE answers SET key = 'text'",
                    "DELETE FROM versions",
                    "DROP TABLE answers",
                    "DROP TABLE versions",
                    "ALTER TABLE answers RENAME COLUMN value TO worth",
                    "PRAGMA user_version = 99",
                )
            )
        )
        db.commit()
        return db.serialize()
    except sqlite3.Error:
        return bytes_changed(content, rng)
    finally:
        db.close()


# ---------------------------------------------------------------- packed files


def safetensors_changed(content: bytes, rng: random.Random) -> bytes:
    """The header as JSON, with a length that fits."""
    (length,) = struct.unpack("<Q", content[:8]) if len(content) >= 8 else (0,)
    header = json_changed(content[8 : 8 + length], rng)
    return struct.pack("<Q", len(header)) + header + content[8 + length :]


def gzip_changed(content: bytes, rng: random.Random) -> bytes:
    try:
        return gzip.compress(of(Path("x.csv"))(gzip.decompress(content), rng), 1)
    except Exception:
        return bytes_changed(content, rng)


def zip_changed(content: bytes, rng: random.Random) -> bytes:
    """One member's content, name or entry in the directory; or a member that unpacks to a thousand times its size."""
    out = io.BytesIO()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
            names = old.namelist()
            chosen, how = rng.choice(names), rng.randrange(4)
            for name in names:
                member = old.read(name)
                if name == chosen and how == 0:
                    member = of(Path(name))(member, rng)
                elif name == chosen and how == 1:
                    name = rng.choice((name + "x", "../" + name, "/" + name, name.upper(), ""))
                elif name == chosen and how == 2:
                    member += b"\0" * rng.choice((10**6, 10**8))
                new.writestr(name, member, rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_LZMA)))
    except Exception:
        return bytes_changed(content, rng)
    packed = out.getvalue()
    return _directory_changed(packed, rng) if rng.random() < 0.4 else packed


def _directory_changed(packed: bytes, rng: random.Random) -> bytes:
    """Flags (encrypted), method, checksum or sizes of an entry, in its two places."""
    changed, offset, code = bytearray(packed), *rng.choice(((0, "<H"), (2, "<H"), (8, "<I"), (12, "<I"), (16, "<I")))
    value = rng.choice((0, 1, 8, 9, 12, 14, 98, 0xFFFF))
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = packed.find(mark)
        if at >= 0 and at + flags + offset + 4 <= len(packed):
            struct.pack_into(code, changed, at + flags + offset, value)
    return bytes(changed)


def tar_changed(content: bytes, rng: random.Random) -> bytes:
    out = io.BytesIO()
    try:
        with tarfile.open(fileobj=io.BytesIO(content)) as old, tarfile.open(fileobj=out, mode="w") as new:
            for member in old.getmembers():
                stream = old.extractfile(member)
                inner = stream.read() if stream else b""
                if rng.random() < 0.7:
                    inner = of(Path(member.name))(inner, rng)
                member.size = len(inner)
                match rng.randrange(8):
                    case 0:
                        member.type = rng.choice((tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE))
                        member.linkname = "/etc/passwd"
                    case 1:
                        member.name = "../" + member.name
                new.addfile(member, io.BytesIO(inner))
    except Exception:
        return bytes_changed(content, rng)
    packed = out.getvalue()
    packed = bytes_changed(packed, rng) if rng.random() < 0.2 else packed
    return rng.choice((gzip.compress, bz2.compress, lzma.compress, bytes))(packed)


# ---------------------------------------------------------------- by the file's name


_STRUCTURED: dict[str, Mutation] = {
    ".json": json_changed,
    ".jsonl": json_line_changed,
    ".toml": toml_changed,
    ".csv": cells_changed,
    ".tsv": cells_changed,
    ".dat": cells_changed,
    ".txt": lines_changed,
    ".parquet": parquet_changed,
    ".sqlite": sqlite_changed,
    ".safetensors": safetensors_changed,
    ".gz": gzip_changed,
    ".zip": zip_changed,
    ".whl": zip_changed,
    ".bin": zip_changed,
    ".tgz": tar_changed,
}


def of(path: Path) -> Mutation:
    """For a file of this name: mostly changes that leave it a file of its format."""
    structured = _STRUCTURED.get(".tgz" if path.name.endswith(".tar.gz") else path.suffix, bytes_changed)
    anything: Mutation = (
        lines_changed if path.suffix in (".json", ".jsonl", ".toml", ".csv", ".tsv", ".dat") else bytes_changed
    )

    def change(content: bytes, rng: random.Random) -> bytes:
        how = rng.random()
        return (structured if how < 0.75 else anything if how < 0.85 else bytes_changed)(content, rng)

    return change


# ---------------------------------------------------------------- is it still a file of its format?


def _sqlite(content: bytes) -> None:
    db = sqlite3.connect(":memory:")
    db.deserialize(content)
    db.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _parquet(content: bytes) -> None:
    import pyarrow.parquet

    pyarrow.parquet.read_table(io.BytesIO(content))


def _safetensors(content: bytes) -> None:
    from safetensors import deserialize

    deserialize(content)


def _tar(content: bytes) -> None:
    with tarfile.open(fileobj=io.BytesIO(content)) as pack:
        pack.next()


def _zip(content: bytes) -> None:
    zipfile.ZipFile(io.BytesIO(content)).infolist()


_PARSERS: dict[str, Callable[[bytes], object]] = {
    ".json": json.loads,
    ".jsonl": lambda content: [json.loads(line) for line in content.splitlines() if line.strip()],
    ".toml": lambda content: tomllib.loads(content.decode("utf-8-sig")),
    ".parquet": _parquet,
    ".sqlite": _sqlite,
    ".safetensors": _safetensors,
    ".gz": gzip.decompress,
    ".zip": _zip,
    ".whl": _zip,
    ".bin": _zip,
    ".tgz": _tar,
    ".gguf": lambda content: content.index(b"GGUF"),
    ".model": lambda content: None,
}


def parses(path: Path, content: bytes) -> bool:
    """Does it get past the first parse of its format? Text does where it is UTF-8."""
    try:
        _PARSERS.get(".tgz" if path.name.endswith(".tar.gz") else path.suffix, lambda text: text.decode("utf-8-sig"))(
            content
        )
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return False
    return True
