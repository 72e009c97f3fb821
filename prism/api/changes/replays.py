"""Routes of uploaded captures: upload, progress, removal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, File, HTTPException, Path, Request, Response, UploadFile
from pydantic.json_schema import SkipJsonSchema

from prism.api.requests.problem_details import not_found
from prism.api.requests.request_parameters import ServiceParameter
from prism.api.requests.responses import JSON, choose_form, encode_json, encode_list
from prism.api.schemas import job_schemas, service_schemas
from prism.api.schemas.openapi import error_responses, item_responses, list_responses
from prism.past.upload_files import FullError
from prism.past.uploads import Upload, Uploads
from prism.service.service_settings import Service

MAX_DOCUMENT_OCTETS = 16 << 20  # octets of a topology or of hints
MAX_LOG_FILES = 512  # log files
FIELDS = ("files", "topology", "hints", "logs")
ReplayPath = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", description="The upload's id.", examples=["0123456789abcdef"])]


def router() -> APIRouter:
    """Make the routes."""
    made = APIRouter()
    answers = item_responses("replay", 400, 404, 413, 503, status=202)
    made.post("/replays", status_code=202, response_model=service_schemas.Replay, responses=answers)(upload)
    made.get("/replays", response_model=job_schemas.Listed[service_schemas.Replay], responses=list_responses("replay"))(replays)
    made.get("/replays/{id}", response_model=service_schemas.Replay, responses=item_responses("replay", 404))(replay)
    going_on = {"model": service_schemas.Replay} | item_responses("replay", status=202)[202]
    made.delete("/replays/{id}", status_code=204, responses=error_responses(404) | {202: going_on})(remove)
    return made


async def fields(request: Request) -> None:
    """Refuse a form with unknown fields."""
    form = await request.form()
    if unknown := sorted(set(form) - set(FIELDS)):
        raise HTTPException(
            422,
            f"unknown form field {', '.join(map(repr, unknown))}: "
            "captures and records go in 'files', a topology in 'topology', hints in 'hints', training logs in 'logs'",
        )
    for name in FIELDS[1:3]:
        if len(form.getlist(name)) > 1:
            raise HTTPException(422, f"form field '{name}': more than one file; send one")


def upload(
    request: Request,
    service: ServiceParameter,
    files: Annotated[
        list[UploadFile], File(min_length=1, description="Captures or flow records, named after the switches that saw them.")
    ],
    topology: Annotated[
        UploadFile | SkipJsonSchema[None], File(description="Which address is which host, rail and leaf.")
    ] = None,
    hints: Annotated[
        UploadFile | SkipJsonSchema[None], File(description="Facts about the site and its jobs, see prism replay --hints.")
    ] = None,
    logs: Annotated[
        list[UploadFile] | SkipJsonSchema[None], File(description="Training logs of the run, which are joined with its flows.")
    ] = None,
    _fields: Annotated[None, Depends(fields)] = None,
) -> Response:
    """Upload captures or flow records for replay. `?replay=ID` then reads their board.

    With `logs` they are joined with the flows: `GET /api/v1/incidents/ID`.
    """
    spool = _uploads(service)
    if len(logs or ()) > MAX_LOG_FILES:
        raise HTTPException(422, f"form field 'logs': {len(logs or ())} files, at most {MAX_LOG_FILES}; join some")
    if len(files) > spool.bounds.files:
        raise HTTPException(
            422, f"form field 'files': {len(files)} files, at most {spool.bounds.files} in one upload; send fewer"
        )
    from prism.inventory.operator_hints import parse as parse_hints
    from prism.topology import parse as parse_topology

    placed = _text(topology, "topology", parse_topology) if topology else None
    given = _text(hints, "hints", parse_hints) if hints else None
    try:
        incoming = spool.incoming()
    except FullError as error:
        raise HTTPException(503, str(error), {"Retry-After": "60"}) from None
    started = False
    try:
        for file in files:
            incoming.add(file.filename or "upload", file.file)
        for file in logs or ():
            incoming.add_log(file.filename or "log", file.file)
        made = spool.start(incoming, placed, given)
        started = True
    except FullError as error:
        raise HTTPException(413, str(error)) from None
    finally:
        if not started:
            spool.discard(incoming)
    return _upload_json(made, 202, {"Location": request.url_for("replay", id=made.id).path})


def _text(file: UploadFile, name: str, parse: Callable[[str, str], object]) -> str:
    """Read and check a small document of a form. Raises HTTPException with the reason."""
    octets = file.file.read(MAX_DOCUMENT_OCTETS + 1)
    if len(octets) > MAX_DOCUMENT_OCTETS:
        raise HTTPException(413, f"form field '{name}': more than {MAX_DOCUMENT_OCTETS >> 20} MiB; such a document is smaller")
    try:
        text = octets.decode("utf-8-sig")
        parse(text, name)
    except ValueError as error:
        raise HTTPException(
            422, str(error) if not isinstance(error, UnicodeError) else f"{name}: not UTF-8 text; save it as UTF-8"
        ) from None
    return text


def replays(request: Request, service: ServiceParameter) -> Response:
    """List all uploads, oldest first."""
    found = [one.to_json() for one in service.uploads.all()] if service.uploads else []
    form = choose_form(request)
    return Response(encode_list(found, None, form), media_type=form, headers={"Cache-Control": "no-store", "Vary": "Accept"})


def replay(service: ServiceParameter, id: ReplayPath) -> Response:  # noqa: A002
    """Return the state and progress of an upload."""
    return _upload_json(_find_upload(service, id))


def remove(service: ServiceParameter, id: ReplayPath) -> Response:  # noqa: A002
    """Delete an upload. A running replay is cancelled and kept: 202 with its state; delete it again then."""
    _find_upload(service, id)
    cancelled = _uploads(service).remove(id)
    return Response(status_code=204) if cancelled is None else _upload_json(cancelled, 202)


def _uploads(service: Service) -> Uploads:
    if service.uploads is None:
        raise HTTPException(404, "this service takes no uploads; prism serve --data FOLDER takes them")
    return service.uploads


def _find_upload(service: Service, id_: str) -> Upload:
    found = service.uploads.get(id_) if service.uploads else None
    if found is None:
        known = [one.id for one in service.uploads.all()] if service.uploads else []
        raise not_found("replay", id_, known, "/api/v1/replays")
    return found


def _upload_json(one: Upload, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(encode_json(one.to_json()), status, {"Cache-Control": "no-store"} | (headers or {}), JSON)
