"""One of two ranks that share a group: trains two steps and writes down what it saw.

Run as a module with the folder, and the rank where torch looks for it.
"""

import json
import os
import sys
from pathlib import Path

import torch

from agentgym.training.recipes.replay import Replay
from tests.training.corridor import Script, Spy, make_trainer

WON: list[list[float]] = [[0.0, 1.0], [0.25, 0.0, 0.0], [0.9], [0.0, 0.5, 0.1]]
LOST: list[list[float]] = [[0.0, 0.0], [0.0], [0.0], [0.0, 0.0, 0.0]]


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    own = slice(2 * rank, 2 * rank + 2)
    spy = Spy()
    trainer = make_trainer(
        folder,
        Script(WON[own], LOST[own]),
        recipes=[Replay(), spy],
        per_device_train_batch_size=2,
        max_steps=2,
    )
    trainer.train()
    first, second = spy.batches
    seen = {
        "advantages": first.tensors["advantages"][:, 0].tolist(),
        "replayed": [one.replayed for one in second.results],
        "completions": second.tensors["completion_ids"].tolist(),
    }
    (folder / f"{rank}.json").write_text(json.dumps(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
