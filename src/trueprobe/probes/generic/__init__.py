"""Probes of a user's own file that need no code: pairs of sentences, and texts with a blank."""

PROBES = {"pairs": "pairs", "cloze": "cloze"}
