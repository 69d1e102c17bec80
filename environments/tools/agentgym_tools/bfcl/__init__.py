"""The Berkeley Function-Calling Leaderboard's multi-turn categories, from its installed wheel."""

from agentgym.registry import EnvSpec

SPEC = EnvSpec(
    name="bfcl",
    version=1,
    entry_point="agentgym_tools.bfcl.env:BfclEnvironment",
    description="Serve a user over several turns by calling functions (BFCL multi-turn).",
    oracle="agentgym_tools.bfcl.oracle:oracle",
    default_tasks="multi_turn",
    made_tasks={"multi_turn": "agentgym_tools.bfcl.tasks:multi_turn"},
    capabilities=frozenset({"fingerprint", "snapshot"}),
    max_turns=168,
)
