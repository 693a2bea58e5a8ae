"""The report in a terminal: at most 30 lines. Fitting it to the space is all that is decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rich.console import RenderableType
from rich.text import Text

from trueprobe.errors import printable
from trueprobe.results.render.fitting import (
    WIDEST,
    Fit,
    Fitted,
    Line,
    Lines,
    aligned_table,
    beside,
    cut_words,
    fit_columns,
    fitted,
    folded,
    lines_of,
    one_line,
    width_of,
)
from trueprobe.results.render.printed import Console, print_lines, text_line
from trueprobe.results.text import answer as answers
from trueprobe.results.text import findings as sentences
from trueprobe.results.text import planned, verdicts
from trueprobe.results.text import terminal as words
from trueprobe.results.text.models import listed_models
from trueprobe.results.view import items
from trueprobe.results.view.findings import NAMED, Section, SectionKind, by_verdict
from trueprobe.results.view.headline import Answer
from trueprobe.results.view.key import Key
from trueprobe.results.view.number import DASH, Display, Finding, Kind, Mark, Number
from trueprobe.results.view.report import Report
from trueprobe.results.view.select import leading, short_names, titles
from trueprobe.results.view.tables import FamilyRows, by_form, cells_of, family_rows, gate_failures, summary_table
from trueprobe.runs.folder import Run
from trueprobe.statistics.rows import grouped
from trueprobe.types import Unit

_FEWEST_ROWS, _LAST_ROWS = 5, 3  # of a table; where the lines around it leave no room for so many
_LEAST_TABLE = _FEWEST_ROWS + 5  # lines of it with its title; before it has fewer, notes are left out
_LEAST_MEANING = 12  # columns beside the code of a row, before its meaning is left out
_WITHOUT_INTERVAL_FIRST = (Unit.SHARE, Unit.RATIO, Unit.SCORE, Unit.CORRELATION)  # where there is no room for all
_MOST_CLAIM_LINES = 6  # with more of them each verdict has one line
_MOST_ANSWERS = 3


def show(run: Run, console: Console | None = None) -> None:
    """What `run` prints at its end."""
    console = console or Console(highlight=False)
    report = Report.of(run)
    several = len(report.probes) > 1
    width = min(console.width, WIDEST)
    render = _several_probes if several else _one_probe
    room = Room(width, lines_of(console), lambda part: _height(console, part, width))
    for part in render(report, room):
        console.print(part, width=width)
    print_lines((*planned.lines(report), words.run_folder(str(run.folder), several)), console)


@dataclass(frozen=True)
class Room:
    width: int
    lines: int
    height: Callable[[RenderableType], int]  # of a part, in lines


def _height(console: Console, part: RenderableType, width: int) -> int:
    return len(console.render_lines(part, console.options.update(width=width), pad=False))


def _headline(report: Report) -> list[Text]:
    """What every renderer says first, and whether the run is limited."""
    headline, limited = answers.answer(Answer.of(report), report), answers.limited(report)
    return [text_line(headline, "bold"), *([text_line(limited)] if limited else [])]


def _about_models(report: Report, width: int) -> list[Text]:
    about = listed_models(report.families)
    lines = [one_line(about, width)] if about else []
    lines += [one_line(words.self_trained_short(report.self_trained), width)] if report.self_trained else []
    return [*lines, *([text_line(sentences.unsteady(report.unsteady))] if report.unsteady else [])]


# ---------------------------------------------------------------- several probes: a line for each finding


def _several_probes(report: Report, room: Room) -> Iterator[RenderableType]:
    width = room.width
    first = [*_headline(report), one_line(words.asked_short(report.families), width)]
    last = [one_line(verdicts.controlled(report.n_primary), width), *_against(report), *_coverage(report)]
    last += _about_models(report, width)
    fit = Fit.of(
        [_lines(section) for section in report.sections], room.lines - 3 - sum(map(room.height, (*first, *last)))
    )
    asked = fit.columns([family.name for family in report.families])
    columns, intervals = fit_columns(asked, width - fit.words_width - 1)
    yield from first
    yield from fit.render(words.findings_head(intervals), columns, width)
    left_out = len(asked) - len(columns)
    legend = words.marks_legend(Key.of(n for line in fit.lines for n in line.numbers))
    yield one_line("; ".join([legend, *([words.more_models(left_out)] if left_out else [])]), width)
    yield from last


def _against(report: Report) -> list[Text]:
    """What holds below its neutral value, where a probe names that side."""
    sides = [(verdicts.side(f, n), f.probe, f.name) for f in report.findings for n in f.numbers]
    named = grouped((side for side in sides if side[0]), lambda side: side[0])
    return [
        text_line(words.against(below, [" ".join(one[1:]) for one in dict.fromkeys(where)]))
        for below, where in named.items()
    ]


def _coverage(report: Report) -> list[Text]:
    """What the brackets behind some numbers are."""
    known = any(n.has_coverage for finding in report.findings for n in finding.numbers)
    return [text_line(verdicts.COVERED)] if known else []


def _lines(section: Section) -> Lines:
    lines = [line for finding in section.findings for line in _of(finding)]
    notes = sentences.section_heading(section), lines, sentences.inconclusive_section(section)
    return Lines(*notes, section.kind is SectionKind.PROBE)


def _of(finding: Finding) -> Iterator[Line]:
    if finding.of_pairs:
        for n in finding.numbers:
            yield Line(f"{finding.statement}, {n.model}", {}, (n,), beside(n)[0].strip())
        return
    cells: dict[str, Fitted] = {}
    for n in finding.numbers:
        cells.setdefault(n.model, beside(n))
    yield Line(finding.statement, cells, finding.numbers)


# ---------------------------------------------------------------- one probe: its tables


@dataclass(frozen=True)
class _Grid:
    """A table whose first column names the rows."""

    title: str
    columns: Mapping[str, Sequence[str]]
    marked: Sequence[bool]  # rows in which something holds or flips
    intervals: bool = True
    left_out: int = 0  # models without room

    @property
    def head_lines(self) -> int:
        """Of its title, where that fits a line, and the titles of the columns."""
        return 2 + any("\n" in folded(title, cells) for title, cells in self.columns.items())

    def render(self, lines: int) -> Iterator[RenderableType]:
        """Title and table; where these lines do not hold all rows, marked ones stay first, and the rest is counted."""
        yield text_line(self.title)
        rows = list(zip(*self.columns.values(), strict=True))
        if len(rows) > lines - self.head_lines - bool(self.left_out):
            many = max(_LAST_ROWS, lines - self.head_lines - 1)
            chosen = sorted(sorted(range(len(rows)), key=lambda i: not self.marked[i])[:many])
            rows = [rows[i] for i in chosen]
        yield aligned_table(self.columns, rows)
        left = len(self.marked) - len(rows)
        if left or self.left_out:
            yield text_line(words.more_rows(left, self.left_out))


def _one_probe(report: Report, space: Room) -> Iterator[RenderableType]:
    """The question, numbers as far as there is room, how to read them, and what they come to."""
    width, height = space.width, space.height
    (probe,) = report.probes
    source, label, summary = report.source, probe.label, probe.declaration.summary
    failures = gate_failures(source, label)
    failing = {failure.model for failure in failures}
    passed = [f for f in report.families if not failing.issuperset(card.name for card in f.checkpoints)]
    inconclusive = []
    if failures:
        values = [(one.model, one.number.text() if one.number else "") for one in failures]
        inconclusive.append(text_line(words.gate_line(str(summary.gate.get("measure", "")), values)))
    if probe.scoring.mostly_tied:
        inconclusive.append(text_line(words.tied_line(probe.scoring.mostly_tied)))
    percent = any(row.unit == "probability" for row in source.estimates(label) if row.measure in summary.measures)
    judged = _verdict_lines(report, height, width)
    scored = text_line(f"{sentences.scored_short(probe.scoring)}; {verdicts.controlled_short(report.n_primary)}")
    below = [*judged, scored, *_about_models(report, width)]
    whose = f" ({probe.declaration.items_of})" if probe.declaration.items_of else ""
    first = _headline(report)
    head = Text.assemble((printable(label), "bold"), printable(f"{whose}  {probe.declaration.question}"))
    forms = {
        form: [part for part in family_rows(source, label, table) if part.family in passed]
        for form, table in by_form(source, label, summary_table(source, label)).items()
    }
    counted = [placed.number for parts in forms.values() for part in parts for placed in part.rows]
    inconclusive_dashes = (n for n in counted if n.display is Display.NOTHING and n.verdict.inconclusive)
    dashes, key = list(dict.fromkeys(n.verdict for n in inconclusive_dashes)), Key.of(counted)
    legends = {
        whole: [text_line(line) for line in words.table_legend(whole, percent, report.families, key, dashes)]
        for whole in (True, False)  # with all intervals in the table, or not
    }
    longest = max(sum(map(height, legend)) for legend in legends.values())
    room = space.lines - 1 - sum(map(height, (*first, head, *inconclusive, *below))) - longest
    notes = [text_line(line) for line in summary.notes]
    later: list[Text] = []  # where the table leaves room
    while notes and room - sum(map(height, notes)) < _LEAST_TABLE:
        later.insert(0, notes.pop())
    room -= sum(map(height, notes))
    grids = _by_form(forms, lambda parts: _grids(report, label, parts, width))
    if sum(len(grid.marked) + grid.head_lines for grid in grids) > room and len(passed) > 1:
        grids = _by_form(forms, lambda parts: _beside(report, label, parts, width))
    # under a title of one line, `head_lines` is its line and the header; here its line is that of "more rows"
    fewest = sum(height(text_line(grid.title)) + grid.head_lines + _FEWEST_ROWS for grid in grids)
    if room < fewest:  # one line each, cut at a word
        head, room = one_line(head.plain, width), room + height(head) - 1
        head.stylize("bold", 0, len(label))
        room += sum(map(height, below)) - len(below) + longest
        below = [one_line(part.plain, width) for part in below]
        legends = {whole: [one_line(part.plain, width) for part in legend] for whole, legend in legends.items()}
        room -= max(map(len, legends.values()))
    each = room if len(forms) == 1 else room // max(1, len(grids))
    tables = [part for grid in grids for part in grid.render(each - height(text_line(grid.title)) + 1)]
    room -= sum(map(height, tables))
    extra: list[Text] = []
    for line, place in [
        *((note, notes) for note in later),
        *((text_line(one), extra) for one in _behind(report, label)),
    ]:
        if height(line) <= room:
            place.append(line)
            room -= height(line)
    legend = legends[all(grid.intervals for grid in grids)]
    yield from (*first, head, *tables, *extra, *inconclusive, *legend, *notes, *below)


def _by_form(
    forms: Mapping[str, Sequence[FamilyRows]], make: Callable[[Sequence[FamilyRows]], list[_Grid]]
) -> list[_Grid]:
    """Families that were asked or scored in their own ways share no table."""
    made = [(form, grid) for form, parts in forms.items() for grid in make(parts)]
    return [replace(grid, title=f"{grid.title}; {form}") if form else grid for form, grid in made]


def _grids(report: Report, label: str, parts: Sequence[FamilyRows], width: int) -> list[_Grid]:
    """One table per family: conditions down, the summary's measures across; those that have anything to show."""
    summary = report.source.declaration(label).summary
    grids = []
    for part in parts:
        cells, names = cells_of(part.rows), list(dict.fromkeys(placed.names for placed in part.rows))
        numbers = {
            title: [cells.get((name, measure)) for name in names]
            for measure, title in titles(summary).items()
            if any(n and n.display is not Display.NOTHING for n in (cells.get((name, measure)) for name in names))
        }
        if not numbers:
            continue
        first = _row_labels(report, label, names)
        codes = max(map(len, (summary.row_title, *first)))
        columns, intervals = _fit_measures(numbers, {titles(summary)[m] for m in summary.intervals}, width - codes - 1)
        first = _row_labels(report, label, names, width - width_of(columns) - 1)
        title = [
            words.family_title(part.family),
            summary.fallback_title if part.fell_back else summary.where_title,
        ]
        marked = [any(n.mark is not Mark.NONE for n in row if n) for row in zip(*numbers.values(), strict=True)]
        grids.append(_Grid(", ".join(filter(None, title)), {summary.row_title: first, **columns}, marked, intervals))
    return grids


def _fit_measures(
    numbers: Mapping[str, Sequence[Number | None]], first: set[str], room: int
) -> tuple[dict[str, list[str]], bool]:
    """All intervals; else those of directed numbers that are no shares or ratios, and of `first`; else of one of them,
    and what rows mean beside their codes; else none."""
    directed = {
        title
        for title, column in numbers.items()
        if any(n and n.neutral is not None and n.unit not in _WITHOUT_INTERVAL_FIRST for n in column)
    }
    important = [title for title in numbers if title in first | directed]
    columns: dict[str, list[str]] = {}
    with_meanings = [(whole, _LEAST_MEANING) for whole in (list(numbers), important, important[:1])]
    for whole, meanings in (*with_meanings, (important, 0), ([], 0)):
        columns = {title: [_cell(n, title in whole) for n in column] for title, column in numbers.items()}
        if width_of(columns) <= room - meanings:
            return columns, bool(whole)
    return columns, False


def _row_labels(report: Report, label: str, names: Sequence[tuple[str, ...]], room: int = 0) -> list[str]:
    """The codes of the rows, and as far as there is room what they mean."""
    called = short_names(report.source.declaration(label))
    labels = []
    for name in names:
        meanings = [called[part] for part in name if called.get(part, part) != part]
        code = " ".join(name)
        meaning = cut_words(", ".join(meanings), room - len(code) - 2)
        labels.append(f"{code}  {meaning}" if meaning and len(code) + 2 + len(meaning) <= room else code)
    codes = [" ".join(name) for name in names]
    behind = {label.removeprefix(code) for label, code in zip(labels, codes, strict=True)}
    distinct = len(behind) > 1 or len(codes) == 1  # cut to one word, all may mean the same
    return labels if distinct and room >= max(map(len, codes)) + _LEAST_MEANING else codes


def _cell(n: Number | None, whole: bool) -> str:
    return fitted(n)[0 if whole else 1] or DASH


def _beside(report: Report, label: str, parts: Sequence[FamilyRows], width: int) -> list[_Grid]:
    """One table for all: the measure that decides most, a column for each family, with intervals where these fit."""
    summary = report.source.declaration(label).summary
    names = list(dict.fromkeys(placed.names for part in parts for placed in part.rows))
    if not names:
        return []
    measure = leading((placed.row for part in parts for placed in part.rows), summary)
    depths = grouped(parts, lambda part: summary.fallback_title if part.fell_back else summary.where_title)
    numbers = {part.family.name: [cells_of(part.rows).get((name, measure)) for name in names] for part in parts}
    first = _row_labels(report, label, names)
    room = width - max(map(len, (summary.row_title, *first))) - 1
    asked = {name: [beside(n) if n else (DASH, DASH) for n in column] for name, column in numbers.items()}
    columns, intervals = fit_columns(asked, room)
    first = _row_labels(report, label, names, width - width_of(columns) - 1)
    marked = [any(n.mark is not Mark.NONE for n in row if n) for row in zip(*numbers.values(), strict=True)]
    covered = any(n.has_coverage for column in numbers.values() for n in column if n)
    more = {part.family.name: words.family_title(part.family) for part in parts}  # than stands above its column
    named = {
        depth: "; ".join(more[name] for part in same if {name := part.family.name, more[name]} - columns.keys())
        for depth, same in depths.items()
    }
    who = ". ".join(": ".join(filter(None, one)) for one in named.items())
    about = summary.finding if summary.finding and measure == summary.measures[0] else titles(summary)[measure]
    title = "; ".join(filter(None, (about, who, verdicts.COVERED if covered else "")))
    return [_Grid(title, {summary.row_title: first, **columns}, marked, intervals, len(asked) - len(columns))]


def _behind(report: Report, label: str) -> Iterator[str]:
    """Of each family, what stands behind its numbers; where there is no room it is left out."""
    for table in (table for table in report.source.declaration(label).tables if table.printed):
        for part in family_rows(report.source, label, table):
            for p in (placed for placed in part.rows if placed.measure == table.measures[0]):
                yield f"{part.family.name}, {', '.join(p.names)}: {p.number.sentence()}{p.number.mark.symbol}"
    for family in report.families:
        lacking = items.listed_words(report.source, label, family)
        if lacking:
            yield words.listed_words_line(family.name, lacking)
    for family in report.families:
        answers = grouped(items.base_answers(report.source, label, family), lambda row: row.model)
        yield from map(words.base_answers_line, list(answers.values())[:_MOST_ANSWERS])
        yield from map(words.continuations_line, items.continuations(report.source, label, family))


def _verdict_lines(report: Report, height: Callable[[RenderableType], int], width: int) -> list[Text]:
    """The claims by what became of them; where these are too many lines, one for each verdict."""
    claims = [finding for finding in report.findings if finding.kind is Kind.CLAIM]
    lines = [text_line(line) for line in _claim_lines(claims)]
    if lines and sum(map(height, lines)) <= _MOST_CLAIM_LINES:
        return lines
    return [text_line(line) for line in _brief_lines(report.findings, width)]


def _claim_lines(claims: Sequence[Finding]) -> Iterator[str]:
    every = {n.model for finding in claims for n in finding.numbers}
    for judged, names in by_verdict(claims).items():
        if judged.verdict.inconclusive:  # nothing was found either way: counted, not listed
            models = list(dict.fromkeys(model for of_one in names.values() for model in of_one))
            yield words.inconclusive_claims(judged, len(names), len(names) == len(claims), models)
        else:
            named = [
                name + (f" ({words.models(names_of, len(every))})" if len(every) > 1 else "")
                for name, names_of in names.items()
            ]
            yield words.verdict_line(judged, named)


def _brief_lines(findings: Sequence[Finding], width: int) -> Iterator[str]:
    """A line for each verdict that is named, and how many numbers have each of the others."""
    counted, every = [], {n.model for finding in findings for n in finding.numbers}
    for judged, names in by_verdict(findings).items():
        if judged.verdict not in NAMED:
            counted.append(words.verdict_line(judged, [str(sum(map(len, names.values())))]))
            continue
        named = [f"{name} ({words.models(models, len(every))})" for name, models in names.items()]
        many = 1
        while many < len(named) and len(words.verdict_line(judged, named[: many + 1])) < width - 12:
            many += 1
        yield words.verdict_line(judged, named[:many], len(named) - many)
    if counted:
        yield ", ".join(counted)
