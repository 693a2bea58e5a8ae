"""A run: the study, its execution, the folder it is written to, and what is counted from it."""
