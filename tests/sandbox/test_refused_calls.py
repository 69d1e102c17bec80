"""A call that is refused as impossible has no part in what happens to the sandbox later."""

import pytest

from agentgym.errors import UsageError
from agentgym.sandbox import SandboxSpec, exchanges
from tests.sandbox.check_rig import backend_of


async def test_a_refused_command_does_not_end_the_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exchanges, "GRACE_S", 0.1)
    async with backend_of("bubblewrap") as backend, await backend.start(SandboxSpec()) as box:
        with pytest.raises(UsageError, match="1 MiB"):
            await box.exec(["true", "x" * (2 << 20)], timeout=0.1)
        assert (await box.exec(["sleep", "0.5"])).exit_code == 0
        assert box.alive
