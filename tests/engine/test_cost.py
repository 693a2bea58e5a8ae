"""What asking costs: memory stays small whatever the vocabulary or one long text."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from trueprobe.engine import AnswerStore, Engine
from trueprobe.types import FillBlank

pytestmark = pytest.mark.slow

PEAK = """
import resource, sys
import torch, transformers as t
from tokenizers import Tokenizer, models, pre_tokenizers, processors
torch.set_num_threads(1)
folder, kind = sys.argv[1], sys.argv[2]
specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
words = specials + [f"w{i}" for i in range(50_000 - 5)]
tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
names = {f"{n}_token": f"[{n.upper()}]" for n in ("pad", "unk", "cls", "sep", "mask")}
t.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
small = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, vocab_size=50_000)
network = t.BertForMaskedLM(t.BertConfig(**small)) if kind == "masked" else t.LlamaForCausalLM(t.LlamaConfig(**small))
network.save_pretrained(folder)
del network
from trueprobe.engine import AnswerStore, Engine
from trueprobe.models import open_model
from trueprobe.types import FillBlank, ScoreText
model = open_model(folder)
text = lambda i, n: " ".join(f"w{(i * 7919 + j * 104729) % 49_000}" for j in range(n))
warm = Engine(model, AnswerStore(":memory:")).answer([FillBlank(text(0, 5) + " ", words=("w1",), top=10)])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if kind == "masked":
    requests = [FillBlank(text(i, 6) + " ", " " + text(i + 1, 20), words=("w1", "w2"), top=10) for i in range(1, 2001)]
else:
    requests = [ScoreText(text(i, 26)) for i in range(1, 2001)]
Engine(model, AnswerStore(folder + "/s.sqlite")).answer(requests)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""


@pytest.mark.parametrize("kind", ["masked", "causal"])
def test_two_thousand_rows_of_a_large_vocabulary_never_make_full_logits(kind, tmp_path):
    """2,000 rows × 28 tokens × 50,000 words of float32 would be 11 GB, and one batch of 146 rows 820 MB."""
    finished = subprocess.run(
        [sys.executable, "-c", PEAK, str(tmp_path), kind], capture_output=True, text=True, timeout=500, check=True
    )
    assert float(finished.stdout.split()[-1]) < 500  # MB


def test_one_long_text_among_ten_thousand_changes_neither_speed_nor_shapes(opened):
    model = opened("bert")
    nouns = ("nurse", "man", "woman", "bus", "driver", "cook", "teacher", "clerk", "guard", "baker")
    texts = [f"The {a} met the {b}, the {c} and the {d} " for a in nouns for b in nouns for c in nouns for d in nouns]
    short = [FillBlank(text, " here.", top=1) for text in texts]
    long = FillBlank("The nurse " * 240, " here.", top=1)
    widest = []

    class Watched:
        def __getattr__(self, name):
            return getattr(model, name)

        def forward(self, batch):
            widest.append(batch.ids.size)
            return model.forward(batch)

    def seconds(requests):
        began = time.process_time()
        Engine(Watched(), AnswerStore(":memory:")).answer(requests)
        return time.process_time() - began

    seconds(short[:500])
    alone = seconds(short)
    most = max(widest)
    assert seconds([*short, long]) < 1.5 * alone
    assert max(widest) == most
