"""Collect the losses that switches report for the time and place of a finding: evidence for it, not a finding of their own.

Healthy fabrics drop packets as well. So losses create no finding. They decide between two suspects that explain a finding
equally well, and whether a slow link is damaged.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from collectors.columns.losses import DISCARDS, ERRORS, Losses
from collectors.exports.evidence import REASONS
from prism.diagnosis import constants as c
from prism.graph.job_view import View
from prism.model import Finding

DAMAGED = (ERRORS, 275)  # damaged frames, for example by a bad cable or optic
FULL = (DISCARDS, 259, 260, 261, 287)  # more packets arrive than leave
WORDS = {ERRORS: "errors", DISCARDS: "discards"}
Mask = NDArray[np.bool_]


class Lost(NamedTuple):
    """Packets lost at one place for one reason; `usual` is the number expected from other times."""

    switch: str
    in_interface: int
    out_interface: int
    reason: int
    packets: int
    usual: float
    start_ns: int
    end_ns: int

    @property
    def stands_out(self) -> bool:
        """Whether the number exceeds chance."""
        return self.packets >= c.LEAST_PACKETS and self.packets >= c.CLEAR * self.usual

    @property
    def why(self) -> str:
        """The reason in words."""
        return WORDS.get(self.reason) or REASONS.get(self.reason, f"reason {self.reason}")

    def row(self) -> dict[str, Any]:
        """The row as evidence, without unknown values and without the number of a missing reason."""
        known = {name: value for name, value in self._asdict().items() if isinstance(value, str) or value >= 0}
        return known | {"why": self.why, "usual": round(self.usual, 1)}

    def __str__(self) -> str:
        if self.reason >= 0:
            return (
                f"{self.switch} dropped {self.packets:,} packets of these connections ({self.why}), usually {self.usual:,.0f}"
            )
        where = f"at interface {max(self.in_interface, self.out_interface)}"
        return f"{self.switch} counted {self.packets:,} {self.why} {where}, usually {self.usual:,.0f}"


def with_switch_losses(view: View, finding: Finding) -> Finding:
    """Add queue depths and the largest losses to a finding on a link or switch.

    A slow link with damaged packets at its ends becomes a lossy one.
    """
    if finding.kind not in ("slow_link", "slow_switch"):
        return finding
    if queued := depths(view, finding):
        finding = replace(finding, evidence={**finding.evidence, "deepest_octets": queued})
    edges = [(a, b) for a, b in finding.evidence.get("edges", ())]
    found = lost(view, finding.ids, finding.start_ns, finding.end_ns, edges)
    if not found:
        return finding
    clear = [one for one in found if one.stands_out]
    damaged = [one for one in clear if one.reason in DAMAGED]
    lossy = finding.kind == "slow_link" and damaged
    return replace(
        finding,
        detector="lossy_link" if lossy else finding.detector,
        message="; ".join([finding.message, *map(str, (damaged or clear)[:1])]),
        evidence={**finding.evidence, "lost": [one.row() for one in found[: c.EXAMINED]]},
    )


def depths(view: View, finding: Finding) -> dict[str, dict[str, int]]:
    """Largest queue, octets, during the finding and at other times, at the switches it names and at its endpoints' leaves."""
    t, names = view.transits, {*finding.ids}
    names |= {leaf for name in finding.ids if view.topology is not None and (leaf := view.topology.leaf(name)) is not None}
    now = (t.start_ns < finding.end_ns) & (t.start_ns + t.bin_ns > finding.start_ns)
    out = {}
    for code, name in enumerate(t.exporters):
        own = (t.sender == code) & (t.depth >= 0)
        if name in names and (own & now).any():
            out[name] = {"meanwhile": int(t.depth[own & now].max())}
            if (own & ~now).any():
                out[name]["else"] = int(t.depth[own & ~now].max())
    return out


def likeliest(view: View, suspects: Sequence[Sequence[str]], start_ns: int, end_ns: int) -> int | None:
    """The one of several suspects, each a set of names, that lost far more than any other for reasons that slow a link."""
    each = [lost(view, ids, start_ns, end_ns) for ids in suspects]
    sums = [sum(one.packets for one in own if one.stands_out and one.reason in (*DAMAGED, *FULL)) for own in each]
    first = int(np.argmax(sums))
    return first if sums[first] and all(i == first or c.CLEAR * n <= sums[first] for i, n in enumerate(sums)) else None


def lost(view: View, ids: Collection[str], start_ns: int, end_ns: int, edges: Collection[tuple[str, str]] = ()) -> list[Lost]:
    """List losses in [start, end] at switches, links or endpoints of these names, and of the edges' packets.

    By place and reason, the largest first.
    """
    every = view.transits.losses
    if not len(every):
        return []
    every = every.take(_concerned(view, every, ids, edges))
    during = (every.start_ns < end_ns) & (every.end_ns > start_ns)
    if not during.any():
        return []
    begin, end = min(start_ns, int(every.start_ns[during].min())), max(end_ns, int(every.end_ns[during].max()))
    seen = min(begin, int(view.flows.start_ns.min())), max(end, view.until, int(view.flows.end_ns.max()))
    share = (end - begin) / rest if (rest := seen[1] - seen[0] - (end - begin)) > 0 else 0.0
    keys = np.stack([every.exporter, every.in_interface, every.out_interface, every.reason])
    places, which = np.unique(keys, axis=1, return_inverse=True)
    out = []
    for i, (code, came, went, reason) in enumerate(places.T.tolist()):
        own = which.ravel() == i
        now, before = own & during, own & ~during
        if now.any():
            times = int(every.start_ns[now].min()), int(every.end_ns[now].max())
            usual = float(every.packets[before].sum()) * share
            packets = int(every.packets[now].sum())
            out.append(Lost(every.exporters[code], came, went, reason, packets, usual, *times))
    return sorted(out, key=lambda one: -one.packets)


def _concerned(view: View, losses: Losses, ids: Collection[str], edges: Collection[tuple[str, str]]) -> Mask:
    """Mask of the rows about the switch, the link between two switches, the endpoints of these names, or the edges."""
    pairs = {frozenset(edge) for edge in edges}
    kinds, which = np.unique(
        np.stack([losses.exporter, losses.src, losses.dst, losses.reason < 0]), axis=1, return_inverse=True
    )
    names, places = (*losses.endpoints, ""), losses.exporters
    each = [
        _counted(view, places[code], names[src] or names[dst], ids)
        if counted
        else frozenset((names[src], names[dst])) in pairs
        or names[src] in ids
        or names[dst] in ids
        or (places[code] in ids and (len(ids) < 2 or _crosses(view, (names[src], names[dst]), ids)))
        for code, src, dst, counted in kinds.T.tolist()
    ]
    return np.array(each, np.bool_)[which.ravel()]


def _counted(view: View, switch: str, owner: str, ids: Collection[str]) -> bool:
    """Whether a switch's counter, at an interface with packets of `owner` only, concerns any of these names."""
    hangs = bool(owner) and _hangs(view, owner, switch)
    return (hangs and owner in ids) or (switch in ids and not (hangs and len(ids) > 1))


def _hangs(view: View, address: str, switch: str) -> bool:
    """Whether an interface with packets of one address only leads directly to it, as far as known."""
    leaf = view.topology.leaf(address) if view.topology is not None else None
    return leaf is None or leaf == switch or (view.topology is not None and switch not in view.topology.switches())


def _crosses(view: View, pair: tuple[str, str], ids: Collection[str]) -> bool:
    """Whether packets of a pair cross both switches, as far as known."""
    a, b = (view.code.get(name, -1) for name in pair)
    path = view.paths.get((a, b)) or view.paths.get((b, a), ())
    return not path or set(ids) <= set(path)
