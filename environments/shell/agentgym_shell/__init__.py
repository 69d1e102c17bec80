"""Bash for agents: tasks on files and text in a sandbox."""

from agentgym.registry import EnvSpec

SPEC = EnvSpec(
    name="shell",
    version=1,
    entry_point="agentgym_shell.env:ShellEnvironment",
    description="Do what is asked with bash in a sandbox, from one-liners to administration.",
    oracle="agentgym_shell.oracle:oracle",
    capabilities=frozenset({"fingerprint", "snapshot"}),
    max_turns=20,
)
