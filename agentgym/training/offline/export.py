"""A stored run as a file that TRL's offline trainers read."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, get_args

from pydantic import Field

from agentgym.errors import MissingExtraError, UsageError
from agentgym.training.offline.dpo import Same, dpo_rows
from agentgym.training.offline.filters import Filter, select
from agentgym.training.offline.kto import LabelBy, kto_rows
from agentgym.training.offline.sft import sft_rows
from agentgym.trajectories.files import replacing
from agentgym.trajectories.record import Trajectory
from agentgym.types import Frozen, Json

if TYPE_CHECKING:
    from datasets import Dataset

Method = Literal["sft", "dpo", "kto"]
METHODS: tuple[Method, ...] = get_args(Method)


class Export(Frozen):
    """What becomes of episodes.

    Attributes:
        method: Which trainer the rows are for.
        action_format: How a model writes its turns: `native`, `react` or `brackets`.
        wanted: Which episodes are taken.
        same: What makes turns comparable, for `dpo`, and for `kto` by turn.
        margin: By how much the returns of a pair have to differ, for `dpo`.
        label_by: Whose merit decides a label, for `kto`.
    """

    method: Method
    action_format: str = "native"
    wanted: Filter = Filter()
    same: Same = "history"
    margin: float = Field(default=0.0, ge=0)
    label_by: LabelBy = "episode"

    def rows(self, episodes: Iterable[Trajectory]) -> Iterator[dict[str, Json]]:
        """Return the rows of some episodes.

        Raises:
            UsageError: The format cannot say what a turn did.
        """
        chosen = select(episodes, self.wanted)
        how = self.action_format
        match self.method:
            case "sft":
                return sft_rows(chosen, action_format=how)
            case "dpo":
                return dpo_rows(chosen, action_format=how, same=self.same, margin=self.margin)
            case "kto":
                return kto_rows(chosen, action_format=how, label_by=self.label_by, same=self.same)


def to_dataset(rows: Iterable[dict[str, Json]]) -> "Dataset":
    """Return rows as a Hugging Face dataset.

    Arrow gives every row of a column one type: a call without arguments would come back with the
    arguments of all other rows' calls, set to null, and be trained on so. Messages are therefore
    kept as JSON.

    Raises:
        MissingExtraError: The package `datasets` is not installed.
        UsageError: There is no row.
    """
    try:
        from datasets import Dataset
    except ImportError as error:
        raise MissingExtraError("A dataset", "train") from error
    listed = list(rows)
    if not listed:
        raise _nothing()
    return Dataset.from_list(listed, on_mixed_types="use_json")


def write_rows(rows: Iterable[dict[str, Json]], path: str | Path) -> int:
    """Write rows to a file, whole or not at all, and return how many there are.

    Args:
        rows: Of one kind.
        path: Where to; Parquet where it ends in `.parquet`, else JSON lines; `-` writes JSON
            lines to standard output. An existing file is replaced.

    Raises:
        UsageError: There is no row, or the file cannot be written.
        MissingExtraError: Parquet without the package `datasets`.
    """
    write = _write_parquet if Path(path).suffix == ".parquet" else _write_jsonl
    with nullcontext(sys.stdout.buffer) if str(path) == "-" else replacing(Path(path)) as file:
        return write(rows, file)


def _write_jsonl(rows: Iterable[dict[str, Json]], file: BinaryIO) -> int:
    count = 0
    for row in rows:
        file.write(json.dumps(row).encode("ascii") + b"\n")
        count += 1
    file.flush()
    if not count:
        raise _nothing()
    return count


def _write_parquet(rows: Iterable[dict[str, Json]], file: BinaryIO) -> int:
    dataset = to_dataset(rows)
    with _without_bars():
        dataset.to_parquet(file)
    return len(dataset)


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keep the progress bars of `datasets` off standard error inside the block."""
    import datasets

    if datasets.are_progress_bars_disabled():
        yield
        return
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        datasets.enable_progress_bars()


def _nothing() -> UsageError:
    return UsageError(
        "Nothing is left to export.",
        remedy="Take more episodes, or filter less; pairs need tasks that were played repeatedly.",
    )
