"""Words of the card about where single answers vary, and how many a reliable number takes."""

from __future__ import annotations

TITLE = "Do the same items stand out in every seed?"
CAPTION = (
    "Of single answers to each primary number: the share of their variance that items, seeds and single seeds' answers "
    "to single items have; the standard deviation of the number over wordings. Reliability: of an item's mean over "
    "these seeds (1: every seed orders items alike; 0: as by chance), with its 95 % interval by groups. Then how many "
    "seeds bring it to 0.8, and how many items tell seeds apart as reliably."
)
HEADER = (
    "number",
    "family",
    "items, %",
    "seeds, %",
    "seeds × items, %",
    "wordings",
    "reliability",
    "seeds for .8",
    "items for .8",
)
NEVER = "none"
