"""What a run folder shows, and how it is shown: in a terminal, on a page, as text. Never a probe, never a model."""
