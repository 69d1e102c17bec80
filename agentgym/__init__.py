"""agentgym: multi-turn environments for LLM agents, behind one async reset/step protocol.

import agentgym

env = agentgym.make("sql")
tasks = agentgym.load_tasks(agentgym.spec("sql"))
observation = await env.reset(tasks.tasks[0], seed=0)
"""

from agentgym.env import Environment, ToolEnvironment
from agentgym.errors import AgentgymError, EpisodeError, ToolError, UsageError
from agentgym.registry import EnvSpec, list_environments, make, register, registered, spec
from agentgym.sync import SyncEnvironment
from agentgym.tasks import TaskSet, load_tasks
from agentgym.tools import Tool, tool
from agentgym.types import (
    Action,
    ImagePart,
    Limits,
    Message,
    Observation,
    Reward,
    Snapshot,
    Task,
    TextPart,
    ToolCall,
    ToolSpec,
    Transition,
    call,
)

list = list_environments

__all__ = [
    "Action",
    "AgentgymError",
    "EnvSpec",
    "Environment",
    "EpisodeError",
    "ImagePart",
    "Limits",
    "Message",
    "Observation",
    "Reward",
    "Snapshot",
    "SyncEnvironment",
    "Task",
    "TaskSet",
    "TextPart",
    "Tool",
    "ToolCall",
    "ToolEnvironment",
    "ToolError",
    "ToolSpec",
    "Transition",
    "UsageError",
    "call",
    "list",
    "load_tasks",
    "make",
    "register",
    "registered",
    "spec",
    "tool",
]
