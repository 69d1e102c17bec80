"""The shapes of well-known secrets, as regular expressions.

Each pattern has one named group, the kind, which holds what stays in front of the marker
(mostly nothing). All are linear in the text: an unbounded class either ends the pattern or
stops where the next match could begin, and look-aheads are bounded. None reaches over a marker,
so that what one pass leaves no other pass changes.
"""

import re

_TOKEN = r"[A-Za-z0-9._~+/=-]"  # noqa: S105 - a character class
# A word of prose has no digit among its letters and is seldom 20 characters long.
_OPAQUE = (
    r"(?:(?=[A-Za-z._~+/=-]{0,200}[0-9])(?=[0-9._~+/=-]{0,200}[A-Za-z])"
    rf"|(?={_TOKEN}{{20}})){_TOKEN}{{8,}}+"
)
_HEADER = r"[Aa](?i:uthorization)[\\\"' \t]{0,4}[:=][\\\"' \t]{0,4}"
_BLOCK = r"[A-Z ]{0,32}PRIVATE KEY(?: BLOCK)?-----"


def _key(kind: str, prefix: str, body: str) -> str:
    r"""Return the pattern of a key that starts a word, also after an escape (\n, %20) or a rule.

    The boundary is looked at behind the prefix, so that a search can leap from one literal
    prefix to the next.
    """
    after = rf"(?<=\\[nrt]{prefix})|(?<=%[0-9A-Fa-f]{{2}}{prefix})|(?<=--{prefix})"
    boundary = rf"(?:(?<![A-Za-z0-9_-]{prefix})|{after})"
    return rf"{prefix}{boundary}{body}(?P<{kind}>)"


MARKER = r"(?P<marker>\[redacted:[\w-]{1,100}\])"

SHAPES = (
    rf"-----BEGIN {_BLOCK}"
    rf"(?:[^-\[]*+(?:-(?!----)[^-\[]*+)*+-----END {_BLOCK}"
    r"|(?:(?:\s|\\+[nr])*+[A-Za-z0-9+/=]{16,}+)++)(?P<private_key>)",
    r"(?P<url_password>://[^\s/:@\[]*+:)(?:[^\s/\"'<>,\[]|\[(?!redacted:)){1,512}(?=@)",
    rf"(?P<authorization>{_HEADER}(?i:basic|token)[ ]{{1,4}}){_TOKEN}++",
    rf"(?P<bearer>{_HEADER}(?i:bearer)[ ]{{1,4}}){_TOKEN}++",
    rf"(?P<bearer_>[Bb](?i:earer)[ ]{{1,4}}){_OPAQUE}",
    _key(
        "api_key",
        "sk-",
        r"(?=[A-Za-z_-]{0,64}[0-9]|(?:[a-z]{1,8}-){0,2}[A-Za-z0-9]{20})[A-Za-z0-9_-]{16,}+",
    ),
    _key("stripe_key", "[sr]k_(?:live|test)_", r"[A-Za-z0-9]{16,}+"),
    _key("github_token", "gh[pousr]_", r"[A-Za-z0-9]{20,}+"),
    _key("github_token_", "github_pat_", r"[A-Za-z0-9_]{22,}+"),
    _key("gitlab_token", "glpat-", r"[A-Za-z0-9_-]{16,}+"),
    _key("huggingface_token", "hf_", r"[A-Za-z0-9]{30,}+"),
    _key("aws_key", "A[KS]IA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    _key("slack_token", "xox[a-z]-", r"[A-Za-z0-9-]{10,}+"),
    _key("google_key", "AIza", r"[A-Za-z0-9_-]{30,}+"),
    _key("jwt", "eyJ", r"[A-Za-z0-9_-]{8,512}+\.eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+"),
)
"""One pattern a shape."""

FULL_URL_PASSWORD = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@]*:([^\s/]+)@")
"""Matches a URL with a password, its first group."""
