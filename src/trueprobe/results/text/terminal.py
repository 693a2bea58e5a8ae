"""Lines that only a terminal has: legends, what did not fit, comparisons, reproductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trueprobe.results.numbers import count, several
from trueprobe.results.text.sentence import MOST_NAMED
from trueprobe.results.text.verdicts import (
    NO_MARK,
    NOTHING_TO_COUNT,
    key_texts,
    mark_text,
    verdict_text,
    verdict_with_reason,
)
from trueprobe.runs.signature import described
from trueprobe.types import Verdict

if TYPE_CHECKING:  # these modules use the words
    from trueprobe.results.view.findings import Judged
    from trueprobe.results.view.items import BaseAnswers, Continuations, ListedWords
    from trueprobe.results.view.key import Key
    from trueprobe.runs.families import Family

_NO_MARK, _COUNTED_ALONE = f"no mark: {NO_MARK}", f"– {NOTHING_TO_COUNT}"
_IN_TABLES = {"*": "holds", "~": "flips: seeds disagree"}


def marks_legend(key: Key) -> str:
    return "; ".join([*key_texts(key), _NO_MARK, _COUNTED_ALONE])


def asked_short(families: Sequence[Family]) -> str:
    return f"asked: {'; '.join(map(family_title, families))}"


def family_title(family: Family) -> str:
    """`nursery, step 2,000 (the last of 4), 5 seeds`."""
    last = f" (the last of {len(family.steps)})" if len(family.steps) > 1 else ""
    step = "" if family.last_step is None else f", step {family.last_step:,}{last}"
    return f"{family.name}{step}" + (f", {family.n_seeds} seeds" if family.n_seeds > 1 else "")


def table_legend(
    intervals: bool, percent: bool, families: Sequence[Family], key: Key, dashes: Sequence[Verdict] = ()
) -> list[str]:
    """What the marks and dashes that occur mean here, and what two seeds or one leave unknown."""
    ends = "95 % intervals" if intervals else "intervals: estimates/*.csv"
    named = [f"{m.symbol} {_IN_TABLES.get(m.symbol, mark_text(m, key))}" for m in key.marks]
    lines = ["; ".join([f"{'in percent, ' if percent else ''}{ends}", *named, _NO_MARK])]
    lines += [f"–: {'; '.join(verdict_with_reason(verdict, None) for verdict in dashes)}"] if dashes else []
    if key.marks and any(family.n_seeds == 1 for family in families):
        lines.append("one seed: * applies only to this checkpoint; other seeds may differ")
    if any(family.n_seeds == 2 for family in families):
        lines.append("two seeds are too few for a verdict")
    return lines


def contrasts_legend(path: str) -> str:
    return f"95 % intervals; ° suggestive; chosen after the run, so none has a verdict; all rows: {path}"


def findings_head(intervals: bool) -> str:
    return f"finding (shares in percent); {'95 % intervals' if intervals else 'intervals: claims.csv, estimates/*.csv'}"


def models(names: Sequence[str], every: int) -> str:
    return f"all {every} models" if every > MOST_NAMED and len(names) == every else ", ".join(names)


def gate_line(measure: str, failed: Sequence[tuple[str, str]]) -> str:
    """The checkpoints that fail the gate, with their number."""
    named = ", ".join(f"{model} ({value or 'nothing scored'})" for model, value in failed)
    return f"failing the gate ({measure.replace('_', ' ')}), so that a table would show nothing: {named}"


def tied_line(names: Sequence[str]) -> str:
    return f"mostly ties, so that most numbers would show nothing: {', '.join(names)}"


def base_answers_line(rows: Sequence[BaseAnswers]) -> str:
    parts = []
    for row in rows:
        wrong = ", ".join(f"{target}: {answer}" for target, answer in row.wrong)
        parts.append(f"{row.group} {row.n_correct} of {row.n_asked}" + (f" ({wrong})" if wrong else ""))
    return f"correct at base, {rows[0].model}: {'; '.join(parts)}"


def continuations_line(row: Continuations) -> str:
    return f"{row.model}: {row.prompt} {', '.join(f'{token} ({p:.2g})' for token, p in row.tokens)}"


def listed_words_line(family: str, rows: Sequence[ListedWords]) -> str:
    counts = ", ".join(f"{row.n_known} of {row.n_listed} {row.group}" for row in rows)
    return f"{family}: words this model has as one piece: {counts}"


def self_trained_short(names: Sequence[str]) -> str:
    return f"self-trained, to show the method; does not represent BERT or GPT-2: {', '.join(names)}"


def more_lines(findings: int, inconclusive: int) -> str:
    """After a section's heading."""
    parts = [f"{findings} more {'findings' if findings > 1 else 'finding'}"] if findings else []
    return "; ".join([*parts, *([f"{inconclusive} without a verdict"] if inconclusive else [])])


def more_rows(rows: int, models: int) -> str:
    parts = [several(many, what) for many, what in ((rows, "more row"), (models, "more model")) if many]
    return f"… and {', '.join(parts)}: estimates/*.csv"


def against(below: str, findings: Sequence[str]) -> str:
    return f"* {below}: {'; '.join(findings)}"


def more_models(many: int) -> str:
    return f"{several(many, 'more model')}: claims.csv"


def more_probes(many: int) -> str:
    return f"… and {several(many, 'more probe')}: claims.csv, estimates/*.csv"


def verdict_line(judged: Judged, names: Sequence[str], more: int = 0) -> str:
    return f"{verdict_text(*judged)}: {'; '.join(names)}" + (f"; {more} more" if more else "")


def inconclusive_claims(judged: Judged, many: int, every: bool, models: Sequence[str]) -> str:
    return f"{verdict_text(*judged)}: {'all ' if every else ''}{many} claims ({', '.join(models)})"


def run_folder(folder: str, page: bool) -> str:
    return f"run folder: {folder}" + (f"; as a page: trueprobe report {folder}" if page else "")


COMPARED_HEADER = ("a", "b", "a − b [95 %]", "p", "permuted")
TOO_FEW_SEEDS = "too few seeds on one side or both for a verdict (three are needed)"


def compared_head(a: str, b: str) -> str:
    return f"a: {a}; b: {b}; on the items both scored, shares in percent"


def compared_section(label: str, items: int, groups: int) -> str:
    return f"{label}: {several(items, 'item')} in {several(groups, 'group')}"


def compared_nothing(label: str, uncovered: bool) -> str:
    return f"{label}: {'low coverage on one side or both' if uncovered else 'too few items that both scored'}"


def not_asked_alike(labels: Sequence[str]) -> str:
    return f"prompted differently: {', '.join(labels)}"


def asked_otherwise(differences: Mapping[str, tuple[str, str]]) -> str:
    return f"signatures differ: {described(differences)}"


def compared_legend(single: bool, others: Key) -> str:
    """`others`: the marks that occur but that of what holds."""
    holds, permuted = ("holds for these two", "answers") if single else ("holds", "answers or seeds")
    return "; ".join([f"* {holds}", *key_texts(others), _NO_MARK, "p: corrected", f"permuted: {permuted}"])


def compared_total(held: int, every: int, path: str) -> str:
    return f"{count(held)} of {count(every)} primary differences hold (false discovery rate 5 %); all: {path}"


REPRODUCED_HEADER = ("", "published", "ours", "difference", "")
DIFFERS = "differs"
NO_MORE_WORDS = "every token of every top ten is in the word list"


def nothing_reproduced(sources: Sequence[str]) -> str:
    return f"nothing to compare with yet: name a model with --model; source: {'; '.join(sources)}"


def reproduced(agree: int, known: int, missing: int, sources: Sequence[str]) -> str:
    left = f", {missing} not counted" if missing else ""
    return f"{agree} of {known} within rounding{left}; source: {'; '.join(sources)}"
