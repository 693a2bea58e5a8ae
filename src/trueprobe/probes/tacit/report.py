"""What the report shows of the probes of tacit assumptions: figures, tables and items, as data."""

from __future__ import annotations

from trueprobe.probes.display import Figure, ItemTable, ReportSpec, Table

SELECTIONS = ("top", "random", "bottom", "visual", "functional", "encyclopaedic")
TACIT_NAMES = {
    "reciprocal_rank": "MRR",
    "properties": "number of properties",
    "prompt": "prompt",
    "top": "all kinds, most frequent",
    "visual": "visual only",
    "functional": "functional only",
    "encyclopaedic": "encyclopaedic only",
    "top decreasing": "top, most frequent first",
    "top increasing": "top, most frequent last",
    "bottom decreasing": "bottom, most frequent first",
    "bottom increasing": "bottom, most frequent last",
    "random random": "random",
    "top_words": "answers",
}


def retrieval(wording: str, first_concept: str) -> ReportSpec:
    at = {"wording": wording}
    figures = [
        Figure(
            "growth",
            "Finding the concept as properties grow",
            "Mean reciprocal rank, or the probability, of the right concept; with 95 % intervals over concepts.",
            ("reciprocal_rank", "probability"),
            "properties",
            choose=("measure",),
            where={**at, "selection": "top", "order": "decreasing"},
            names=TACIT_NAMES,
            x_title="number of properties",
            y_title="of the right concept",
            source="figure 2",
        ),
        Figure(
            "kinds",
            "By kind of property",
            "MRR given properties of one kind only, and of all kinds.",
            ("reciprocal_rank",),
            "properties",
            series="selection",
            panels=("model",),
            where={**at, "selection": ("top", "visual", "functional", "encyclopaedic"), "order": "decreasing"},
            order={"selection": SELECTIONS},
            names=TACIT_NAMES,
            x_title="number of properties",
            y_title="MRR",
            source="figure 3a",
        ),
        Figure(
            "selection",
            "By selection and order",
            "The most or the least frequent properties, most frequent first or last; the band is a random choice.",
            ("reciprocal_rank",),
            "properties",
            series="selection+order",
            panels=("model",),
            where={**at, "selection": ("top", "bottom", "random")},
            band=("random random",),
            order={
                "selection+order": (
                    "top decreasing",
                    "top increasing",
                    "bottom decreasing",
                    "bottom increasing",
                    "random random",
                )
            },
            names=TACIT_NAMES,
            x_title="number of properties",
            y_title="MRR",
            source="figure 3b",
        ),
    ]
    tables = [
        Table(
            "example",
            "One concept as properties grow",
            "The likeliest words of each model.",
            "observations",
            ("properties", "prompt"),
            ("top_words",),
            names=TACIT_NAMES,
            source="figure 1",
            where={**at, "selection": "top", "order": "decreasing", "group_concept": first_concept},
        )
    ]
    items = ItemTable(
        ("rank", "reciprocal_rank", "probability", "instead_satisfies"),
        "concept_over_others_nats",
        answer="top_words",
        probabilities="top_probabilities",
    )
    return ReportSpec(figures, tables, items)


def production(wording: str) -> ReportSpec:
    names = {
        "map_vocabulary": "mAP, vocabulary",
        "map_completions": "mAP, completions",
        "spearman": "ρ",
        "change_without_context": "change",
    }
    at = {"wording": wording}
    tables = [
        Table(
            "relations",
            "Producing properties",
            "By relation.",
            "estimates",
            ("relation",),
            ("map_vocabulary", "map_completions", "spearman"),
            at,
            names=names,
            source="table 1",
        ),
        Table(
            "context",
            "With less left context",
            "Change of mAP.",
            "estimates",
            ("relation",),
            ("change_without_context",),
            at,
            names=names,
            source="table 2",
        ),
    ]
    figures = [
        Figure(
            "map",
            "Properties that people name, ranked by the model",
            "Mean average precision by relation.",
            ("map_vocabulary", "map_completions"),
            "relation",
            "dots",
            "measure",
            ("model",),
            where=at,
            names=names,
            y_title="mAP",
        )
    ]
    items = ItemTable(
        ("ap_vocabulary", "ap_completions", "spearman"),
        "ap_vocabulary",
        answer="top_words",
        probabilities="top_probabilities",
    )
    return ReportSpec(figures, tables, items)


def prince() -> ReportSpec:
    tables = [
        Table(
            "answers",
            "Prince's own examples",
            "The likeliest words of each model.",
            "observations",
            ("direction", "concept", "prompt"),
            ("top_words",),
            source="figure 4",
        )
    ]
    return ReportSpec(
        (),
        tables,
        ItemTable(
            ("rank", "probability"), "own_over_other_nats", answer="top_words", probabilities="top_probabilities"
        ),
    )
