"""Files that probes read: one whose words the small vocabularies have, and any file with mistakes in it; and the probe
of the docs, which is one file of Python."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import strategies as st

_PAGE = Path(__file__).parents[1] / "docs" / "adding-a-probe.md"
SKELETON = re.search(r"^```python colours\.py\n(.*?)^```", _PAGE.read_text(encoding="utf-8"), re.M | re.S)[1]

PLACES = """
names = ["Ada", "Bea", "Cleo", "Dora"]
unrelated = ["is late", "met the man", "knew everyone"]
fillers = ["was here", "met everyone", "was late"]

[card]
title = "Places"
version = "1"
licence = "MIT"
source = "written for this test"

[sets.place]
pairs = [
    { background = "hospital", target = "nurse" },
    { background = "station", target = "bus" },
    { background = "school", target = "girl" },
    { background = "castle", target = "king" },
]

[sets.place.wordings.plain]
fact = "is at the {background}"
ask = "{key} met the ___."
B = { own = "knew {list}", each = "the {background}" }
T = { other = "met the {target}", own = "met {list}", each = "the {target}" }

[sets.place.wordings.late]
like = "plain"
ask = "So {key} knew the ___."
"""


@st.composite
def mutated(draw, lines: list[str], values: list[str]) -> str:
    """A TOML file with up to three lines lost, doubled, cut, or holding another value."""
    lines = list(lines)
    for _ in range(draw(st.integers(1, 3))):
        i = draw(st.integers(0, len(lines) - 1))
        how = draw(st.sampled_from(["delete", "double", "value", "field", "cut"]))
        if how == "delete":
            del lines[i]
        elif how == "double":
            lines.insert(i, lines[i])
        elif how == "value":
            lines[i] = lines[i].split("=")[0] + "= " + draw(st.sampled_from(values))
        elif how == "field":
            value = draw(st.sampled_from(values)).replace("\\", r"\\")
            lines[i] = re.sub(r'("[^"]*"|\d[\d.]*)', value, lines[i], count=1)
        else:
            lines[i] = lines[i][: draw(st.integers(0, len(lines[i])))]
    return "\n".join(lines)
