"""Every sentence of the first screen, counted again from the tables of the run folder in plain pandas: the headline,
the note of a limited run, how far to trust it, and each number with its mark. Of the results only the page is used."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from pathlib import Path
from statistics import NormalDist

import pandas as pd
import pytest
from typer.testing import CliRunner

import authors_tree
import trueprobe
from trueprobe import probes
from trueprobe.cli import app
from trueprobe.probes.distractors.released import CONDITIONS

GOOD = ("holds", "holds_for_checkpoint", "as_published", "alike")
SILENT = (
    "fails_gate",
    "insensitive",
    "low_coverage",
    "nothing_scored",
    "too_few_groups",
    "no_interval",
    "no_variation",
)
MARKS = {**dict.fromkeys(GOOD, "*"), "alike": "≈", "not_contradicted": "=", "opposite": "!", "flips": "~"}
MARKS |= {"suggestive": "°", "mixed": "±"}
NUMBER = r"[+−]?[\d,]+(?:\.\d+)?"
EIGHT = ("BertBase", "BertLarge", "RobertaBase", "RobertaLarge", "GPT2Small", "GPT2Medium", "GPT2Large", "GPT2XL")


# ---------------------------------------------------------------- four runs


def quick_demo(folder):
    asked = ["run", "quick", "--limit", "120", "--out", str(folder / "run"), "--store", str(folder / "answers")]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output


def causal_on_three_probes(folder):
    three = ["counteracts", "tacit_retrieval", "distractors"]
    trueprobe.run(three, "nursery-causal", folder / "run", store=folder / "answers", limit=300)


def eight_replayed_models(folder):
    keeps = {name: 0.1 + 0.05 * i for i, name in enumerate(EIGHT)}
    clone = authors_tree.clone(folder / "clone", keeps, [name for name, at in CONDITIONS.items() if at[0] == "after"])
    settings = {"faithful": True, "base": "authors"}
    trueprobe.run("distractors", f"replay:{clone}", folder / "run", settings=settings)


def own_pairs(folder):
    rows = [
        f"The {'cats' if i % 2 else 'dogs'} {v}s {i} .,The cats {v} {i} ." for i, v in enumerate(["run", "sit"] * 12)
    ]
    (folder / "mine.csv").write_text("\n".join(["worse,better", *rows]), encoding="utf-8")
    settings = {"data": str(folder / "mine.csv")}
    trueprobe.run("pairs", "mini", folder / "run", settings=settings, store=folder / "answers")


# ---------------------------------------------------------------- its tables


def table(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path) if path.exists() else pd.DataFrame()


class Tables:
    """All rows about families at their last step, of estimates and claims, as one frame."""

    def __init__(self, folder: Path) -> None:
        self.declared = json.loads((folder / "probes.json").read_text(encoding="utf-8"))
        self.manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        cards = pd.DataFrame(self.manifest["cards"])
        self.families = list(dict.fromkeys(cards["family"]))
        self.seeds = cards.groupby("family", sort=False)["name"].count()
        claims = table(folder / "claims.parquet")
        claims = claims.assign(what=claims["claim"], neutral=claims["threshold"]) if len(claims) else claims
        frames = [table(folder / "estimates" / f"{label}.parquet") for label in self.declared]
        rows = pd.concat([claims, *(f.assign(what=f["measure"]) for f in frames if len(f))], ignore_index=True)
        single = rows["family"].map(self.seeds).eq(1)
        self.rows = rows[(rows["level"] == "pair") | single | (rows["level"] == "family")].copy()
        self.rows["primary"] = [self._primary(row) is not None for row in self.rows.to_dict("records")]
        self.observed = {label: self._observed(folder, label) for label in self.declared}
        self.items = {label: len(table(folder / "items" / f"{label}.parquet")) for label in self.declared}

    def _observed(self, folder: Path, label: str) -> pd.DataFrame:
        return pd.concat(
            [pd.read_parquet(path) for path in sorted((folder / "observations" / label).glob("*.parquet"))]
        )

    def _primary(self, row) -> dict | None:
        """What declares it; an empty dictionary where several probes claim it."""
        if row["probe"] not in self.declared:
            return {}
        for one in self.declared[row["probe"]]["primary"]:
            claimed = isinstance(row.get("claim"), str)
            named = row["what"] in one["claims"] if claimed else not one["claims"] and row["what"] == one["measure"]
            values = {key: row.get(f"condition_{key}") for key in one["where"]}
            at = {k: v for k, v in values.items() if isinstance(v, str)} if claimed else values
            if named and all(v in ([w] if isinstance(w := one["where"][k], str) else w) for k, v in at.items()):
                return one
        return None

    def displayed(self) -> pd.DataFrame:
        """Claims at the conditions of the summary of their probe."""
        kept = []
        for row in self.rows.to_dict("records"):
            where = self.declared.get(row["probe"], {}).get("summary", {}).get("where", {})
            at = {key: row.get(f"condition_{key}") for key in where}
            fits = all(
                not isinstance(v, str) or v in ([w] if isinstance(w := where[k], str) else w) for k, v in at.items()
            )
            kept.append(fits or not isinstance(row.get("claim"), str))
        return self.rows[kept]

    def side(self, row) -> str:
        return "below" if row["value"] < row["neutral"] else "above"

    def place(self, row) -> tuple:
        """What tells findings apart: the conditions of estimates, too."""
        names = [] if isinstance(row.get("claim"), str) else [k for k in row if k.startswith("condition_")]
        return (row["probe"], row["what"], *(row[name] for name in names if isinstance(row[name], str)))


def as_share(unit: str, value: float) -> float:
    if unit == "nats":
        return 1 / (1 + math.exp(-value))
    return NormalDist().cdf(value / math.sqrt(2)) if unit == "d" else value


def size(row) -> float:
    return min(1.0, abs(as_share(row["unit"], row["value"]) - as_share(row["unit"], row["neutral"])))


def number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", ""))


def agrees(text: str, value: float) -> bool:
    """To the digits that are written."""
    digits = len(text.partition(".")[2])
    return abs(number(text) - value) <= 0.5001 * 10**-digits


def factor(row) -> float:
    return 100 if row["unit"] in ("share", "probability") else 1


# ---------------------------------------------------------------- the headline


def groups_of(tables: Tables, rows: pd.DataFrame) -> dict[tuple, list[dict]]:
    groups: dict[tuple, list[dict]] = {}
    for row in rows.to_dict("records"):
        groups.setdefault((*tables.place(row), tables.side(row)), []).append(row)
    return groups


def check_main(tables: Tables, text: str) -> None:
    """The largest finding that is decided, by its template; where none is, that nothing is."""
    decided = tables.displayed().query("primary and verdict in @GOOD")
    if decided.empty:
        assert text.startswith(
            ("Nothing is decided", "No primary number could be judged", "Contradicts ", "Both directions")
        )
        check_nearest(tables, text)
        return
    groups = groups_of(tables, decided)
    largest = max(groups, key=lambda key: sum(map(size, groups[key])))
    check_sentence(tables, text, groups[largest])
    other = groups.get((*largest[:-1], "above" if largest[-1] == "below" else "below"), [])
    assert ("Other direction: " in text) <= bool(other)
    for row in other if "Other direction: " in text else ():
        assert row["model"] in text.partition("Other direction: ")[2]


def check_nearest(tables: Tables, text: str) -> None:
    if "Closest: " not in text:
        return
    open_rows = tables.displayed().query("primary and verdict in ('undecided', 'not_contradicted')")
    open_rows = open_rows[open_rows["low"].notna()] if open_rows["low"].notna().any() else open_rows
    ps = open_rows["p_interval"].fillna(open_rows["p"]) if "claim" in open_rows else open_rows["p_interval"]
    row = open_rows.loc[ps.fillna(1.0).idxmin()].to_dict()
    check_sentence(tables, text.partition("Closest: ")[2], [row])
    if "the interval includes" in text:
        assert row["low"] <= row["neutral"] <= row["high"]


def check_sentence(tables: Tables, text: str, rows: list[dict]) -> None:
    """By the declared template: who, the number, its interval."""
    declared = tables._primary(rows[0]) or {}
    template = declared.get(tables.side(rows[0]), "")
    if not template:
        assert text.lower().startswith(rows[0]["statement"].split(" ")[0].lower())
        return
    plural = len(rows) > 1
    named = re.sub(r"{(\w+)\|(\w+)}", lambda m: m[2 if plural else 1], template)
    pattern = re.escape(named).replace(r"\{models\}", "(?P<who>.+?)")
    for name in ("value", "by"):
        pattern = pattern.replace(
            rf"\{{{name}\}}", rf"(?P<{name}>{NUMBER})(?: to (?P<{name}_most>{NUMBER}))?(?: points| %)?"
        )
    found = re.match(pattern + r"(?: \[(?P<low>[^,\]]+), (?P<high>[^\]]+)\])?", text, re.IGNORECASE)
    assert found, (template, text)
    parts = found.groupdict()
    who = parts["who"]
    assert (
        who == f"all {len(tables.families)} models" or f"{len(rows)} of " in who or all(r["model"] in who for r in rows)
    )
    name, neutral = ("value", 0.0) if "value" in parts else ("by", rows[0]["neutral"])
    turned = -1 if name == "by" and tables.side(rows[0]) == "below" else 1
    values = sorted(turned * factor(row) * (row["value"] - neutral) for row in rows)
    assert agrees(parts[name], values[0]), (text, values)
    assert agrees(parts[f"{name}_most"] or parts[name], values[-1]), (text, values)
    if len(rows) == 1 and parts["low"]:
        ends = sorted(turned * factor(rows[0]) * (rows[0][end] - neutral) for end in ("low", "high"))
        assert agrees(parts["low"], ends[0]), (text, ends)
        assert agrees(parts["high"], ends[1]), (text, ends)


def check_reversed(tables: Tables, text: str) -> None:
    """A claim that came out the other way round is there, or none did."""
    rows = tables.displayed()
    claims = rows[rows["claim"].notna()] if "claim" in rows else rows[:0]
    opposite = claims.query("verdict == 'opposite' or (verdict == 'suggestive' and verdict_alone == 'opposite')")
    said = re.search(
        r"Contradicts the (paper|authors' expectation)( \(exploratory\))?: “(.*?)”, (.*?)(; (\d+) more)?\.(?: |$)", text
    )
    assert bool(said) is not opposite.empty, text
    if not said:
        return
    begun = said[3].removesuffix(" …")
    (statement,) = {s for s in opposite["statement"] if s.startswith(begun)}
    chosen = opposite[opposite["statement"] == statement]
    assert (said[1] == "paper") is bool((chosen["source"] == "found").all())
    assert bool(said[2]) is bool((chosen["verdict"] != "opposite").all())
    assert int(said[6] or 0) == opposite["statement"].nunique() - 1
    if not said[2]:
        return
    assert not (opposite["verdict"] == "opposite").any()  # those of the list come first
    written = re.findall(NUMBER, said[4].partition("[")[0].removesuffix(" points"))
    values = sorted(factor(row) * row["value"] for row in chosen.to_dict("records"))
    assert agrees(written[-1], values[-1]), (said[0], values)


def check_not_judged(tables: Tables, text: str) -> None:
    silent = (*SILENT, "borderline_coverage", "descriptive")
    for labels, names in re.findall(r"([^;]+?)(?: on ([^;]+?))? \(.*?\)", text.partition("Not judged: ")[2]):
        probes = re.split(r", | and ", labels.strip("; "))
        rows = tables.displayed().query("primary and probe in @probes and level != 'pair'")
        rows = rows[rows["model"].isin(re.split(r", | and ", names))] if names else rows
        assert len(rows)
        assert set(rows["probe"]) == set(probes)
        assert rows["verdict"].isin(silent).all(), (labels, names)


# ---------------------------------------------------------------- numbers with marks, the other lines


def check_numbers(tables: Tables, html: str) -> int:
    """Each number of the first screen is a row's, with the mark of its verdict."""
    matrix = re.search(r'id="matrix".*?</table>', html, re.DOTALL)[0]
    names = re.findall(r'<th scope="col" class="num[^"]*" title="([^";]*)', matrix)
    seen = 0
    for row in re.findall(r'<tr[^>]*><th scope="row">(.*?)</tr>', matrix, re.DOTALL):
        statement = unescape(re.search(r'class="says">(.*?)(?: <span class="unit"|</span>)', row, re.DOTALL)[1])
        for name, cell in zip(names, re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL), strict=True):
            value = re.search(r'class="n"[^>]*>(.*?)</span>', cell)
            if value:
                mark = re.search(r'class="sign"[^>]*>(.*?)</span>', cell)
                seen += 1
                rows = tables.displayed().query("model == @name")
                stated = rows[rows["statement"] == statement] if "statement" in rows else rows[:0]
                rows = stated if len(stated) else rows
                text = re.findall(NUMBER, value[1])[0]
                same = rows[[agrees(text, factor(one) * one["value"]) for one in rows.to_dict("records")]]
                marks = {MARKS.get(verdict, "") for verdict in same["verdict"]}
                assert (unescape(mark[1]) if mark else "") in marks, (statement, name, cell, marks)
    return seen


def check_limited(tables: Tables, text: str) -> None:
    """How many items there would be is asked of the probe."""
    if tables.manifest["study"]["limit"] is None:
        assert not text
        return
    said = dict(re.findall(rf"({NUMBER}) of ({NUMBER}) items", text))
    studied = {one["label"]: one for one in tables.manifest["study"]["probes"]}
    for label, many in tables.items.items():
        settings = {k: tuple(v) if isinstance(v, list) else v for k, v in studied[label]["settings"].items()}
        whole = len(probes.make(studied[label]["name"], settings).items()) or many
        assert (f"{many:,}" in said) is (many < whole), (label, text)
        if many < whole:
            assert f"{many:,} of {whole:,} items" in text


def check_how_far(tables: Tables, text: str) -> None:
    rows = pd.concat([frame[["model", "why_not"]] for frame in tables.observed.values()])
    scored, asked = int((rows["why_not"] == "").sum()), len(rows)
    models = rows["model"].nunique()
    assert (f"{asked:,} questions to {models}" if asked % models else f"{asked // models:,} question") in text
    assert (f"all {asked:,} answers scored" if scored == asked else f"{scored:,} of {asked:,} answers scored") in text
    for family, many in tables.seeds.items():
        assert many == 1 or f"{many} seeds of {family}" in text


@pytest.mark.slow
@pytest.mark.parametrize("make", [quick_demo, causal_on_three_probes, eight_replayed_models, own_pairs])
def test_first_screen_says_what_the_tables_have(make, tmp_path):
    make(tmp_path)
    tables = Tables(tmp_path / "run")
    html = trueprobe.load_run(tmp_path / "run").report().read_text(encoding="utf-8")
    headline = unescape(re.search(r'<p id="sentence">(.*?)</p>', html, re.DOTALL)[1])
    limited = re.search(r'<p id="limited">(.*?)</p>', html, re.DOTALL)
    assert len(headline.split()) <= 40, headline
    check_main(tables, headline)
    check_reversed(tables, headline)
    check_not_judged(tables, headline)
    check_limited(tables, unescape(limited[1]) if limited else "")
    check_how_far(tables, unescape(re.search(r'<p id="how-far">(.*?)</p>', html, re.DOTALL)[1]))
    assert check_numbers(tables, html)
