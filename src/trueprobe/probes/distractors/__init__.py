"""Paper D: does a model keep a fact when distractors are put next to it?"""

PROBES = {"distractors": "probe"}
