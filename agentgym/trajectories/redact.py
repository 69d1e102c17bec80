"""Secrets out of text before anything is written.

Two sorts are known: the values of environment variables whose names look like keys, in the
forms they take inside other text (raw, JSON-escaped, URL-encoded, base64), and well-known
shapes such as bearer tokens, vendors' keys, private keys and passwords in URLs. Each becomes
`[redacted:NAME]`, which is itself left alone, so that redacting twice changes nothing.

Not recognised: a secret cut in two, encrypted, drawn in an image, or base64 broken into lines.
"""

import base64
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Self
from urllib.parse import quote, quote_plus, unquote

from agentgym.trajectories.shapes import FULL_URL_PASSWORD, MARKER, SHAPES
from agentgym.types import Json

_MIN_LENGTH = 8

_SECRET_NAME = re.compile(
    r"(?:key|token|secret|password|passwd|passphrase|credential|(?:^|_)(?:pass|auth)|_pwd)s?"
    r"(?=_|\d|$)",
    re.IGNORECASE,
)
_SECRET_SETTING = re.compile(
    r"(?:(?:api|access|secret|private|account|auth)[_-]?key|secret|password|passwd|passphrase|"
    r"credentials?|authorization|(?:^|(?:api|access|auth|bearer|refresh|session)[_-]?)token)$",
    re.IGNORECASE,
)

# Values too common to be secrets: hiding them would rewrite ordinary text.
_WORD = re.compile(r"[A-Za-z]{1,10}|[0-9]{1,11}")
_PLACEHOLDERS = frozenset(
    {"development", "placeholder", "not-needed", "not-required", "no-key-required", "dummy-key"}
)
_MIN_DISTINCT = 4
_PATH = re.compile(r"(?:~|\.{0,2})/|[A-Za-z]:\\")
_RANDOM_SEGMENT = re.compile(r"(?=[^/\\]*[0-9])(?=[^/\\]*[A-Z])(?=[^/\\]*[a-z])[A-Za-z0-9+=]{21,}")

# One search a shape leaps between literal prefixes, which their alternation cannot.
_GATES = tuple(re.compile(shape) for shape in SHAPES)
_ANY_SHAPE = re.compile("|".join([MARKER, *SHAPES]))

_SPOKEN = ("first", "first_fingerprint", "outcome", "grade", "faults")  # and the turns


class Redactor:
    """Replaces secrets by `[redacted:NAME]`.

    Args:
        secrets: Values to hide by the name that stands for them; values of fewer than 8
            characters, common words and paths are passed over.
    """

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._names: dict[str, str] = {}
        for name, value in (secrets or {}).items():
            if _is_secret(value):
                self._names.update({form: _label(name) for form in _forms(value.strip())})
        # Longest first, so that a secret that contains another one goes whole.
        self._literals = sorted(self._names, key=len, reverse=True)
        known = "|".join(map(re.escape, self._literals))
        self._known = re.compile(rf"{MARKER}|(?P<literal>{known})") if known else None

    @classmethod
    def from_environ(
        cls, environ: Mapping[str, str] | None = None, *, extra: Mapping[str, str] | None = None
    ) -> Self:
        """Hide the values of environment variables that look like keys.

        A variable counts when its name says so (`..._KEY`, `..._TOKEN`, `..._SECRET`,
        `..._PASSWORD` and the like), or when its value is a URL with a password.

        Args:
            environ: The variables; None takes this process's.
            extra: More secrets by name, such as a key given as an option.
        """
        variables = os.environ if environ is None else environ
        secrets = dict(_environ_secrets(variables))
        return cls({**secrets, **(extra or {})})

    def text(self, text: str) -> str:
        """Return the text without secrets; the same text where there are none."""
        return self._replace(text) if self._suspect(text) else text

    def json(self, value: Json) -> Json:
        """Return the value with every string in it redacted, keys too.

        The value itself comes back where there is nothing to hide.
        """
        texts: list[str] = []
        _collect(value, texts)
        return self._rewrite(value) if self._suspect("\n".join(texts)) else value

    def settings(self, settings: Mapping[str, Json]) -> dict[str, Json]:
        """Return settings redacted, and what a telling name holds hidden whatever its shape.

        A setting called `password`, `api_key` and the like, at any depth, hides its text.
        """
        hidden = _hide_named(settings)
        return {str(key): value for key, value in self.json(hidden).items()}

    def trajectory(self, fields: dict[str, Json]) -> dict[str, Json]:
        """Return a trajectory's fields redacted; what identifies the episode stays.

        Token traces spell the text out in ids, so they are left out from the first redacted
        turn on.

        Args:
            fields: A dump of `Trajectory`, whole or from `codec.to_fields`.
        """
        turns = fields.get("turns", ())
        spoken = [{k: v for k, v in turn.items() if k != "tokens"} for turn in turns]
        rest = {name: fields[name] for name in _SPOKEN if name in fields}
        clean_rest, clean_spoken = self.json([rest, spoken])
        if clean_rest is rest and clean_spoken is spoken:
            return fields
        return {
            **fields,
            **clean_rest,
            "turns": _drop_told_tokens(
                turns, spoken, clean_spoken, told=clean_rest.get("first") != rest.get("first")
            ),
        }

    def _suspect(self, text: str) -> bool:
        """Whether anything may have to be replaced; cheaper than replacing."""
        return any(literal in text for literal in self._literals) or any(
            gate.search(text) for gate in _GATES
        )

    def _replace(self, text: str) -> str:
        # Known values first: a shape could end inside one and leave its tail.
        if self._known:
            text = self._known.sub(self._mark, text)
        return _ANY_SHAPE.sub(self._mark, text)

    def _rewrite(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._replace(value)
        if isinstance(value, Mapping):
            return {self._rewrite(key): self._rewrite(item) for key, item in value.items()}
        if isinstance(value, tuple):
            return tuple(self._rewrite(item) for item in value)
        return [self._rewrite(item) for item in value] if isinstance(value, list) else value

    def _mark(self, match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        if kind == "marker":
            return match[0]
        if kind == "literal":
            return f"[redacted:{self._names[match[0]]}]"
        # What stays may hold a secret of its own: https://TOKEN:PASSWORD@host.
        kept = _ANY_SHAPE.sub(self._mark, match[kind]) if match[kind] else ""
        return f"{kept}[redacted:{kind.strip('_').replace('_', '-')}]"


def _drop_told_tokens(
    turns: Iterable[dict[str, Json]],
    spoken: Iterable[dict[str, Json]],
    clean: Iterable[dict[str, Json]],
    *,
    told: bool,
) -> list[dict[str, Json]]:
    """Return the clean turns, with token traces up to where a secret was first told."""
    kept = []
    for turn, before, after in zip(turns, spoken, clean, strict=True):
        told = told or before != after
        kept.append(after if told or "tokens" not in turn else {**after, "tokens": turn["tokens"]})
    return kept


def _environ_secrets(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in variables.items():
        if _SECRET_NAME.search(name):
            if value not in variables:  # a variable that names another one holds no secret
                yield name, value
        elif password := FULL_URL_PASSWORD.match(value):
            yield name, unquote(password[1])


def _label(name: str) -> str:
    return re.sub(r"[^\w-]", "_", str(name))[:100]


def _is_secret(value: str) -> bool:
    value = value.strip()
    if len(value) < _MIN_LENGTH or len(set(value)) < _MIN_DISTINCT:
        return False
    if _WORD.fullmatch(value) or value.lower() in _PLACEHOLDERS:
        return False
    return not _PATH.match(value) or any(map(_RANDOM_SEGMENT.fullmatch, re.split(r"[/\\]", value)))


def _forms(value: str) -> set[str]:
    """Return what a secret looks like inside other text."""
    raw = value.encode("utf-8", "surrogateescape")
    quoted = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    escaped = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    twice = {json.dumps(text)[1:-1] for text in escaped}
    lower = {re.sub(r"%[0-9A-F]{2}", lambda hit: hit[0].lower(), text) for text in quoted}
    return {value, *quoted, *lower, *escaped, *twice, *_base64_forms(raw)}


def _base64_forms(raw: bytes) -> Iterator[str]:
    """Yield the part of each base64 of the bytes that what stands around them cannot change."""
    for before in range(3):
        whole = (before + len(raw)) * 8 // 6
        text = base64.b64encode(bytes(before) + raw).decode()[-(-before * 8 // 6) : whole]
        yield text
        yield text.replace("+", "-").replace("/", "_")


def _hide_named(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {
            key: f"[redacted:{_label(key)}]"
            if isinstance(item, str) and item and _SECRET_SETTING.search(str(key))
            else _hide_named(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_hide_named(item) for item in value]
    return value


def _collect(value: Json, into: list[str]) -> None:
    """Append every string in a JSON value, keys included."""
    if isinstance(value, str):
        into.append(value)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _collect(key, into)
            _collect(item, into)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, into)
