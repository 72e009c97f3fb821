"""Find ranks that work longer than their context-parallel mates, with which they share each layer.

Mates exchange blocks in each layer, so that a pipeline's schedule changes the pieces of all of them equally.
"""

from __future__ import annotations

import numpy as np

from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import OFTEN, RARE, Shift, by_chance, even, held, middle, shifts, spread


def above_mates(view: View, height: float, sigmas: float) -> list[tuple[int, Shift, tuple[int, ...], float]]:
    """Find ranks whose largest piece was longer than their mates' in some steps, as was a typical one in most of these.

    A rank that only waited longer has one more long piece, and no other longer one. Returns for each the span, its mates, and
    the largest change of the logarithm of their largest pieces: at most half of the excess.
    """
    place, out = {address: i for i, address in enumerate(view.job.endpoints)}, []
    levels = np.log(view.work[0]), np.log(view.work[1])
    for ranks in ([place[m] for m in g.members] for g in view.parallelism.groups if g.kind == "cp"):
        typical, largest = (_above(level[ranks]) for level in levels)
        sigma = spread(largest)
        for i, rank in enumerate(ranks):
            for one in shifts(largest[i], sigma, least=view.least, height=height, score=sigmas):
                seen, most = (held(own[i], one, one.height / 2) for own in (largest, typical))
                if not even(largest[i], one, sigma) or seen < OFTEN or most <= 0.5:
                    continue
                mates = [m for m in ranks if m != rank]
                moved = middle(levels[1][mates, one.start : one.stop], axis=1) - middle(levels[1][mates], axis=1)
                rest = float(np.nanmax(np.abs(moved), initial=0.0))
                if 2 * rest <= one.height and by_chance(largest, i, one) <= RARE:
                    out.append((rank, one, tuple(mates), rest))
    return out


def _above(level: Floats) -> Floats:
    """Excess of each row over the median of the others; float64[ranks, steps]."""
    return np.stack([own - middle(np.delete(level, i, axis=0), axis=0)[0] for i, own in enumerate(level)])
