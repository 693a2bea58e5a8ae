"""Plain English sentences from a Wikipedia XML dump, so that small models can learn from prose and not from mark-up.

What is lost on purpose: anything that cannot be turned into a whole sentence with certainty. A dropped template or
formula leaves a HOLE in its sentence; a sentence with a hole is dropped too, because "The area is km." teaches nothing.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from trueprobe.types import NoProgress, Progress

MIN_WORDS, MAX_WORDS = 4, 100
MIN_LETTERS = 0.70  # share of letters and spaces: below it a sentence is mostly figures, codes or a reference
MIN_ASCII = 0.90  # share of ASCII characters: below it a sentence is mostly another script
MIN_LIST_WORDS = 10  # a list item is seldom prose; only a long one that ends like a sentence is taken
MIN_SENTENCES = 3  # an article with fewer is a stub or a list
HOLE = "\ue000"  # a private-use character: it is removed from the input before it is used here


class DumpCounts(NamedTuple):
    articles: int
    sentences: int
    words: int


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NAMESPACES = _words("media special talk user wikipedia image mediawiki template help category portal file project wp")
STOP_SECTION = re.compile(
    r"(?:see also|references?|external links?|further reading|bibliography|(?:foot)?notes|sources|links|literature|"
    r"references and (?:notes|external links)|notes and references)[ :]*$",
    re.I,
)
# Never the end of a sentence.
TITLES = _words(
    "mr mrs ms dr prof st ste gen col lt sgt cpl capt cmdr adm gov sen rep rev hon fr messrs mt ft vs cf e.g i.e eg ie "
    "viz ca c cca approx fl b d r p pp vol vols ed eds op fig figs eq sec ch nr nos abbr pron pres supt maj "
    "brig gr lat heb jan feb mar apr jun jul aug sep sept oct nov dec bros dept est incl esp resp v ph pl"
)
# The end of a sentence only when the next word usually begins one.
DOUBTFUL = _words("jr sr inc ltd co corp etc al no esq bc ad ph.d m.d b.a m.a ave blvd rd sq univ assn")
STARTERS = _words(
    "The A An In It He She They This That These Those There We You His Her Its Their On At By For From With When While "
    "After Before Although Though However But And As If Since During Some Many Most Other Another One Two Both All "
    "Each To Such Because Also Until Under Despite Today Later Then Thus Several Not No What Where Who Early Only"
)

DISAMBIGUATION = re.compile(r"\{\{\s*(?:disambig|dis\b|hndis|geodis|numberdis|tla|2cc|3cc|4cc|roaddis|shipindex)", re.I)
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
REFERENCE = re.compile(r"<ref\b[^<>]*/>|<ref\b[^<>]*>.*?</ref\s*>", re.S | re.I)
OPAQUE = re.compile(r"<(math|pre|code|source|gallery|timeline|hiero|nowiki|tt)\b[^<>]*>.*?</\1\s*>", re.S | re.I)
POWER = re.compile(r"<sup\b[^<>]*>(.*?)</sup\s*>", re.S | re.I)
BLOCK_TAG = re.compile(r"</?(?:p|div|center|blockquote|li|ul|ol|dl|dd|dt|hr|h\d)\b[^<>]*>", re.I)
BREAK_TAG = re.compile(r"<br\b[^<>]*>", re.I)
TAG = re.compile(  # known names only: an invented tag is part of what the sentence says
    r"</?(?:b|i|u|s|em|strong|small|big|su[bp]|font|span|t[rdh]|var|cite|del|ins|strike|abbr|a|ruby|r[btp]|caption|"
    r"tbody|nobr|q|dfn|kbd|samp|references|(?:no|only)?include(?:only)?)\b[^<>]*>",
    re.I,
)
TEMPLATE = re.compile(r"\{\{([^{}]*)\}\}")
SILENT = re.compile(  # templates that stand next to the text and whose loss leaves no hole
    r"\s*(?:ref|note|fact|cite|citation|cn\b|mn|inote|an\b|anb|dubious|verify|unref|clear|main|see|sp-|spoiler|ent\b|"
    r"audio|portal|wiki|commons|stub|dablink|otheruses|for\b|toc)",
    re.I,
)
LINK = re.compile(r"\[\[([^\[\]]*)\]\]")
NO_TEXT_LINK = re.compile(r"\s*(?:image|file|media|category)\s*:", re.I)
LANGUAGE_LINK = re.compile(r"\s*(?:[a-z]{2,3}|simple|zh-[a-z-]+|roa-rup|be-x-old|tokipona)\s*:[^ ]")
EXTERNAL = re.compile(r"\[(?:https?|ftp|irc|news|mailto):[^\s\[\]]*\s*([^\[\]\n]*)\]", re.I)
BARE_URL = re.compile(r"(?:https?|ftp)://[^\s<>\[\]|]+", re.I)
POSSESSIVE = re.compile(r"(?<!')''([^'\n]+)'''(?=s\b)|''''(?=s\b)")
QUOTES = re.compile(r"'{2,}")
HEADING = re.compile(r"(={1,6})\s*(.*?)\s*=+\s*$")
TABLE_OPEN = re.compile(r"^[\s:*]*\{\||<table\b", re.I)
TABLE_CLOSE = re.compile(r"^\s*\|\}(?!\})|</table\b", re.I)
REFERENCE_LIKE = re.compile(
    r"\(\d{4}|\bISBN\b|\bpp?\. ?\d|\bPress\b|^[^.]{0,60}(?: - |: )|, \d{4}\.$|\bed\.|\bvol\.", re.I
)
FOREIGN = r"\u0250-\u02ff\u0370-\u1dff\u2c00-\ud7ff\uf900-\ufaff"
LOST_BRACKET = re.compile(rf"(?:\s+|^)\((?:[^()]*[{HOLE}{FOREIGN}][^()]*|[\s;,:.\-]*)\)")
PAIR = re.compile(r"\([^()]*\)")
BRACKET_HEAD, BRACKET_TAIL = re.compile(r"\([\s;,:]+"), re.compile(r"[\s;,:]+\)")
SPACE_BEFORE = re.compile(r"\s+(?=[,.;:!?](?:\s|$))")
PLAIN = str.maketrans(
    {"’": "'", "‘": "'", "`": "'", "´": "'", "“": '"', "”": '"', "„": '"', "–": "-", "−": "-", "‑": "-", "…": "..."}
    | {"\u00a0": " ", "\u2009": " ", "\u202f": " "}
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\ufeff\ufffd")
)
LONG_DASH = re.compile(r"\s*(?:—|(?<!-)--+(?!-))\s*")
BOUNDARY = re.compile(r"([.!?]+)([\"')]*) +(?=[\"'(]*([^\W_]+))")
INITIALS = re.compile(r"[A-Z]|(?!e\.g|i\.e)(?:[A-Za-z]\.)+[A-Za-z]")
BAD = re.compile(rf"[{{}}\[\]|<>=\\^~_*#@{HOLE}]|http|www\.|ISBN|\.(?:com|org|net)\b|\(\)|[,;:] ?[,;.]|\.\.\.\.", re.I)
HATNOTE = re.compile(r"Bibliography:|N(?:OTE|ote):|This (?:article|page) is about|For .*, see |See ")
SHAPE = re.compile(r"[\"']*[^\W_].*[.!?][\"')]*$", re.S)
GLUED = re.compile(r"\)[A-Z]?[a-z]{2}|[a-z]{2}[.!?,;:][A-Z]?[a-z]| ,")  # a space was lost, and maybe more with it
HOLE_AFTER_END = re.compile(rf"(?<=[.!?]){HOLE}+")
# Verse and page numbers, quotations that were cut, lines of estimates.
FRAGMENT = re.compile(r"\d+(?:[;:)]|, |-[^\W\d])|.*(?:\.\.|\b[ivxl]+|\(.*\best)[.!?][\"')]*$")


def _link(match: re.Match[str]) -> str:
    body = match[1]
    if NO_TEXT_LINK.match(body):
        return ""
    target, bar, text = body.partition("|")
    if not bar:
        return "" if LANGUAGE_LINK.match(body) else target.strip().lstrip(":")
    return text.rpartition("|")[2] or re.sub(r"\s*\(.*", "", target)


def _template(match: re.Match[str]) -> str:
    if match[1].strip() in ("'", "'s"):
        return match[1].strip()
    return "" if SILENT.match(match[1]) else HOLE


def _until_still(pattern: re.Pattern[str], by: Callable[[re.Match[str]], str], text: str) -> str:
    """Innermost first, so that nesting needs no recursive pattern."""
    count = 1
    while count:
        text, count = pattern.subn(by, text)
    return text


def _strip(wiki: str) -> str:
    """Mark-up out, line structure left in: headings, lists and table rows are recognisable by their first mark."""
    text = REFERENCE.sub("", COMMENT.sub("", wiki.replace(HOLE, "")))
    text = POWER.sub(lambda m: m[1] if m[1] in ("st", "nd", "rd", "th") else HOLE, OPAQUE.sub(HOLE, text))
    text = _until_still(TEMPLATE, _template, text)
    lines, depth = [], 0
    for line in text.split("\n"):
        opened, closed = len(TABLE_OPEN.findall(line)), len(TABLE_CLOSE.findall(line))
        if line.startswith("=="):
            depth = 0  # a table that was never closed must not swallow the sections after it
        if not (depth or opened or closed or line[:1] in ("|", "!") or (line[:1] == " " and line[1:2] != "[")):
            lines.append(line.lstrip(HOLE) if line.strip(HOLE + " ") else "")
        depth = max(0, depth + opened - closed)
    text = TAG.sub("", BREAK_TAG.sub(" ", BLOCK_TAG.sub("\n\n", "\n".join(lines))))
    text = BARE_URL.sub(HOLE, EXTERNAL.sub(r"\1", text))
    text = _until_still(LINK, _link, text)
    text = QUOTES.sub("", POSSESSIVE.sub(r"\1'", text))
    return LONG_DASH.sub(" - ", html.unescape(text).translate(PLAIN))


def _paragraphs(text: str) -> Iterator[str]:
    """Neighbouring plain lines are one paragraph; list items stand alone; closing sections end the article."""
    held: list[str] = []
    skipping = False
    for line in [*text.split("\n"), ""]:
        heading = HEADING.match(line)
        plain = bool(line.strip()) and not heading and line[0] not in "*#:;|!-"
        if plain and not skipping:
            held.append(line)
            continue
        if held:
            yield " ".join(held)
            held = []
        if heading:
            skipping = bool(STOP_SECTION.match(heading[2]))
            if skipping and len(heading[1]) <= 2:
                return
        elif line and line[0] in "*#:" and not skipping:
            item = line.lstrip("*#:; ")
            if len(item.split()) >= MIN_LIST_WORDS and item[:1].isupper() and not REFERENCE_LIKE.search(item):
                yield item


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether this full stop ends its sentence."""
    following = match[3]
    if following[0].islower():
        return False
    if match[1] != "." or match[2]:
        return True
    before = text[max(start, match.start() - 24) : match.start()].split()
    word = before[-1].lstrip("\"'(") if before else ""
    if INITIALS.fullmatch(word) or word.lower() in DOUBTFUL:
        return following in STARTERS
    return word.lower() not in TITLES


def sentences(paragraph: str) -> Iterator[str]:
    """The well-formed sentences of one paragraph without mark-up."""
    text = _until_still(LOST_BRACKET, lambda m: "", HOLE_AFTER_END.sub("", " ".join(paragraph.split())))
    text = SPACE_BEFORE.sub("", BRACKET_TAIL.sub(")", BRACKET_HEAD.sub("(", text)))
    text = " ".join(text.split())
    start = 0
    for match in BOUNDARY.finditer(text):
        if _ends(text, start, match):
            yield from filter(_good, [text[start : match.end()].rstrip()])
            start = match.end()
    yield from filter(_good, [text[start:]])


def _good(sentence: str) -> bool:
    if not MIN_WORDS <= len(sentence.split()) <= MAX_WORDS or not SHAPE.match(sentence):
        return False
    if (
        sentence.lstrip("\"'")[0].islower()
        or BAD.search(sentence)
        or GLUED.search(sentence)
        or HATNOTE.match(sentence)
        or FRAGMENT.match(sentence)
    ):
        return False
    unpaired = _until_still(PAIR, lambda m: "", sentence)
    if "(" in unpaired or ")" in unpaired or sentence.count('"') % 2:
        return False
    letters = sum(map(str.isalpha, sentence)) + sentence.count(" ")
    ascii_part = len(sentence.encode("ascii", "ignore"))
    return letters >= MIN_LETTERS * len(sentence) and ascii_part >= MIN_ASCII * len(sentence)


def article(title: str, wiki: str) -> list[str]:
    """The sentences of one page; none for a redirect, a disambiguation page or a page outside the encyclopedia."""
    space = title.partition(":")[0].lower().removesuffix(" talk") if ":" in title else ""
    if space in NAMESPACES or wiki.lstrip()[:9].upper() == "#REDIRECT":
        return []
    if "(disambiguation)" in title.lower() or DISAMBIGUATION.search(wiki):
        return []
    lines = [sentence for paragraph in _paragraphs(_strip(wiki)) for sentence in sentences(paragraph)]
    return lines if len(lines) >= MIN_SENTENCES else []


def _pages(raw: Path) -> Iterator[tuple[int, str, str]]:
    """(bytes read, title, wiki text) of each page; of a page cut off by the end of the file, its whole lines."""
    done, title = 0, ""
    body: list[bytes] | None = None
    with raw.open("rb") as stream:
        for line in stream:
            done += len(line)
            if body is None:
                if b"<title>" in line:
                    title = html.unescape(line.decode("utf-8", "replace").strip()[len("<title>") : -len("</title>")])
                _, mark, line = line.partition(b"<text")
                if not mark:
                    continue
                attributes, _, line = line.partition(b">")
                if attributes.endswith(b"/"):
                    continue
                body = []
            text, end, _ = line.partition(b"</text>")
            body.append(text)
            if end:
                yield done, title, html.unescape(b"".join(body).decode("utf-8", "replace"))
                body = None
    if body:
        yield done, title, html.unescape(b"".join(body[:-1]).decode("utf-8", "replace"))


def clean(raw: Path, out: Path, progress: Progress | None = None) -> DumpCounts:
    """Writes one sentence per line with a blank line between articles."""
    articles = written = words = 0
    size = raw.stat().st_size
    task = (progress or NoProgress()).task(f"cleaning {raw.name}", size, "bytes")
    with out.open("w", encoding="utf-8", newline="\n") as stream, task as bar:
        for done, title, wiki in _pages(raw):
            if lines := article(title, wiki):
                stream.write(("\n" if articles else "") + "\n".join(lines) + "\n")
                articles, written = articles + 1, written + len(lines)
                words += sum(len(line.split()) for line in lines)
            bar.reach(done)
        bar.reach(size)
    return DumpCounts(articles, written, words)
