"""The lines about a run that was repeated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trueprobe.results.numbers import count

if TYPE_CHECKING:
    from trueprobe.runs.repeat import Repeated

_NOT_RECORDED = "not recorded"


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
