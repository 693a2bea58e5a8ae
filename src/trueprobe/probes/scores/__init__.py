"""Item-level results of other harnesses, or of any table: counted like answers, and no model is asked."""

PROBES = {"scores": "probe"}
