"""Models the project trains: pre-training, the shipped nursery, and fine-tuning on tasks."""

__all__ = ["downstream", "nursery", "pretrain", "recipe"]
