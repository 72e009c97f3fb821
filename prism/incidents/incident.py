"""Join the verdict of the logs with that of the flows: node, cause, confidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from collectors.columns.record import Flows
from prism.incidents._first_silence import Silence, find_first_silence
from prism.incidents._log_flow_checks import Check, compare_facts
from prism.incidents.node_mapping import NodeMap, map_nodes
from prism.logs.patterns.log_diagnosis import LogDiagnosis
from prism.model import Diagnosis, Finding, JobDiagnosis
from prism.topology import Topology

DIRECT_RULES = ("only", "silent", "behind")  # log rules that identify a node directly
MIN_ORDER_CONFIDENCE = 0.5  # minimum confidence of the order of silence
SYMPTOM_CAUSES = ("peer", "killed", "unknown")  # log causes that only show that a peer was gone


@dataclass(frozen=True)
class Incident:
    """A failed run of one job. `node` is a name from the logs, `endpoints` are addresses; `witnesses`: facts of each source."""

    failed: bool
    job: str
    node: str
    endpoints: tuple[str, ...]
    cause: str
    why: str
    confidence: float
    agrees: bool | None  # logs and flows name the same node; None if one of them names none
    witnesses: tuple[str, ...]
    silence: Silence | None
    checks: tuple[Check, ...]
    findings: tuple[Finding, ...]
    logs: LogDiagnosis
    assumed: bool


def join_incident(log_diagnosis: LogDiagnosis, flow_diagnosis: Diagnosis, flows: Flows, topology: Topology | None) -> Incident:
    """Join the logs of a run with its flows. Of several jobs in the flows, the job with the ranks in the logs is used."""
    job = _job(log_diagnosis, flow_diagnosis)
    if job is None:
        first = log_diagnosis.suspects[0] if log_diagnosis.suspects else None
        return Incident(
            log_diagnosis.failed,
            "",
            first.name if first else "",
            (),
            log_diagnosis.cause,
            log_diagnosis.why,
            log_diagnosis.confidence,
            None,
            ("flows: no training job was recognised",),
            None,
            (),
            (),
            log_diagnosis,
            assumed=False,
        )
    placed = map_nodes(job.job.endpoints, log_diagnosis.facts, topology)
    own = tuple(one for one in flow_diagnosis.findings if one.job == job.job.id and one.severity != "info")
    quiet = find_first_silence(_until_it_stopped(flows, job, own), job)
    told = compare_facts(job, log_diagnosis.facts, log_diagnosis.marks, placed)
    if not log_diagnosis.failed:
        return Incident(
            False, job.job.id, "", (), "", "", 0.0, None, (), quiet, told, own, log_diagnosis, assumed=placed.assumed
        )
    node, endpoints, confidence, agrees = _node(log_diagnosis, quiet, placed)
    cause, why = _cause(log_diagnosis, quiet, endpoints)
    return Incident(
        True,
        job.job.id,
        node,
        endpoints,
        cause,
        why,
        confidence,
        agrees,
        tuple(_witnesses(log_diagnosis, quiet, placed)),
        quiet,
        told,
        own,
        log_diagnosis,
        assumed=placed.assumed,
    )


def _until_it_stopped(flows: Flows, job: JobDiagnosis, findings: Sequence[Finding]) -> Flows:
    """Select the records before the last hang from which the job recovered, since the culprit fell silent before it."""
    over = [one for one in findings if one.kind == "hang" and one.end_ns < job.job.end_ns]
    if not over:
        return flows
    last = max(over, key=lambda one: one.start_ns)
    return flows.take(np.flatnonzero(flows.start_ns < (last.start_ns + last.end_ns) // 2))


def _job(log_diagnosis: LogDiagnosis, flow_diagnosis: Diagnosis) -> JobDiagnosis | None:
    world = log_diagnosis.facts.sizes.get("world", 0)
    named = set(log_diagnosis.facts.addresses.values())
    return max(
        flow_diagnosis.jobs,
        key=lambda one: (len(named & set(one.job.endpoints)), len(one.job.endpoints) == world, len(one.job.endpoints)),
        default=None,
    )


def _node(log_diagnosis: LogDiagnosis, silence: Silence, placed: NodeMap) -> tuple[str, tuple[str, ...], float, bool | None]:
    """Choose the node with the stronger evidence; agreement of both raises the confidence."""
    first = log_diagnosis.suspects[0] if log_diagnosis.suspects else None
    mine = placed.endpoints(first.name, first.ranks) if first else ()
    seen = silence.first if silence.confidence >= MIN_ORDER_CONFIDENCE else ""
    if first is None or (seen and first.how not in DIRECT_RULES and seen not in mine):
        node = next((name for name, own in placed.of_node.items() if own == (seen,)), seen) if seen else ""
        return node, (seen,) if seen else (), silence.confidence if seen else 0.0, False if first and seen else None
    if not seen or not mine:
        return first.name, mine, first.confidence, None
    if seen in mine:
        sure = 1 - (1 - first.confidence) * (1 - silence.confidence)
        return first.name, mine, round(min(sure, 0.99), 3), True
    if first.how == "silent" and silence.confidence > first.confidence:
        node = next((name for name, own in placed.of_node.items() if own == (seen,)), seen)
        return node, (seen,), round(silence.confidence / 2, 3), False
    return first.name, mine, round(first.confidence * (1 - silence.confidence / 2), 3), False


def _cause(log_diagnosis: LogDiagnosis, silence: Silence, endpoints: tuple[str, ...]) -> tuple[str, str]:
    """Return the cause from the logs; if they only show that a peer was gone, derive it from the flows."""
    if log_diagnosis.cause not in SYMPTOM_CAUSES or not endpoints:
        return log_diagnosis.cause, log_diagnosis.why
    if set(endpoints) & set(silence.unanswered):
        return "network", "others sent to it again and again without an answer: its NIC, link or host was gone"
    if set(endpoints) & set(silence.closed):
        return "killed", "its connections closed before any other: its process ended"
    if log_diagnosis.cause == "peer":
        return "peer", "it fell silent with its connections open: its program or its GPU hangs, the network answered"
    return log_diagnosis.cause, log_diagnosis.why


def _witnesses(log_diagnosis: LogDiagnosis, silence: Silence, placed: NodeMap) -> list[str]:
    out = [f"logs: {one.name} ({one.how}, {one.confidence:.0%}): {one.why}" for one in log_diagnosis.suspects[:3]]
    if silence.order:
        rank = placed.rank.get(silence.first)
        who = silence.first + (f", rank {rank}" if rank is not None else "")
        ahead = silence.margin_ns / 1e6
        out.append(f"flows: {who} sent its last payload {ahead:.3g} ms before any other ({silence.confidence:.0%})")
    out += [f"flows: data sent to {one} was sent again without an answer" for one in silence.unanswered]
    out += [f"flows: {one} closed its connections first" for one in silence.closed]
    return out
