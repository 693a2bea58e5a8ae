"""trueprobe: what does a language model take for granted, and how far can the answer be trusted?"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Run", "__version__", "compare", "embed", "fill", "load_run", "open_model", "run", "score"]

if TYPE_CHECKING:
    from trueprobe.models import open_model
    from trueprobe.runs.compare import compare
    from trueprobe.runs.execute import run
    from trueprobe.runs.folder import Run, load_run
    from trueprobe.scoring import embed, fill, score

_HOMES = {
    "Run": "trueprobe.runs.folder",
    "compare": "trueprobe.runs.compare",
    "embed": "trueprobe.scoring",
    "fill": "trueprobe.scoring",
    "load_run": "trueprobe.runs.folder",
    "open_model": "trueprobe.models",
    "run": "trueprobe.runs.execute",
    "score": "trueprobe.scoring",
}


def __getattr__(name: str) -> Any:
    """Heavy modules are imported when first asked for, so that `trueprobe --help` stays instant."""
    if name not in _HOMES:
        raise AttributeError(f"module 'trueprobe' has no attribute '{name}'")
    importlib.import_module("trueprobe.runs.folder").Run.html = _html
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """For completion: names that are imported when asked for are names too."""
    return sorted({*globals(), *__all__})


def _html(run: Run) -> str:
    """What a notebook shows of a run."""
    from trueprobe.results import notebook

    return notebook.html(run)
