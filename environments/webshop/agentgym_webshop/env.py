"""The web-shopping environment: search, look, choose, buy."""

from collections.abc import Sequence
from typing import Any

from agentgym.env import ToolEnvironment, digest
from agentgym.errors import ToolError, UsageError
from agentgym.tools import tool
from agentgym.types import Message, Reward
from agentgym_webshop.elements import find
from agentgym_webshop.grading import Grader, tagger_of
from agentgym_webshop.opening import open_catalogue
from agentgym_webshop.render import Mode, renderer
from agentgym_webshop.session import Session
from agentgym_webshop.shop import Shop, View
from agentgym_webshop.tagging import Tagger
from agentgym_webshop.tasks import WebShopPrivate, WebShopPublic

RULES = """\
You are a customer of a web shop. Find the product that the instruction describes, choose the \
options it asks for on the product's page, and click Buy Now. That ends the visit: you can buy \
once, one product.

search works on the search page only; click 'Back to Search' to get there. click takes the words \
of a button, a product's id or an option's value as the page shows them."""


class WebShopEnvironment(ToolEnvironment[WebShopPublic, WebShopPrivate]):
    """Buy what an instruction describes, graded by WebShop's reward.

    Args:
        observation: How pages are shown: `markdown`, or as WebShop shows them, `text`,
            `text_rich` or `html`.
        history: Pages and actions of so many turns before are put before each page.
        show_attributes: Whether a product's page leads to the list of its attributes.
        shaping: Whether a turn's reward is the change of what buying now would score; the last
            turn's is the grade either way.
        tagger: Whose nouns the reward compares: the `catalogue`'s own, or those that `lexicon`,
            `spacy` or a tagger that is given finds in titles.
    """

    def __init__(
        self,
        *,
        observation: Mode = "markdown",
        history: int = 0,
        show_attributes: bool = False,
        shaping: bool = False,
        tagger: Tagger | str = "catalogue",
    ) -> None:
        if type(history) is not int or not 0 <= history <= 100:
            raise UsageError(f"history is {history!r}.", remedy="Give a whole number, 0 to 100.")
        for name, value in (("show_attributes", show_attributes), ("shaping", shaping)):
            if type(value) is not bool:
                raise UsageError(f"{name} is {value!r}.", remedy="Give true or false.")
        self._render = renderer(observation)
        self._mark = "\n\n---\n\n" if observation == "markdown" else " [SEP] "
        self._marks_viewed = observation == "text_rich"
        self._history = history
        self._show_attributes = show_attributes
        self._shaping = shaping
        self._tagger = tagger_of(tagger)
        self._past: tuple[str, ...] = ()

    async def setup(self) -> Sequence[Message]:
        """Enter the shop at its search page."""
        await self._enter()
        self._past = ()
        self._show(Session())
        return [Message(role="system", content=RULES), Message(role="user", content=self._page)]

    @tool
    async def search(self, query: str) -> str:
        """Search the shop; works where the page has a search bar.

        Args:
            query: What to look for, in a few words.
        """
        try:
            session = self._shop.search(self._session, query)
        except ToolError as error:
            raise self._unchanged(error) from None
        return self._move(session, f"search[{session.query}]")

    @tool
    async def click(self, element: str) -> str:
        """Click something on the page.

        Args:
            element: The words of a button, a product's id or an option's value.
        """
        try:
            found = find(self._view.elements, element)
        except ToolError as error:
            raise self._unchanged(error) from None
        return self._move(self._shop.click(self._session, found), f"click[{found.name}]")

    async def grade(self) -> Reward:
        """Score what was bought; nothing bought scores 0."""
        return self._grader.grade(self._view)

    async def save(self) -> Any:
        """Return the session and the history that is shown."""
        return self._session, self._past

    async def load(self, state: Any) -> None:
        """Take back what `save` returned, in any object of this class."""
        session, past = state
        await self._enter()
        self._show(session)
        self._past = past

    async def fingerprint(self) -> str:
        """Hash the place in the shop, not the way to it: equal pages of a task are equal states.

        The history that is shown before pages is left out.
        """
        at = self._session
        product = self._view.product
        place = [at.page, at.query, at.number, product and product.asin, at.options]
        viewed = sorted(at.viewed) if self._marks_viewed else []
        return digest([self.task.id, place, viewed])

    async def _enter(self) -> None:
        catalogue = await open_catalogue(self.task)
        self._shop = Shop(catalogue, show_attributes=self._show_attributes)
        self._grader = Grader(self.task.private, catalogue.tagger, self._tagger)

    def _show(self, session: Session) -> None:
        self._session = session
        self._view: View = self._shop.view(session)
        self._page = self._render(self._view, self.task.public.instruction)

    def _move(self, session: Session, action: str) -> str:
        before, page = self._view, self._page
        self._show(session)
        if session.page == "done":
            self.finish()
        elif self._shaping:
            self._reward_progress(before)
        if not self._history:
            return self._page
        self._past = (*self._past, page, action)[-2 * self._history :]
        return self._mark.join((*self._past, self._page))

    def _reward_progress(self, before: View) -> None:
        """Reward the change of a potential, which leaves the best way of playing the best."""
        old, new = self._grader.potential(before), self._grader.potential(self._view)
        changes = {
            name: new.get(name, 0.0) - old.get(name, 0.0) for name in dict.fromkeys((*old, *new))
        }
        value = changes.pop("value", 0.0)
        self.reward(value, **changes)

    def _unchanged(self, error: ToolError) -> ToolError:
        """Return the error with the page it leaves the customer on."""
        return ToolError(f"{error}\n\n{self._page}")
