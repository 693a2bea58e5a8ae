"""Blanks of a user's file: are the right words likelier than the wrong ones?"""

PROBES = {"cloze": "probe"}
