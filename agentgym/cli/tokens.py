"""The command `tokens`: whether a run's recorded tokens can be trained on."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentgym.cli.options import StoreOption
from agentgym.cli.output import JsonFlag, print_json, print_text

if TYPE_CHECKING:
    from agentgym.training.tokens import Decoder


def tokens(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id.")],
    tokenizer: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Look for drift by this tokenizer.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Check a run's exact tokens, turn by turn. Exit code 1 where they cannot be trained on."""
    from agentgym.training.recorded_tokens import check_run
    from agentgym.trajectories.store import TrajectoryStore

    decoder = None if tokenizer is None else _decoder(tokenizer)
    with TrajectoryStore.open(store, create=False) as opened:
        opened.get_run(run)
        found = list(check_run(opened.trajectories(run), decoder))
        episodes = len(opened.finished(run))
    faults = sum(finding.fault for finding in found)
    if as_json:
        findings = [finding.model_dump(mode="json") for finding in found]
        print_json({"run": run, "episodes": episodes, "faults": faults, "findings": findings})
    else:
        for one in found:
            where = "" if one.turn is None else f" turn {one.turn}"
            print_text(f"{one.kind}: {one.task_id} epoch {one.epoch}{where}: {one.message}")
        kinds = Counter(str(one.kind) for one in found)
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        print_text(f"{episodes} episodes, {faults} faults. {told or 'Nothing was found.'}")
    if faults:
        raise typer.Exit(1)


def _decoder(folder: Path) -> "Decoder":
    from agentgym.agents.local_model import load_tokenizer
    from agentgym.training.recorded_tokens import TokenizerDecoder

    return TokenizerDecoder(load_tokenizer(folder))
