"""Which checkpoint training goes on from: the newest that is whole."""

import json
import shutil
import zipfile
from pathlib import Path

from safetensors import SafetensorError, safe_open


def last_whole_checkpoint(folder: Path) -> Path | None:
    """Return the newest checkpoint that was written to its end, and remove any later one.

    A trainer writes `trainer_state.json` last; a file that a full disk or a crash of the machine
    cut off is found too.
    """
    found = sorted(
        (path for path in folder.glob("checkpoint-*") if path.name[11:].isdigit()),
        key=lambda path: int(path.name[11:]),
    )
    for path in reversed(found):
        if _is_whole(path):
            return path
        shutil.rmtree(path)
    return None


def _is_whole(path: Path) -> bool:
    try:
        json.loads((path / "trainer_state.json").read_text("utf-8"))
        weights = list(path.glob("*.safetensors"))
        for part in weights:
            with safe_open(part, framework="pt"):  # compares its length with its header
                pass
    except (OSError, ValueError, SafetensorError):
        return False
    # What torch writes is an archive whose directory stands at its end.
    archives = [part for part in path.iterdir() if part.suffix in (".pt", ".pth")]
    return bool(weights) and all(map(zipfile.is_zipfile, archives))
