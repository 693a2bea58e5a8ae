"""Lets the environment this runs in import all packages of another one: no second torch is downloaded.

python on_top_of.py OTHER_PYTHON
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

WHERE = "import sysconfig; print(sysconfig.get_path('purelib'))"

if __name__ == "__main__":
    other = subprocess.run([sys.argv[1], "-c", WHERE], capture_output=True, text=True, check=True).stdout.strip()
    # not its path alone: an editable install is a .pth file there, which only addsitedir reads
    line = f"import site; site.addsitedir({other!r})\n"
    (Path(sysconfig.get_path("purelib")) / "on_top_of.pth").write_text(line, encoding="utf-8")
