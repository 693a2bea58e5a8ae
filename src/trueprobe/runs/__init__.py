"""A run: the study, its plan and execution, the folder it is written to, and what is counted from it.

`study` says what is asked, `plan` and `execute` ask it, `schema` and `folder` hold what comes out, `tables` counts it.
"""

__all__ = ["compare", "execute", "families", "folder", "plan", "replay", "reproduce", "schema", "study", "tables"]
