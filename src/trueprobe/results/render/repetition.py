"""What became of a run that was repeated, in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from trueprobe.results.numbers import count
from trueprobe.results.render.json import as_text
from trueprobe.results.render.printed import Console, print_lines
from trueprobe.runs.repeat import Repeated

_NOT_RECORDED = "not recorded"


def show(repeated: Repeated, console: Console | None = None) -> None:
    print_lines(lines(repeated), console)


def as_json(repeated: Repeated) -> str:
    counts = {"n_estimates": repeated.n_estimates, "n_differing": repeated.n_differing, "largest": repeated.largest}
    made = {"folder": str(repeated.again.folder), "exact": repeated.exact, "same_bytes": repeated.same_bytes}
    changes = [asdict(change) for change in repeated.changes]
    return as_text({**made, **counts, "changes": changes})


def lines(repeated: Repeated) -> Iterator[str]:
    yield f"{repeated.original.folder}, repeated: {repeated.again.folder}"
    yield _outcome(repeated)
    for change in repeated.changes:
        yield f"changed: {change.what}, {change.before or _NOT_RECORDED} then, {change.now or _NOT_RECORDED} now"


def _outcome(repeated: Repeated) -> str:
    every = count(repeated.n_estimates)
    if repeated.same_bytes:
        return f"all tables are the same, byte for byte ({every} estimates)"
    if repeated.exact:
        return f"all {every} estimates have the same value; the files differ"
    by = f", by at most {repeated.largest:.3g}" if repeated.largest == repeated.largest else ""
    return f"{count(repeated.n_differing)} of {every} estimates differ{by}"
