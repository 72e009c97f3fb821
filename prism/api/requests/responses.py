"""Send answers as JSON, or lists also as CSV and Parquet, with an ETag so that unchanged answers are not sent again."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import HTTPException, Request, Response

from prism.api.requests.moments import add_time_texts
from prism.tracking.board import Board
from prism.tracking.flow_sources import Records
from prism.views.board_views import Json, Mode

PARQUET, CSV, JSON = "application/vnd.apache.parquet", "text/csv", "application/json"
TABLES = (JSON, CSV, PARQUET)
VARY = {"Vary": "Accept, Authorization, Cookie"}
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # first characters of cells that spreadsheets compute


@dataclass(frozen=True)
class RequestedBoard:
    """The board that a request reads, and its records.

    `service`: the token of its boards; another service may have had the same address before. `name`: of one service's boards.
    """

    board: Board
    records: Records | None
    mode: Mode
    service: str
    name: str = "live"
    age_s: float | None = None


def answer(request: Request, shown: RequestedBoard, make: Callable[[], Any], *, tagged: bool = True) -> Response:
    """Answer with the result of `make` as JSON; answer 304 without calling it if the client has it already.

    Not `tagged`: answers from records, which may grow under one board, and answers with an age.
    """
    choose_form(request, (JSON,))
    tag = _tag(shown, "j") if tagged else None
    return _unchanged(request, tag) or _tagged(Response(encode_json(add_time_texts(make())), media_type=JSON), tag)


def answer_list(
    request: Request, shown: RequestedBoard, make: Callable[[], tuple[Sequence[Json], str | None]], *, tagged: bool = True
) -> Response:
    """Answer with a page of a list in the client's preferred form, and the link to the next page. `tagged`: as in `answer`."""
    form = choose_form(request)
    tag = _tag(shown, form[-4:]) if tagged else None
    unchanged = _unchanged(request, tag)
    if unchanged:
        return unchanged
    found, cursor = make()
    items = add_time_texts(list(found))
    response = Response(encode_list(items, cursor, form), media_type=form)
    if cursor:
        there = request.url.include_query_params(cursor=cursor)
        response.headers["Link"] = f'<{there.path}?{there.query}>; rel="next"'
    return _tagged(response, tag)


def encode_list(items: Sequence[Json], cursor: str | None, form: str) -> bytes:
    """Encode items as JSON with the cursor of the next page, as CSV, or as Parquet."""
    if form == CSV:
        return as_csv(items)
    if form == PARQUET:
        return as_parquet(items)
    return encode_json({"items": items, "next": cursor})


def encode_json(value: Any) -> bytes:
    """Encode compact JSON. Raises ValueError on numbers that are not finite."""
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


def _tag(shown: RequestedBoard, form: str) -> str:
    return f'W/"{shown.service}-{shown.name}-{shown.board.revision}-{form}"'


def _unchanged(request: Request, tag: str | None) -> Response | None:
    """Answer 304 if a tag of the client matches (RFC 9110 section 13.1.2, weak comparison); else None."""
    if tag is None:
        return None
    given = ", ".join(request.headers.getlist("if-none-match"))
    names = re.findall(r'(?:W/)?("[^"]*")', given)
    if given.strip() == "*" or tag.removeprefix("W/") in names:
        unchanged = _tagged(Response(status_code=304), tag)
        unchanged.headers["Vary"] += ", Accept-Encoding"  # as in the full answer, which may be compressed
        return unchanged
    return None


def _tagged(response: Response, tag: str | None) -> Response:
    if tag is not None:
        response.headers["ETag"] = tag
    response.headers.update({"Cache-Control": "private, no-cache", **VARY})
    return response


def preferred_form(accept: str, forms: Sequence[str] = TABLES) -> str | None:
    """Choose the form that a client prefers (RFC 9110 section 12.5.1), the first of equals; None if it accepts none.

    The most specific matching range counts. Invalid ranges are ignored; without any range all forms match.
    """
    ranges: dict[str, float] = {}
    for part in accept.split(","):
        kind, *parameters = (text.strip().lower() for text in part.split(";"))
        weight = next((_weight(text[2:]) for text in parameters if text.startswith("q=")), 1.0)
        if weight is not None and re.fullmatch(r"[^\s/*]+/[^\s/*]+|[^\s/*]+/\*|\*/\*", kind):
            ranges[kind] = max(weight, ranges.get(kind, 0.0))
    if not ranges:
        return forms[0]
    weights = {form: _form_weight(form, ranges) for form in forms}
    best = max(forms, key=lambda form: weights[form])
    return best if weights[best] > 0 else None


def _form_weight(form: str, ranges: Mapping[str, float]) -> float:
    """Return the weight of the most specific range that matches a form; 0 if none does."""
    return next((ranges[kind] for kind in (form, f"{form.split('/')[0]}/*", "*/*") if kind in ranges), 0.0)


def _weight(text: str) -> float | None:
    return min(float(text), 1.0) if re.fullmatch(r"[01](\.\d{0,3})?", text) else None


def choose_form(request: Request, forms: Sequence[str] = TABLES) -> str:
    """Choose the form of an answer. Raises HTTPException 406 with the available forms if the client accepts none."""
    accept = ", ".join(request.headers.getlist("accept"))
    form = preferred_form(accept, forms)
    if form is None:
        raise HTTPException(406, f"the answer is {' or '.join(forms)}, and Accept names none of them", VARY)
    return form


def as_csv(items: Iterable[Mapping[str, Any]]) -> bytes:
    """Format a table with a header as CSV; nested names are joined by dots, lists are JSON.

    Texts that a spreadsheet would compute start with an apostrophe (OWASP, CSV injection). Numbers stay unchanged.
    """
    rows = [{escape_formula(name): escape_formula(value) for name, value in flatten(item).items()} for item in items]
    out = io.StringIO()
    table = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\r\n")
    table.writeheader()
    table.writerows(rows)
    return out.getvalue().encode()


def escape_formula(value: Any) -> Any:
    """Escape a value that a spreadsheet would take for a formula."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value


def as_parquet(items: Iterable[Mapping[str, Any]]) -> bytes:
    """Encode the same table as Parquet; a column of only None has type null."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [flatten(item) for item in items]
    names = list(dict.fromkeys(name for row in rows for name in row))
    out = io.BytesIO()
    pq.write_table(pa.table({name: _column([row.get(name) for row in rows]) for name in names}), out)
    return out.getvalue()


def _column(values: list[Any]) -> list[Any]:
    """Convert a column to one type: numbers stay if all values are numbers, else text."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) < 2:
        return values
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else str(value) for value in values]


def flatten(item: Mapping[str, Any], under: str = "") -> dict[str, Any]:
    """Flatten nested dicts: names are joined by dots, lists become JSON."""
    out: dict[str, Any] = {}
    for name, value in item.items():
        if isinstance(value, Mapping):
            out |= flatten(value, f"{under}{name}.")
        else:
            out[under + name] = json.dumps(value) if isinstance(value, list) else value
    return out
