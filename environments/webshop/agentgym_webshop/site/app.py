"""The ASGI application: addresses in, pages out; a visit's session is the last page looked at."""

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from agentgym.errors import ToolError
from agentgym_webshop.session import Session
from agentgym_webshop.site import addresses
from agentgym_webshop.site.headers import Headers
from agentgym_webshop.site.views import page_of
from agentgym_webshop.site.visits import Visit, Visits

COOKIE = "visit"
_STYLE = "style.css"


def create_app(visits: Visits) -> ASGIApp:
    """Return the site.

    Args:
        visits: Who may come in. Whoever holds this opens visits and grades them; nothing that
            the site serves does either.
    """
    site = _Site(visits)
    routes = [
        Route("/visit/{key}", site.enter),
        Route("/", site.search),
        Route("/results", site.results),
        Route("/item/{asin}", site.item),
        Route("/item/{asin}/{sub_page}", site.item),
        Route("/buy/{asin}", site.buy, methods=["POST"]),
        Route("/done", site.done),
        Route(f"/{_STYLE}", site.style),
    ]
    handlers = {HTTPException: site.problem, Exception: site.fault}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.router.redirect_slashes = False  # it would redirect to whatever host a request names
    return Headers(app)


class _Site:
    def __init__(self, visits: Visits) -> None:
        self._visits = visits
        self._templates = Environment(
            loader=PackageLoader("agentgym_webshop.site"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._css = self._templates.get_template(_STYLE).render()

    async def enter(self, request: Request) -> Response:
        """Give the browser the visit's cookie and show the search page."""
        visit = self._visits.find(request.path_params["key"])
        if visit is None:
            raise HTTPException(403)
        answer = RedirectResponse("/", status_code=303)
        answer.set_cookie(COOKIE, visit.key, httponly=True, samesite="strict")
        return answer

    async def search(self, request: Request) -> Response:
        """Show the search page."""
        return self._show(self._visit(request), Session())

    async def results(self, request: Request) -> Response:
        """Search, or turn the page."""
        visit = self._visit(request)
        try:
            session = self._listed(visit, request)
        except ToolError as error:
            words = str(error)
            return self._page(visit, Session(), status=400, problem=words)
        return self._show(visit, session)

    async def item(self, request: Request) -> Response:
        """Show a page about a product."""
        visit = self._visit(request)
        return self._show(visit, self._item(visit, request))

    async def buy(self, request: Request) -> Response:
        """Buy, once."""
        visit = self._visit(request)
        if not visit.over:
            visit.session = addresses.bought(visit.shop, self._item(visit, request))
        return RedirectResponse("/done", status_code=303)

    async def done(self, request: Request) -> Response:
        """Say thank you, where something was bought."""
        visit = self._visit(request)
        return self._page(visit, visit.session) if visit.over else RedirectResponse("/", 303)

    async def style(self, request: Request) -> Response:
        """Return the style sheet."""
        return Response(self._css, media_type="text/css")

    async def problem(self, request: Request, error: Exception) -> Response:
        """Say what is wrong with an address."""
        status = error.status_code if isinstance(error, HTTPException) else 500
        page = self._templates.get_template("problem.html").render(status=status)
        return HTMLResponse(page, status_code=status)

    async def fault(self, request: Request, error: Exception) -> Response:
        """Note what broke, so that the visit is not graded as if the customer had failed."""
        visit = self._visits.find(request.cookies.get(COOKIE, ""))
        if visit is not None:
            visit.fault = error
        return await self.problem(request, error)

    def _visit(self, request: Request) -> Visit:
        visit = self._visits.find(request.cookies.get(COOKIE, ""))
        if visit is None:
            raise HTTPException(403)
        return visit

    def _listed(self, visit: Visit, request: Request) -> Session:
        given = request.query_params
        try:
            return addresses.results(visit.shop, given.get("q", ""), given.get("page", "1"))
        except addresses.NoSuchPageError:
            raise HTTPException(404) from None

    def _item(self, visit: Visit, request: Request) -> Session:
        asin, sub_page = request.path_params["asin"], request.path_params.get("sub_page")
        options = request.query_params.getlist("option")
        try:
            listed = self._listed(visit, request)
            return addresses.item(visit.shop, listed, asin, options, sub_page)
        except (addresses.NoSuchPageError, ToolError):
            raise HTTPException(404) from None

    def _show(self, visit: Visit, session: Session) -> Response:
        if visit.over:
            return RedirectResponse("/done", status_code=303)
        visit.session = session
        return self._page(visit, session)

    def _page(
        self, visit: Visit, session: Session, *, status: int = 200, problem: str | None = None
    ) -> Response:
        name, context = page_of(visit.shop, session)
        instruction = visit.task.public.instruction
        template = self._templates.get_template(name)
        page = template.render(instruction=instruction, problem=problem, **context)
        return HTMLResponse(page, status_code=status)
