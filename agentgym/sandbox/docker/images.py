"""Images for sandboxes: found, fetched, or built once from recipes, within a disk budget."""

import asyncio
import os
from collections import deque
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from agentgym.errors import SandboxStartError, UnknownNameError, UsageError
from agentgym.sandbox.docker import cache
from agentgym.sandbox.docker.engine import Engine, EngineError
from agentgym.sandbox.docker.hardening import Image
from agentgym.sandbox.docker.leftovers import (
    KEY,
    build_labels,
    discard_build,
    remove_unused,
)
from agentgym.sandbox.docker.recipes import Recipe
from agentgym.sandbox.owner import new_id

DEFAULT = "base"
"""The recipe of sandboxes that name no image."""
BUDGET = 20 << 30
_BASE_VARIABLE = "AGENTGYM_BASE_IMAGE"
_MADE_HERE = "agentgym-debian:bookworm"
"""What `sandboxes/debootstrap.sh` makes; it stands in for a default base that is not here."""
_BASE = "agentgym.base"
_SHOWN = 12

Log = Callable[[str], object]


class Images:
    """The images of one engine.

    Args:
        engine: Holds them.
        budget: Bytes of disk that recipes' images may take. Above it, those that this user has
            used least recently are removed, unless a container uses them.
    """

    def __init__(self, engine: Engine, *, budget: int = BUDGET) -> None:
        self._engine = engine
        self._budget = budget

    async def resolve(self, name: str | None) -> Image:
        """Return an image, built or fetched where it is not on this machine.

        Args:
            name: A recipe, or an image by name, id or digest; None is the recipe `base`.

        Raises:
            UsageError: There is no such image, or its recipe cannot be built.
            SandboxStartError: Its registry cannot be reached.
        """
        name = name or DEFAULT
        recipe = await asyncio.to_thread(Recipe.find, name)
        found = await (self._build(recipe) if recipe else self._local(name))
        cache.mark_used(found["Id"])
        config = found["Config"]
        env = dict(pair.partition("=")[::2] for pair in config.get("Env") or ())
        return Image(name, found["Id"], env, tuple(sorted(config.get("Volumes") or ())))

    async def build(
        self,
        name: str,
        *,
        base_image: str | None = None,
        force: bool = False,
        log: Log | None = None,
    ) -> str:
        """Build a recipe's image where this version of it is not built yet; return its digest.

        Args:
            name: The recipe's name, or the absolute path of its folder.
            base_image: What it is based on; by default what the environment variable
                `AGENTGYM_BASE_IMAGE` or else the Dockerfile names, and where that is not on
                this machine the image that `sandboxes/debootstrap.sh` has made, if it has.
            force: Build it again.
            log: Called with each line of the output.

        Raises:
            UsageError: There is no such recipe, or it cannot be built; with the output's end.
            SandboxStartError: The base image's registry cannot be reached.
        """
        recipe = await asyncio.to_thread(Recipe.find, name)
        if recipe is None:
            raise UnknownNameError("recipe", name, Recipe.names())
        found = await self._build(recipe, base_image=base_image, force=force, log=log)
        return str(found["Id"])

    async def _build(
        self,
        recipe: Recipe,
        *,
        base_image: str | None = None,
        force: bool = False,
        log: Log | None = None,
    ) -> dict[str, Any]:
        base = await self._base(base_image or os.environ.get(_BASE_VARIABLE), recipe)
        key = recipe.key(base["Id"])
        # No registry has this name, so that nobody's image can be fetched in its place.
        tag = f"localhost/agentgym-{recipe.name}:{key}"
        before = await self._engine.image(tag)
        if before and not force:
            return before
        async with cache.locked(f"build-{recipe.name}"):
            found = await self._engine.image(tag)
            if found == before:  # not built by another while this one waited
                await self._run(recipe, base["Id"], tag, log)
                found = await self._engine.image(tag)
                if before:
                    await remove_unused(self._engine, before["Id"])
        if found is None:
            raise SandboxStartError(f"The Docker engine lost the image it built, {tag}.")
        cache.mark_used(found["Id"])
        await self._keep_to_budget(found["Id"])
        return found

    async def _run(self, recipe: Recipe, base: str, tag: str, log: Log | None) -> None:
        builder = new_id()
        lines: deque[str] = deque(maxlen=_SHOWN)
        output = self._engine.build(
            recipe.context(build_labels(recipe.name, builder)),
            tag=tag,
            arguments={"BASE_IMAGE": base},
            labels={KEY: tag.rpartition(":")[2], _BASE: base},
        )
        try:
            async with aclosing(output):
                async for line in output:
                    lines.append(line)
                    if log:
                        log(line)
        except EngineError as error:
            shown = "\n".join(line for line in lines if line.strip())
            raise UsageError(
                f"The recipe {recipe.name!r} cannot be built: {error.said}.",
                remedy=f"The output ends with:\n{shown}",
            ) from error
        finally:
            # Also what a build that went well needs no more: stages that were copied from.
            await asyncio.shield(discard_build(self._engine, builder))

    async def _base(self, name: str | None, recipe: Recipe) -> dict[str, Any]:
        if name:
            return await self._local(name)
        if not await self._engine.image(recipe.base):
            made_here = await self._engine.image(_MADE_HERE)
            if made_here:
                return made_here
        return await self._local(recipe.base)

    async def _local(self, name: str) -> dict[str, Any]:
        """Return an image that is on this machine, fetched where it is not."""
        found = await self._engine.image(name)
        if found is None:
            await self._pull(name)
            found = await self._engine.image(name)
        if found is None:
            raise SandboxStartError(f"The Docker engine lost the image {name} it fetched.")
        return found

    async def _pull(self, name: str) -> None:
        try:
            await self._engine.pull(name)
        except EngineError as error:
            what = f"The image {name} is not on this machine and cannot be fetched: {error.said}."
            if error.status in (400, 404):
                remedy = f"Recipes: {', '.join(Recipe.names())}."
                raise UsageError(what, remedy=remedy) from error
            remedy = "Without a registry, sandboxes/debootstrap.sh makes a base for recipes."
            raise SandboxStartError(what, remedy=remedy) from error

    async def _keep_to_budget(self, newest: str) -> None:
        """Remove images above the budget, but not the newest."""
        async with cache.locked("budget"):
            images = {image["Id"]: image for image in await self._engine.images()}
            uses = cache.last_uses()  # by this user: an engine may hold others' images too
            sizes = {
                digest: _own_size(images[digest], images)
                for digest in sorted(uses, key=lambda digest: uses[digest])
                if digest in images and (images[digest]["Labels"] or {}).get(KEY)
            }
            for digest in uses.keys() - images.keys():
                cache.forget(digest)
            in_use = {container["ImageID"] for container in await self._engine.containers()}
            removable = [digest for digest in sizes if digest not in in_use | {newest}]
            while removable and sum(sizes.values()) > self._budget:
                digest = removable.pop(0)
                if await remove_unused(self._engine, _tag(images[digest])):
                    del sizes[digest]
                    cache.forget(digest)


def _own_size(image: dict[str, Any], images: dict[str, Any]) -> int:
    """Return the bytes a recipe's image adds to its base, which others may share."""
    base = images.get(image["Labels"].get(_BASE), {})
    return max(0, int(image["Size"]) - int(base.get("Size", 0)))


def _tag(image: dict[str, Any]) -> str:
    tags = (tag for tag in image["RepoTags"] or () if "<none>" not in tag)
    return str(next(tags, image["Id"]))
