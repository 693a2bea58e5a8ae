"""The cleaner, rule by rule, on dump snippets small enough to work out by hand."""

from __future__ import annotations

import hashlib
import json
import re
from functools import partial
from html import escape
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueprobe import assets
from trueprobe.assets import catalogue
from trueprobe.errors import BadInput
from trueprobe.paths import write_whole
from trueprobe.training import corpus, wikipedia
from trueprobe.training.wikipedia import DumpCounts, article, clean, sentences
from trueprobe.types import NoProgress

REST = "The mill stands by the river. It was built of red brick. Nobody lives there now."
REST_LINES = ["The mill stands by the river.", "It was built of red brick.", "Nobody lives there now."]


def page(title: str, text: str) -> str:
    body = f'<text xml:space="preserve">{escape(text)}</text>' if text else '<text xml:space="preserve" />'
    return f"  <page>\n    <title>{escape(title)}</title>\n    <revision>\n      {body}\n    </revision>\n  </page>\n"


def run(folder: Path, dump: str | bytes) -> tuple[DumpCounts, str]:
    raw, out = folder / "raw", folder / "out.txt"
    raw.write_bytes(dump if isinstance(dump, bytes) else dump.encode())
    return clean(raw, out), out.read_bytes().decode()


def added(wiki: str) -> list[str]:
    """The lines that a snippet adds to an article that is kept anyway."""
    lines = article("Mill", f"{wiki}\n\n{REST}")
    assert lines[-3:] == REST_LINES
    return lines[:-3]


@pytest.mark.parametrize(
    ("wiki", "expected"),
    [
        ("The '''old''' ''mill'' has a wheel.", ["The old mill has a wheel."]),
        ("She read ''Emma'''s first page.", ["She read Emma's first page."]),
        ("It was '''Anna''''s own mill.", ["It was Anna's own mill."]),
        ("The [[water wheel|wheel]] and [[dog]]s are old.", ["The wheel and dogs are old."]),
        ("He met [[Adam (miller)|]] at the fair.", ["He met Adam at the fair."]),
        ("[[Image:a.jpg|thumb|A [[mill]] in [[May]].]]It has four floors.", ["It has four floors."]),
        ("It has four floors.\n[[Category:Mills]]\n[[fr:Moulin]]", ["It has four floors."]),
        ("They saw [http://a.org/x the old plan] of it.", ["They saw the old plan of it."]),
        ("It has four floors [http://a.org/x].", ["It has four floors."]),
        ("One can look at http://a.org/x for more.", []),
        ("{{Box|a={{b|c}}|d}}\nIt has four floors.", ["It has four floors."]),
        ("It has four floors.{{fact}} It leans.{{x}} It is quite safe.", ["It has four floors.", "It is quite safe."]),
        ("The area is {{convert|3|km}} in all.", []),
        ("The energy is <math>mc^2</math> for all.", []),
        ("It rose by 10<sup>6</sup> last year.", []),
        ("It is the 5<sup>th</sup> mill here.", ["It is the 5th mill here."]),
        ("It has four<ref>See [[p]] 3.</ref> floors<ref name=a />.", ["It has four floors."]),
        ("It has <!-- not\nthree --> four floors.", ["It has four floors."]),
        ("It has <span class=x>four</span><br/>floors.", ["It has four floors."]),
        ("People write <rant> in such mails.", []),
        ("It costs&nbsp;four pounds &mdash; or five.", ["It costs four pounds - or five."]),
        ("He said “yes” in ’45–46 at the café.", ['He said "yes" in \'45-46 at the café.']),
        ("The mill (; {{x}}) has a wheel.", ["The mill has a wheel."]),
        ("The mill (Greek: Μύλος) has a wheel.", ["The mill has a wheel."]),
        ("The mill (, built 1820 ) has a wheel.", ["The mill (built 1820) has a wheel."]),
        ("The search takes O(n<sup>2</sup>) steps in all.", []),
        (
            "{| class=x\n| It is a cell here.\n{|\n|a\n|}\n| It is another one.\n|}\nIt has four floors.",
            ["It has four floors."],
        ),
        ("<table><tr><td>It is a cell here.</td></tr></table>\nIt has four floors.", ["It has four floors."]),
        ("==The wheel was built early.==\nIt has four floors.", ["It has four floors."]),
        ("{|\n| lost\n== Next ==\nIt has four floors.", ["It has four floors."]),
        ("* A short item of the list.\n# Miller, A. (1990). A very long book about all the mills of it.", []),
        (
            "* The miller kept his books in the loft because the cellar was wet.",
            ["The miller kept his books in the loft because the cellar was wet."],
        ),
        ("The mill was sold\nto a baker in May.", ["The mill was sold to a baker in May."]),
        (" print this is code here.", []),
        ("For other mills of the name, see Mills.", []),
    ],
)
def test_mark_up(wiki, expected):
    assert added(wiki) == expected


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("Mr. Hill met Dr. Adams. They ate a pie.", ["Mr. Hill met Dr. Adams.", "They ate a pie."]),
        (
            "J. R. R. Hill lived in St. Ives. He wrote many books.",
            ["J. R. R. Hill lived in St. Ives.", "He wrote many books."],
        ),
        ("The U.S. Army left the U.S. The war went on.", ["The U.S. Army left the U.S.", "The war went on."]),
        ("Some mills, e.g. Dutch ones, are tall.", ["Some mills, e.g. Dutch ones, are tall."]),
        ("It was built c. 1820 as No. 5 here.", ["It was built c. 1820 as No. 5 here."]),
        ("It is 3.5 metres high. 12 men built it.", ["It is 3.5 metres high.", "12 men built it."]),
        ('He called it "my old mill." It was sold then.', ['He called it "my old mill."', "It was sold then."]),
        ("It grew (as all things do.) He sold it then.", ["It grew (as all things do.)", "He sold it then."]),
        ("She painted and loved art. The mill was hers.", ["She painted and loved art.", "The mill was hers."]),
        ("Was it sold at last? It was not sold!", ["Was it sold at last?", "It was not sold!"]),
    ],
)
def test_sentence_ends(paragraph, expected):
    assert list(sentences(paragraph)) == expected


@pytest.mark.parametrize(
    "bad",
    [
        "it begins with a small letter.",
        "It has no end here",
        "It is short.",
        " ".join(["Very", *["long"] * 100]) + ".",
        "12 34 56 78 90 (12 34) 56 78.",
        "Это не английское предложение совсем.",
        "It has a { brace in it.",
        "It opens (a bracket and stops.",
        'It opens "a quotation and stops.',
        "It stops in the middle of...",
        "It lost its space.And it went on.",
    ],
)
def test_sentences_that_are_not_well_formed_go(bad):
    assert list(sentences(bad)) == []


def test_hundred_words_are_still_allowed():
    assert len(list(sentences(" ".join(["Very", *["long"] * 99]) + "."))) == 1


@pytest.mark.parametrize(
    "name", ["See also", "References", "External links", "Further reading", "Bibliography", "Notes"]
)
def test_closing_sections_end_the_article(name):
    wiki = f"{REST}\n== {name} ==\nIt has four floors.\n== More ==\nIt has two doors."
    assert article("Mill", wiki) == REST_LINES


def test_a_closing_subsection_ends_only_itself():
    wiki = f"{REST}\n=== Notes ===\nIt has four floors.\n== More ==\nIt has two doors."
    assert article("Mill", wiki) == [*REST_LINES, "It has two doors."]


@pytest.mark.parametrize(
    "title",
    [
        *[f"{space}:Mill" for space in ("Wikipedia", "Image", "Category", "Template", "Talk", "User talk")],
        *[f"{space}:Mill" for space in ("MediaWiki", "Portal", "Help", "User")],
        "Mill (disambiguation)",
    ],
)
def test_pages_outside_the_encyclopedia_go(title):
    assert article(title, REST) == []


def test_a_colon_alone_does_not_make_a_namespace():
    assert article("Mill: A Novel", REST) == REST_LINES


@pytest.mark.parametrize("wiki", ["#REDIRECT [[Mill]]\n" + REST, "#redirect [[Mill]] " + REST, REST + "\n{{disambig}}"])
def test_redirects_and_disambiguation_pages_go(wiki):
    assert article("Mill", wiki) == []


def test_whole_file(tmp_path):
    dump = "<mediawiki>\n" + page("Mill", REST) + page("Empty", "") + page("Stub", "It has four floors.")
    counts, text = run(tmp_path, dump + page("Talk:Mill", REST) + page("Barn", REST) + "</mediawiki>\n")
    block = "\n".join(REST_LINES) + "\n"
    assert text == block + "\n" + block
    assert counts == DumpCounts(articles=2, sentences=6, words=32)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.txt", "raw"]


def test_same_bytes_each_time(tmp_path):
    dump = page("Mill", REST) + page("Barn", REST + " The café “Anna” is near.")
    assert run(tmp_path, dump) == run(tmp_path, dump)


def test_every_cut_of_the_last_article_is_survived(tmp_path):
    whole = page("Mill", REST) + page(
        "Café", "Il café is here.\n\n" + REST.replace(". ", ".\n\n") + "\n\nThe é is cut."
    )
    data = whole.encode()
    for cut in range(len(page("Mill", REST).encode()), len(data), 7):
        _, text = run(tmp_path, data[:cut])
        lines = set(text.split("\n")) - {""}
        assert set(REST_LINES) <= lines <= {*REST_LINES, "Il café is here.", "The é is cut."}


def test_progress_reaches_the_total(tmp_path):
    raw = tmp_path / "raw"
    raw.write_text(page("Mill", REST) * 250, encoding="utf-8")
    bar = Bar()
    clean(raw, tmp_path / "out.txt", bar)
    size = raw.stat().st_size
    assert (bar.total, bar.unit) == (size, "bytes")
    assert len(bar.reached) >= 3
    assert bar.reached == sorted(bar.reached)
    assert bar.reached[-1] == size


class Bar(NoProgress):
    def __init__(self):
        self.reached = []

    def task(self, title, total=None, unit=""):
        self.total, self.unit = total, unit
        return super().task(title, total, unit)

    def reach(self, amount, total=None, note=""):
        self.reached.append(amount)


def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    raw, out = tmp_path / "raw", tmp_path / "out.txt"
    raw.write_text(page("Mill", REST) + page("Barn", REST), encoding="utf-8")

    def fail(title: str, wiki: str) -> list[str]:
        if title == "Barn":
            raise RuntimeError("stop")
        return article(title, wiki)

    monkeypatch.setattr(wikipedia, "article", fail)
    with pytest.raises(RuntimeError, match="stop"):
        write_whole(out, partial(clean, raw))
    assert list(tmp_path.iterdir()) == [raw]


# ---------------------------------------------------------------- the asset and what is made of it

DUMP = "<mediawiki>\n" + page("Mill", REST) + page("Barn", REST + " The café “Anna” is near.") + "</mediawiki>\n"
CARD = """title = "a dump"
made_by = "us"
kind = "wikipedia_dump"
licence = "MIT"
ready = "enwik8"
ready_bytes = 9
content = "{content}"
counts = {{ bytes = {bytes} }}
recipe = 2

[[sources]]
via = "address"
at = "http://127.0.0.1:9/"
files = [{{ name = "enwik8", at = "enwik8", sha256 = "{content}" }}]
"""


@pytest.fixture
def dump(tmp_path, monkeypatch):
    """A small dump as the asset `enwik8`, not fetched yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(catalogue, "CARDS", tmp_path / "cards")
    (tmp_path / "cards").mkdir()
    raw = DUMP.encode()
    text = CARD.format(content=hashlib.sha256(raw).hexdigest(), bytes=len(raw))
    (tmp_path / "cards" / "enwik8.toml").write_text(text)
    (tmp_path / "dump").write_bytes(raw)
    return tmp_path / "dump"


def cleaned(folder: Path) -> bytes:
    """What earlier versions made of the dump when it was fetched."""
    return run(folder, DUMP)[1].encode()


def test_the_asset_is_the_dump_and_its_sentences_are_made_once(dump, tmp_path):
    assert assets.fetch("enwik8", dump).read_bytes() == DUMP.encode()
    assert not (assets.home() / "enwik8" / "sentences.txt").exists()
    file = corpus.locate("enwik8")
    assert file == assets.home() / "enwik8" / "sentences.txt"
    assert file.read_bytes() == cleaned(tmp_path)
    stamp = file.stat().st_mtime_ns
    assert corpus.locate("enwik8").stat().st_mtime_ns == stamp
    assert assets.path_of("enwik8").read_bytes() == DUMP.encode()
    assert assets.obtain("enwik8").was_here


def test_damaged_sentences_are_made_anew(dump, tmp_path):
    assets.fetch("enwik8", dump)
    corpus.locate("enwik8").write_bytes(b"Another sentence.\n")
    assert corpus.locate("enwik8").read_bytes() == cleaned(tmp_path)


def test_a_failure_leaves_no_sentences(dump, monkeypatch):
    assets.fetch("enwik8", dump)
    with monkeypatch.context() as patch:
        patch.setattr(wikipedia, "article", lambda title, wiki: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            corpus.locate("enwik8")
    assert sorted(path.name for path in (assets.home() / "enwik8").iterdir()) == ["asset.json", "enwik8"]
    assert corpus.locate("enwik8").exists()


def test_a_folder_of_an_earlier_version_with_the_sentences_alone_is_used(dump, tmp_path):
    folder = assets.home() / "enwik8"
    folder.mkdir(parents=True)
    (folder / "sentences.txt").write_bytes(text := cleaned(tmp_path))
    files = {"sentences.txt": {"sha256": hashlib.sha256(text).hexdigest(), "bytes": len(text)}}
    record = {"name": "enwik8", "source": "x", "licence": "MIT", "recipe": 1, "counts": {}, "made_with": "0.1.0"}
    content = assets.card("enwik8").content
    (folder / "asset.json").write_text(json.dumps({**record, "content": content, "files": files}))
    assert corpus.locate("enwik8").read_bytes() == text
    assert not assets.cached("enwik8")
    assets.fetch("enwik8", dump)  # a fetch brings the dump
    assert corpus.locate("enwik8").read_bytes() == text


def test_without_the_asset_the_command_that_gets_it_is_named(dump):
    with pytest.raises(BadInput, match="asset 'enwik8' is not on this machine: trueprobe fetch enwik8"):
        corpus.locate("enwik8")


def test_a_name_that_is_no_asset_or_a_file_of_that_name_is_a_path(dump, monkeypatch):
    assert corpus.locate("text.txt") == Path("text.txt")
    monkeypatch.chdir(dump.parent)
    Path("enwik8").write_text("mine")
    assert corpus.locate("enwik8") == Path("enwik8")


PIECES = ["{{", "}}", "{|", "|}", "[[", "]]", "[", "]", "|", "'''", "''", "<ref>", "</ref>", "<!--", "-->", "<math>"]
PIECES += [
    "</math>",
    "<table>",
    "</table>",
    "\n",
    "\n* ",
    "\n== ",
    " ==\n",
    "&nbsp;",
    "&lt;",
    "&amp;lt;",
    "&#91;",
    "(",
    ")",
]
PIECES += [
    "Image:",
    "http://a.org ",
    "The mill stands by ",
    "a river. ",
    "It is Mr. ",
    "J. ",
    "\ue000",
    "=",
    "é",
    "--",
    "“",
]
SOUP = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=40).map("".join)


@settings(max_examples=150)
@given(SOUP)
def test_no_mark_up_comes_through_and_nothing_raises(soup):
    for wiki in (soup, f"{soup}\n\n{REST}"):
        for line in article("Mill", wiki):
            assert not re.search(r"[{}\[\]|<>=\n\ue000]|http|''''", line)
            assert line == " ".join(line.split())
            assert 4 <= len(line.split()) <= 100
