"""Paper D: does a model keep a fact when distractors are put beside it?"""

PROBES = {"distractors": "probe"}
