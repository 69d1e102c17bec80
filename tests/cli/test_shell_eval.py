"""`--sandbox` chooses what the shell environment runs in, on `eval`, `replay` and `check`."""

import pytest

from tests.cli.conftest import Command

TASKS = ("--task", "line-*", "--limit", "2")


@pytest.mark.parametrize("sandbox", ["bubblewrap", "docker"])
def test_a_run_is_played_and_replayed(agentgym: Command, sandbox: str) -> None:
    command = ("eval", "shell", "--agent", "oracle", *TASKS, "--sandbox", sandbox, "--run-id", "r")
    result = agentgym(*command, "--json").json
    assert (result["episodes"], result["success_rate"], result["errors"]) == (2, 1.0, {})
    assert agentgym("replay", "r", "--json").json["equal"]
    assert agentgym("replay", "r", "--sandbox", "bubblewrap", "--json").json["equal"]


def test_a_sandbox_is_chosen_like_any_option(agentgym: Command) -> None:
    wrong = ("eval", "shell", "--agent", "null", *TASKS)
    by_name = agentgym(*wrong, "--sandbox", "nosuch", code=2)
    assert by_name.err == agentgym(*wrong, "-E", "sandbox=nosuch", code=2).err
    assert "bubblewrap" in by_name.err
