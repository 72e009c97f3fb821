"""The pages: static files of `prism/web`, and plotly's script out of its Python package. None asks another host."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

from prism.api.problems import problem

WEB = Path(__file__).parents[1] / "web"
PLOTLY = "/vendor/plotly.min.js"


def add_to(app: FastAPI) -> None:
    """Serve the pages at /, behind everything else."""
    app.add_route(PLOTLY, _plotly, include_in_schema=False)
    app.mount("/", _Static(directory=WEB, html=True, check_dir=False), name="pages")


class _Static(StaticFiles):
    """Files that a browser asks for anew each time, which costs it a 304: an upgrade shows at once."""

    def file_response(self, *args: object, **options: object) -> Response:
        response = super().file_response(*args, **options)  # type: ignore[arg-type]
        response.headers.setdefault("Cache-Control", "no-cache")
        return response


def plotly() -> Path | None:
    """Where plotly's script is; None without its package. The package itself is not imported: that takes a second."""
    found = find_spec("plotly")
    where = (
        [Path(folder) / "package_data" / "plotly.min.js" for folder in (found.submodule_search_locations or ())]
        if found
        else []
    )
    return next((path for path in where if path.is_file()), None)


async def _plotly(_: Request) -> Response:
    path = plotly()
    if path is None:
        return problem(404, "plotly's Python package is not installed")
    return FileResponse(path, media_type="text/javascript", headers={"Cache-Control": "no-cache"})
