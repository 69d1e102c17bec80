"""Where untrusted code runs: one contract, several backends, one suite that proves both."""

from agentgym.sandbox.base import (
    Command,
    Process,
    Sandbox,
    SandboxBackend,
    SandboxInfo,
    SandboxSnapshot,
    Shell,
)
from agentgym.sandbox.spec import ExecResult, FileInfo, SandboxSpec

__all__ = [
    "Command",
    "ExecResult",
    "FileInfo",
    "Process",
    "Sandbox",
    "SandboxBackend",
    "SandboxInfo",
    "SandboxSnapshot",
    "SandboxSpec",
    "Shell",
]
