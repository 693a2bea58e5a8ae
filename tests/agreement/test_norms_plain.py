"""How many people gave each word by CSLB's participant lists once more, in a few plain lines, on invented rows."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from trueprobe import probes

EXAMPLE = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "norms" / "cslb_format_example.dat"
HEAD = "domain\tfeature type\tconcept\tfeature\tpf\tfeature alternatives\tparticipant list"
STARTS = {"is": "is", "is a": "is a", "has": "has", "does have": "has", "has a": "has a", "made of": "is made of"}


def people_plainly(text):
    """(concept, relation, word) → number, and how many rows have other groups than alternatives."""
    who, totals, unmatched = {}, {}, 0
    for line in text.split("\r\n")[1:]:
        if line:
            _, _, concept, _, pf, alternatives, participants = line.split("\t")
            alternatives, groups = alternatives.split("; "), participants[2:].split(" / ")
            unmatched += len(alternatives) != len(groups)
            for i, alternative in enumerate(alternatives):
                start, _, word = alternative.rpartition(" ")
                key = (concept, STARTS.get(start), word)
                if len(alternatives) == len(groups):
                    who.setdefault(key, set()).update(groups[i].split())
                else:
                    totals[key] = max(int(pf), totals.get(key, 0))
    keys = [key for key in [*who, *totals] if key[1] and key[2] not in ("a", "not")]
    return {key: max(len(who.get(key, ())), totals.get(key, 0)) for key in keys}, unmatched


def invented_rows(seed):
    """Labels share words, alternatives share people; one row in ten has a group too few or too many."""
    rng = random.Random(seed)
    rows = [HEAD]
    for concept in ("drum", "kettle", "badger", "canoe"):
        for label in range(40):
            words = ["loud", "noisy", "round", "hard", "big", "wood", "skin"]
            texts = [f"{rng.choice([*STARTS, 'does make a'])} {rng.choice(words)}" for _ in range(rng.randint(1, 5))]
            count = len(texts) + (rng.choice([-1, 1]) if rng.random() < 0.1 else 0)
            groups = [rng.sample(range(1, 31), rng.randint(1, 9)) for _ in range(max(count, 1))]
            pf = len({person for group in groups for person in group})
            listed = "p " + " / ".join(" ".join(map(str, group)) for group in groups)
            rows.append(f"any\tfunctional\t{concept}\tlabel {label}\t{pf}\t{'; '.join(texts)}\t{listed}")
    return "\r\n".join(rows) + "\r\n"


def assert_same(path):
    plain, unmatched = people_plainly(path.read_bytes().decode())
    probe = probes.make("tacit_production", {"data": str(path), "concepts": "all"})
    ours = {(*key, word): number for key, words in probe.gold.items() for word, number in words.items()}
    assert ours == plain
    assert probe.norms.counts["forms_not_counted"] == unmatched
    return len(ours), unmatched


def test_the_example_rows_have_the_same_numbers():
    if not EXAMPLE.is_file():
        pytest.skip("no example of CSLB's format in ../shared/data/norms")
    assert assert_same(EXAMPLE) == (14, 1)


def test_invented_rows_have_the_same_numbers(tmp_path):
    compared = 0
    for seed in range(20):
        (tmp_path / "norms.dat").write_bytes(invented_rows(seed).encode())
        words, unmatched = assert_same(tmp_path / "norms.dat")
        compared += words
        assert unmatched > 0
    assert compared > 2500
