"""What the probes of tacit assumptions display, as data: the tables after a run, figures, tables and items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueprobe.probes.display import Figure, ItemTable, Primary, ReportSpec, Summary, Table, Where
from trueprobe.probes.tacit.measures import NUMBERS, middle_of

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


def retrieval_summary(wording: str, notes: tuple[str, ...], examples: Mapping[str, Any], most: int) -> Summary:
    legend = "instead: of the clues, those that the word ranked first instead satisfies by the norms"
    return Summary(
        ("selection", "order", "properties"),
        row_title="properties",
        measures=("reciprocal_rank", "ranked_first", "probability", "instead_satisfies"),
        where={"wording": wording, "properties": tuple(map(str, dict.fromkeys((1, middle_of(most), most))))},
        titles=("MRR", "first", "p", "instead"),
        intervals=("reciprocal_rank",),
        examples=examples,
        notes=(legend, *notes),
    )


def retrieval_primary(wording: str, most: int) -> tuple[Primary, ...]:
    """The paper's figure 3: the concept is found better with more properties (as many as the norms have, at `most`),
    ever less so, and by larger models."""
    where: Where = {"wording": wording, "selection": ("top", "listed"), "order": ("decreasing", "listed")}
    finds, mrr = "{models} {finds|find} a thing ", "mean reciprocal rank {} by {{by}}".format
    many = f"from {NUMBERS[most]} properties than from one, "
    half = f"with {NUMBERS[middle_of(most)]} {{}} the mean of one and {NUMBERS[most]}"
    return (
        Primary(
            "reciprocal_rank",
            where={**where, "properties": str(most)},
            claims=("properties_help",),
            above=f"{finds}better {many}{mrr('higher')}",
            below=f"{finds}worse {many}{mrr('lower')}",
        ),
        Primary(
            "reciprocal_rank",
            where={**where, "properties": str(middle_of(most))},
            claims=("gain_flattens",),
            above="more properties help {models} ever less: " + mrr(half.format("above")),
            below="more properties help {models} ever more: " + mrr(half.format("below")),
        ),
        Primary(
            "reciprocal_rank",
            where={**where, "properties": "1"},
            claims=("larger_finds_more",),
            above="the larger model finds a thing better ({models}), " + mrr("higher"),
            below="the larger model finds a thing worse ({models}), " + mrr("lower"),
        ),
    )


def production_primary(wording: str) -> tuple[Primary, ...]:
    """The paper's tables 1 and 2: precision, and what it loses without `Everyone knows that`."""
    left_out, what = "without “Everyone knows that”, {models} ", "of what people say a thing {}, precision {} by {{by}}"
    lost = [
        Primary(
            "change_without_context",
            where={"wording": wording, "relation": relation},
            claims=(f"context_helps_{relation}",),
            above=f"{left_out}{{names|name}} less {what.format(relation, 'falls')}",
            below=f"{left_out}{{names|name}} more {what.format(relation, 'rises')}",
        )
        for relation in ("is", "has")
    ]
    return (Primary("map_vocabulary", {"wording": wording, "relation": "all"}), *lost)


def retrieval(wording: str, first_concept: str) -> ReportSpec:
    growth = {"wording": wording, "selection": "top", "order": "decreasing"}
    orders = ("top decreasing", "top increasing", "bottom decreasing", "bottom increasing", "random random")
    common: dict[str, Any] = {"x": "properties", "x_title": "number of properties", "x_unit": "properties"}
    common |= {"names": TACIT_NAMES}
    figures = [
        Figure(
            "growth",
            title="Finding the concept as properties grow",
            caption="Mean reciprocal rank, or the probability, of the right concept; with 95 % intervals over "
            "concepts.",
            measures=("reciprocal_rank", "probability"),
            choose=("measure",),
            where=growth,
            y_title="{measure} of the right concept",
            source="figure 2 of the paper",
            **common,
        ),
        Figure(
            "kinds",
            title="By kind of property",
            caption="MRR by properties of one kind only, and of all kinds.",
            measures=("reciprocal_rank",),
            series="selection",
            panels=("model",),
            where={**growth, "selection": ("top", "visual", "functional", "encyclopaedic")},
            order={"selection": SELECTIONS},
            y_title="MRR",
            source="figure 3a of the paper",
            **common,
        ),
        Figure(
            "selection",
            title="By selection and order",
            caption="The most or the least frequent properties, most frequent first or last; the band is a random "
            "choice.",
            measures=("reciprocal_rank",),
            series="selection+order",
            panels=("model",),
            where={"wording": wording, "selection": ("top", "bottom", "random")},
            band=orders[-1:],
            order={"selection+order": orders},
            y_title="MRR",
            source="figure 3b of the paper",
            **common,
        ),
    ]
    tables = [
        Table(
            "example",
            title="One concept as properties grow",
            caption="The likeliest words of each model.",
            of="observations",
            rows=("properties", "prompt"),
            measures=("top_words",),
            names=TACIT_NAMES,
            source="figure 1 of the paper",
            where={**growth, "group_concept": first_concept},
        )
    ]
    items = ItemTable(
        ("rank", "reciprocal_rank", "probability", "instead_satisfies"),
        "concept_over_others_nats",
        answer="top_words",
        probabilities="top_probabilities",
    )
    return ReportSpec(figures, tables, items)


def production_summary(wording: str, notes: tuple[str, ...]) -> Summary:
    legend = (
        "mAP: over the vocabulary; completions: over the words people gave for the relation; ρ: with production "
        "frequency; no context: change of mAP without `Everyone knows that`; same: share of concepts that get the "
        "commonest answer; outside: probability of all but the words people gave for the relation"
    )
    columns = {
        "map_vocabulary": "mAP",
        "map_completions": "completions",
        "spearman": "ρ",
        "change_without_context": "no context",
        "regardless_of_concept": "same",
        "mass_outside": "outside",
    }
    return Summary(
        "relation",
        row_title="relation",
        measures=tuple(columns),
        where={"wording": wording},
        titles=tuple(columns.values()),
        intervals=("map_vocabulary",),
        notes=(legend, *notes),
    )


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
            title="Producing properties",
            caption="By relation.",
            of="estimates",
            rows=("relation",),
            measures=("map_vocabulary", "map_completions", "spearman"),
            where=at,
            names=names,
            source="table 1 of the paper",
        ),
        Table(
            "context",
            title="With less left context",
            caption="Change of mAP.",
            of="estimates",
            rows=("relation",),
            measures=("change_without_context",),
            where=at,
            names=names,
            source="table 2 of the paper",
        ),
        Table(
            "sampling",
            title="As many completions drawn as people gave",
            caption="Overlap with people's: of one sample, of all samples, and of samples from people's own answers. "
            "Entropy minus that of people. Shares by rank: 0 where sample and people have the same.",
            of="estimates",
            rows=("relation",),
            measures=("overlap_drawn", "overlap_expected", "overlap_people", "entropy_excess", "rank_frequency_apart"),
            where=at,
            names=names
            | {"overlap_drawn": "one sample", "overlap_expected": "all samples", "overlap_people": "people"}
            | {"entropy_excess": "entropy, nats", "rank_frequency_apart": "by rank"},
        ),
    ]
    figures = [
        Figure(
            "map",
            title="Properties that people name, ranked by the model",
            caption="Mean average precision by relation.",
            measures=("map_vocabulary", "map_completions"),
            x="relation",
            kind="dots",
            series="measure",
            panels=("model",),
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
            title="Prince's examples",
            caption="The likeliest words of each model.",
            of="observations",
            rows=("direction", "concept", "prompt"),
            measures=("top_words",),
            source="figure 4 of the paper",
        )
    ]
    return ReportSpec(
        (),
        tables,
        ItemTable(
            ("rank", "probability"), "own_over_other_nats", answer="top_words", probabilities="top_probabilities"
        ),
    )
