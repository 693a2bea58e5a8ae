"""Six steps with transformers' Trainer, here or as one of several processes: python train.py FOLDER OUT."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import torch
import transformers as t


def train(folder: Path, out: Path, *callbacks: t.TrainerCallback, resume: bool = False, steps: int = 6) -> t.Trainer:
    """The model of a folder; data and order are always the same."""
    torch.manual_seed(0)
    tokenizer = t.AutoTokenizer.from_pretrained(folder)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    config = t.AutoConfig.from_pretrained(folder)
    of = t.AutoModelForCausalLM if config.model_type == "gpt2" else t.AutoModelForMaskedLM
    ids = torch.randint(5, len(tokenizer), (64, 12), generator=torch.Generator().manual_seed(1))
    settings = t.TrainingArguments(
        str(out),
        max_steps=steps,
        per_device_train_batch_size=4,
        learning_rate=1e-2,
        lr_scheduler_type="constant",
        save_steps=2,
        report_to="none",
        use_cpu=True,
        disable_tqdm=True,
        ddp_backend="gloo" if "WORLD_SIZE" in os.environ else None,
    )
    data = [{"input_ids": row, "labels": row} for row in ids]
    model = of.from_pretrained(folder)
    trainer = t.Trainer(model, settings, train_dataset=data, processing_class=tokenizer, callbacks=list(callbacks))
    trainer.train(resume_from_checkpoint=resume)
    return trainer


if __name__ == "__main__":
    import trueprobe

    callback = trueprobe.ProbeCallback("pairs", every=2, out=Path(sys.argv[2]) / "probes")
    train(Path(sys.argv[1]), Path(sys.argv[2]) / "trained", callback)
