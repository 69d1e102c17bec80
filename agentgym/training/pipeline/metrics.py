"""What a seed's training measures: a line each in its folder, and the same in the store."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from agentgym.trajectories.metrics import Measurement, Metrics

METRICS = "metrics.jsonl"


class MetricsLog:
    """The measurements of one seed.

    Going on after a kill reads the folder's file; the store's copy is for others.

    Args:
        folder: The seed's folder.
        store: The store's measurements.
        training: What the store calls the training by.

    Raises:
        StoreError: The store cannot be written.
    """

    def __init__(self, folder: Path, store: Metrics, training: str) -> None:
        self._path = folder / METRICS
        self._store = store
        self._training = training
        taken = list(read_metrics(self._path))
        if len(store.read(training)) < len(taken):  # the store is a new one
            for stage in dict.fromkeys(one.stage for one in taken):
                store.replace(training, stage, [one for one in taken if one.stage == stage])

    def add(self, stage: str, step: int, values: Mapping[str, float]) -> None:
        """Append a measurement.

        Raises:
            StoreError: The store cannot be written.
        """
        measured = Measurement(stage=stage, step=step, values=values)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(_line(measured))
        self._store.add(self._training, measured)

    def read(self, stage: str) -> list[Measurement]:
        """Return a stage's measurements, in order; a line that a kill cut off is left out."""
        return [one for one in read_metrics(self._path) if one.stage == stage]

    def forget(self, stage: str, after: int) -> None:
        """Drop a stage's measurements of later steps, which are going to be taken again.

        Raises:
            StoreError: The store cannot be written.
        """
        kept = [x for x in read_metrics(self._path) if x.stage != stage or x.step <= after]
        temporary = self._path.with_name(f".{METRICS}.tmp")
        temporary.write_text("".join(map(_line, kept)), "utf-8")
        temporary.replace(self._path)
        self._store.replace(self._training, stage, [one for one in kept if one.stage == stage])


def read_metrics(path: Path) -> Iterator[Measurement]:
    """Yield the measurements of a file, in order; none where there is no file."""
    for line in path.read_text("utf-8", "replace").splitlines() if path.exists() else ():
        try:
            found = json.loads(line)
            stage, step = found.pop("stage"), found.pop("step")
        except (ValueError, KeyError, AttributeError):
            continue  # where a kill cut it off
        yield Measurement(stage=stage, step=step, values=found)


def _line(measured: Measurement) -> str:
    return json.dumps({"stage": measured.stage, "step": measured.step, **measured.values}) + "\n"
