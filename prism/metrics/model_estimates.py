"""Estimate parameters, tokens, bandwidth and model FLOPs of a job from its traffic, each with assumption and range.

Gradients of a model shard of P parameters, reduced over n ranks, cost 2(n−1)/n · P · octets per gradient and rank and step;
sharded training (ZeRO-3, FSDP) gathers twice and scatters once: 3(n−1)/n · P · octets; 4(n−1)/n in libraries that scatter by an
all-reduce (gloo). A pipeline sends sequence · micro-batch · hidden · 2 octets per hand-over. Training takes 6 FLOPs per
parameter and token (Kaplan et al., arXiv 2001.08361, section 2.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from prism.metrics.aggregate_metrics import JobMetrics

PEAKS = {  # dense bf16 FLOP/s by data sheet
    "v100": 125e12,
    "a100": 312e12,
    "a800": 312e12,
    "h100": 989e12,
    "h800": 989e12,
    "h200": 989e12,
    "b200": 2250e12,
    "l40s": 362e12,
    "mi250x": 383e12,
    "mi300x": 1307e12,
}
HALF, FULL = 2, 4  # octets of a gradient
HIDDEN = (1024, 16384)  # hidden sizes of models that need several hosts
PASSES = {"reduced": (2,), "sharded": (3, 4)}


@dataclass(frozen=True)
class Estimate:
    """A value between `low` and `high`, in `unit`, with its assumption."""

    name: str
    value: float
    low: float
    high: float
    unit: str
    assumption: str


def estimate_model(
    metrics: JobMetrics,
    *,
    activation_octets: float = 0.0,
    sharded: bool | None = None,
    gradient_octets: int = 0,
    hidden: int = 0,
    link_bits_per_s: float = 0.0,
    gpu: str = "",
) -> tuple[Estimate, ...]:
    """Estimate the model and its use of the hardware.

    Parameters
    ----------
    metrics : JobMetrics
        Metrics of the job.
    activation_octets : float
        Octets of a message between pipeline stages; 0 if unknown.
    sharded : bool or None
        Whether the parameters are sharded (ZeRO-3, FSDP); None if unknown.
    gradient_octets, hidden : int
        Octets of a gradient (2 or 4) and hidden size; 0 if unknown.
    link_bits_per_s : float
        Rate of a NIC; 0 if unknown.
    gpu : str
        Type of GPU, such as h100; empty if unknown.

    Returns
    -------
    tuple of Estimate
        Only values whose inputs are known.

    Raises
    ------
    ValueError
        The type of GPU is unknown.
    """
    if gpu and gpu.lower() not in PEAKS:
        raise ValueError(f"GPU {gpu!r} is not known; known: {', '.join(PEAKS)}")
    out = [_parameters(metrics, sharded, gradient_octets)]
    out += [_activation(activation_octets), _tokens(activation_octets, hidden)] if activation_octets else []
    known = [one for one in out if one is not None]
    known += _bandwidth(metrics, link_bits_per_s)
    by_name = {one.name: one for one in known}
    flops = _flops(metrics, by_name, gpu)
    return (*known, *flops)


def _parameters(own: JobMetrics, sharded: bool | None, octets: int) -> Estimate | None:
    """Estimate the parameters of the whole model from the largest reduction over data-parallel ranks."""
    groups = [one for one in own.bandwidth if one.kind == "dp" and one.members > 1]
    if not groups:
        return None
    one = max(groups, key=lambda group: group.octets)
    shards = max(own.layout.get("pp", 1) * own.layout.get("tp", 1), 1)
    whole = one.octets * one.members / (one.members - 1) * shards
    widths = [octets] if octets else [HALF, FULL]
    known = PASSES["sharded" if sharded else "reduced"]
    passes = known if sharded is not None else sum(PASSES.values(), ())
    values = sorted(whole / (width * times) for width in widths for times in passes)
    width, times = (octets or HALF), (passes[0])
    assumed = [] if octets else ["gradients of 2 octets (range: 2 to 4)"]
    assumed += [] if sharded is not None else ["reduced once per step (range: or gathered twice and scattered once)"]
    assumed += ["equal shards in all stages"] if shards > 1 else []
    assumed += ["experts are not counted"] if own.layout.get("ep", 1) > 1 else []
    return Estimate("parameters", whole / (width * times), values[0], values[-1], "", "; ".join(assumed) or "none")


def _activation(octets: float) -> Estimate:
    return Estimate("activation", octets, octets, octets, "octets per micro-batch", "one message is one micro-batch")


def _tokens(octets: float, hidden: int) -> Estimate:
    sizes = (hidden, hidden) if hidden else HIDDEN
    usual = hidden or round(math.sqrt(sizes[0] * sizes[1]))
    why = "activations of 2 octets" + ("" if hidden else f"; hidden size {usual} (range: {sizes[0]} to {sizes[1]})")
    return Estimate("tokens", octets / (2 * usual), octets / (2 * sizes[1]), octets / (2 * sizes[0]), "per micro-batch", why)


def _bandwidth(own: JobMetrics, link: float) -> list[Estimate]:
    out = []
    for one in own.bandwidth:
        rate = one.bits_per_s.median
        name = f"{one.kind} bandwidth"
        low = rate * (1 - 2 * one.bits_per_s.error)
        high = rate * (1 + 2 * one.bits_per_s.error)
        out.append(Estimate(name, rate, low, high, "bit/s", "the group moves all the time between its first and last octet"))
        if link:
            out.append(Estimate(f"{name}, share of link", rate / link, low / link, high / link, "", "one NIC per rank"))
    return out


def _flops(own: JobMetrics, known: Mapping[str, Estimate], gpu: str) -> list[Estimate]:
    """Estimate model FLOPs per second and GPU, and their share of the peak, if parameters and tokens are known."""
    size, tokens = known.get("parameters"), known.get("tokens")
    if size is None or tokens is None or not own.micro_batches or not own.step_s.median:
        return []
    per = 6 * own.micro_batches * own.layout.get("dp", 1) / own.step_s.median / max(own.ranks, 1)
    middle, low, high = per * size.value * tokens.value, per * size.low * tokens.low, per * size.high * tokens.high
    why = "6 FLOPs per parameter and token; no recomputation, no attention; a message is the activation of whole sequences"
    out = [Estimate("model FLOPs", middle, low, high, "FLOP/s per GPU", why)]
    if gpu:
        peak = PEAKS[gpu.lower()]
        low, middle, high = (min(one / peak, 1.0) for one in (low, middle, high))
        out.append(
            Estimate("model FLOPs utilisation", middle, low, high, "", f"{why}; peak of {gpu}: {peak / 1e12:.0f} TFLOP/s")
        )
    return out
