"""The shop as a web site, for agents that see a browser instead of text.

The same engine is behind it: a browser episode ends with the same reward as a text episode that
does the same. Pages are made on the server and work without script.

    visits = Visits()
    with serve(create_app(visits)) as address:
        visit = visits.open(task)
        ...                     # a browser begins at address + visit.path
        reward = visit.grade()  # out of the browser's reach
"""

from agentgym_webshop.site.app import create_app
from agentgym_webshop.site.serving import serve
from agentgym_webshop.site.visits import Visit, Visits

__all__ = ["Visit", "Visits", "create_app", "serve"]
