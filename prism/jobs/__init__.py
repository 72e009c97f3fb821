"""Recognise jobs in flow records: which endpoints train together. No layout is known yet."""

from prism.jobs.job_records import around, largest_first, naming, rows_of
from prism.jobs.recognition import recognize

__all__ = ["around", "largest_first", "naming", "recognize", "rows_of"]
