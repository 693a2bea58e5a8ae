"""SEAT once more, deliberately plainly: nothing padded, no code of trueprobe but the run it is held against.

Sentences are those of the authors' files; words are found in them by the shape of the sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import permutation_test
from transformers import AutoModel, AutoTokenizer

import trueprobe

FILES = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "seat"
WEIGHTS = Path(trueprobe.__file__).parent / "training" / "nursery" / "weights" / "nursery" / "seed_0"
REPRESENTATIONS = ("cls", "word", "mean", "first_piece")
VIGNETTE = re.compile(r"_1[-+3]*$")
SHAPES = [
    r"The person's name is (.+)\.",
    r"The engineer is (.+)\.",
    r"(.+) is an engineer.*",
    r"(?:This|That) (?:will|did|can|may) (.+)\.",
    r"(?:Here|There) (\w+) is\.",
    r"(?:This|That|There|Here|It) is (?:an? )?(.+)\.",
    r"(?:These|Those|They) are (.+)\.",
    r"(?:The|An?) (.+) (?:is|are) (?:here|there|a person|a thing|people|things)\.",
    r"(.+) (?:is|are) (?:here|there|a person|a thing|people|things)\.",
]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FILES.is_dir(), reason="the authors' SEAT files are not in ../shared/data/seat"),
]


def word_span(text):
    if " " not in text or not text.endswith("."):
        return 0, len(text)
    return next(found for shape in SHAPES if (found := re.fullmatch(shape, text))).span(1)


class Plain:
    def __init__(self):
        self.tokenizer = AutoTokenizer.from_pretrained(WEIGHTS)
        self.network = AutoModel.from_pretrained(WEIGHTS, dtype=torch.float32).eval()
        self.known = {}

    def states(self, rows):
        """Of every row of token ids; rows of the same length are read together."""
        lengths = np.array([len(ids) for ids in rows])
        found = [None] * len(rows)
        for length in set(lengths):
            alike = np.flatnonzero(lengths == length)
            with torch.no_grad():
                states = self.network(input_ids=torch.tensor([rows[i] for i in alike])).last_hidden_state
            for i, one in zip(alike, states.double().numpy(), strict=True):
                found[i] = one
        return found

    def read(self, texts):
        new = list(dict.fromkeys(text for text in texts if text not in self.known))
        if not new:
            return
        encoded = self.tokenizer(new, return_offsets_mapping=True)
        bare = self.tokenizer(new, add_special_tokens=False)["input_ids"]
        rows = zip(new, encoded["offset_mapping"], self.states(encoded["input_ids"]), self.states(bare), strict=True)
        for text, spans, states, without_specials in rows:
            start, stop = word_span(text)
            inside = [i for i, (a, b) in enumerate(spans) if a < b and a < stop and start < b]
            self.known[text] = {
                "cls": states[0],
                "word": states[inside].mean(0),
                "mean": states.mean(0),
                "first_piece": without_specials[0],
            }

    def vectors(self, text):
        return self.known[text]


def cosine(a, b):
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


@pytest.fixture(scope="module")
def plain():
    """s(w, A, B) of every target, by test and representation."""
    found, model = {}, Plain()
    for file in sorted(FILES.glob("*.jsonl")):
        if VIGNETTE.search(file.stem):
            continue
        sets = {key: part["examples"] for key, part in json.loads(file.read_text(encoding="utf-8")).items()}
        model.read([text for texts in sets.values() for text in texts])
        for kind in REPRESENTATIONS:
            vectors = {key: np.stack([model.vectors(text)[kind] for text in texts]) for key, texts in sets.items()}
            unit = {key: v / np.linalg.norm(v, axis=1, keepdims=True) for key, v in vectors.items()}
            found[file.stem, kind] = {
                target: (unit[target] @ unit["attr1"].T).mean(1) - (unit[target] @ unit["attr2"].T).mean(1)
                for target in ("targ1", "targ2")
            }
    some = found["weat9", "cls"]["targ1"][0]  # one value with no arrays at all
    sets = {key: p["examples"] for key, p in json.loads((FILES / "weat9.jsonl").read_text()).items()}
    first = model.vectors(sets["targ1"][0])["cls"]
    sides = [[cosine(first, model.vectors(t)["cls"]) for t in sets[key]] for key in ("attr1", "attr2")]
    assert some == pytest.approx(sum(sides[0]) / len(sides[0]) - sum(sides[1]) / len(sides[1]))
    return found


@pytest.fixture(scope="module")
def estimates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("agreement")
    run = trueprobe.run(
        "seat",
        models=["nursery/0"],
        out=folder / "run",
        store=folder / "store.sqlite",
        settings={"representation": ",".join(REPRESENTATIONS), "clusters": False},
    )
    names = {f"condition_{name}": name for name in ("test", "representation", "wording")}
    return run.estimates.rename(columns=names).set_index(list(names.values())).sort_index()


@pytest.fixture(scope="module")
def pooled(estimates):
    return estimates.xs("all", level="wording")


def size(x, y):
    return (x.mean() - y.mean()) / np.concatenate([x, y]).std(ddof=1)


def test_effect_sizes_of_all_tests_agree(plain, pooled):
    assert len(plain) == len(pooled) == 44 * len(REPRESENTATIONS)
    for key, s in plain.items():
        assert pooled.loc[key, "value"] == pytest.approx(size(s["targ1"], s["targ2"]), abs=1e-4), key


def template(text):
    """The sentence without its word and the word's article."""
    start, stop = word_span(text)
    return re.sub("(^| )[Aa]n? $", r"\1", text[:start]) + "…" + text[stop:]


def test_effect_sizes_of_single_templates_agree(plain, estimates):
    single = estimates.drop("all", level="wording")
    assert len(single) == len(REPRESENTATIONS) * 233
    for name in dict.fromkeys(single.index.get_level_values("test")):
        sets = {key: p["examples"] for key, p in json.loads((FILES / f"{name}.jsonl").read_text()).items()}
        frames = {key: np.array([template(text) for text in sets[key]]) for key in ("targ1", "targ2")}
        for (kind, wording), row in single.loc[name].iterrows():
            x, y = (plain[name, kind][key][frames[key] == wording] for key in ("targ1", "targ2"))
            assert min(len(x), len(y)) >= 4
            assert row["value"] == pytest.approx(size(x, y), abs=1e-4), (name, kind, wording)
            assert row["n_items"] == len(x) + len(y)


def test_p_values_of_the_small_tests_are_those_of_scipy(plain, pooled):
    small = {key: s for key, s in plain.items() if len(s["targ1"]) <= 8}
    assert len(small) == 13 * len(REPRESENTATIONS)
    for key, s in small.items():
        theirs = permutation_test(
            (s["targ1"], s["targ2"]),
            lambda x, y, axis: x.sum(axis=axis) - y.sum(axis=axis),
            alternative="greater",
            vectorized=True,
            n_resamples=np.inf,
        )
        assert pooled.loc[key, "p"] == pytest.approx(theirs.pvalue, abs=2e-4), key  # one near tie is 1 / 12,870
