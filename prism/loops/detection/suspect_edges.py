"""Find the one part that explains bad edges: the suspect whose edges are the bad ones, and only those."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import Literal, NamedTuple

from prism.loops.arrays.edges import Pair

Kind = Literal["endpoint", "link", "switch"]


class Suspect(NamedTuple):
    """An endpoint (its code), a link between two switches or endpoints (names or codes), or a switch."""

    kind: Kind
    what: tuple[int | str, ...]


Way = tuple[Suspect, str]  # direction in which an edge touches a suspect


class Verdict(NamedTuple):
    """A suspect, the share of bad edges that it explains, and the share of its edges that are bad."""

    suspect: Suspect
    coverage: float
    precision: float

    @property
    def fit(self) -> float:
        """Harmonic mean of coverage and precision, 0 … 1."""
        both = self.coverage + self.precision
        return 2 * self.coverage * self.precision / both if both else 0.0


def verdicts(bad: Iterable[Pair], good: Iterable[Pair], paths: Mapping[Pair, tuple[str, ...]]) -> list[Verdict]:
    """List every suspect that touches a bad edge, the best first.

    `paths` names the switches of each edge. An endpoint or link may be bad in one direction only. A switch may be bad only
    towards other switches: all its uplinks are.
    """
    bad, good = set(bad), set(good)
    sets: dict[Way, set[Pair]] = {way: set() for edge in bad for way in touched(edge, paths.get(edge, ()))}
    sent, received = defaultdict[int | str, list[set[Pair]]](list), defaultdict[int | str, list[set[Pair]]](list)
    for (suspect, way), own in sets.items():
        if suspect.kind == "endpoint":
            for side in {"out": (sent,), "in": (received,), "both": (sent, received)}[way]:
                side[suspect.what[0]].append(own)
    crossed = cache(lambda path: [sets[way] for way in _crossed(path) if way in sets])  # many edges share a path
    for edge in bad | good:
        for own in (*sent.get(edge[0], ()), *received.get(edge[1], ()), *crossed(paths.get(edge, ()))):
            own.add(edge)
    links = {frozenset(own) for (suspect, _), own in sets.items() if suspect.kind == "link"}
    best: dict[Suspect, tuple[Verdict, int]] = {}
    for (suspect, way), own in sets.items():
        hits = own & bad
        if not (way == "beyond" and own in links):  # for a switch with one uplink, the link is the suspect
            verdict = Verdict(suspect, len(hits) / len(bad), len(hits) / len(own))
            if suspect not in best or (verdict.fit, -len(own)) > (best[suspect][0].fit, -best[suspect][1]):
                best[suspect] = verdict, len(own)
    order = {"endpoint": 0, "link": 1, "switch": 2}
    ranked = sorted(best.values(), key=lambda b: (-b[0].fit, order[b[0].suspect.kind], str(b[0].suspect.what)))
    return [verdict for verdict, _ in ranked]


def touched(edge: Pair, path: tuple[str, ...]) -> list[Way]:
    """List the suspects that an edge touches, with the direction."""
    src, dst = edge
    ends = ((src, "out"), (src, "both"), (dst, "in"), (dst, "both"))
    return [(Suspect("endpoint", (end,)), way) for end, way in ends] + _crossed(path)


def _crossed(path: tuple[str, ...]) -> list[Way]:
    """List the links and switches of a path, with the direction."""
    out: list[Way] = []
    for a, b in pairwise(path):
        link = Suspect("link", tuple(sorted((a, b))))
        out += [(link, "both"), (link, f"{a}>{b}")]
    for switch in path:
        out += [(Suspect("switch", (switch,)), way) for way in ("both", "beyond")[: len(path)]]
    return out


def seen_to_queue(verdict: Verdict, hops: Collection[tuple[str, ...]]) -> Verdict:
    """Set the precision to 1 for a link that all bad edges cross and where alone packets queue, on `hops`.

    Edges that cross it at other moments are not slowed.
    """
    alone = bool(hops) and all(set(hop) == set(verdict.suspect.what) for hop in hops)
    return verdict._replace(precision=1.0) if alone and verdict.suspect.kind == "link" and verdict.coverage == 1.0 else verdict
