"""What to do about a finding: the same sentences on a page, in an alert, in a report, and in brief on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prism.model import Finding, FindingKind, Isolation, Severity

NAMED = 4  # names in a sentence
NOTHING = "Nothing needs to be done about this alone: it is a symptom, or an observation."

# What to look at once the suspect is known, and what then: the order in which operators do.
CHECKS: Mapping[FindingKind, tuple[str, ...]] = {
    "slow_rank": (
        "Look at its GPU's clocks and throttle reasons, memory errors (ECC, Xid), temperature, power, other processes.",
        "If its host holds no other fault, drain it at the next checkpoint and run a single-node benchmark on it.",
    ),
    "slow_link": (
        "Look at its error and discard counters, optics, cable, speed, and pause frames (PFC) at both ends.",
        "If both ends are clean, look for an uneven spread of flows over parallel links.",
    ),
    "slow_switch": (
        "Look at the switch's queues, drops, ECN marks, pause frames and temperature, and what changed there last.",
        "If jobs below other switches run as usual, move new jobs away from it.",
    ),
    "slow_group": (
        "Compare its members' placement with that of the other groups: they may share a switch, a rail, or with other jobs.",
        "If all groups of the kind slow down together, it is the job's own work.",
    ),
    "slow_step": (
        "Look at what all ranks share: storage, data loading, the scheduler, the network as a whole.",
        "Look at what the job did in these steps: evaluation, a checkpoint, a change of sequence length.",
    ),
    "hang": (
        "Take stacks of its ranks before anything is killed (py-spy dump): the first that fell silent is where to begin.",
        "Read the kernel's log (Xid, link events) and NCCL's on its host for the time at which it fell silent.",
    ),
    "crash": (
        "Read the job's log and the host's kernel log (Xid, OOM killer) for the last second before it fell silent.",
        "Restart without it from the newest checkpoint.",
    ),
}


def steps(finding: Finding) -> list[str]:
    """What to do next, a sentence each: whom to take out first, then what to look at."""
    return [text for text in (first(finding), *CHECKS.get(finding.kind, ())) if text]


def first(finding: Finding) -> str:
    """Whom to take out first, and how likely that helps."""
    if finding.severity is Severity.INFO:
        return NOTHING
    whom = suspected(finding.isolate)
    if not whom:
        return f"Whom to isolate is not known; begin with {some(finding.ids)}." if finding.ids else ""
    verb = "Route around or drain" if finding.isolate.parts else "Isolate"
    holds = f"that holds the culprit with {finding.isolate.confidence:.0%} probability"
    sure = f" ({finding.confidence:.0%} sure)" if finding.confidence else ""
    return f"{verb} {whom} first: {holds}, if this is right{sure}."


def brief(isolate: Isolation) -> str:
    """The same in a few words; empty where nobody is suspected."""
    whom = suspected(isolate)
    verb = "route around" if isolate.parts else "isolate"
    return f"{verb} {whom} ({isolate.confidence:.0%})" if whom else ""


def suspected(isolate: Isolation) -> str:
    """Whom to take out first: a link or a switch, or hosts; empty where nobody is suspected."""
    return " – ".join(isolate.parts) or some(isolate.hosts)


def some(names: Sequence[str]) -> str:
    """The first names of a list, and how many more there are."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
