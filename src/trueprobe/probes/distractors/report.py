"""What is shown of the distractors, as data: the table after a run, the paper's figures 1 to 8 and tables 1 to 4."""

from __future__ import annotations

from collections.abc import Sequence

from trueprobe.probes.display import Figure, ItemTable, Summary, Table

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
    "of gated: targets preferred at base; p / base: the target's probability against its base context; "
    "last wins: where an attractor won, was it the one mentioned last?"
)
_GATED = {"_gated": "targets known without attractors", "": "all targets"}


def figures(sets: Sequence[str], positions: Sequence[str], wordings: Sequence[str]) -> list[Figure]:
    order = {
        "attractors": ("0", "1", "2", "3"),
        "setting": ("multiple", "single"),
        "set": ("all", *sets),
        "wording": ("all", *wordings) if len(wordings) > 1 else tuple(wordings),
    }
    more = ("wording",) if len(wordings) > 1 else ()

    def curve(name: str, title: str, measure: str, where: dict, types: tuple[str, ...], source: str) -> Figure:
        measures = tuple(measure + end for end in _GATED)
        told = {measure + end: says for end, says in _GATED.items()}
        accuracy = measure == "accuracy"
        return Figure(
            name,
            title,
            "Each line is a model, each point a mean with its 95 % interval over targets. "
            + (
                "Right: the target is likelier than the others of its set."
                if accuracy
                else "1: as likely as in its base context; below 1: the context took probability from it."
            ),
            measures,
            "attractors",
            panels=("setting",),
            choose=("measure", *(("type",) if len(types) > 1 else ()), "set", *more),
            where={**where, "type": types},
            order={**order, "measure": measures, "type": types},
            names={**NAMES, **told},
            x_title="number of attractors",
            y_title="right answers" if accuracy else "probability relative to base",
            source=source,
        )

    related = ("related", "B", "T")
    shown = {
        "after": [
            curve(
                "accuracy",
                "Right answers, by number of attractors",
                "accuracy",
                {"position": "after"},
                (*related, "unrelated"),
                "figures 1, 6, 7 and 8",
            ),
            curve(
                "relative_probability",
                "Probability of the right answer, by number of attractors",
                "relative_probability",
                {"position": "after"},
                (*related, "unrelated"),
                "figures 2 and 3",
            ),
        ],
        "between": [
            curve(
                "accuracy_between",
                "Right answers, attractors between the person and the fact",
                "accuracy",
                {"position": "between"},
                related,
                "figure 4",
            )
        ],
        "key_later": [
            curve(
                "accuracy_key_later",
                "Right answers, the person asked about named later",
                "accuracy",
                {"position": "key_later"},
                ("B",),
                "figure 5",
            )
        ],
    }
    return [figure for position in positions for figure in shown[position]]


def tables(positions: Sequence[str]) -> list[Table]:
    found = [
        Table(
            "base",
            "What each model knows without attractors",
            "The likeliest of the set's targets in the base context; a target that is not preferred there says "
            "nothing about distraction.",
            "observations",
            ("set", "target", "base_context"),
            ("base_answer",),
            names=NAMES,
            correct="base_preferred",
            source="table 2",
        )
    ]
    examples = {
        "after": ("examples", "Example items", ("setting", "type"), "tables 1 and 3"),
        "between": ("examples_between", "Examples with attractors in between", ("setting", "type"), "table 4"),
        "key_later": ("examples_later", "Examples with the person asked about named later", ("setting",), ""),
    }
    for position in positions:
        name, title, rows, source = examples[position]
        where = {"position": position, "attractors": "2"}
        caption = "With two attractors each."
        found.append(Table(name, title, caption, "items", rows, where=where, names=NAMES, source=source))
    return found


def item_table() -> ItemTable:
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
        "attractors",
        ("accuracy", "accuracy_gated", "relative_probability_gated", "won_by_last_gated"),
        where,
        ("accuracy", "of gated", "p / base", "last wins"),
        intervals=("accuracy_gated", "relative_probability_gated"),
        gate={"measure": "base_competence", "wording": wording, "set": "all"},
        answers={"by": "set", "of": "target", "answer": "base_answer", "correct": "base_preferred"},
        notes=(LEGEND, *notes),
    )
