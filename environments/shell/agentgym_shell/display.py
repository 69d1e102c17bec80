"""How a command's output is shown to an agent: both ends of what is long, and how it ended."""

from agentgym.sandbox import ExecResult

_TAIL_SHARE = 0.5


def show_result(
    result: ExecResult, *, max_output: int, timeout: float, new_shell: str | None
) -> str:
    """Return a command's output and end.

    Args:
        result: How it ended.
        max_output: Characters of each stream that are shown.
        timeout: Seconds it had.
        new_shell: The folder of the shell that has taken the place of the one it cost.
    """
    parts = []
    if result.stdout:
        parts.append(clipped(result.text, max_output, whole=not result.truncated))
    if result.stderr:
        errors = clipped(result.error_text, max_output, whole=not result.truncated)
        parts.append(f"[stderr]\n{errors}")
    if result.timed_out:
        parts.append(
            f"[timed out after {timeout:g} s and was killed, with everything started from this "
            "shell; give a larger timeout, read less, or end what waits for input]"
        )
    elif result.exit_code:
        parts.append(f"[exit code {result.exit_code}]")
    if new_shell is not None:
        parts.append(f"[the shell has ended; a new one, without its variables, is in {new_shell}]")
    return "\n".join(part.removesuffix("\n") for part in parts) or "[no output]"


def clipped(text: str, limit: int, *, whole: bool = True) -> str:
    """Return a text, or both its ends with the count of what was left out between them.

    Args:
        text: What was kept of an output.
        limit: Characters shown.
        whole: Whether nothing was written after it.
    """
    more = "" if whole else "\n[more was written, and not kept]"
    if len(text) <= limit:
        return text + more
    tail = int(limit * _TAIL_SHARE)
    head = limit - tail
    left_out = len(text) - head - tail
    note = f"[{left_out} characters left out here; head, tail, sed -n or grep show less at once]"
    return f"{text[:head]}\n{note}\n{text[len(text) - tail :]}{more}"
