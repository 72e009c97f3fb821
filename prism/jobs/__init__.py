"""Which endpoints train together: jobs are recognised from flow records, before anything is known of their layout."""

from prism.jobs.recognition import recognize
from prism.jobs.records import around, largest_first, naming, rows_of

__all__ = ["around", "largest_first", "naming", "recognize", "rows_of"]
