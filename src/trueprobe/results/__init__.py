"""What a run folder shows, and how it is shown. Never a probe, never a model.

`report` gathers everything that is decided; `terminal`, `page`, `markdown`, `json` and `notebook` render it.
"""

__all__ = ["json", "markdown", "notebook", "page", "report", "terminal"]
