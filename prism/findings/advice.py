"""Write what to do about a finding: equal sentences on pages, in alerts and reports, and a short form for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from prism.model import Finding, FindingKind, Isolation, Severity

NAMED = 4  # names per sentence
IMBALANCES = ("stage_imbalance", "data_imbalance")  # causes in the job itself: nothing to isolate
UNBROKEN = "Do not isolate any host: the work is uneven, no part is broken."
NOTHING = "No action needed for this finding alone: it is a symptom or an observation."

# Checks for a known suspect, in the order in which operators perform them.
CHECKS: Mapping[FindingKind, tuple[str, ...]] = {
    "slow_rank": (
        "Check its GPU: clocks and throttle reasons, memory errors (ECC, Xid), temperature, power, other processes.",
        "If its host shows no other fault, drain it at the next checkpoint and run a single-node benchmark on it.",
    ),
    "slow_link": (
        "Check both ends: error and discard counters, optics, cable, negotiated speed, pause frames (PFC).",
        "If both ends are clean, check whether flows are spread unevenly over parallel links (ECMP).",
    ),
    "slow_switch": (
        "Check the switch: queues, drops, ECN marks, pause frames (PFC), temperature, and its latest changes.",
        "If jobs on other switches are not affected, place new jobs away from it.",
    ),
    "slow_group": (
        "Compare its placement with that of the other groups: its members may share a switch or a rail with other jobs.",
        "If all groups of this kind slow down together, the job itself does more work.",
    ),
    "slow_step": (
        "Check what all ranks share: storage, data loading, the scheduler, the whole network.",
        "Check what the job did in these steps: evaluation, a checkpoint, a change of sequence length.",
    ),
    "stage_imbalance": (
        "Give this stage fewer layers, or its embedding or loss layer to another stage; no part is broken.",
        "Compare the layers per stage with the measured work per stage.",
    ),
    "data_imbalance": (
        "Balance micro-batches by the work they need (attention grows with the square of a sequence's length), not by tokens.",
        "With experts, check the tokens per expert and the capacity factor; no part is broken.",
    ),
    "hang": (
        "Take stack traces of its ranks before you kill the job (py-spy dump); start with the rank named here.",
        "Read the kernel log (Xid, link events) and the NCCL log of its host for the time when it stopped sending.",
    ),
    "crash": (
        "Read the job log and the host's kernel log (Xid, OOM killer) for the last second before it stopped sending.",
        "Restart the job without it from the newest checkpoint.",
    ),
}


def steps(finding: Finding) -> list[str]:
    """List the next actions, one sentence each: what to isolate first, then what to check."""
    return [text for text in (first(finding), *CHECKS.get(finding.kind, ())) if text]


def likely(probability: float) -> str:
    """Write a probability or confidence 0 … 1 in percent: 99% at most, since nothing inferred is certain."""
    return f"{min(probability, 0.99):.0%}"


def first(finding: Finding) -> str:
    """Write what to isolate first, and the probability that it contains the cause."""
    if finding.severity is Severity.INFO:
        return NOTHING
    if finding.kind in IMBALANCES:
        return UNBROKEN
    whom = suspected(finding.isolate)
    if not whom:
        return f"It is not known which host to isolate; start with {first_names(finding.ids)}." if finding.ids else ""
    verb = "Route around or drain" if finding.isolate.parts else "Isolate"
    holds = f"it contains the cause with a probability of {likely(finding.isolate.confidence)}"
    sure = f" (confidence of this finding: {likely(finding.confidence)})" if finding.confidence else ""
    return f"{verb} {whom} first: {holds}{sure}."


def brief(isolate: Isolation) -> str:
    """Write what to isolate in a few words; empty without suspects."""
    whom = suspected(isolate)
    verb = "route around" if isolate.parts else "isolate"
    return f"{verb} {whom} ({likely(isolate.confidence)})" if whom else ""


def suspected(isolate: Isolation) -> str:
    """Name the parts to isolate first: a link or a switch, or hosts; empty without suspects."""
    return " – ".join(isolate.parts) or first_names(isolate.hosts)


def first_names(names: Sequence[str]) -> str:
    """List the first names of a sequence, and the number of the others."""
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
