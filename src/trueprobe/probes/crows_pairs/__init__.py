"""Paper C: CrowS-Pairs."""

PROBES = {"crows_pairs": "probe"}
