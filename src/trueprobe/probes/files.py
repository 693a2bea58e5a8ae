"""Word lists, templates and facts of probes: plain files with a card each, read and validated here."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from trueprobe.errors import BadInput, nearest

ROOT = Path(__file__).parent
Schema = TypeVar("Schema", bound=BaseModel)


def shipped(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.toml"))


def read(named: str, folder: Path, schema: type[Schema]) -> Schema:
    """A shipped file by its name, or the user's by its path; wrong content is told with its key path."""
    path = folder / f"{named}.toml"
    if named not in shipped(folder):
        path = path_of(named)
        if not path.is_file():
            raise BadInput(f"no material '{named}': neither a file nor shipped{nearest(named, shipped(folder))}")
    return parse(path, schema)


def path_of(named: str) -> Path:
    """A user's path; names no file system can hold are told like files that are not there."""
    try:
        path = Path(named).expanduser()
        path.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise BadInput(f"no file '{named[:80]}' ({error})") from error
    return path


def parse(path: Path, schema: type[Schema]) -> Schema:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{path}: not valid TOML: {error}") from error
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror or error}") from error
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        raise BadInput(f"{path}: {explain(error, schema, data)}") from error


def explain(error: ValidationError, schema: type[BaseModel], data: Any = None) -> str:
    """The first few problems as `key.path: what is wrong`."""
    lines = []
    for problem in error.errors()[:5]:
        # a choice between types adds its own parts to the path: backgrounds.literal['all']
        where = ".".join(str(part) for part in problem["loc"] if not re.match(r"literal\[|int$|str$", str(part)))
        message = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            known = list(schema.model_fields) if len(problem["loc"]) == 1 else []
            message = f"no such key{nearest(str(problem['loc'][-1]), known) if known else ''}"
        elif problem["type"] == "literal_error":
            choices = re.findall("'([^']*)'", problem["ctx"]["expected"])
            message = f"no '{problem['input']}'{nearest(str(problem['input']), choices)}"
        elif problem["type"] == "missing":
            message = "is missing"
        elif problem["type"] not in ("value_error", "assertion_error"):
            message += f" (found {problem['input']!r})"[:80]
        lines.append(f"{where}: {message}" if where else message)
    more = error.error_count() - len(lines)
    return "; ".join(lines) + (f"; and {more} more" if more else "")
