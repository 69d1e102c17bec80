"""The local agent: a Hugging Face model in this process, shared by all live episodes."""

import asyncio
import itertools
import json
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from agentgym.agents.base import Agent, Brief, Player
from agentgym.agents.chat_tokens import ChatTokens
from agentgym.agents.sampling import Batcher, Sampled, SampleRequest
from agentgym.agents.settings import LlmSettings, TokenSettings
from agentgym.agents.token_agent import TokenPlayer
from agentgym.errors import UsageError
from agentgym.types import Json

if TYPE_CHECKING:
    from agentgym.agents.local_model import LocalModel

PREFIX = "local:"
SETTINGS_FILE = "agentgym.json"
"""Beside a trained model: how it was trained to play."""

_PATIENCE_S = 0.02


class LocalModelAgent(Agent):
    """Plays by a model in this process; the turns of all live episodes are sampled together.

    Args:
        name: What results are listed under.
        model: The model and how it is sampled.
        chat: Its chat template.
        settings: How it plays; a context of None is the model's own.
        sampling: What of the sampling is to be in the record.
    """

    def __init__(
        self,
        name: str,
        model: "LocalModel",
        chat: ChatTokens,
        settings: TokenSettings,
        sampling: dict[str, Json] | None = None,
    ) -> None:
        self.name = name
        self._model = model
        self._chat = chat
        self._settings = settings.model_copy(update={"context": settings.context or model.context})
        self._sampling = sampling or {}
        self._players: weakref.WeakSet[TokenPlayer] = weakref.WeakSet()
        self._places = itertools.count()
        self._batcher = Batcher(self._serve, lambda: len(self._players), patience_s=_PATIENCE_S)

    async def begin(self, brief: Brief) -> Player:
        """Begin an episode with nothing read."""
        sampler = self._batcher.sampler(next(self._places))
        player = TokenPlayer(sampler, self._chat, self._settings, brief)
        self._players.add(player)
        return player

    def config(self) -> dict[str, Json]:
        """Return the settings that decide what the model reads and how it is sampled."""
        return {**self._settings.model_dump(exclude_none=True), **self._sampling}

    async def _serve(self, requests: Sequence[SampleRequest]) -> Sequence[Sampled]:
        return await asyncio.to_thread(self._model.sample, requests)


def local_agent(
    model: Any,
    tokenizer: Any,
    settings: TokenSettings,
    *,
    name: str = "local",
    temperature: float = 1.0,
    top_p: float = 1.0,
    seed: int = 0,
) -> LocalModelAgent:
    """Make an agent of a model in memory.

    Raises:
        MissingExtraError: The packages that run models are not installed.
        UsageError: The model, its tokenizer and the settings do not go together.
    """
    from agentgym.agents.local_model import LocalModel

    sampled = LocalModel(model, tokenizer, temperature=temperature, top_p=top_p, seed=seed)
    chat = ChatTokens(tokenizer, settings.chat_template, settings.template_options)
    sampling: dict[str, Json] = {"temperature": temperature, "top_p": top_p, "sampling_seed": seed}
    return LocalModelAgent(name, sampled, chat, settings, sampling)


def open_local(settings: LlmSettings) -> LocalModelAgent:
    """Make the agent of `local:FOLDER`.

    What the settings leave at their defaults is taken from the folder's `agentgym.json`, which
    says how the model was trained to play. The default temperature is 1.

    Raises:
        MissingExtraError: The packages that run models are not installed.
        UsageError: The folder holds no model, or the settings are for a server.
    """
    if settings.base_url is not None or settings.client is not None:
        raise UsageError(f"{settings.model!r} needs no endpoint.", remedy="Leave it out.")
    from agentgym.agents.local_model import load_model

    folder = Path(settings.model.removeprefix(PREFIX))
    model, tokenizer = load_model(folder)
    given = settings.model_dump(
        include={"format", "max_tokens", "history", "system"}, exclude_defaults=True
    )
    played = read_settings(folder).model_copy(update=given)
    temperature = 1.0 if settings.temperature is None else settings.temperature
    name = f"{PREFIX}{folder.resolve().name}"
    return local_agent(model, tokenizer, played, name=name, temperature=temperature)


def write_settings(settings: TokenSettings, folder: Path) -> None:
    """Write how a model plays beside it, for `local:FOLDER`."""
    text = settings.model_dump_json(indent=2, exclude_defaults=True)
    (folder / SETTINGS_FILE).write_text(text + "\n", "utf-8")


def read_settings(folder: Path) -> TokenSettings:
    """Read how a model plays; the defaults where nothing says so.

    Raises:
        UsageError: The file is not what `write_settings` writes.
    """
    path = folder / SETTINGS_FILE
    if not path.exists():
        return TokenSettings()
    try:
        return TokenSettings.model_validate(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise UsageError(f"{path}: {error}", remedy="Mend or remove it.") from error
