"""The images that recipes have become on an engine."""

import asyncio
from typing import NamedTuple

from agentgym.sandbox.docker import cache
from agentgym.sandbox.docker.engine import Engine
from agentgym.sandbox.docker.leftovers import KEY, RECIPE


class BuiltImage(NamedTuple):
    """An image that was built from a recipe.

    Attributes:
        recipe: The recipe's name.
        name: The image's own name, or its digest where it has none.
        digest: Its id.
        size: Bytes, with those of its base.
        created: When it was built, in seconds since 1970.
        used: When this user last used it; None where they never did.
    """

    recipe: str
    name: str
    digest: str
    size: int
    created: float
    used: float | None


async def built_images(engine: Engine) -> list[BuiltImage]:
    """Return an engine's images of recipes, by recipe, the newest first."""
    found = await engine.images(label=KEY)
    uses = await asyncio.to_thread(cache.last_uses)
    images = [
        BuiltImage(
            recipe=str(image["Labels"].get(RECIPE, "")),
            name=next((tag for tag in image["RepoTags"] or () if "<none>" not in tag), image["Id"]),
            digest=str(image["Id"]),
            size=int(image["Size"]),
            created=float(image["Created"]),
            used=uses.get(image["Id"]),
        )
        for image in found
        if image["Labels"].get(KEY)  # empty while it is being built
    ]
    return sorted(images, key=lambda image: (image.recipe, -image.created))
