"""List the steps that a finding covers, and the ranks that it blames."""

from __future__ import annotations

import numpy as np

from prism.graph.job_view import View
from prism.model import Finding


def steps_of(view: View, finding: Finding) -> tuple[int, int]:
    """First step of a finding, and the step after its last."""
    if not len(view.ends):
        return 0, 0
    first = int(np.argmin(np.abs(view.begins - finding.start_ns)))
    return first, max(int(np.argmin(np.abs(view.ends - finding.end_ns))) + 1, first + 1)


def covers_all_steps(view: View, finding: Finding) -> bool:
    """Whether a finding covers all steps of a job, so that only peers show what is usual; the first step may be missing."""
    start, stop = steps_of(view, finding)
    return stop - start >= len(view.ends) - 1


def ranks_of(view: View, finding: Finding) -> list[int]:
    """Ranks that a finding blames, with the ranks of their hosts that wait for them invisibly."""
    topology, place = view.topology, {a: i for i, a in enumerate(view.job.endpoints)}
    named = {*finding.ids, *finding.evidence.get("ranks", ())}
    own = {a for a in place if a in named or (topology is not None and topology.host(a) in named)}
    for members in view.parallelism.unseen:
        if own & set(members):
            own |= set(members)
    return sorted(place[a] for a in own)
