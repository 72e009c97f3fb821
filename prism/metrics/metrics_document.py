"""Convert metrics of jobs to plain values for JSON, and read them back for comparisons."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from prism.metrics.aggregate_metrics import JobMetrics, Spread
from prism.metrics.ettr import Ettr
from prism.metrics.model_estimates import Estimate
from prism.metrics.regressions import Figure, Regression, figures, fingerprint

SCHEMA = "prism-metrics/1"
REASONS = ("warm-up", "hang", "crash", "restart", "repeated")


def job(metrics: JobMetrics, ratio: Ettr, changed: Sequence[Regression], guessed: Sequence[Estimate] = ()) -> dict[str, Any]:
    """Convert one job."""
    return {
        "id": metrics.job,
        "fingerprint": fingerprint(metrics),
        "step_s": _spread(metrics.step_s),
        "micro_batches": metrics.micro_batches,
        "transfers_per_step": dict(metrics.transfers),
        "lateness_s": [
            {"kind": one.kind, **_spread(one.seconds), "worst": one.worst, "worst_s": one.worst_s} for one in metrics.lateness
        ],
        "void_share": _spread(metrics.void),
        "bus_bandwidth": [
            {
                "kind": one.kind,
                "members": one.members,
                "groups": one.groups,
                "octets_per_step": round(one.octets),
                "bits_per_s": _spread(one.bits_per_s),
            }
            for one in metrics.bandwidth
        ],
        "work_s": [{"stage": stage, **_spread(one), **_per_micro(one, metrics)} for stage, one in sorted(metrics.work.items())],
        "estimates": [vars(one) for one in guessed],
        "ettr": {
            "ratio": _number(ratio.ratio),
            "low": _number(ratio.low),
            "lost_s": {reason: round(ratio.lost_ns(reason) / 1e9, 6) for reason in REASONS},  # type: ignore[arg-type]
            "paused_s": round(ratio.paused_ns / 1e9, 6),
            "window_s": round(ratio.window_ns / 1e9, 6),
            "at_ns": ratio.at_ns.tolist(),
            "sliding": [round(one, 4) for one in ratio.sliding.tolist()],
        },
        "figures": [vars(one) for one in figures(metrics)],
        "changed": [
            {
                "name": one.name,
                "now": one.now,
                "before": one.before,
                "ratio": one.ratio,
                "needed": one.needed,
                "worse": one.worse,
            }
            for one in changed
        ],
    }


def _per_micro(one: Spread, own: JobMetrics) -> dict[str, float]:
    return {"per_micro_batch": one.median / own.micro_batches} if own.micro_batches else {}


def _spread(own: Spread) -> dict[str, Any]:
    return {"median": _number(own.median), "p95": _number(own.p95), "error": _number(own.error), "count": own.count}


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def earlier(document: Any, name: str) -> list[tuple[Mapping[str, Any], list[Figure]]]:
    """Read fingerprint and figures of each job of an earlier document. Raises ValueError if it is not valid."""
    if not isinstance(document, Mapping) or document.get("schema") != SCHEMA:
        raise ValueError(f"{name}: not metrics of an earlier run (schema {SCHEMA}); write them with prism metrics --json")
    try:
        return [
            (
                own["fingerprint"],
                [Figure(str(f["name"]), float(f["value"]), float(f["error"]), bool(f["more"])) for f in own["figures"]],
            )
            for own in document["jobs"]
            if own["fingerprint"]["volumes"] is not None
            and own["fingerprint"]["layout"] is not None
            and own["fingerprint"]["ranks"]
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{name}: damaged: {error!r}") from None
