"""What a record says of infrastructure that failed."""

from agentgym.types import Frozen


class Fault(Frozen):
    """One infrastructure fault, survived or not.

    Attributes:
        kind: The error's `kind`, such as "model_rate_limited".
        message: What it said.
        attempt: The episode attempt it struck, from 1.
        fatal: Whether it ended the episode for good.
    """

    kind: str
    message: str
    attempt: int = 1
    fatal: bool = False
