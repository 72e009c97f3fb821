"""Run `prism-collect capture` and `erspan`: make the ring, the filter and the sink from the options."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from collectors.captures.bpf import Instruction, compile_filter, gre, keep_all, roce_ends
from collectors.captures.packet_ring import Ring
from collectors.exports.admission import Network
from collectors.live._mirror_sessions import Mirrors, named_switches
from collectors.live.live_capture import Capturer, OneSwitch, warm
from collectors.live.session import run, signals, sink_to
from collectors.operations import logs
from collectors.operations.logs import log_event

ERSPAN_HORIZON_NS = 200_000_000
SNAPLEN, ERSPAN_SNAPLEN = 256, 384


@dataclass(frozen=True)
class CaptureOptions:
    """Common options of `capture` and `erspan`; `buffer` is in octets, `active` and `wait` are seconds."""

    interface: str
    out: str
    rows: int
    seconds: float
    buffer: int
    active: float
    wait: float
    metrics: str | None


def run_capture(wish: CaptureOptions, *, name: str | None, expression: str | None, ends: bool, promiscuous: bool) -> None:
    """Capture until SIGTERM or SIGINT. `ends`: only RoCEv2, without middle packets. Raises OSError, ValueError."""
    if expression and ends:
        raise ValueError("--filter and --roce-ends cannot be combined; give one of them")
    program = roce_ends(SNAPLEN) if ends else compile_filter(expression, SNAPLEN) if expression else keep_all(SNAPLEN)
    switch = name or wish.interface
    if "|" in switch:
        raise ValueError("the name of a switch must not contain |; choose another --name")
    _run(wish, program, OneSwitch(switch), promiscuous=promiscuous)


def run_erspan(wish: CaptureOptions, switches: Sequence[str], allow_list: Callable[[], tuple[Network, ...] | None]) -> None:
    """Receive ERSPAN and GRE until SIGTERM or SIGINT. `allow_list` reads the list. Raises OSError, ValueError."""
    mirrors = Mirrors(named_switches(switches), allowed=allow_list())

    def reload() -> None:
        try:
            mirrors.reload(allow_list())
        except (OSError, ValueError) as error:
            log_event("settings not reloaded, the old ones stay", level=logging.ERROR, error=error)
        else:
            log_event("settings reloaded", networks="all" if mirrors.allowed is None else len(mirrors.allowed))

    if mirrors.allowed is None:
        logs.start()
        log_event("any host may send mirrored packets", level=logging.WARNING, hint="list the switches with --allow")
    _run(wish, gre(ERSPAN_SNAPLEN), mirrors, reload=reload, promiscuous=False, horizon_ns=ERSPAN_HORIZON_NS)


def _run(
    wish: CaptureOptions,
    program: Sequence[Instruction],
    splits: OneSwitch | Mirrors,
    *,
    reload: Callable[[], None] = lambda: None,
    promiscuous: bool,
    horizon_ns: int = 0,
) -> None:
    logs.start()
    with signals() as asked:
        sink = sink_to(wish.out, rows=wish.rows, seconds=wish.seconds)
        warm()
        ring = Ring(wish.interface, program, octets=wish.buffer, promiscuous=promiscuous)
        timeouts = {"wait_ns": int(wish.wait * 1e9), "active_ns": int(wish.active * 1e9)}
        capturer = Capturer(ring, splits, sink, **timeouts, horizon_ns=horizon_ns)
        log_event("capturing", interface=wish.interface, buffer=wish.buffer)

        def between() -> None:
            if asked.reload.is_set():
                asked.reload.clear()
                reload()

        run(lambda: capturer.run(asked.stop, between=between), capturer.counts, metrics=wish.metrics)
