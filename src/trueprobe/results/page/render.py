"""The page: everything that was drawn and counted, put into one self-contained HTML file."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from markupsafe import Markup

from trueprobe import __version__
from trueprobe.results.numbers import Format, count
from trueprobe.results.page import draw, findings, methods
from trueprobe.results.page.figures import SCALE, Drawing, Picture, Variant, reads
from trueprobe.results.page.items import answer_text, item_rows, pack
from trueprobe.results.page.reading import Reading, last_step
from trueprobe.results.page.tables import Cell, Grid

PAGE = Path(__file__).parent
_LIGHT = {"link": "#005a8c", "good": "#00694c", "bad": "#a94400", "open": "#5c5470", "edge": "#8a939d", "hi": "#ffedc2"}
_DARK = {"link": "#7cc7f5", "good": "#45d3a8", "bad": "#ff9a57", "open": "#c3b8e0", "edge": "#6c7681", "hi": "#4d3b0c"}
_SEEN_NUMBERS = 400  # rows of a figure's numbers shown on the page; all are in its CSV


@dataclass(frozen=True)
class Parts:
    """Of a probe, or of the part on trust."""

    drawings: Sequence[Drawing]
    grids: Sequence[Grid]
    lead: str = ""


def page(reading: Reading, probes: Mapping[str, Parts], trust: Parts, claims: Grid | None) -> str:
    everything = [grid for parts in (*probes.values(), trust) for grid in parts.grids]
    models = _models(reading)
    exported = [*everything, *([claims] if claims else []), models]
    packs = {"exports": pack({grid.name: {"csv": grid.csv(), "tex": grid.latex()} for grid in exported})}
    for parts in (*probes.values(), trust):
        packs |= {f"p-{d.name}": _packed(d) for d in parts.drawings if len(d.variants) > 1}
    found = findings.findings(reading)
    return _template().render(
        title=_title(reading),
        meta=_meta(reading),
        css=Markup(_css()),
        script=Markup((PAGE / "report.js").read_text(encoding="utf-8")),
        opening=findings.opening(reading),
        missing=findings.missing(reading),
        tally=_tally(found),
        groups=_groups(found, len(reading.told) > 1),
        sections=[_section(reading, label, parts) for label, parts in probes.items()],
        trust={"drawings": [_drawn(d) for d in trust.drawings], "grids": _shown(trust.grids), "lead": trust.lead},
        claims=_shown([claims])[0] if claims else None,
        models=_shown([models])[0],
        self_trained=_self_trained(reading),
        methods=methods.paragraph(reading),
        bibtex=methods.bibtex(reading),
        packs={name: Markup(text) for name, text in packs.items()},
        version=__version__,
        folder=reading.run.folder.name,
    )


def _template() -> jinja2.Template:
    loader = jinja2.FileSystemLoader(PAGE)
    return jinja2.Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True).get_template(
        "report.html"
    )


def _css() -> str:
    def values(colours: Mapping[str, str]) -> str:
        return "".join(f"--{name}:{colour};" for name, colour in colours.items())

    light, dark = values({**draw.LIGHT, **_LIGHT}), values({**draw.DARK, **_DARK})
    themes = f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
    return themes + (PAGE / "report.css").read_text(encoding="utf-8") + draw.CSS


def _title(reading: Reading) -> str:
    return reading.run.manifest["study"].get("title") or f"{', '.join(reading.told)} on {', '.join(reading.families)}"


def _meta(reading: Reading) -> str:
    parts = [f"{len(reading.told)} {'probe' if len(reading.told) == 1 else 'probes'}"]
    parts.append(f"{len(reading.members)} {'checkpoint' if len(reading.members) == 1 else 'checkpoints'}")
    timing = reading.run.folder / "timing.json"
    if reading.complete and timing.exists():
        began = json.loads(timing.read_text(encoding="utf-8")).get("began")
        if began:
            parts.append(time.strftime("run on %-d %B %Y", time.gmtime(began)))
    return " · ".join(parts if reading.complete else [*parts, "interrupted"])


MOST_UNDECIDED = 8  # that are told without being asked for
_TALLIES = {
    "good": "hold",
    "bad": "the other way round, or flipping",
    "open": "undecided",
    "none": "with nothing to count",
}


def _tally(found: Sequence[findings.Finding]) -> list[dict[str, Any]]:
    """How many findings of single models are how."""
    numbers = {mark: sum(len(f.said) for f in found if f.mark == mark) for mark in _TALLIES}
    return [{"mark": mark, "number": number, "says": _TALLIES[mark]} for mark, number in numbers.items() if number]


def _groups(found: Sequence[findings.Finding], several: bool) -> list[dict[str, Any]]:
    groups = []
    for mark, heading in findings.HEADINGS.items():
        mine = [
            {
                "mark": mark,
                "statement": f.statement,
                "label": f.label,
                "probe": f.label if several else "",
                "said": f.said,
            }
            for f in found
            if f.mark == mark
        ]
        if mark == "none":
            mine = _silent([f for f in found if f.mark == "none"])
        if mark == "open" and len(mine) > MOST_UNDECIDED:
            groups.append({"heading": heading, "findings": [], "folded": _by_probe(mine)})
        elif mine:
            groups.append({"heading": heading, "findings": mine, "folded": []})
    return groups


def _by_probe(mine: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Undecided findings, which are many: a line for each probe, to be opened."""
    folded: dict[str, list[dict[str, Any]]] = {}
    for told in mine:
        folded.setdefault(told["label"], []).append({**told, "probe": ""})
    return [{"says": f"{label}: {len(told)}", "findings": told} for label, told in folded.items()]


def _silent(found: Sequence[findings.Finding]) -> list[dict[str, Any]]:
    """Where nothing was to be counted: once per probe and model, not once per finding."""
    counted: dict[tuple[str, str, str], int] = {}
    for finding in found:
        for said in finding.said:
            key = (finding.label, said.model, said.verdict)
            counted[key] = counted.get(key, 0) + 1
    return [
        {
            "mark": "none",
            "statement": f"{model}, {label}",
            "probe": "",
            "said": [findings.Said("", f"{n} {'finding' if n == 1 else 'findings'}", verdict)],
        }
        for (label, model, verdict), n in counted.items()
    ]


def _section(reading: Reading, label: str, parts: Parts) -> dict[str, Any]:
    told = reading.told[label]
    rows = item_rows(reading, label)
    items = None
    if rows is not None:
        caption = (
            f"{count(rows.total)} rows, the most telling first. Of several trainings, the mean; answers of the first."
        )
        items = {"caption": caption, "columns": rows.columns, "first": rows.first(), "packed": Markup(rows.packed())}
    example, answers = _example(reading, label)
    return {
        "id": f"probe-{label}",
        "label": label,
        "question": told["question"],
        "paper": told["paper"],
        "does_not_show": told["does_not_show"],
        "example": example,
        "answers": answers,
        "notes": told["summary"].get("notes", ()),
        "drawings": [_drawn(d) for d in parts.drawings],
        "grids": _shown(parts.grids),
        "telling": items,
    }


def _example(reading: Reading, label: str) -> tuple[str, list[dict[str, str]]]:
    """A real prompt with what each family's first checkpoint answered."""
    told, seen = reading.told[label], last_step(reading.observations(label))
    table = told.get("item_table") or {}
    answer = table.get("answer", "")
    if seen.empty or answer not in seen:
        return told["example"], []
    scored = seen[seen["why_not"] == ""]
    if scored.empty:
        return told["example"], []
    items = reading.items(label).set_index("item")["text"]
    asked = scored["item"].iloc[0]
    mine = scored[scored["item"] == asked].drop_duplicates("family")
    mine = mine.iloc[np.argsort([list(reading.families).index(f) for f in mine["family"]])]
    chances = mine[table["probabilities"]] if table.get("probabilities") in mine else [None] * len(mine)
    answers = [
        {"model": model, "text": answer_text(text, chance)}
        for model, text, chance in zip(mine["model"], mine[answer], chances, strict=True)
    ]
    return str(items.get(asked, told["example"])), answers


def _drawn(drawing: Drawing) -> dict[str, Any]:
    figure = drawing.figure
    first = drawing.variants[0]
    choices = [
        {
            "name": name,
            "title": name if name == SCALE else reads(figure.names, "", name),
            "options": [(v, reads(figure.names, name, v)) for v in values],
        }
        for name, values in drawing.choices.items()
    ]
    titles = dict.fromkeys(panel.title for variant in drawing.variants for panel in variant.picture.panels)
    models = list(titles) if "model" in figure.panels else []
    return {
        "name": drawing.name,
        "title": figure.title,
        "caption": figure.caption,
        "source": figure.source,
        "choices": choices,
        "models": models if len(models) > 1 else [],
        "packed": len(drawing.variants) > 1,
        "first": Markup(_variant(first, figure.title)),
        "files": f"figures/{drawing.name}*.svg, .png, .csv",
    }


def _packed(drawing: Drawing) -> str:
    return pack({"|".join(v.chosen.values()): _variant(v, drawing.figure.title) for v in drawing.variants})


def _variant(variant: Variant, title: str) -> str:
    picture = variant.picture
    svgs = [
        svg.replace("<svg ", f'<svg data-title="{escape(panel.title)}" ', 1)
        for svg, panel in zip(draw.page_panels(picture), picture.panels, strict=True)
    ]
    wide = " wide" if draw.wide(picture) else ""
    alone = " alone" if len(svgs) == 1 else ""
    note = f'<p class="cap">{escape(picture.note)}</p>' if picture.note else ""
    return f'{_legend(picture)}{note}<div class="panels{wide}{alone}">{"".join(svgs)}</div>{_numbers(variant, title)}'


def _legend(picture: Picture) -> str:
    if not picture.legend and not picture.tested:
        return ""
    parts = []
    for title, index, style in picture.legend:
        key = f"{index}{'p' if style == 'published' else ''}"
        icon = f'<svg class="tp" viewBox="-1 -7 18 14" aria-hidden="true">{draw.swatch(index, style)}</svg>'
        parts.append(
            f'<li><button type="button" aria-pressed="true" data-s="{key}">{icon}{escape(title)}</button></li>'
        )
    if picture.tested:
        parts.append("<li><span class='key'>small dots: one per seed, hollow where p ≥ 0.01</span></li>")
    return f'<ul class="legend" aria-label="Legend; press to hide">{"".join(parts)}</ul>'


def _numbers(variant: Variant, title: str) -> str:
    """The picture as a table, for everyone who reads rather than looks."""
    data, form = variant.data, variant.picture.form
    dropped = ("unit", "neutral", "published", "value", "low", "high", "n_seeds", "sd_seeds")
    columns = [name for name in data if name not in dropped and data[name].nunique() > 1]
    head = "".join(f'<th scope="col">{escape(name.replace("_", " "))}</th>' for name in columns)
    body = []
    for row in data.head(_SEEN_NUMBERS).to_dict("records"):
        cells = "".join(f"<td>{escape(_written(row[name]))}</td>" for name in columns)
        body.append(f'<tr>{cells}<td class="num">{escape(_value(row, form))}</td></tr>')
    return (
        f'<details><summary>The numbers</summary><div class="scroll" tabindex="0" role="region" '
        f'aria-label="Numbers: {escape(title)}"><table><thead><tr>{head}<th scope="col" class="num">value</th></tr>'
        f"</thead><tbody>{''.join(body)}</tbody></table></div></details>"
    )


def _written(value: Any) -> str:
    if isinstance(value, float):
        return "–" if value != value else f"{value:,.0f}"
    return str(value)


def _value(row: Mapping[str, Any], form: Format) -> str:
    if row["verdict"] == "low coverage":
        return "–"
    return form.told(float(row["value"]), float(row["low"]), float(row["high"]))


def _shown(grids: Sequence[Grid]) -> list[dict[str, Any]]:
    found = []
    for grid in grids:
        body = [row for row in grid.rows if len(row) > 1]
        numeric = {i for i in range(len(grid.header)) if body and all(r[i].kind == "number" for r in body)}
        found.append({**vars(grid), "numeric": numeric})
    return found


def _models(reading: Reading) -> Grid:
    rows, data = [], []
    for family in reading.families.values():
        for card in family.cards:
            told = {
                "model": card["name"],
                "family": family.name,
                "kind": card.get("kind", ""),
                "architecture": card.get("architecture", ""),
                "source": card.get("source", ""),
                "dtype": card.get("dtype", ""),
                "vocabulary": card.get("vocab_size", ""),
            }
            data.append(told)
            vocabulary = told["vocabulary"]
            cells = [Cell(str(told[k])) for k in ("model", "family", "kind", "architecture", "source", "dtype")]
            rows.append([*cells, Cell(count(vocabulary) if vocabulary else "", "number")])
    header = ["model", "family", "kind", "architecture", "source", "dtype", "vocabulary"]
    return Grid(
        "models",
        "Who was asked",
        "A family is several trainings of one setup, or one training at several steps.",
        header,
        rows,
        pd.DataFrame(data),
    )


def _self_trained(reading: Reading) -> str:
    own = [f.name for f in reading.families.values() if f.cards[0].get("self_trained")]
    return (
        f"Trained by trueprobe itself, to show the method; no stand-in for BERT or GPT-2: {', '.join(own)}."
        if own
        else ""
    )
