"""One vocabulary: names that the style guide replaces by plain ones appear nowhere in the code."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import trueprobe

ROOT = Path(trueprobe.__file__).parent
REPLACED = {
    "told",
    "tell",
    "tells",
    "says",
    "said",
    "seen",
    "found",
    "shown",
    "dice",
    "crate",
    "crates",
    "lane",
    "lanes",
}
REPLACED |= {"bend", "places", "kept"}
# names of Python and of libraries, and an option's former name
ELSEWHERE = {"FileNotFoundError", "LocalEntryNotFoundError", "PackageNotFoundError", "CacheNotFound", "tell"}
ELSEWHERE |= {"told_rate"}


def names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        for field in ("name", "id", "arg", "attr"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                yield value


def words(name: str) -> set[str]:
    return set(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().split("_"))


def test_no_name_uses_a_replaced_word():
    wrong = {
        (str(path.relative_to(ROOT)), name)
        for path in ROOT.rglob("*.py")
        for name in names(ast.parse(path.read_text(encoding="utf-8")))
        if words(name) & REPLACED and name not in ELSEWHERE
    }
    assert sorted(wrong) == []


def test_no_two_public_classes_share_a_name():
    """`Columns` are of a file of sentences, or of observations; a `Choice` is of items, or on an axis."""
    classes = Counter(
        node.name
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert {name for name, many in classes.items() if many > 1} == {"Columns", "Choice"}
