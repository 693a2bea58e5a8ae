"""Paper C: the Sentence Encoder Association Test."""

PROBES = {"seat": "probe"}
