"""Parse specifications: YAML or JSON with the fields of `specification`, and settings like jobs.0.dp=16.

Invalid input is a ValueError of one line that names the place: `spec.yaml: jobs[0].dpp: unknown field, …`.
"""

from __future__ import annotations

import difflib
import math
import types
import typing
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import Annotated, Any, Literal, NamedTuple

from collectors.files.documents import Object, load_json, load_yaml
from prism.synth.scenario.cluster import Plant, build
from prism.synth.scenario.pipeline_schedule import levels
from prism.synth.scenario.rank_places import check_apart, place_ranks
from prism.synth.scenario.specification import Bounds, Fault, Job, Spec

NOTHING = ("", "null", "~", "none")
NAMED = {  # what a fault of each kind names; ranks unless listed
    "uplink_throttle": "switch", "uplink_loss": "switch", "stage_imbalance": "stage", "data_imbalance": "", "input_stall": "",
}  # fmt: skip
TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class _Place(NamedTuple):
    """Position of a value: the document's name and the path to it."""

    name: str
    way: tuple[str | int, ...] = ()

    def at(self, step: str | int) -> _Place:
        return _Place(self.name, (*self.way, step))

    def wrong(self, why: str) -> ValueError:
        way = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.way).lstrip(".")
        return ValueError(f"{self.name}: {way + ': ' if way else ''}{why}")


def parse(text: str, name: str) -> Spec:
    """Parse a specification; `name` is its file, for the format (.json, else YAML) and for errors."""
    text = text.removeprefix("\ufeff")
    document = load_json(text, name) if name.lower().endswith(".json") else load_yaml(text, name)
    return check_consistency(_record(Spec, {} if document is None else document, _Place(name)), name)


def apply_settings(spec: Spec, settings: Sequence[str], name: str = "--set") -> Spec:
    """Apply settings PLACE=VALUE in order, such as jobs.0.dp=16 or faults.0={kind: hang, ranks: [2]}.

    An index one past the end of a list appends to it. `name` is for errors.
    """
    if not settings:
        return spec
    document = asdict(spec)
    for setting in settings:
        place, equals, value = setting.partition("=")
        if not equals or not place.strip():
            raise ValueError(f"{name} {setting}: must be PLACE=VALUE, such as jobs.0.dp=16")
        _put(document, place.strip().split("."), load_yaml(value, f"{name} {setting}"), _Place(f"{name} {setting}"))
    return check_consistency(_record(Spec, document, _Place(name)), name)


def _put(document: Any, way: list[str], value: Any, place: _Place) -> None:
    """Set a value at a path through records and lists."""
    for number, step in enumerate(way):
        last = number == len(way) - 1
        if isinstance(document, tuple | list):
            if not step.isdecimal() or int(step) > len(document):
                raise place.wrong(f"{step} is not an index of {'.'.join(way[:number])}, which has {len(document)} items")
            key: Any = int(step)
        elif isinstance(document, dict) and (last or step in document):
            key = step
        elif isinstance(document, dict):
            raise place.wrong(_unknown(step, document))
        else:
            raise place.wrong(f"{'.'.join(way[:number])} has no fields")
        if isinstance(document, list) and key == len(document):
            document.append({})
        if last:
            document[key] = value
        elif isinstance(document[key], tuple):
            document[key] = list(document[key])
        document = document[key]


def _unknown(key: str, known: Iterable[str]) -> str:
    known = list(known)
    near = difflib.get_close_matches(key, known)
    if not near:
        return f"unknown field; known fields: {', '.join(known)}"
    best = max(near, key=lambda name: (difflib.SequenceMatcher(None, name, key).ratio(), name[0] == key[0]))
    return f"unknown field; did you mean {best}?"


def _record(kind: type[Any], given: Any, place: _Place) -> Any:
    """Build a dataclass from an object with its fields."""
    if not isinstance(given, dict):
        raise place.wrong(f"must be an object with fields, not {_shown(given)}")
    if isinstance(given, Object) and given.twice is not None:
        raise place.at(given.twice).wrong("is given twice")
    hints = typing.get_type_hints(kind, include_extras=True)
    known = [f.name for f in fields(kind)]
    for key in given:
        if key not in known:
            raise place.at(str(key)).wrong(_unknown(str(key), known))
    for f in fields(kind):
        if f.default is MISSING and f.name not in given:
            raise place.at(f.name).wrong("is missing")
    return kind(**{key: _value(hints[key], value, place.at(key)) for key, value in given.items()})


def _value(kind: Any, given: Any, place: _Place) -> Any:
    """Convert a value to a field's type. YAML texts are converted as needed."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return _bounded(_value(parts[0], given, place), parts[1], place)
    if origin is Literal:
        if given not in parts:
            raise place.wrong(f"{_shown(given)} must be one of {', '.join(parts)}")
        return given
    if origin in (types.UnionType, typing.Union):
        empty = given is None or (isinstance(given, str) and given.lower() in NOTHING)
        return None if empty else _value(parts[0], given, place)
    if origin is tuple:
        if not isinstance(given, list | tuple):
            raise place.wrong(f"must be a list, not {_shown(given)}")
        return tuple(_value(parts[0], one, place.at(i)) for i, one in enumerate(given))
    if is_dataclass(kind) and isinstance(kind, type):
        return _record(kind, given, place)
    return _scalar(kind, given, place)


def _scalar(kind: Any, given: Any, place: _Place) -> Any:
    if kind is str:
        if not isinstance(given, str) or not given:
            raise place.wrong(f"must be text, not {_shown(given)}")
        return given
    if kind is bool:
        truth = TRUTHS.get(given.lower()) if isinstance(given, str) else given
        if not isinstance(truth, bool):
            raise place.wrong(f"must be true or false, not {_shown(given)}")
        return truth
    number = _number(given)
    if number is None or not math.isfinite(number) or (kind is int and number != int(number)):
        raise place.wrong(f"must be a {'whole number' if kind is int else 'number'}, not {_shown(given)}")
    return kind(number)


def _number(given: Any) -> int | float | None:
    if isinstance(given, bool) or not isinstance(given, int | float | str):
        return None
    for read in (int, float):
        try:
            return given if isinstance(given, int) else read(given) if isinstance(given, str) else float(given)
        except (ValueError, OverflowError):
            continue
    return None


def _bounded(value: Any, bounds: Bounds, place: _Place) -> Any:
    if value < bounds.least or (bounds.above and value == bounds.least):
        raise place.wrong(f"{value} is {'not more' if bounds.above else 'less'} than {bounds.least:g}")
    if value > bounds.most:
        raise place.wrong(f"{value} is more than {bounds.most:g}")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def check_consistency(spec: Spec, name: str) -> Spec:
    """Check that the parts of a specification fit together. Raises ValueError with the place."""
    place = _Place(name)
    if not spec.jobs:
        raise place.at("jobs").wrong("needs at least one job")
    plant, ranks = build(spec.cluster), []
    for i, job in enumerate(spec.jobs):
        where = place.at("jobs").at(i)
        if job.name in [other.name for other in spec.jobs[:i]]:
            raise where.at("name").wrong(f"two jobs have the name {job.name}")
        if job.first_gpu + max(job.gpus_used, 1) > spec.cluster.gpus:
            raise where.wrong(f"a host has no GPUs beyond {spec.cluster.gpus - 1}")
        if job.channels * job.queues > 62:
            raise where.at("queues").wrong(f"{job.channels} channels with {job.queues} each are more than 62 queue pairs")
        if job.mode == "fsdp" and job.world != job.dp:
            raise where.wrong("mode fsdp has no pp, tp and cp")
        try:
            ranks.append(place_ranks(job, plant))
            levels(job.schedule, job.pp, job.micro, job.chunks)
        except ValueError as error:
            raise where.wrong(str(error)) from None
    try:
        check_apart(spec.jobs, ranks, plant)
    except ValueError as error:
        raise place.at("jobs").wrong(str(error)) from None
    for i, fault in enumerate(spec.faults):
        _check_fault(fault, spec.jobs, plant, place.at("faults").at(i))
    return spec


def _check_fault(fault: Fault, jobs: Sequence[Job], plant: Plant, place: _Place) -> None:
    job = next((job for job in jobs if job.name == fault.job), None)
    if job is None:
        raise place.at("job").wrong(f"no job has the name {fault.job}; jobs: {', '.join(job.name for job in jobs)}")
    _check_named(fault, job, plant, place)
    if fault.kind == "data_imbalance" and fault.experts and (job.ep < 2 or not job.expert_octets):
        raise place.at("experts").wrong(f"job {job.name} has no expert parallelism")
    if fault.first >= job.steps:
        raise place.at("first").wrong(f"job {job.name} has {job.steps} steps")
    if fault.stop is not None and fault.stop <= fault.first:
        raise place.at("stop").wrong(f"{fault.stop} must be greater than {fault.first}")


def _check_named(fault: Fault, job: Job, plant: Plant, place: _Place) -> None:
    """Check that a fault names what its kind needs, and nothing else."""
    stray = next((rank for rank in fault.ranks if rank >= job.world), None)
    if stray is not None:
        raise place.at("ranks").wrong(f"{stray} is not a rank of job {job.name}, which has {job.world} ranks")
    needed = NAMED.get(fault.kind, "ranks")
    given = {"ranks": fault.ranks, "switch": fault.switch, "stage": fault.stage}
    applies = {"switch": "a switch", "ranks": "ranks", "stage": "a stage", "": "the whole job"}
    for field, value in given.items():
        if field != needed and value not in ((), None):
            raise place.at(field).wrong(f"{fault.kind} applies to {applies[needed]}, not to {applies[field]}; remove {field}")
    leaves, spines = plant.switches[: plant.leaves], plant.switches[plant.leaves :]
    if needed == "switch" and fault.switch not in leaves:
        raise place.at("switch").wrong(f"{fault.switch} is not a leaf; leaves: {', '.join(leaves[:8])}")
    if fault.spine is not None and (needed != "switch" or fault.spine not in spines):
        raise place.at("spine").wrong(f"{fault.spine} is not a spine; spines: {', '.join(spines[:8])}")
    if needed == "ranks" and not fault.ranks:
        raise place.at("ranks").wrong(f"{fault.kind} needs ranks")
    if needed == "stage" and (fault.stage is None or fault.stage >= job.pp):
        raise place.at("stage").wrong(f"{fault.stage} is not a stage of job {job.name}, which has {job.pp}")
