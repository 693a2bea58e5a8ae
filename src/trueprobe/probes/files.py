"""Reads the files of probes: TOML with a schema, JSON, plain or gzipped text. Mistakes are reported with a place.
Writes TOML, too.

A dataset other people made is a fetched asset by its name, a user's file by its path, or the small shipped sample.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from trueprobe.errors import BadInput, nearest, reading, reason
from trueprobe.paths import gunzipped, refuse_special
from trueprobe.probes.tables import HALF_A_CHARACTER, is_text

ROOT = Path(__file__).parent
MOST_TEXT = 256 << 20  # bytes that a gzipped text may have
_HALVES = re.compile(r"\\u[dD][89a-fA-F]")  # of characters, as JSON writes both of an emoji
Schema = TypeVar("Schema", bound=BaseModel)


def shipped(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.toml"))


def read(name: str, folder: Path, schema: type[Schema]) -> Schema:
    """A shipped file by its name, or the user's by its path."""
    path = folder / f"{name}.toml"
    if name not in shipped(folder):
        path = path_of(name)
        if not path.is_file():
            raise BadInput(f"no material '{name}': neither a file nor shipped{nearest(name, shipped(folder))}")
    return parse(path, schema)


def path_of(name: str) -> Path:
    """A user's path; a name that no file system can hold is refused like a file that does not exist."""
    try:
        path = Path(name).expanduser()
        path.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise BadInput(f"no file '{name[:80]}' ({error})") from error
    return path


def text_of(path: Path) -> str:
    """UTF-8, gzipped if the name ends in .gz, without a byte order mark."""
    refuse_special(path)
    with reading(f"{path}: cannot be read"):
        content = b"".join(gunzipped(path, MOST_TEXT)) if path.suffix == ".gz" else path.read_bytes()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        byte = error.object[error.start]
        raise BadInput(f"{path}, line {line}: not UTF-8 text (byte {byte:#x}); save it as UTF-8") from error


def json_of(path: Path) -> Any:
    return parse_json(text_of(path), path)


def parse_json(text: str, path: Path) -> Any:
    try:
        whole = json.loads(text)
        halves = _HALVES.search(text) and not is_text(json.dumps(whole, ensure_ascii=False))
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}, line {error.lineno}, column {error.colno}: not valid JSON: {error.msg}") from error
    except (ValueError, RecursionError) as error:  # an integer of 5,000 digits, lists in lists
        raise BadInput(f"{path}: not valid JSON: {reason(error)}") from error
    if halves:
        raise BadInput(f"{path}: {HALF_A_CHARACTER}")
    return whole


def toml_of(path: Path) -> dict[str, Any]:
    with reading(f"{path}: not valid TOML"):
        return tomllib.loads(text_of(path))


def parse(path: Path, schema: type[Schema]) -> Schema:
    return validated(toml_of(path), schema, path)


def validated(data: Any, schema: type[Schema], path: Path) -> Schema:
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        raise BadInput(f"{path}: {explain(error, schema)}") from error


def explain(error: ValidationError, schema: type[BaseModel]) -> str:
    """The first few problems as `key.path: what is wrong`."""
    lines = []
    for problem in error.errors()[:5]:
        # a choice between types adds parts of its own to the path: backgrounds.literal['all']
        where = ".".join(str(part) for part in problem["loc"] if not re.match(r"literal\[|int$|str$", str(part)))
        message = _message(problem, schema)
        lines.append(f"{where}: {message}" if where else message)
    more = error.error_count() - len(lines)
    return "; ".join(lines) + (f"; and {more} more" if more else "")


def _message(problem: Any, schema: type[BaseModel]) -> str:
    message = str(problem["msg"]).removeprefix("Value error, ")
    match problem["type"]:
        case "extra_forbidden":
            keys = list(schema.model_fields) if len(problem["loc"]) == 1 else []
            return f"no such key{nearest(str(problem['loc'][-1]), keys)}"
        case "literal_error":
            choices = re.findall("'([^']*)'", problem["ctx"]["expected"])
            return f"no '{problem['input']}'{nearest(str(problem['input']), choices)}"
        case "missing":
            return "is missing"
        case "value_error" | "assertion_error":
            return message
    return message + f" (got {problem['input']!r})"[:80]


# ---------------------------------------------------------------- written


def toml_pairs(values: Mapping[str, Any]) -> list[str]:
    """`limit = 400`, a line each; what is absent is left out."""
    return [f"{key} = {toml_value(value)}" for key, value in values.items() if value is not None]


def toml_value(value: Any) -> str:
    """A string, number, list or table as TOML has it within a line. JSON's escapes are TOML's, but for one."""
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{toml_value(str(k))} = {toml_value(v)}" for k, v in value.items() if v is not None) + "}"
        )
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def content_id(content: Any) -> str:
    """A hash of what was read, in any order of keys."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# ---------------------------------------------------------------- released outputs: files by model, often gzipped


def with_ending(path: Path, pattern: str, ending: str) -> list[Path]:
    """The file itself, or those of a folder that end in `ending` or `ending`.gz."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.glob(pattern) if file.name.endswith((ending, f"{ending}.gz")))


def stem(path: Path, ending: str) -> str:
    return path.name.removesuffix(".gz").removesuffix(ending)


# ---------------------------------------------------------------- datasets


SAMPLE = {
    "title": "a small sample in the dataset's format: to try the probe, not to measure a model",
    "made_by": "trueprobe",
    "licence": "MIT",
}


PLANTED = "planted"  # the association that the model nursery-planted holds; each probe has a file about it
_ABOUT_PLANTED = {
    "title": "the association between occupations and genders that was planted in the model nursery-planted",
    "made_by": "trueprobe",
    "licence": "MIT",
}


@dataclass(frozen=True)
class Dataset:
    path: Path
    text: str  # without a byte order mark
    card: Mapping[str, str]
    items_of: str = ""  # whose items these are, where they are not those of an asset

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def read_dataset(name: str, asset_names: Sequence[str], sample_file: str) -> Dataset:
    """`asset_names` are the assets that hold this kind of data; `sample_file` is the path of the shipped file."""
    if name == "sample":
        return sample_dataset(sample_file)
    if name in asset_names:
        from trueprobe import assets  # a report reads no dataset

        card = assets.card(name)
        facts = {"title": card.title, "made_by": card.made_by, "licence": card.licence, "paper": card.paper}
        return _dataset(assets.path_of(name), facts)
    return read_data_file(name, [*asset_names, "sample"])


def sample_dataset(path: str) -> Dataset:
    return _dataset(ROOT / path, SAMPLE, "a small sample of trueprobe's own")


def planted_dataset(path: str) -> Dataset:
    return _dataset(ROOT / path, _ABOUT_PLANTED, "the association of nursery-planted")


def read_data_file(name: str, names: Sequence[str]) -> Dataset:
    """A user's file; `names` are the names that are no files."""
    path = path_of(name)
    if not path.is_file():
        raise BadInput(f"no data '{name}': neither a file nor an asset{nearest(name, names)}")
    return _dataset(path, {"title": path.name, "made_by": "the user", "licence": "not known"}, f"the file {path.name}")


def _dataset(path: Path, card: Mapping[str, str], items_of: str = "") -> Dataset:
    return Dataset(path, text=text_of(path), card=card, items_of=items_of)
