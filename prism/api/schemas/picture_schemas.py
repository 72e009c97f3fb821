"""Schemas of pictures of jobs: deviations by rank and step, shares of phases over time."""

from __future__ import annotations

from prism.api.schemas.job_schemas import Model, Ns, Number
from prism.model import Phase


class PictureRow(Model):
    """A rank, or `ranks` together: those of a stage and DP group; null if they belong to several."""

    ranks: int
    rank: int | None
    endpoint: str | None
    host: str | None
    stage: int | None
    group: int | None


class ArrangedRow(PictureRow):
    """A row of deviations: median increase of its ranks over the usual time, ms per step."""

    deviation_ms: Number


class Arranged(Model):
    """Deviations from the baseline, ms: a row per row, a column per [first, last] steps. The culprit's group comes first.

    `own_past`: the baseline is each rank's own past; else that of its stage.
    """

    zero_ns: Ns
    measure: str
    rows: list[ArrangedRow]
    steps: list[list[int]]
    value: list[list[Number]]
    binned: int
    usual_ms: Number
    own_past: bool


class ShareRow(PictureRow):
    """A row of a timeline of shares. `rail`: the NIC of its host."""

    rail: int | None


class Shares(Model):
    """Shares of phases over time. `share`: by row and bin of `bin_ms`, as [index into `phases`, share]."""

    zero_ns: Ns
    bin_ms: float
    phases: list[Phase]
    ranks_total: int
    rows: list[ShareRow]
    share: list[list[list[list[float]]]]
