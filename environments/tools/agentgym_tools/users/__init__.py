"""The people whom the agent serves."""
