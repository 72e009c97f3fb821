"""Read the jobs of Slurm: `scontrol show job --json`, `squeue --json`, and `GET /slurm/v0.0.NN/jobs` of its REST.

https://slurm.schedmd.com/rest_api.html. Since data_parser/v0.0.39 a number is an object with `set`, `infinite` and `number`,
and a state is a list; before, both are plain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prism.inventory.host_lists import expanded
from prism.topology import shown

WITH_HOSTS = ("RUNNING", "SUSPENDED", "COMPLETING", "STAGE_OUT", "SIGNALING", "STOPPED", "CONFIGURING", "RESIZING")
WITHOUT = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "REVOKED")
LONGEST = 200
S = 1_000_000_000


def is_jobs(document: Mapping[str, Any]) -> bool:
    """Check whether a document is a list of Slurm jobs; an empty one has `meta` or `last_update`."""
    rows = document.get("jobs")
    if not isinstance(rows, list):
        return False
    first = next((row for row in rows if isinstance(row, dict)), None)
    return "job_id" in first if first is not None else not {"meta", "last_update"}.isdisjoint(document)


def jobs(document: Mapping[str, Any], name: str) -> Iterator[dict[str, Any]]:
    """Yield the booking fields of each job that has, or had, hosts. Raises ValueError with the job's place."""
    seen: set[str] = set()
    for i, row in enumerate(document["jobs"]):
        where = f"{name}: jobs[{i}]"
        if not isinstance(row, dict):
            raise ValueError(f"{where}: must be an object, not {shown(row)}")
        states = _states(row.get("job_state"), f"{where}.job_state")
        nodes = row.get("nodes")
        if any(state in WITHOUT for state in states) or not nodes:
            continue
        if not isinstance(nodes, str):
            raise ValueError(f"{where}.nodes: must be a host list, not {shown(nodes)}")
        id_ = _id(row, where)
        if id_ in seen:  # restarted with the same number: the newest is last
            continue
        seen.add(id_)
        runs = any(state in WITH_HOSTS for state in states)
        start = _number(row.get("start_time"), f"{where}.start_time")
        end = 0 if runs else _number(row.get("end_time"), f"{where}.end_time")
        yield {
            "id": id_,
            "name": _text(row.get("name"), f"{where}.name"),
            "user": _text(row.get("user_name"), f"{where}.user_name") or _uid(row, where),
            "queue": _text(row.get("partition"), f"{where}.partition"),
            "hosts": expanded(nodes, f"{where}.nodes"),
            "start_ns": start * S,
            "end_ns": max(end, start + 1) * S if not runs else 0,
        }


def _id(row: Mapping[str, Any], where: str) -> str:
    """Number of the job; of a task of an array: array_task."""
    number = _number(row.get("job_id"), f"{where}.job_id")
    array, task = (row.get(key) for key in ("array_job_id", "array_task_id"))
    if isinstance(task, dict) and task.get("set") and _number(array, f"{where}.array_job_id"):
        return f"{_number(array, where)}_{_number(task, f'{where}.array_task_id')}"
    return str(number)


def _uid(row: Mapping[str, Any], where: str) -> str:
    number = _number(row.get("user_id"), f"{where}.user_id")
    return str(number) if number else ""


def _states(value: Any, where: str) -> tuple[str, ...]:
    states = value if isinstance(value, list) else [value]
    if not all(isinstance(state, str) for state in states) or not states:
        raise ValueError(f"{where}: must be a state such as RUNNING, not {shown(value)}")
    return tuple(state.upper() for state in states)


def _number(value: Any, where: str) -> int:
    """Parse a number in either form; 0 if it is unset or infinite."""
    if isinstance(value, dict):
        value = value.get("number", 0) if value.get("set", True) and not value.get("infinite") else 0
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**33:
        raise ValueError(f"{where}: must be a whole number, not {shown(value)}")
    return value


def _text(value: Any, where: str) -> str:
    if value in (None, ""):
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{where}: must be text, not {shown(value)}")
    return "".join(c if c.isprintable() else "\ufffd" for c in value[:LONGEST])  # users choose names
