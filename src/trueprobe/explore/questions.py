"""What the page may send, with limits: everything else is refused before it is looked at."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trueprobe.errors import BadInput

LONGEST = 2000  # characters of a sentence
MOST_PROMPTS = 12
MOST_WORDS = 300
MOST_ROWS = 100  # of items on one page
MOST_BYTES = 64_000  # of a request's body


Sentence = Annotated[str, Field(max_length=LONGEST)]
WordText = Annotated[str, Field(min_length=1, max_length=80)]
Name = Annotated[str, Field(max_length=200)]
Names = Annotated[tuple[Name, ...], Field(max_length=200)]


class Sent(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Q = TypeVar("Q", bound=Sent)


class Prompt(Sent):
    text: Sentence  # with the blank ___
    before: Sentence = ""  # a sentence in front
    causal: Sentence = ""  # what causal models read instead of `text`; up to the blank if empty
    join: Literal["", "pair", "space", "bos"] = ""  # how the two are joined; as the kind of model has it if empty


class BlankQuestion(Sent):
    """Prompts to fill, and two groups of words whose probability is summed: shipped lists, or the user's."""

    prompts: Annotated[tuple[Prompt, ...], Field(min_length=1, max_length=MOST_PROMPTS)]
    lists: Name = ""  # a shipped file of two groups: gender, age
    first: Annotated[tuple[WordText, ...], Field(max_length=MOST_WORDS)] = ()
    second: Annotated[tuple[WordText, ...], Field(max_length=MOST_WORDS)] = ()
    models: Names = ()  # families; all if empty
    top: Annotated[int, Field(ge=0, le=20)] = 10


class TwoSentences(Sent):
    first: Sentence
    second: Sentence
    masking: Literal["each", "rest_of_word"] = "each"
    models: Names = ()


class SuggestionWanted(Sent):
    """Suggested prompts: `of` is an occupation, a concept, or the background of a pair in `set`."""

    kind: Name  # knowledge, properties or distractors
    of: Name = ""
    set: Name = ""
    chosen: Annotated[tuple[Annotated[int, Field(ge=0, le=99)], ...], Field(max_length=MOST_PROMPTS)] = ()


class ItemsWanted(Sent):
    probe: Name
    search: Annotated[str, Field(max_length=200)] = ""
    filters: Annotated[dict[Name, Name], Field(max_length=20)] = {}  # column -> value
    apart: bool = False  # only items on which seeds take both sides
    sort: Name = ""  # a column; as ranked if empty
    ascending: bool = False
    start: Annotated[int, Field(ge=0)] = 0
    rows: Annotated[int, Field(ge=1, le=MOST_ROWS)] = 20


class ItemWanted(Sent):
    probe: Name
    item: Name
    family: Name = ""


def read(content: bytes, kind: type[Q]) -> Q:
    """Half of a character, as the escape \\ud800 alone is, is no JSON for pydantic."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise BadInput(f"{where}: {first['msg']}" if where else first["msg"]) from error
