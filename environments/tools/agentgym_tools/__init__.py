"""Tool use with users: domains of state, tools and policy, and the people who ask for things."""

from agentgym.registry import EnvSpec

SPEC = EnvSpec(
    name="tools",
    version=1,
    entry_point="agentgym_tools.env:ToolsEnvironment",
    description="Serve people through a conversation and tools, by a policy.",
    oracle="agentgym_tools.oracle:play",
    layouts="agentgym_tools.tau2.task_set:read_folder",
    capabilities=frozenset({"fingerprint", "snapshot"}),
    max_turns=60,
)
