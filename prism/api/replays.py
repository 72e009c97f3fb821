"""Captures that are uploaded to be replayed, and how far they are."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, File, HTTPException, Path, Request, Response, UploadFile
from pydantic.json_schema import SkipJsonSchema

from prism.api import schemas, schemas_service
from prism.api.answers import JSON, as_form, encoded, preferred
from prism.api.asked import ServiceAsked
from prism.api.described import errors, many, one
from prism.incoming import FullError
from prism.service import Service
from prism.uploads import Upload, Uploads

TOPOLOGY = 16 << 20  # octets
ReplayPath = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="The upload's id.", examples=["0123456789abcdef"])]


def router() -> APIRouter:
    """The routes."""
    made = APIRouter()
    answers = one("replay", 400, 404, 413, 503, status=202)
    made.post("/replays", status_code=202, response_model=schemas_service.Replay, responses=answers)(upload)
    made.get("/replays", response_model=schemas.Listed[schemas_service.Replay], responses=many("replay"))(replays)
    made.get("/replays/{id}", response_model=schemas_service.Replay, responses=one("replay", 404))(replay)
    made.delete("/replays/{id}", status_code=204, responses=errors(404, 409))(remove)
    return made


def upload(
    request: Request,
    service: ServiceAsked,
    files: Annotated[
        list[UploadFile], File(min_length=1, description="Captures or flow records, named after the switches that saw them.")
    ],
    topology: Annotated[
        UploadFile | SkipJsonSchema[None], File(description="Which address is which host, rail and leaf.")
    ] = None,
) -> Response:
    """Upload captures or flow records and have them replayed. `?replay=ID` then reads their board."""
    spool = _uploads(service)
    if len(files) > spool.bounds.files:
        raise HTTPException(422, f"body.files: at most {spool.bounds.files} files at once")
    placed = _text(topology) if topology else None
    try:
        incoming = spool.incoming()
    except FullError as error:
        raise HTTPException(503, str(error), {"Retry-After": "60"}) from None
    started = False
    try:
        for file in files:
            incoming.add(file.filename or "upload", file.file)
        made = spool.start(incoming, placed)
        started = True
    except FullError as error:
        raise HTTPException(413, str(error)) from None
    finally:
        if not started:
            spool.discard(incoming)
    return _told(made, 202, {"Location": request.url_for("replay", id=made.id).path})


def _text(file: UploadFile) -> str:
    """The text of a topology, which is checked at once: so much the caller can be told."""
    from prism.topology import parse

    octets = file.file.read(TOPOLOGY + 1)
    if len(octets) > TOPOLOGY:
        raise HTTPException(413, f"a topology has at most {TOPOLOGY >> 20} MiB")
    try:
        text = octets.decode("utf-8-sig")
        parse(text, "topology")
    except ValueError as error:
        raise HTTPException(422, str(error) if not isinstance(error, UnicodeError) else "topology: not UTF-8 text") from None
    return text


def replays(request: Request, service: ServiceAsked) -> Response:
    """All uploads, the oldest first."""
    found = [one.to_json() for one in service.uploads.all()] if service.uploads else []
    form = preferred(request.headers.get("accept", ""))
    return Response(as_form(found, None, form), media_type=form, headers={"Cache-Control": "no-store", "Vary": "Accept"})


def replay(service: ServiceAsked, id: ReplayPath) -> Response:  # noqa: A002
    """How far an upload is."""
    return _told(_known(service, id))


def remove(service: ServiceAsked, id: ReplayPath) -> Response:  # noqa: A002
    """Forget an upload that is done, failed or still waits."""
    _known(service, id)
    if not _uploads(service).remove(id):
        raise HTTPException(409, "it is being replayed")
    return Response(status_code=204)


def _uploads(service: Service) -> Uploads:
    if service.uploads is None:
        raise HTTPException(404, "nothing can be uploaded here")
    return service.uploads


def _known(service: Service, id_: str) -> Upload:
    found = service.uploads.get(id_) if service.uploads else None
    if found is None:
        raise HTTPException(404, f"there is no upload {id_}")
    return found


def _told(one: Upload, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encoded(one.to_json()), status, {"Cache-Control": "no-store"} | (headers or {}), JSON)
