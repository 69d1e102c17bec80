"""What a sandbox tried to reach, and what became of it."""

from typing import Literal, NamedTuple

Verdict = Literal["allowed", "refused", "failed"]

KEPT_ATTEMPTS = 10_000
"""How many of the latest attempts a sandbox keeps."""


class Attempt(NamedTuple):
    """One connection that a sandbox opened to its proxy.

    Attributes:
        time: When it came, seconds since 1970 by the host's clock.
        sandbox: The sandbox's id.
        method: The request's method; empty where none was understood.
        host: The host asked for, in its normal form; empty where none was understood.
        port: The port asked for, or 0.
        address: The address connected to, or the one for which the name was refused; empty
            where it did not come to that.
        verdict: "allowed"; "refused" by the rules; or "failed", where it was allowed but the
            host could not be reached or broke off.
        reason: Why it was refused, failed or ended early, one line; otherwise empty.
        bytes_up: Bytes sent to the host.
        bytes_down: Bytes received from the host.
        duration: Seconds from the connection's start to its end.
    """

    time: float
    sandbox: str
    method: str
    host: str
    port: int
    address: str
    verdict: Verdict
    reason: str
    bytes_up: int
    bytes_down: int
    duration: float


class ProxyError(Exception):
    """An attempt that ends with an answer of the proxy's own.

    Args:
        status: The answer's HTTP status.
        reason: Why, one line; the sandbox is told.
        verdict: What the attempt is logged as.
        address: The address it is about; logged, and kept from the sandbox.
    """

    def __init__(
        self, status: int, reason: str, verdict: Verdict = "refused", *, address: str = ""
    ) -> None:
        super().__init__(reason)
        self.address = address
        self.status = status
        self.reason = reason
        self.verdict = verdict


def failed(status: int, reason: str) -> ProxyError:
    """Return the error of a host that is allowed but does not answer as it should."""
    return ProxyError(status, reason, "failed")
