"""Paper A: does a counterexample put in front change a stereotyped answer?"""

PROBES = {"counteracts": "probe"}
