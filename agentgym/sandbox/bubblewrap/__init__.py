"""Sandboxes of namespaces alone, made with bubblewrap: no daemon, no image, any user."""

from agentgym.sandbox.bubblewrap.backend import BubblewrapBackend

__all__ = ["BubblewrapBackend"]
