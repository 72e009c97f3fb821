"""List the ranks that a finding blames."""

from __future__ import annotations

from prism.graph.job_view import View
from prism.model import Finding


def ranks_of(view: View, finding: Finding) -> list[int]:
    """Ranks that a finding blames, with the ranks of their hosts that wait for them invisibly."""
    topology, place = view.topology, {a: i for i, a in enumerate(view.job.endpoints)}
    named = {*finding.ids, *finding.evidence.get("ranks", ())}
    own = {a for a in place if a in named or (topology is not None and topology.host(a) in named)}
    for members in view.parallelism.unseen:
        if own & set(members):
            own |= set(members)
    return sorted(place[a] for a in own)
