"""One job of twelve ranks over three leaves with one thing wrong, for every thing that the diagnosis looks for."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

from prism.diagnosis.assessment.confidence import completeness
from prism.diagnosis.attribution.comparisons import Case
from prism.diagnosis.attribution.verdicts import combine_findings
from prism.diagnosis.stops.crash import crash
from prism.diagnosis.stops.hang import hang
from prism.graph.job_view import View
from prism.graph.transfer_events import Events
from prism.model import Finding, Severity
from tests.prism.traffic import Wire, closed, placed, seen, training

RANKS = 12
TOPOLOGY = placed(RANKS)
BAD = range(6, 11)  # the steps in which something is wrong, where it lasts
RANK = 5
NIC = 6  # in the middle of leaf1


def job(wire: Wire, **more) -> Wire:
    return training(dp=RANKS, wire=wire, **more)


def uplink(src: int, dst: int) -> bool:
    """Whether a pair crosses the link between leaf1 and the spine."""
    return (src // 4 == 1) != (dst // 4 == 1)


FAULTS: dict[str, Callable[[Wire], Wire]] = {
    "nothing": job,
    "slow rank": lambda wire: job(wire, work=lambda step, rank: 35.0 if rank == RANK and step in BAD else 20.0),
    "rank always slow": lambda wire: job(wire, work=lambda _step, rank: 35.0 if rank == RANK else 20.0),
    "slow NIC": lambda wire: job(wire, rate=lambda step, *pair: 3.0 if NIC in pair and step in BAD else 10.0),
    "NIC always slow": lambda wire: job(wire, rate=lambda _step, *pair: 3.0 if NIC in pair else 10.0),
    "slow uplink": lambda wire: job(wire, rate=lambda step, *pair: 3.0 if uplink(*pair) and step in BAD else 10.0),
    "lossy NIC": lambda wire: job(
        wire,
        rate=lambda step, *pair: 8.5 if NIC in pair and step in BAD else 10.0,
        again=lambda step, *pair: 20 if NIC in pair and step in BAD else 0,
    ),
    "hang": lambda wire: job(wire, pause=lambda step, rank: 2000.0 if (step, rank) == (7, RANK) else 0.0),
    "crash": lambda wire: closed(job(wire, rounds=8), range(RANKS), first=RANK),
    "end": lambda wire: closed(job(wire), range(RANKS), first=RANK),
    "evaluation": lambda wire: job(wire, pause=lambda step, _rank: 800.0 if step == 7 else 0.0),
    "slower all": lambda wire: job(wire, work=lambda step, _rank: 35.0 if step in BAD else 20.0),
}


@cache
def case(name: str, *, tcp: bool = True) -> View:
    """What the diagnosis sees of a fault."""
    return seen(FAULTS[name](Wire(tcp=tcp)).flows(TOPOLOGY), TOPOLOGY)


def named(findings: list[Finding]) -> list[tuple[str, ...]]:
    """Whom the findings claim to be at fault."""
    return [f.ids for f in findings if f.severity is not Severity.INFO]


def found_in(view: View) -> list[Finding]:
    """All findings of a job: those on slow steps, and on stops."""
    return combine_findings(Case(view), [*crash(view), *hang(view)], completeness(view))


def claims_of(view: View) -> list[Finding]:
    """Findings of a job that claim a fault."""
    return [finding for finding in found_in(view) if finding.severity is not Severity.INFO]


def with_parts(events: Events, **parts: Any) -> Events:
    """Give events other parts than the computed ones."""
    one = replace(events)
    vars(one).update(vars(events) | parts)
    return one
