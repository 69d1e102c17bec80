"""Games with broken fingerprints and snapshots."""

from collections.abc import Sequence
from typing import Any

from agentgym import (
    Message,
    Observation,
    Reward,
    Snapshot,
    ToolEnvironment,
    tool,
)
from tests.evaluation.games.sound import Private, Public, Sound


class CountsFingerprints(Sound):
    async def setup(self) -> str | Sequence[Message]:
        self.asked = 0
        return await super().setup()

    async def fingerprint(self) -> str:
        self.asked += 1
        return f"{await super().fingerprint()}{self.asked}"


class FingerprintsItself(Sound):
    async def fingerprint(self) -> str:
        return f"{await super().fingerprint()}{id(self)}"


class ConstantFingerprint(Sound):
    async def fingerprint(self) -> str:
        return "the same"


class SavesNothing(ToolEnvironment[Public, Private]):
    """Declares fingerprint and snapshot, and has neither."""

    async def setup(self) -> str:
        return self.task.public.riddle

    @tool
    async def push(self, amount: int) -> str:
        """Push."""
        return "Pushed."

    @tool
    async def note(self, text: str) -> str:
        """Write a note."""
        return "Noted."

    @tool
    async def submit(self, word: str) -> str:
        """Submit the word."""
        self.right = word == self.task.private.answer
        self.finish()
        return "Thank you."

    async def grade(self) -> Reward:
        return Reward(value=float(getattr(self, "right", False)))


class LoadsHalf(Sound):
    async def load(self, state: Any) -> None:
        await super().load({**state, "total": -1})


class SnapshotCosts(Sound):
    async def snapshot(self) -> Snapshot:
        self.total += 1000
        return await super().snapshot()


class SharesItsNotes(Sound):
    """Its snapshots hold the very list that later steps append to."""

    async def snapshot(self) -> Snapshot:
        taken = await super().snapshot()
        return taken.model_copy(update={"state": (taken.state, self.notes)})

    async def restore(self, snapshot: Snapshot) -> Observation:
        state, notes = snapshot.state
        observation = await super().restore(snapshot.model_copy(update={"state": state}))
        self.notes = notes
        return observation


class CannotBePickled(Sound):
    async def snapshot(self) -> Snapshot:
        taken = await super().snapshot()
        return taken.model_copy(update={"state": (taken.state, lambda: None)})

    async def restore(self, snapshot: Snapshot) -> Observation:
        return await super().restore(snapshot.model_copy(update={"state": snapshot.state[0]}))
