"""What a run folder shows, and how it is shown. Never a probe, never a model.

`view` decides everything, `chart` makes Vega-Lite of figures, `text` has the sentences, `render` writes it.
"""

__all__ = ["chart", "numbers", "render", "text", "view"]
