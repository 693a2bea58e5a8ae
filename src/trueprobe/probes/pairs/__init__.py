"""Pairs of a user's file: is the better sentence likelier?"""

PROBES = {"pairs": "probe"}
