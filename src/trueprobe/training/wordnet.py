"""Short plain sentences from WordNet: the examples of use in its glosses, most of them about what a person does.

A line of a data file ends in `| a gloss; "an example"; "another"`. What is no sentence is left out: "a door flush with
the wall" has no verb, "give up a run" no subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from trueprobe.errors import reading
from trueprobe.types import NoProgress, Progress

FILES = ("data.adj", "data.adv", "data.noun", "data.verb")
MIN_WORDS, MAX_WORDS = 4, 40
EXAMPLE = re.compile(r'"([^"]+)"')
PRONOUN = re.compile(r"(?:he|she|they|we|i|you|it|there|who|nobody|somebody|everyone|people)\b", re.I)
DETERMINER = re.compile(r"(?:the|an?|his|her|their|my|your|our|its|this|that|these|those|some|many|all|no)\b", re.I)
FINITE = re.compile(
    r"\b(?:is|are|was|were|am|has|have|had|will|would|can|could|may|might|must|should|does|do|did|[a-z]{3,}ed|"
    r"came|went|made|took|got|gave|said|told|kept|left|lost|ran|saw|fell|felt|found|held|put|set|stood|began|broke|"
    r"brought|bought|caught|drew|drove|grew|knew|led|paid|rose|sent|shook|spoke|spent|threw|won|wrote)\b"
    r"|n't\b"
)
BAD = re.compile(r"[\[\]{}<>|_=*/]|\.\.\.|- ?[A-Z]|`")  # a quotation with its author, or what was cut


def clean(folder: Path, out: Path, progress: Progress | None = None) -> int:
    """Writes every sentence once, as a document of its own; their number."""
    with (progress or NoProgress()).task("reading WordNet's examples"), out.open("w", encoding="utf-8") as stream:
        sentences = dict.fromkeys(sentence for name in FILES for sentence in _sentences_of(folder / name))
        stream.write("\n\n".join(sentences) + "\n")
    return len(sentences)


def _sentences_of(file: Path) -> Iterator[str]:
    with reading(f"{file} is damaged"):
        lines = file.read_text(encoding="utf-8").split("\n")
    for line in lines:
        if not line.startswith("  "):  # the licence
            yield from filter(None, map(sentence, EXAMPLE.findall(line.partition(" | ")[2])))


def sentence(example: str) -> str:
    """As it would be printed, or "" where it is none: `he slammed the door` -> `He slammed the door.`"""
    text = " ".join(example.split())
    if not MIN_WORDS <= len(text.split()) <= MAX_WORDS or BAD.search(text):
        return ""
    whole = PRONOUN.match(text) or text[0].isupper() or (DETERMINER.match(text) and FINITE.search(text))
    if not whole:
        return ""
    return text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")
