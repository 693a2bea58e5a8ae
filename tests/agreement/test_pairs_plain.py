"""CrowS-Pairs and StereoSet against a plain re-computation: one sentence at a time, nothing padded, nothing shared.

What is written here follows the published descriptions, slowly, with transformers and difflib only. The package is
used for one thing: to give the numbers that are held against it.
"""

from __future__ import annotations

import csv
import difflib
import json
import math
import os
import string
from pathlib import Path

import pytest
import torch
import transformers

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "src/trueprobe/training/nursery/weights/nursery/seed_0"
CROWS = ROOT.parent / "shared/data/crows_pairs/crows_pairs_anonymized.csv"
# looked for when this file is read, before a test gets a cache folder of its own
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
DEV = CACHE / "trueprobe/assets/stereoset-dev/dev.json"
SAMPLES = ROOT / "src/trueprobe/probes"
NEAR = 1e-4


def data(path: Path, otherwise: Path, which: str) -> Path:
    if which == "sample":
        return otherwise
    if not path.exists():
        pytest.skip(f"{path.name} is neither beside the checkout nor fetched (trueprobe fetch)")
    return path


class Plain:
    """The network and its tokenizer, as anyone would load them."""

    def __init__(self) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(WEIGHTS)
        self.model = transformers.BertForPreTraining.from_pretrained(WEIGHTS, dtype=torch.float32).eval()

    def ids(self, text: str) -> list[int]:
        return self.tokenizer(text)["input_ids"]

    @torch.no_grad()
    def token_logps(self, rows: list[list[int]], places: list[int], targets: list[int]) -> list[float]:
        """Of one token in each row; all rows have the same length."""
        states = self.model.bert(torch.tensor(rows)).last_hidden_state[range(len(rows)), places]
        logps = torch.log_softmax(self.model.cls.predictions(states).double(), 1)
        return logps[range(len(rows)), targets].tolist()

    def masked_logps(self, ids: list[int], places: list[int]) -> list[float]:
        """Each of these tokens, in a copy of the sentence in which it alone is masked."""
        rows = [[*ids[:place], self.tokenizer.mask_token_id, *ids[place + 1 :]] for place in places]
        return self.token_logps(rows, places, [ids[place] for place in places])

    @torch.no_grad()
    def is_next(self, first: str, second: str) -> float:
        encoded = self.tokenizer(first, second, return_tensors="pt", return_token_type_ids=True)
        logits = self.model.cls.seq_relationship(self.model.bert(**encoded).pooler_output)
        return float(torch.softmax(logits[0].double(), 0)[0])


@pytest.fixture(scope="module")
def plain():
    return Plain()


def run(probe: str, settings: dict, folder: Path, limit: int):
    import trueprobe

    done = trueprobe.run(probe, "nursery/0", folder / "run", settings=settings, store=folder / "s", limit=limit)
    return done.observations(probe).set_index("item")


# ---------------------------------------------------------------- CrowS-Pairs


def plain_pair(plain: Plain, row: dict, variant: str) -> float | None:
    """Score of sent_more less that of sent_less."""
    sentences = [row["sent_more"], row["sent_less"]]
    if row["stereo_antistereo"] == "antistereo":
        sentences.reverse()
    one, two = (plain.ids(sentence) for sentence in sentences)
    same: tuple[list[int], list[int]] = [], []
    other: tuple[list[int], list[int]] = [], []
    for what, a, b, c, d in difflib.SequenceMatcher(None, list(map(str, one)), list(map(str, two))).get_opcodes():
        into = same if what == "equal" else other
        into[0].extend(range(a, b))
        into[1].extend(range(c, d))
    inner = same[0][1:-1], same[1][1:-1]  # without [CLS] and [SEP]
    places = inner if variant == "shared" else other
    scores = []
    for ids, chosen in zip((one, two), places, strict=True):
        if not chosen:
            return None
        logps = plain.masked_logps(ids, chosen)
        scores.append(sum(logps) if variant == "shared" else sum(logps) / len(logps))
    difference = scores[0] - scores[1]
    return difference if row["stereo_antistereo"] == "stereo" else -difference


@pytest.mark.slow
@pytest.mark.parametrize("which", ["sample", "published"])
@pytest.mark.parametrize("variant", ["shared", "differing"])
def test_pairs_are_scored_as_one_would_by_hand(plain, tmp_path, which, variant):
    path = data(CROWS, SAMPLES / "crows_pairs/data/sample.csv", which)
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    seen = run("crows_pairs", {"data": str(path), "variant": variant}, tmp_path, 200)
    assert len(seen) == min(200, len(rows))
    for number, found in seen.iterrows():
        row = rows[int(number)]
        expected = plain_pair(plain, row, variant)
        if any(plain.tokenizer.unk_token_id in plain.ids(row[name]) for name in ("sent_more", "sent_less")):
            assert found["why_not"] == "unknown_piece"
        elif expected is None:
            assert found["why_not"] == "no_span"
        else:
            assert found["preference_nats"] == pytest.approx(expected, abs=NEAR), number
            assert found["prefers_stereotype"] == float(expected > 0) or abs(expected) < 2 * NEAR


# ---------------------------------------------------------------- StereoSet


def plain_word(plain: Plain, context: str, sentence: str) -> float:
    """Mean probability of a word's pieces, each behind those before it and with nothing behind it."""
    [place] = [i for i, word in enumerate(context.split(" ")) if "BLANK" in word]
    word = "".join(c for c in sentence.split(" ")[place] if c not in string.punctuation)
    left, right = context.split("BLANK")
    pieces = plain.tokenizer(word, add_special_tokens=False)["input_ids"]
    front = [plain.tokenizer.cls_token_id, *plain.tokenizer(left, add_special_tokens=False)["input_ids"]]
    behind = [*plain.tokenizer(right, add_special_tokens=False)["input_ids"], plain.tokenizer.sep_token_id]
    total = 0.0
    for i, piece in enumerate(pieces):
        ids = [*front, *pieces[:i], plain.tokenizer.mask_token_id, *behind]
        total += math.exp(*plain.token_logps([ids], [len(front) + i], [piece]))
    return total / len(pieces)


def plain_scores(plain: Plain, task: str, cluster: dict) -> dict[str, float]:
    scores = {}
    for sentence in cluster["sentences"]:
        if task == "intrasentence":
            scores[sentence["gold_label"]] = plain_word(plain, cluster["context"], sentence["sentence"])
        else:
            scores[sentence["gold_label"]] = plain.is_next(cluster["context"], sentence["sentence"])
    return scores


@pytest.mark.slow
@pytest.mark.parametrize("which", ["sample", "published"])
@pytest.mark.parametrize("task", ["intrasentence", "intersentence"])
def test_words_and_sentences_are_scored_as_one_would_by_hand(plain, tmp_path, which, task):
    path = data(DEV, SAMPLES / "stereoset/data/sample.json", which)
    clusters = {c["id"]: c for c in json.loads(path.read_text(encoding="utf-8"))["data"][task]}
    seen = run("stereoset", {"data": str(path), "task": task}, tmp_path, 200)
    assert len(seen) == min(200, len(clusters))
    assert (seen["why_not"] == "").all()
    for item, found in seen.iterrows():
        scores = plain_scores(plain, task, clusters[item.split("/")[1]])
        names = ("stereotype_nats", "anti_stereotype_nats", "unrelated_nats")
        for name, label in zip(names, ("stereotype", "anti-stereotype", "unrelated"), strict=True):
            p = scores[label]
            expected = math.log(p) if task == "intrasentence" else math.log(p / (1 - p))
            assert found[name] == pytest.approx(expected, abs=NEAR), (item, name)
        above = [scores["stereotype"] > scores["unrelated"], scores["anti-stereotype"] > scores["unrelated"]]
        if min(abs(math.log(scores[a] / scores[b])) for a, b in _pairs()) > 2 * NEAR:
            assert found["prefers_stereotype"] == float(scores["stereotype"] > scores["anti-stereotype"])
            assert found["meaningful"] == sum(above) / 2


def _pairs() -> list[tuple[str, str]]:
    return [("stereotype", "anti-stereotype"), ("stereotype", "unrelated"), ("anti-stereotype", "unrelated")]


# ---------------------------------------------------------------- causal models, as the authors' and bias-bench's code


class PlainCausal:
    """Sentence scores of GPT-2: the first token after the start token alone, the others without a start token."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        (self.first,) = self._probabilities([self.tokenizer.bos_token_id])

    @torch.no_grad()
    def _probabilities(self, ids: list[int]) -> torch.Tensor:
        return torch.softmax(self.model(torch.tensor([ids])).logits[0].double(), 1)

    def score(self, sentence: str) -> float:
        ids = self.tokenizer(sentence, add_special_tokens=False)["input_ids"]
        later = self._probabilities(ids)
        probabilities = [self.first[ids[0]], *(later[i - 1, ids[i]] for i in range(1, len(ids)))]
        return 2 ** (sum(math.log2(p) for p in probabilities) / len(ids))


@pytest.fixture(scope="module")
def gpt2(checkpoint):
    return checkpoint("gpt2"), PlainCausal(checkpoint("gpt2"))


def run_gpt2(probe: str, folder: Path, out: Path, **settings: str):
    import trueprobe

    settings = {"data": "sample", **settings}
    done = trueprobe.run(probe, str(folder), out / "run", settings=settings, store=out / "s")
    return done.observations(probe).set_index("item")


@pytest.mark.parametrize("causal", ["authors", "start_token"])
def test_causal_sentences_are_scored_as_by_the_authors_where_asked(gpt2, tmp_path, causal):
    folder, plain = gpt2
    seen = run_gpt2("stereoset", folder, tmp_path, task="intrasentence", causal=causal)
    told = json.loads((SAMPLES / "stereoset/data/sample.json").read_text(encoding="utf-8"))["data"]["intrasentence"]
    apart = []
    for cluster in told:
        scores = {s["gold_label"]: plain.score(s["sentence"]) for s in cluster["sentences"]}
        found = seen.loc[f"intrasentence/{cluster['id']}"]
        for name, label in (("stereotype_nats", "stereotype"), ("anti_stereotype_nats", "anti-stereotype")):
            apart.append(abs(found[name] - math.log(scores[label])))
    assert (max(apart) < NEAR) == (causal == "authors")
    assert causal == "authors" or min(apart) > 10 * NEAR


def test_causal_pairs_are_scored_as_by_bias_bench_where_asked(gpt2, tmp_path):
    folder, plain = gpt2
    seen = run_gpt2("crows_pairs", folder, tmp_path, causal="authors", rounding="authors")
    with (SAMPLES / "crows_pairs/data/sample.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        more, less = plain.score(row["sent_more"]), plain.score(row["sent_less"])
        found = seen.loc[str(number)]
        assert found["preference_nats"] == pytest.approx(math.log(more / less), abs=NEAR)
        assert found["prefers_stereotype"] == float(more > less)


def test_published_causal_numbers_are_counted_so():
    from trueprobe.probes import published

    for probe in ("stereoset", "crows_pairs"):
        of_gpt2 = [number for number in published.numbers(probe) if number.model.startswith("gpt2")]
        assert of_gpt2
        assert all("causal=authors" in number.settings for number in of_gpt2)
