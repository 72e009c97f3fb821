"""Read a capture on disk directly into the flow table, compiled, without making batches.

A piece of the file is read, split into records, decoded and followed while it is in the processor's cache. This saves most of
the time of separate passes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from collectors.aggregation.batch_decoder import SPARE, Decoder, FollowResult, How, Undecoded, Unread
from collectors.captures.file_windows import ADDRESS, AT, END, FILE, FROM, LAST, ROOM
from collectors.captures.pcap import Capture
from collectors.captures.record_framing import DAMAGED
from collectors.compilation.primitives import compiled, move, part, read_at
from collectors.flows.flow_state import Table
from collectors.flows.frame_classification import classify_blocks, classify_records
from collectors.flows.single_switch import follow_some, room_for
from collectors.packets.compiled_decoder.link_layer import LINK_TYPES

_1 = np.uint64(1)
MOST = 1 << 26  # octets to read before returning


@dataclass(frozen=True)
class Rest(Unread):
    """The unread rest of a capture."""

    decoder: Decoder
    capture: Capture

    def follow_on(self, table: Table, how: How, clock: int) -> FollowResult:
        """Follow the next packets as far as possible; `clock`: time of the previous packet."""
        window, records, interfaces = self.capture.window(), self.capture.records, self.capture.interfaces
        if window is None or records is None or interfaces is None or not np.isin(interfaces[:, 0], LINK_TYPES).all():
            return FollowResult(0, 0, False, clock)
        means, known = self.decoder.means(SPARE, how)
        most = window[FROM] + MOST
        past, followed, back, known, clock = follow_records(table, window, records, interfaces, most, means, known, clock)
        self.capture.moved(window, past)
        self.decoder.followed(known, np.array([records.link_type]))
        return FollowResult(past, followed, back, clock)


def read(capture: Capture, decoder: Decoder) -> Iterator[Undecoded | Unread]:
    """Prepare a capture for `FlowTable.add`."""
    batches, seen = iter(capture), -1
    while True:
        while capture.records and seen != capture.packets:
            seen = capture.packets
            yield Rest(decoder, capture)
        batch = next(batches, None)
        if batch is None:
            return
        yield decoder.later(batch)


@compiled
def follow_records(t: Any, window: Any, how: Any, interfaces: Any, until: int, means: Any, known: int, clock: int) -> Any:
    """Follow the next pcap records (pcapng blocks if there are `interfaces`), as `single_switch.follow_frames` does.

    Reads on in the file up to `until`, and stops before anything unusual. Returns the number of frames; the rest as there.
    `window`: see `file_windows.window`; it is updated. `how`: see `record_framing.Records`.
    """
    hints = means.scratch.hints
    past: Any = np.int64(0)
    followed: Any = np.int64(0)
    whole = True
    while whole and room_for(t, means, known):
        begin, at, end, last_ns = window[ADDRESS], window[AT], window[END], window[LAST]
        if len(interfaces):
            n, at, fault = classify_blocks(begin, at, end, interfaces, last_ns, hints, t.near, means.seen)
        else:
            n, at, fault = classify_records(begin, at, end, how, last_ns, hints, t.near, means.seen)
        if n == 0:
            if fault == DAMAGED or window[FROM] >= until or not _read_more(window):
                break
            continue
        upto, taken, known, clock = follow_some(t, hints, n, means, known, clock)
        whole = upto == n
        followed += taken
        past += np.int64(upto)
        if upto > 0:
            window[LAST] = hints[upto - _1].time_ns
        window[AT] = at if whole else hints[upto].at - window[ADDRESS] - how[0]
    return past, followed, not whole, known, clock


@part
def _read_more(window: Any) -> Any:
    """Keep unread octets in the window and read more of the file; return whether there was room and data."""
    rest = window[END] - window[AT]
    room = window[ROOM] - rest
    if room <= 0:
        return False
    if window[AT] > 0:
        move(window[ADDRESS], window[ADDRESS] + window[AT], rest)
    window[AT], window[END] = 0, rest
    got = read_at(window[FILE], window[ADDRESS] + rest, room, window[FROM])
    if got <= 0:
        return False
    window[END] += got
    window[FROM] += got
    return True
