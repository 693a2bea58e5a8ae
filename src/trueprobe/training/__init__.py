"""Models the project trains: pre-training, the shipped nursery, and fine-tuning on tasks."""
