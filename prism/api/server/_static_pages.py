"""Serve the pages: static files of `prism/web`, which load nothing from other hosts."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

WEB = Path(__file__).parents[2] / "web"


def add_to(app: FastAPI) -> None:
    """Serve the pages at /, after all other routes."""
    app.get("/docs", include_in_schema=False)(docs)
    app.mount("/", _Static(directory=WEB, html=True, check_dir=False), name="pages")


def docs() -> Response:
    """Serve the description of the API as a page; its script and style are part of the package."""
    return FileResponse(WEB / "docs.html", headers={"Cache-Control": "no-cache"})


class _Static(StaticFiles):
    """Static files that a browser revalidates each time (usually a 304), so that an upgrade is visible at once."""

    def file_response(self, *args: object, **options: object) -> Response:
        response = super().file_response(*args, **options)  # type: ignore[arg-type]
        response.headers.setdefault("Cache-Control", "no-cache")
        return response
