"""Count damage in a capture by reason, and write a few warnings for the user."""

from __future__ import annotations

from collections import Counter

from collectors.files.compression import explain_error

MAX_LINES = 5  # damages with their own line
RECORD, BLOCK = "damaged packet record", "damaged block"
UNDESCRIBED, TOO_LONG = "packet of an undescribed interface", "packet longer than its block"
REASONS = (RECORD, BLOCK, UNDESCRIBED, TOO_LONG)
FRACTION = "fraction of a second over one second"
JUMP = "time more than a day from that of the packets before and after"


class Damage:
    """Damage of one capture file `name`. `skipped`: unread packets by reason. `lines`: warnings.

    `packed`: the file is compressed; offsets are those of the uncompressed data.
    """

    def __init__(self, name: str) -> None:
        self.name, self.packed = name, False
        self.lines: list[str] = []
        self.skipped, self.mended = Counter[str](), Counter[str]()
        self._places = self._octets = self._cuts = 0

    def place(self, offset: int) -> str:
        """Format file and offset for messages."""
        return f"{self.name}: offset {offset}{' of the uncompressed data' if self.packed else ''}"

    def warn(self, offset: int, message: str) -> None:
        """Add a warning about damage at an offset in the file."""
        self.lines.append(f"{self.place(offset)}: {message}")

    def end(self, offset: int, part: str, error: Exception | None) -> None:
        """Warn that the file ends inside the `part` at an offset."""
        self.warn(offset, f"the file ends inside this {part}{_why(error)}; the records before it were read")

    def stop(self, offset: int, error: Exception) -> None:
        """Warn that the file cannot be read from an offset on."""
        self.warn(offset, f"cannot be read: {explain_error(error)}; the rest of the file is not read")

    def lose(self, offset: int, reason: str, details: str, error: Exception | None) -> None:
        """Count damage without valid data after it, and warn."""
        self.warn(offset, f"{reason} {details}{_why(error)}; no valid one follows, the rest of the file is not read")
        self.skipped[reason] += 1

    def skip(self, offset: int, until: int, reason: str) -> None:
        """Count damage and the octets skipped because of it."""
        self.skipped[reason] += 1
        self._places += 1
        if self._places <= MAX_LINES:
            self.warn(offset, f"{reason}; {until - offset:,} octets skipped, reading continues at offset {until}")
        else:
            self._octets += until - offset

    def cut(self, offset: int, claimed: int, kept_octets: int) -> None:
        """Count a packet whose length was corrected."""
        self._cuts += 1
        if self._cuts <= MAX_LINES:
            self.warn(
                offset, f"damaged length of a packet record: {claimed:,} octets, but the next one starts after {kept_octets:,}"
            )

    def count_corrected_times(self, reason: str, packets: int) -> None:
        """Count packets whose time was corrected."""
        if packets:
            self.mended[reason] += packets

    def finish(self) -> None:
        """Add the warnings that need the end of the file."""
        more = self._places - MAX_LINES
        if more > 0:
            self.lines.append(f"{self.name}: damage at {more:,} more places, {self._octets:,} octets skipped")
        if self._cuts > MAX_LINES:
            self.lines.append(f"{self.name}: damaged lengths of {self._cuts - MAX_LINES:,} more packet records")
        for reason, count in sorted(self.mended.items()):
            packets = "packet" if count == 1 else "packets"
            self.lines.append(f"{self.name}: {count:,} {packets} with a {reason}; read with a corrected time")
        self.mended.clear()
        self._places = self._cuts = 0


def _why(error: Exception | None) -> str:
    return f" ({explain_error(error)})" if error else ""
