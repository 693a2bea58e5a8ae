"""A chat template around the requests to a causal model: the question in a user's turn, the answer in the assistant's.

The template is rendered once, with marks where texts will stand, in a process of its own: sandboxed, with bounds on its
time, memory and output. It never reads a text. What it wrote is split at its special tokens, each of which becomes its
id once; a text is cut into pieces with the template's words next to it, and stays text whatever it holds.

    <|im_start|>user\\nHow late?<|im_end|>\\n<|im_start|>assistant\\nAt
    id         | text          |id        |  |id          | text, which the answer goes on
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from trueprobe.errors import BadInput, printable, reading
from trueprobe.models.checkpoint import Source
from trueprobe.models.text import Text
from trueprobe.paths import refuse_special

SECONDS, MOST_CHARACTERS = 20.0, 100_000  # of one rendering, and of a template and its output
TEXT = "{text}"  # in a prefill: the left side of a blank
_USER, _SYSTEM = "QxUserTextxQ", "QxSystemTextxQ"
_EXAMPLE = "Nurses sleep."
_GENERATION = re.compile(r"\{%([-+]?)\s*(end)?generation\s*([-+]?)%\}")  # transformers' own tag, which writes nothing
# memory and time are the process's own too: a template may ask for a gigabyte in one step
_RENDERING = """
import datetime, json, sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
except (ImportError, OSError, ValueError):
    pass
from jinja2.sandbox import ImmutableSandboxedEnvironment
template, variables, most = json.load(sys.stdin)
def refuse(message):
    raise ValueError(message)
def as_json(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
extensions = ["jinja2.ext.loopcontrols"]
environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
environment.filters["tojson"] = as_json
environment.globals["raise_exception"] = refuse
environment.globals["strftime_now"] = datetime.datetime(2024, 7, 26).strftime
length, parts = 0, []
try:
    for part in environment.from_string(template).generate(variables):
        length += len(part)
        if length > most:
            raise ValueError(f"it writes more than {most:,} characters")
        parts.append(part)
    result = {"text": "".join(parts)}
except MemoryError:
    result = {"error": "it needs too much memory"}
except Exception as error:
    result = {"error": f"{type(error).__name__}: {error}"[:300]}
json.dump(result, sys.stdout)
"""


@dataclass(frozen=True)
class Chat:
    """What a template puts around a user's text. `parts`: ids of special tokens, and texts, of which one holds the
    place of the user's."""

    text: Text
    parts: tuple[int | str, ...]
    lead: str  # the template's words after its last special token
    prefill: str
    template: str  # auto, or its file's name

    def front(self, user: str) -> tuple[int, ...]:
        """The row up to the last special token before the answer. `KeyError` with what the tokenizer cannot spell."""
        ids: list[int] = []
        for part in self.parts:
            if isinstance(part, int):
                ids.append(part)
                continue
            pieces = self.text.pieces(part.replace(_USER, user.strip()))
            if pieces.lost:
                raise KeyError(pieces.lost)
            ids += pieces.ids
        return tuple(ids)

    def before_answer(self, user: str, left: str = "") -> str:
        """What the answer goes on: the template's words and the prefill, with a blank's left side where it says so."""
        return self.lead.replace(_USER, user.strip()) + self.prefill.replace(TEXT, left)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(json.dumps([self.parts, self.lead, self.prefill]).encode()).hexdigest()

    def compute_id(self, plain: str) -> str:
        """Of the model whose own is `plain`."""
        return hashlib.sha256(f"{plain} {self.sha256}".encode()).hexdigest()

    @property
    def label(self) -> str:
        """For the card: `auto-1a2b3c4d`."""
        return f"{self.template}-{self.sha256[:8]}"


def chat_of(source: Source, text: Text) -> Chat | None:
    """None without `chat=`, and with `chat=none`."""
    if source.chat in ("", "none"):
        if source.system or source.prefill:
            raise BadInput(f"{source.title}: system= and prefill= belong to a chat; say chat=auto or chat=TEMPLATE too")
        return None
    if source.start != "auto":
        raise BadInput(f"{source.title}: start={source.start} with chat=: a chat's start is its template's")
    template, title = _template(source, text.tokenizer), f"{source.title}: chat={printable(source.chat)}"
    system = [{"role": "system", "content": _SYSTEM}] if source.system else []
    messages = [*system, {"role": "user", "content": _USER}]
    names = {name: str(token) for name, token in text.tokenizer.special_tokens_map.items() if isinstance(token, str)}
    more = {"add_generation_prompt": True, "tools": None, "documents": None}
    written = rendered(title, template, json.dumps({**names, **more, "messages": messages}))
    for mark, name in ((_USER, "the user's text"), *([(_SYSTEM, "the system's")] if source.system else [])):
        if written.count(mark) != 1:
            raise BadInput(f"{title}: the template writes {name} {written.count(mark)} times, not once")
    return _chat(source, text, title, written)


def has_template(tokenizer: Any) -> bool:
    return bool(getattr(tokenizer, "chat_template", None))


def _chat(source: Source, text: Text, title: str, written: str) -> Chat:
    parts = [
        part.replace(_SYSTEM, source.system.strip()) if isinstance(part, str) else part
        for part in _split(text.tokenizer, written)
    ]
    lead = str(parts.pop()) if isinstance(parts[-1], str) else ""
    _refuse_other_ids(text, title, written, [*parts, lead], source)
    return Chat(text, tuple(parts), lead, source.prefill, Path(source.chat).name)


def _template(source: Source, tokenizer: Any) -> str:
    if source.chat == "auto":
        template = getattr(tokenizer, "chat_template", None)
        template = template.get("default") if isinstance(template, dict) else template
        if not template:
            raise BadInput(f"{source.title}: chat=auto, but the tokenizer has no chat template; chat=FILE names one")
    else:
        path = Path(source.chat)
        refuse_special(path)
        with reading(f"{source.title}: chat={printable(source.chat)} is no readable text"):
            if path.stat().st_size > 4 * MOST_CHARACTERS:
                raise BadInput(f"{path} is too long for a chat template")
            template = path.read_text(encoding="utf-8")
    if len(template) > MOST_CHARACTERS:
        raise BadInput(f"{source.title}: a chat template of {len(template):,} characters; {MOST_CHARACTERS:,} at most")
    return str(template)


@lru_cache(maxsize=64)
def rendered(title: str, template: str, variables: str) -> str:
    """What the template writes; `BadInput` where it fails, takes too long or writes too much."""
    template = _GENERATION.sub(lambda tag: f"{{%{tag[1]} {'endif' if tag[2] else 'if true'} {tag[3]}%}}", template)
    given = json.dumps([template, json.loads(variables), MOST_CHARACTERS])
    command = [sys.executable, "-I", "-c", _RENDERING]
    try:
        done = subprocess.run(command, input=given.encode(), capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as late:
        raise BadInput(f"{title}: the template takes more than {SECONDS:g} seconds") from late
    result = json.loads(done.stdout) if done.returncode == 0 else {"error": "its process ended"}
    if "error" in result:
        raise BadInput(f"{title}: the template cannot be used: {printable(result['error'])}")
    return str(result["text"])


def _split(tokenizer: Any, written: str) -> list[int | str]:
    """At special tokens; some take the white space next to them."""
    specials = {str(token): (piece, token) for piece, token in tokenizer.added_tokens_decoder.items() if token.special}
    by_length = sorted(specials, key=len, reverse=True)
    named = (rf"\s*{re.escape(name)}" if specials[name][1].lstrip else re.escape(name) for name in by_length)
    names = [f"{name}\\s*" if specials[of][1].rstrip else name for name, of in zip(named, by_length, strict=True)]
    parts = re.split(f"({'|'.join(names)})", written) if names else [written]
    ids = {name: piece for name, (piece, _) in specials.items()}
    return [ids[part.strip()] if i % 2 else part for i, part in enumerate(parts) if part]


def _refuse_other_ids(text: Text, title: str, written: str, parts: list[int | str], source: Source) -> None:
    """Part by part the ids must be those of the whole, as transformers' `apply_chat_template` gives them."""
    whole = written.replace(_USER, _EXAMPLE).replace(_SYSTEM, source.system.strip())
    ids: list[int] = []
    for part in parts:
        if isinstance(part, int):
            ids.append(part)
        elif part:
            pieces = text.pieces(part.replace(_USER, _EXAMPLE))
            if pieces.lost:
                raise BadInput(f"{title}: the tokenizer cannot spell {pieces.lost!r} of the template or system text")
            ids += pieces.ids
    if any(token in source.system for token in text.specials):  # which stay text here, and do not there
        return
    text.fast.encode_special_tokens = False
    try:
        theirs = list(text.fast.encode(whole, add_special_tokens=False).ids)
    finally:
        text.fast.encode_special_tokens = True
    if ids != theirs:
        raise BadInput(f"{title}: the tokenizer cuts the template's words otherwise next to its special tokens")
