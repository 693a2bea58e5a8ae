"""The run folder: everything a run found, as plain tables, written whole or not at all.

`manifest.json` says what was asked of whom; `timing.json` alone depends on the clock and on what was kept before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trueprobe.errors import BadInput, nearest
from trueprobe.paths import locked, write_text, write_whole
from trueprobe.types import Card

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1


@dataclass(frozen=True)
class Run:
    """A finished (or interrupted) run, read from its folder."""

    folder: Path

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return json.loads((self.folder / "manifest.json").read_text(encoding="utf-8"))

    @property
    def complete(self) -> bool:
        return bool(self.manifest["complete"])

    @property
    def probes(self) -> list[str]:
        return [probe["label"] for probe in self.manifest["study"]["probes"]]

    @cached_property
    def told(self) -> dict[str, dict[str, Any]]:
        """What is known of each probe that was begun, as probes.json has it; in the order of the study."""
        path = self.folder / "probes.json"
        if not path.exists():
            raise BadInput(f"{self.folder} has no probes.json; the run was interrupted: run it again into it")
        told = json.loads(path.read_text(encoding="utf-8"))
        return {label: told[label] for label in self.probes if label in told}

    def items(self, probe: str) -> pd.DataFrame:
        return self._table(f"items/{probe}.parquet")

    def observations(self, probe: str) -> pd.DataFrame:
        """All models' observations of a probe, one below the other."""
        import pandas as pd

        asked = [card["name"] for card in self.manifest.get("cards", [])]  # in this order; not known before the end
        place = {name: i for i, name in enumerate(asked)}
        found = (self.folder / "observations" / probe).glob("*.parquet")
        files = sorted(found, key=lambda file: (place.get(file.stem, len(place)), file.name))
        if not files:
            raise BadInput(f"{self.folder} holds no observations of '{probe}'; it has: {', '.join(self.probes)}")
        table = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
        whole = [name for name in ("model_seed", "step") if name in table]  # absent for single checkpoints
        return table.astype(dict.fromkeys(whole, "Int64"))

    def observed(self, probe: str, model: str) -> pd.DataFrame:
        """One model's observations of a probe."""
        return self._table(f"observations/{probe}/{model}.parquet")

    @cached_property
    def estimates(self) -> pd.DataFrame:
        return self._table("estimates.parquet")

    @cached_property
    def claims(self) -> pd.DataFrame:
        return self._table("claims.parquet")

    def table(self, name: str) -> pd.DataFrame:
        """Any other table of the run by its name: variance, flips, flipping_items, signs, disagreements …"""
        if not (self.folder / f"{name}.parquet").exists():
            here = sorted(path.stem for path in self.folder.glob("*.parquet"))
            raise BadInput(f"{self.folder} has no table '{name}'{nearest(name, here)}")
        return self._table(f"{name}.parquet")

    def _table(self, name: str) -> pd.DataFrame:
        import pandas as pd

        if not (self.folder / name).exists():
            raise BadInput(f"{self.folder} has no {name}; the run was interrupted: run it again into the same folder")
        return pd.read_parquet(self.folder / name)


def load_run(folder: str | Path) -> Run:
    path = Path(folder)
    if not (path / "manifest.json").is_file():
        raise BadInput(f"{folder} is no run folder: it has no manifest.json")
    run = Run(path)
    try:
        if run.manifest["format"] > FORMAT:
            raise BadInput(f"{folder} was written by a newer trueprobe (format {run.manifest['format']})")
    except (json.JSONDecodeError, KeyError) as error:
        raise BadInput(f"{folder}/manifest.json is damaged ({error})") from error
    return run


class RunFolder:
    """Writes a run folder. One process at a time; a folder that holds another study is never touched."""

    def __init__(self, folder: Path, study: dict[str, Any]) -> None:
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise BadInput(f"{folder} is a file; name a folder")
        if (folder / "manifest.json").exists():
            held = load_run(folder).manifest["study"]
            if held != study:
                changed = [key for key in study if held.get(key) != study[key]]
                raise BadInput(f"{folder} holds another run (other {', '.join(changed)}); name another --out")
        elif folder.exists() and any(folder.iterdir()) and not (folder / ".lock").exists():
            raise BadInput(f"{folder} is not empty and no run folder; name another --out")

    def refuse_other_weights(self, card: Card) -> None:
        """A model trained on since, at the same place, is another run too."""
        if not (self.folder / "manifest.json").exists():
            return
        for held in load_run(self.folder).manifest.get("cards", []):
            if held["name"] == card.name and held["compute_id"] != card.compute_id:
                raise BadInput(f"{self.folder} holds a run of other weights of {card.name}; name another --out")

    def writing(self) -> AbstractContextManager[None]:
        return locked(self.folder, "run")

    def json(self, name: str, content: Any) -> None:
        text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True, default=str)
        write_text(self.folder / name, text + "\n")

    def table(self, name: str, frame: pd.DataFrame) -> None:
        self._write(name, lambda path: frame.to_parquet(path, index=False))

    def read(self, name: str) -> pd.DataFrame:
        """A table that this run wrote before."""
        import pandas as pd

        return pd.read_parquet(self.folder / name)

    def csv(self, name: str, frame: pd.DataFrame) -> None:
        self._write(name, lambda path: frame.to_csv(path, index=False))

    def _write(self, name: str, write: Callable[[Path], object]) -> None:
        write_whole(self.folder / name, write)
