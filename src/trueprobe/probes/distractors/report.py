"""What the distractors probe displays, as data: the table after a run, the paper's figures 1 to 8 and tables 1 to 4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trueprobe.probes.display import Figure, ItemTable, Primary, ReportSpec, Summary, Table, Where
from trueprobe.probes.distractors.measures import DistractorMeasures
from trueprobe.probes.distractors.sentences import POSITIONS, SETTINGS

NAMES = {
    "related": "related (both kinds)",
    "B": "related to the fact (B)",
    "T": "related to the answer (T)",
    "unrelated": "unrelated",
    "multiple": "attractors about other people",
    "single": "attractors about the same person",
    "type": "attractors",
    "attractors": "attractors",
    "set": "set",
    "set=all": "all",
    "measure": "items",
    "text": "prompt",
    "base_context": "base context",
    "base_answer": "answer",
}
LEGEND = (
    "gated: only targets that the model prefers without attractors; p / base: the target's probability, relative to "
    "its base context; last wins: where an attractor won, how often the one mentioned last"
)
_GATED = {"_gated": "targets known without attractors", "": "all targets"}
_READING = {  # of a measure: title of its axis, how to read it
    "accuracy": ("right answers", "Right: the target is likelier than the others of its set."),
    "relative_probability": (
        "probability relative to base",
        "1: as likely as in its base context; below 1: the context took probability from it.",
    ),
}


def report(measures: DistractorMeasures) -> ReportSpec:
    return ReportSpec(_figures(measures), _tables(measures.positions), _item_table())


def _figures(measures: DistractorMeasures) -> list[Figure]:
    related = ("related", "B", "T")
    accuracy, relative = "accuracy", "relative_probability"
    after, between, later = (_Curves(measures, position) for position in POSITIONS)
    figures = {
        "after": [
            after.figure(
                "Right answers, by number of attractors", accuracy, (*related, "unrelated"), "figures 1, 6, 7 and 8"
            ),
            after.figure(
                "Probability of the right answer, by number of attractors",
                relative,
                (*related, "unrelated"),
                "figures 2 and 3",
            ),
        ],
        "between": [
            between.figure("Right answers, attractors between the person and the fact", accuracy, related, "figure 4")
        ],
        "key_later": [later.figure("Right answers, the person asked about named later", accuracy, ("B",), "figure 5")],
    }
    return [figure for position in measures.positions for figure in figures[position]]


@dataclass(frozen=True)
class _Curves:
    """Lines over the number of attractors in one position."""

    measures: DistractorMeasures
    position: str

    def figure(self, title: str, measure: str, types: tuple[str, ...], stands_for: str) -> Figure:
        wordings = self.measures.wordings
        by_wording = ("wording",) if len(wordings) > 1 else ()
        by_type = ("type",) if len(types) > 1 else ()
        gated = {measure + end: name for end, name in _GATED.items()}
        order = {
            "attractors": ("0", "1", "2", "3"),
            "setting": SETTINGS,
            "set": ("all", *self.measures.sets),
            "wording": ("all", *wordings) if by_wording else wordings,
            "measure": tuple(gated),
            "type": types,
        }
        y_title, reading = _READING[measure]
        return Figure(
            measure if self.position == "after" else f"{measure}_{self.position}",
            title=title,
            caption=f"Each line is a model, each point a mean with its 95 % interval over targets. {reading}",
            measures=tuple(gated),
            x="attractors",
            panels=("setting",),
            choose=("measure", *by_type, "set", *by_wording),
            where={"position": self.position, "type": types},
            order=order,
            names={**NAMES, **gated},
            x_title="number of attractors",
            x_unit="attractors",
            y_title=y_title,
            source=f"{stands_for} of the paper",
        )


def _tables(positions: Sequence[str]) -> list[Table]:
    base = Table(
        "base",
        title="What each model knows without attractors",
        caption="The likeliest of the set's targets in the base context; a target that is not preferred there shows "
        "nothing about distraction.",
        of="observations",
        rows=("set", "target", "base_context"),
        measures=("base_answer",),
        names=NAMES,
        correct="base_preferred",
        source="table 2 of the paper",
    )
    return [base, *map(_examples, positions)]


def _examples(position: str) -> Table:
    name, title, rows, source = {
        "after": ("examples", "Example items", ("setting", "type"), "tables 1 and 3 of the paper"),
        "between": (
            "examples_between",
            "Examples with attractors in between",
            ("setting", "type"),
            "table 4 of the paper",
        ),
        "key_later": ("examples_later", "Examples with the person asked about named later", ("setting",), ""),
    }[position]
    where = {"position": position, "attractors": "2"}
    return Table(
        name,
        title=title,
        caption="With two attractors each.",
        of="items",
        rows=rows,
        where=where,
        names=NAMES,
        source=source,
    )


def _item_table() -> ItemTable:
    names = {
        "target": "target",
        "target_over_rivals_nats": "over rivals, nats",
        "relative_probability": "p / base",
        "correct": "right",
        "base_preferred": "known at base",
    }
    return ItemTable(
        tuple(names), "target_over_rivals_nats", answer="answer", side="target_over_rivals_nats", names=names
    )


def primary(where: Where) -> tuple[Primary, ...]:
    """The paper's: one related attractor lowers accuracy, more do little, unrelated ones act gradually."""
    at = {**where, "setting": "multiple"}
    related = {**at, "type": "B" if where["position"] == "key_later" else "related"}
    than_next = "the first related fact costs {{models}} {} accuracy than the next two (half the difference: {{by}})"
    than_one = "three unrelated facts lower the answer's probability in {{models}} {} than one, by {{by}} of its base"
    return (
        Primary(
            "accuracy_gated",
            where={**related, "attractors": "1"},
            claims=("one_attractor_hurts",),
            above="one related fact costs {models} {by} of accuracy",
            below="one related fact gains {models} {by} of accuracy",
        ),
        Primary(
            "accuracy_gated",
            where={**related, "attractors": "3"},
            claims=("first_hurts_most",),
            above=than_next.format("more"),
            below=than_next.format("less"),
        ),
        Primary(
            "relative_probability_gated",
            where={**at, "type": "unrelated", "attractors": "3"},
            claims=("unrelated_act_gradually",),
            above=than_one.format("further"),
            below=than_one.format("less"),
        ),
    )


def summary(wording: str, position: str, notes: tuple[str, ...]) -> Summary:
    """The table after a run: attractors down, at one wording and position."""
    where = {
        "wording": wording,
        "position": position,
        "set": "all",
        "type": ("B",) if position == "key_later" else ("related", "unrelated"),
    }
    return Summary(
        ("setting", "type", "attractors"),
        row_title="attractors",
        measures=("accuracy", "accuracy_gated", "relative_probability_gated", "won_by_last_gated"),
        where=where,
        titles=("accuracy", "gated accuracy", "p / base", "last wins"),
        intervals=("accuracy_gated", "relative_probability_gated"),
        gate={"measure": "base_competence", "wording": wording, "set": "all"},
        answers={"by": "set", "of": "target", "answer": "base_answer", "correct": "base_preferred"},
        notes=(LEGEND, *notes),
    )
