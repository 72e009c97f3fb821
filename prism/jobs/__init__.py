"""Which endpoints train together: jobs are recognised from flow records, before anything is known of their layout."""

from prism.jobs.job_records import around, largest_first, naming, rows_of
from prism.jobs.recognition import recognize

__all__ = ["around", "largest_first", "naming", "recognize", "rows_of"]
