"""Where trueprobe keeps what it may make or fetch again."""

from __future__ import annotations

import os
from pathlib import Path


def cache() -> Path:
    """`trueprobe` in the user's cache folder (XDG_CACHE_HOME, else ~/.cache)."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "trueprobe"
