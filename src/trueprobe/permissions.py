"""What a command may do with a study or run folder that may be a stranger's: run code, read pickles, contact servers.

Permissions come from the command line, or from the arguments of a Python call. No file sets one: no schema of a file
has a field for it. What the user names in the command itself (a probe's path, a model's SPEC) needs no permission;
pickled weights always do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto


class ServerAccess(Enum):
    """What the servers behind `served:` addresses get."""

    REFUSED = auto()  # they are not contacted
    WITHOUT_KEY = auto()
    WITH_KEY = auto()  # every request has the API key

    @classmethod
    def for_study(cls, typed: bool, allowed: bool) -> ServerAccess:
        """`typed`: the user named the models in this command; else a study file did. `allowed`: --allow-servers."""
        return cls.WITH_KEY if typed or allowed else cls.REFUSED

    @classmethod
    def for_run_folder(cls, typed: bool, allowed: bool) -> ServerAccess:
        """The same where a run folder names the models: its servers never get the key."""
        if typed:
            return cls.WITH_KEY
        return cls.WITHOUT_KEY if allowed else cls.REFUSED


@dataclass(frozen=True)
class Permissions:
    code: bool = False  # --allow-code: run the Python files that it names as probes
    pickle: bool = False  # --allow-pickle: read pickled weights
    servers: ServerAccess = ServerAccess.REFUSED  # --allow-servers


NONE = Permissions()
