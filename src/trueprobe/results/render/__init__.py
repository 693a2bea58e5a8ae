"""The renderers: each writes a report in one form, and decides nothing but what there is room for."""

__all__ = ["comparison", "export", "files", "json", "markdown", "notebook", "page", "reproduction", "terminal"]
