"""The `agentgym` command."""
