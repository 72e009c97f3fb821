"""Read the facts of this machine for `doctor`: open what Prism would open, and change nothing.

Only the store is written, if there is one: one row in a separate table, which the next check replaces.
"""

from __future__ import annotations

import ctypes
import os
import resource
import socket
import struct
import sys
import time
from contextlib import closing
from pathlib import Path

from prism.app.doctor import MIB, Clock, Facts, Requirements, Store

TIMEX = "@iqqqqiqqqqqq"  # struct timex of Linux up to `tick`; adjtimex(2)
UNSYNCHRONISED = 0x40  # STA_UNSYNC


def read(requirements: Requirements) -> Facts:
    """Read all facts; None for unknown ones."""
    folder = _existing_folder(requirements.folder)
    return Facts(
        granted=_granted(requirements.buffer_mib * MIB),
        rmem_max=_number("/proc/sys/net/core/rmem_max"),
        rmem_default=_number("/proc/sys/net/core/rmem_default"),
        clock=_clock(),
        capabilities=_capabilities(),
        packet_sockets=_packet_sockets(),
        interface=_interface(requirements.interface) if requirements.interface else None,
        store=_store(requirements.store) if requirements.store else None,
        disk_free=_free(folder),
        disk_writable=os.access(folder, os.W_OK),
        ports={(kind, port): _taken(kind, port) for kind, port in requirements.ports},
        files=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        memory=_memory(),
        python=tuple(sys.version_info[:3]),
        cache=_cache(),
    )


def _existing_folder(path: str) -> Path:
    """Return the folder, or its nearest existing parent, in which it would be created."""
    at = Path(path).absolute()
    while not at.exists() and at != at.parent:
        at = at.parent
    return at


def _number(path: str) -> int | None:
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None


def _granted(octets: int) -> int | None:
    """Return the receive buffer that the kernel grants a UDP socket without CAP_NET_ADMIN; the kernel reports twice the
    size.
    """
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, octets)
            return probe.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) // 2
    except OSError:
        return None


def _clock() -> Clock | None:
    buffer = ctypes.create_string_buffer(512)  # modes = 0: read only
    try:
        if ctypes.CDLL(None).adjtimex(buffer) < 0:
            return None
    except (AttributeError, OSError):
        return None
    _, _, _, most_us, _, status, *_ = struct.unpack_from(TIMEX, buffer.raw)
    return Clock(not status & UNSYNCHRONISED, most_us / 1e6)


def _capabilities() -> int | None:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1], 16) for line in lines if line.startswith("CapEff:")), None)


def _packet_sockets() -> str | None:
    if not hasattr(socket, "AF_PACKET"):
        return "this system does not have them"
    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()  # protocol 0: receives nothing
    except OSError as error:
        return error.strerror
    return ""


def _interface(name: str) -> str | None:
    """State of an interface: `up`, `down` or `missing`; flag IFF_UP of netdevice(7)."""
    if name not in {known for _, known in socket.if_nameindex()}:
        return "missing"
    flags = Path(f"/sys/class/net/{name}/flags")
    try:
        return "up" if int(flags.read_text(), 16) & 1 else "down"
    except (OSError, ValueError):
        return None


def _free(folder: Path) -> int | None:
    try:
        status = os.statvfs(folder)
    except OSError:
        return None
    return status.f_bavail * status.f_frsize


def _taken(kind: str, port: int) -> str:
    """Reason why a port cannot be bound on all addresses; empty if it can."""
    socket_type = socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM
    with socket.socket(socket.AF_INET, socket_type) as probe:
        if kind == "tcp":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections in TIME_WAIT do not occupy the port
        try:
            probe.bind(("", port))
        except OSError as error:
            return error.strerror or str(error)
    return ""


def _memory() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), None)


def _cache() -> tuple[str, bool]:
    """Folder of numba's compiled code: NUMBA_CACHE_DIR, else beside the source, else in the user's cache."""
    import collectors

    named = os.environ.get("NUMBA_CACHE_DIR")
    beside = Path(collectors.__file__).parent / "__pycache__"
    home = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "numba"
    for folder in [Path(named)] if named else [beside, home]:
        if os.access(_existing_folder(str(folder)), os.W_OK):
            return str(folder), True
    return named or str(beside), False


def _store(where: str) -> Store:
    from collectors.clickhouse.drivers import StoreError, Table, TableColumn, opened
    from collectors.clickhouse.store_error import AbsentError, InUseError
    from prism.app.store_status import place

    table = Table(
        "prism_doctor",
        (TableColumn("name", "String"), TableColumn("at_ns", "Int64")),
        ("name",),
        replacing="at_ns",
    )
    try:
        with closing(opened(place(where), make=False)) as database:
            version = str(database.query("SELECT version() AS version")["version"][0])
            database.create(table)
            now = time.time_ns()
            database.insert(table, {"name": ["doctor"], "at_ns": [now]}, token=f"doctor {now}")
            seen = database.query("SELECT max(at_ns) AS at_ns FROM prism_doctor")["at_ns"]
    except InUseError:
        return _from_service(where)
    except StoreError as error:
        return Store(error=str(error), transient=error.transient, absent=isinstance(error, AbsentError))
    return Store(version, bool(len(seen) and int(seen[0]) >= now))


def _from_service(where: str) -> Store:
    """Read the state of a store from the running service that has it."""
    from collectors.clickhouse.store_error import StoreError
    from prism.app.store_status import tables_of

    try:
        found = tables_of(where)
    except StoreError as error:
        return Store(error=str(error), transient=True)
    rows = sum(table.rows for table in found.tables if table.name == "flows")
    through = f"the service at {found.through.url} (process {found.through.process})" if found.through else ""
    return Store(error="" if through else f"{where}: in use a moment ago", transient=True, through=through, rows=rows)
