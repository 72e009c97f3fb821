"""Keep the counters of a decoder and of each exporter, by the names in `counter_names`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from collectors.columns.record import Codes, Ints, Mask


class Accounts:
    """Counters in total and per exporter of a batch; `books[i]` is the tally of exporter i, or None."""

    def __init__(self, tally: Counter[str], books: Sequence[Counter[str] | None]) -> None:
        self.tally, self.books = tally, books

    def add(self, name: str, count: int, exporter: int) -> None:
        """Count for one exporter."""
        if count:
            self.tally[name] += count
            book = self.books[exporter]
            if book is not None:
                book[name] += count

    def add_all(self, name: str, exporter: Codes | Ints, counts: Ints | Mask | None = None) -> None:
        """Count for the exporter of each row, 1 or the given counts."""
        if not len(exporter):
            return
        if counts is None:
            sums = np.bincount(exporter, minlength=len(self.books))
        else:
            sums = np.bincount(exporter, np.asarray(counts, np.float64), len(self.books)).astype(np.int64)
        for i in np.flatnonzero(sums).tolist():
            self.add(name, int(sums[i]), i)
