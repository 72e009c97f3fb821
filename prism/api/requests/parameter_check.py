"""Refuse query parameters that a route does not declare, and repeated single-valued ones."""

from __future__ import annotations

from difflib import get_close_matches

from fastapi import HTTPException, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

ANYWHERE = "/api/{path:path}"  # the route of unknown paths; it answers 404 with any parameters
EVERYWHERE = ("replay",)  # pages send the board with every request; routes without a board ignore it


def check(request: Request) -> None:
    """Check the query parameters of a request, as a dependency of the whole application.

    The matched route and its dependencies declare the known names. Raises HTTPException 400 that names an unknown or repeated
    parameter and lists the known ones.
    """
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute) or route.path == ANYWHERE:
        return
    known = sorted({*declared(route.dependant), *EVERYWHERE})
    for name in request.query_params:
        if name not in known:
            close = get_close_matches(name, known, 1)
            meant = f"; did you mean {close[0]!r}?" if close else "."
            raise HTTPException(400, f"unknown query parameter {name!r}{meant} This path knows: {', '.join(known)}")
        if len(request.query_params.getlist(name)) > 1:
            raise HTTPException(400, f"query parameter {name!r} is given more than once; give it one value")


def declared(dependant: Dependant) -> set[str]:
    """Collect the query parameters that a route and its dependencies declare."""
    own = {one.alias for one in dependant.query_params}
    return own.union(*(declared(one) for one in dependant.dependencies))
