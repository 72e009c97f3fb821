"""Convert errors of both ClickHouse drivers to `StoreError`."""

from __future__ import annotations

import re

from collectors.clickhouse.store_error import AbsentError, StoreError

TRANSIENT = {  # codes of ClickHouse's ErrorCodes.cpp: load, network, memory, disks, replicas
    *(3, 32, 74, 75, 76, 95, 96, 99, 101, 159, 160, 173, 198, 202, 203, 204, 209, 210, 216, 225, 236, 241, 242, 243, 244, 252),
    *(254, 264, 265, 279, 285, 286, 289, 305, 306, 319, 369, 373, 394, 410, 415, 416, 422, 425, 439, 574, 700, 722, 999, 1001),
}
CREDENTIALS = {192, 193, 194, 516}
CODE = re.compile(r"Code: (\d+)")
WORDS = re.compile(r"DB::(?:\w+)?Exception: (.*?)(?:\. Stack trace|,? ?Stack trace|\. \([A-Z_]+\)|\n|$)", re.DOTALL)


def store_error(error: Exception, store: str, code: int | None = None) -> StoreError:
    """Convert an error to StoreError with one line. `code`: ClickHouse's, if the driver knows it."""
    text = str(error)
    found = CODE.search(text)
    number = code if code is not None else int(found[1]) if found else 0
    words = WORDS.search(text)
    said = " ".join((words[1] if words else text.split("Stack trace")[0]).split())[:400].rstrip(" :.,")
    if number in CREDENTIALS:
        return StoreError(f"{store}: wrong user or password: {said}")
    return StoreError(f"{store}: {said or 'refused'} (code {number})", transient=number in TRANSIENT)


def absent_error(store: str) -> AbsentError:
    """Make the error for a database that does not exist on a server."""
    return AbsentError(f"{store}: no store exists here; create it with prism store init")
