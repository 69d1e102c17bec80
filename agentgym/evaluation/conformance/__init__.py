"""The conformance suite: does an environment keep the protocol's promises?

Each check is a small function whose first line states the contract. A check that needs a
capability the environment does not declare is skipped; a declared one that fails is a failure.
"""

from agentgym.evaluation.conformance.results import CheckResult, Report
from agentgym.evaluation.conformance.suite import check_environment

__all__ = ["CheckResult", "Report", "check_environment"]
