"""Print the result of `inspect`: tables on a terminal, a line per fact elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from collectors.cli.inspection import Decoded, Dissected, Records

MAX_TALKERS = 10  # talkers
MAX_LAYERS = 40  # lines of the hierarchy
UNLIMITED = 10_000  # columns if the output is no terminal: lines are not wrapped


def console() -> Console:
    """Make a console on standard output that wraps lines and colours words only on a terminal."""
    made = Console(highlight=False, markup=False, emoji=False)
    if not made.is_terminal:
        made.width = UNLIMITED
    return made


def show_capture(
    path: str, dissected: Dissected, decoded: Decoded, hints: Sequence[str], out: Console, *, max_packets: int
) -> None:
    """Print the content of a capture, from its first `max_packets` packets."""
    cut = f", the first {dissected.packets:,} packets" if dissected.packets >= max_packets else ""
    out.print(_line(f"{path}: a capture{cut}", "bold"))
    out.print(
        _line(
            f"{dissected.packets:,} packets, {_octets(dissected.octets)} on the wire, "
            f"{_span(dissected.first_ns, dissected.last_ns)}"
        )
    )
    out.print(_line("link types: " + (", ".join(f"{name} ({n:,})" for name, n in dissected.links.most_common()) or "none")))
    for warning in (*decoded.warnings, *([f"tshark: {dissected.fault}"] if dissected.fault else [])):
        out.print(_line(warning, "yellow"))
    if dissected.packets:
        out.print()
        out.print(_hierarchy(dissected))
    out.print()
    out.print(_used(decoded))
    _talkers(dissected.talkers, out)
    _hints(hints, out)


def show_records(path: str, kind: str, records: Records, out: Console) -> None:
    """Print the content of a file of flow records."""
    out.print(_line(f"{path}: flow records ({kind}){'' if records.whole else f', the first {records.rows:,}'}", "bold"))
    span = _span(records.first_ns, records.last_ns)
    out.print(_line(f"{records.rows:,} records, {_octets(records.octets)}, {span}"))
    if records.exporters:
        out.print(_line(f"switches: {', '.join(records.exporters[:MAX_LAYERS])}"))
    for reason, n in records.skipped.items():
        out.print(_line(f"skipped: {reason} ({n:,})", "yellow"))
    _talkers(records.talkers, out)


def _line(text: str, style: str = "") -> Text:
    """Remove control characters: names come from untrusted files and packets."""
    return Text("".join(c if c.isprintable() else "\ufffd" for c in text), style)


def _octets(n: int) -> str:
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n} octets"


def _span(first_ns: int, last_ns: int) -> str:
    if last_ns <= 0:
        return "no time span"
    begin = _moment(first_ns)
    return f"{(last_ns - first_ns) / 1e9:,.3f} s from {begin}"


def _moment(ns: int) -> str:
    try:
        return f"{datetime.fromtimestamp(ns // 10**9, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (ValueError, OverflowError, OSError):
        return f"{ns} ns"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for i, name in enumerate(columns):
        table.add_column(name, justify="right" if i else "left")
    return table


def _hierarchy(seen: Dissected) -> Table:
    """Show nested protocols with packets and octets, without the rarest if there are many."""
    packets: Counter[tuple[str, ...]] = Counter()
    octets: Counter[tuple[str, ...]] = Counter()
    for stack, n in seen.stacks.items():
        for depth in range(1, len(stack) + 1):
            packets[stack[:depth]] += n
            octets[stack[:depth]] += seen.octets_of[stack]
    shown = {stack for stack, _ in packets.most_common(MAX_LAYERS)}
    table = _table("protocol", "packets", "", "octets")
    for stack in sorted(shown, key=lambda s: _rank(s, packets)):
        share = f"{packets[stack] / seen.packets:.1%}"
        table.add_row(_line("  " * (len(stack) - 1) + stack[-1]), f"{packets[stack]:,}", share, _octets(octets[stack]))
    if len(packets) > len(shown):
        table.add_row(_line(f"and {len(packets) - len(shown)} less frequent", "dim"))
    return table


def _rank(stack: tuple[str, ...], packets: Mapping[tuple[str, ...], int]) -> list[tuple[int, str]]:
    """Sort children below their parent, frequent ones first."""
    return [(-packets[stack[:depth]], stack[depth - 1]) for depth in range(1, len(stack) + 1)]


def _used(decoded: Decoded) -> Table:
    table = _table("Prism would", "packets", "why")
    table.columns[2].justify = "left"
    what = f"{decoded.rdma:,} RoCEv2, {decoded.payload:,} with payload" if decoded.used else decoded.refused
    table.add_row(Text("use", "green" if decoded.used else ""), f"{decoded.used:,}", _line(what))
    for reason, n in sorted(decoded.skipped.items(), key=lambda item: -item[1]):
        table.add_row(Text("skip", "yellow"), f"{n:,}", _line(reason))
    return table


def _talkers(talkers: Counter[tuple[str, str]], out: Console) -> None:
    if not talkers:
        return
    out.print()
    table = _table("top talkers", "", "octets", "")
    table.columns[1].justify = "left"
    total = sum(talkers.values())
    for (src, dst), n in talkers.most_common(MAX_TALKERS):
        table.add_row(_line(src), _line(f"→ {dst}"), _octets(n), f"{n / total:.1%}" if total else "")
    out.print(table)
    if len(talkers) > MAX_TALKERS:
        out.print(_line(f"and {len(talkers) - MAX_TALKERS:,} pairs more", "dim"))


def _hints(hints: Sequence[str], out: Console) -> None:
    if hints:
        out.print()
    for hint in hints:
        out.print(_line(f"• {hint}", "cyan"))
