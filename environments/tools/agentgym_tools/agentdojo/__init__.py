"""AgentDojo's suites, from its installed wheel: useful work under prompt injection."""

from agentgym.registry import EnvSpec

_TASKS = "agentgym_tools.agentdojo.tasks"

SPEC = EnvSpec(
    name="agentdojo",
    version=1,
    entry_point="agentgym_tools.agentdojo.env:AgentDojoEnvironment",
    description="Serve a user with tools whose results carry an attacker's instructions.",
    oracle="agentgym_tools.agentdojo.oracle:oracle",
    default_tasks="important_instructions",
    made_tasks={
        "important_instructions": f"{_TASKS}:important_instructions",
        "direct": f"{_TASKS}:direct",
        "ignore_previous": f"{_TASKS}:ignore_previous",
        "system_message": f"{_TASKS}:system_message",
    },
    capabilities=frozenset({"fingerprint", "snapshot"}),
    max_turns=40,
)
