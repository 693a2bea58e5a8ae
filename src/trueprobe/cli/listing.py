"""What `list`, `items` and `fetch` print."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from textwrap import fill
from typing import Any

from trueprobe import assets as all_assets
from trueprobe import probes as all_probes
from trueprobe.assets.catalogue import FAMILIES
from trueprobe.errors import BadInput, printable
from trueprobe.results.render.width import UNLIMITED, width
from trueprobe.types import Item


def probes() -> list[dict[str, Any]]:
    rows = []
    for name in all_probes.names():
        try:
            probe = all_probes.find(name)
        except BadInput as error:  # of another distribution
            rows.append({"name": name, "short": str(error), "question": str(error), "paper": "", "settings": {}})
            continue
        settings = {
            key: {"default": field.default, "type": _type(field.annotation), "what": field.description or ""}
            for key, field in probe.Settings.model_fields.items()
        }
        about = {"short": probe.short, "question": probe.question, "paper": probe.paper}
        rows.append({"name": name, **about, "settings": settings})
    return rows


def _type(annotation: Any) -> str:
    return str(annotation).replace("typing.", "").replace("<class '", "").replace("'>", "")


def models() -> list[dict[str, Any]]:
    """What can be named as it stands: the nursery, models among the assets, the hub's cache on this machine."""
    from trueprobe.training import nursery

    rows = [{**row, "what": _of_nursery(row), "here": True} for row in nursery.catalogue()]
    for asset in assets():
        if asset["kind"] == "model":
            size = round(asset["bytes"] / 1e6, 1)
            about = {"model": asset["name"], "what": asset["title"], "size_mb": size, "licence": asset["licence"]}
            rows.append({**about, "here": asset["here"], "self_trained": False})
    return rows + _hub_families() + _hub_models()


def _hub_families() -> list[dict[str, Any]]:
    """Published families that one word names."""
    return [
        {"model": one.name, "what": f"{one.title}: {one.spec}", "paper": one.paper, "licence": one.licence}
        | {"seeds": one.seeds, "size_mb": None, "here": False, "from_hub": True, "self_trained": False}
        for one in FAMILIES
    ]


def _of_nursery(row: dict[str, Any]) -> str:
    seeds = f", {row['seeds']} seeds ({row['model']}/0 is one)" if row["seeds"] > 1 else ""
    return f"self-trained, {row['kind']}, {row['parameters'] / 1e6:.1f} million parameters{seeds}"


def _hub_models() -> list[dict[str, Any]]:
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repos = [repo for repo in scan_cache_dir().repos if repo.repo_type == "model"]
    except CacheNotFound:
        repos = []
    rows = []
    for repo in sorted(repos, key=lambda repo: repo.repo_id):
        revisions = sorted(revision.commit_hash[:12] for revision in repo.revisions)
        about = {
            "model": repo.repo_id,
            "what": f"in the hub's cache, {', '.join(revisions)}",
            "licence": "see its card",
        }
        size = round(repo.size_on_disk / 1e6, 1)
        rows.append({**about, "revisions": revisions, "size_mb": size, "here": True, "self_trained": False})
    return rows


def studies() -> list[dict[str, Any]]:
    from trueprobe.runs import study

    rows = []
    for name in study.shipped():
        read = study.read_study(name)
        rows.append(
            {
                "name": name,
                "title": read.title,
                "probes": [probe.label for probe in read.probes],
                "models": list(read.models),
            }
        )
    return rows


def assets() -> list[dict[str, Any]]:
    """Data and models that `fetch` gets, and whether they are on this machine (by names and sizes)."""
    rows = []
    for name in all_assets.names():
        card = all_assets.card(name)
        about = card.model_dump(include={"name", "title", "kind", "made_by", "paper", "licence", "licence_note"})
        sizes = {"bytes": card.ready_bytes, "download_bytes": card.download_bytes}
        sources = [source.location for source in card.sources]
        rows.append({**about, **sizes, "sources": sources, "here": all_assets.cached(name)})
    return rows


LISTS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "probes": probes,
    "models": models,
    "studies": studies,
    "assets": assets,
}


def fetched(name: str, got: all_assets.Fetched) -> dict[str, Any]:
    about = {"asset": name, "path": str(got.path), "source": got.record.source, "licence": got.record.licence}
    return {**about, "was_here": got.was_here, "refused": list(got.refused)}


def fetched_text(row: dict[str, Any]) -> str:
    how = "already here and whole" if row["was_here"] else "fetched"
    return f"{row['asset']}: {how}: {row['path']} (from {row['source']}; {row['licence']})"


def _assets_text(rows: list[dict[str, Any]]) -> str:
    cells = [[r["name"], "yes" if r["here"] else "–", size_text(r["bytes"]), r["licence"]] for r in rows]
    about = [
        fill(f"{r['name']}: {r['title']}; made by {r['made_by']}", width(80), subsequent_indent="  ") for r in rows
    ]
    table = _table(["asset", "here", "size", "licence"], cells)
    return "\n".join([table, "", *about, "", "Get one: trueprobe fetch ASSET"])


def size_text(count: float) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 1e6 else f"{count / 1e3:,.0f} kB"


def name_of(row: dict[str, Any]) -> str:
    return str(row.get("name") or row["model"])


def as_text(what: str, rows: list[dict[str, Any]], details: bool = False) -> str:
    if what == "assets":
        return _assets_text(rows)
    if what == "probes" and details:
        return "\n\n".join(_probe_text(row) for row in rows)
    if what == "probes":
        return "\n".join([*(_one_line(row["name"], row["short"]) for row in rows), "", fill(ABOUT_ONE, width(80))])
    if what == "studies":
        return "\n".join(f"{row['name']}: {row['title']}" for row in rows)
    return _models_text(rows)


ABOUT_ONE = "Question, paper and settings of one: trueprobe list probes NAME"


def _one_line(name: str, text: str) -> str:
    return fill(f"{name:<17} {text}", width(UNLIMITED), subsequent_indent=" " * 18)


def _where(row: dict[str, Any]) -> str:
    return "yes" if row["here"] else "hub" if row.get("from_hub") else "fetch"


def _models_text(rows: list[dict[str, Any]]) -> str:
    cells = [
        [r["model"], _where(r), size_text(r["size_mb"] * 1e6) if r["size_mb"] else "–", r["licence"]] for r in rows
    ]
    about = [fill(f"{row['model']}: {row['what']}", width(80), subsequent_indent="  ") for row in rows]
    also = "a SPEC too: a folder with a transformers checkpoint, a .gguf file, a hub id with optional @revision, or "
    table = _table(["model", "here", "size", "licence"], cells)
    return "\n".join([table, "", *about, "", fill(f"{also}name=glob for a family of checkpoints.", width(80))])


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    from trueprobe.results.render.printed import table_lines

    return "\n".join(table_lines(header, rows, right=("size", "items")))


def _probe_text(row: dict[str, Any]) -> str:
    lines = [
        fill(f"{row['name']}: {row['question']}", width(80)),
        fill(row["paper"], width(80), initial_indent="  ", subsequent_indent="  "),
    ]
    lines.append("  settings (--set key=value):")
    for key, about in row["settings"].items():
        text = f"{key}={about['default']}: {about['what']}"
        lines.append(fill(text, width(80), initial_indent="    ", subsequent_indent="      "))
    return "\n".join(lines)


def counts(items: Sequence[Item]) -> list[dict[str, Any]]:
    """How many items each combination of conditions has."""
    counted = Counter(tuple(item.conditions.items()) for item in items)
    return [{**dict(key), "items": count} for key, count in counted.items()]


def counts_text(rows: list[dict[str, Any]]) -> str:
    cells = [[f"{value:,}" if isinstance(value, int) else str(value) for value in row.values()] for row in rows]
    return _table(list(rows[0]), cells)


def show_items(items: Sequence[Item]) -> str:
    """One example for each combination of conditions, as masked models are asked and, where it differs, causal ones."""
    first: dict[tuple[str | int, ...], Item] = {}
    for item in items:
        first.setdefault(tuple(item.conditions.values()), item)
    return "\n".join(
        "\n".join([printable(" ".join([item.id, *item.flags])), _prompts(item)]) for item in first.values()
    )


def _prompts(item: Item) -> str:
    if not item.causal_text:
        return f"  {printable(item.text)}"
    return f"  masked: {printable(item.text)}\n  causal: {printable(item.causal_text)}"


def items_text(items: Sequence[Item]) -> str:
    """All items as JSON lines."""
    rows = (
        {"id": item.id, "text": item.text, "conditions": dict(item.conditions), "groups": list(item.groups)}
        | ({"causal_text": item.causal_text} if item.causal_text else {})
        | ({"flags": list(item.flags)} if item.flags else {})
        for item in items
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
