"""Whether a machine is fit for Prism, and what to do where it is not. Every check is a function of facts; `facts` reads them.

The arithmetic: an IPFIX datagram of 1,364 octets carries 28 records and takes 2,304 octets of receive buffer (Linux: an sk_buff
and its data); the kernel doubles the buffer it is asked for. A record takes 18 octets on disk, and 850 of memory while its
window is analysed. A GPU makes up to 65 records a second (10,000 GPUs: 650,000).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["fine", "unknown", "warning", "error"]
LEVELS: tuple[Level, ...] = ("fine", "unknown", "warning", "error")
MIB = 1 << 20
DATAGRAM_OCTETS = 2304  # of receive buffer: SO_MEMINFO's SK_MEMINFO_RMEM_ALLOC with datagrams of 1,000 to 1,472 octets
DATAGRAM_RECORDS = 28
ROW_OCTETS = 18  # on disk, at 100 million rows
WINDOW_OCTETS = 850  # of memory, per record: the peak of a diagnosis of 737,280
ENGINE_OCTETS = 1 << 30  # the program, its compiled code, the embedded engine with its caches
CAP_NET_RAW = 13  # include/uapi/linux/capability.h


@dataclass(frozen=True)
class Asked:
    """What the machine is for."""

    rate: float = 65_000  # records a second: a thousand GPUs
    pause_s: float = 0.5  # for so long nobody may read the sockets
    buffer_mib: int = 32  # asked of the kernel, `buffer` in the settings
    window_s: float = 60  # analysed at once
    days: float = 7  # records are kept
    interface: str | None = None  # to capture from
    store: str | None = None  # where records are kept
    folder: str = "."  # on whose disk, where the store is not a folder
    ports: tuple[tuple[Literal["udp", "tcp"], int], ...] = ()


@dataclass(frozen=True)
class Clock:
    """What the kernel says of its clock (adjtimex): whether somebody sets it, and by how much it may be wrong, s."""

    synchronised: bool
    error_s: float


@dataclass(frozen=True)
class Store:
    """What became of opening the store, and of writing a row and reading it again.

    `through` names the service that has it and was asked instead; `rows` are what that service counts.
    """

    version: str = ""
    wrote: bool = False
    error: str = ""
    transient: bool = False  # the same may succeed later
    absent: bool = False  # nobody has made it yet
    through: str = ""
    rows: int = 0


@dataclass(frozen=True)
class Facts:
    """What is so on a machine; None where it could not be found out."""

    granted: int | None = None  # octets of receive buffer when `buffer_mib` are asked for
    rmem_max: int | None = None
    rmem_default: int | None = None
    clock: Clock | None = None
    capabilities: int | None = None  # bits of CapEff
    packet_sockets: str | None = None  # "" where one can be opened, else why not
    interface: str | None = None  # "up", "down", "missing"
    store: Store | None = None
    disk_free: int | None = None
    disk_writable: bool | None = None
    ports: dict[tuple[str, int], str] = field(default_factory=dict)  # "" where free, else why not
    files: int | None = None  # that may be open at a time
    memory: int | None = None  # octets available
    python: tuple[int, ...] = ()
    cache: tuple[str, bool] | None = None  # where compiled code is kept, and whether it may be written


@dataclass(frozen=True)
class Check:
    """What was looked at, how it is, and what to do."""

    name: str
    level: Level
    said: str
    advice: str = ""


def examine(facts: Facts, asked: Asked) -> tuple[Check, ...]:
    """All checks, in order."""
    return tuple(check(facts, asked) for check in CHECKS)


def worst(checks: tuple[Check, ...]) -> Level:
    """The worst level of some checks; what could not be found out is no complaint."""
    return max((c.level for c in checks if c.level != "unknown"), key=LEVELS.index, default="fine")


def receive_buffer(facts: Facts, asked: Asked) -> Check:
    """Whether the receive buffer holds what comes while nobody reads."""
    name = "receive buffer"
    if facts.granted is None:
        return Check(name, "unknown", "no socket could be tested")
    datagrams = asked.rate / DATAGRAM_RECORDS
    need = int(datagrams * asked.pause_s * DATAGRAM_OCTETS)
    holds = 2 * facts.granted / DATAGRAM_OCTETS / datagrams if datagrams else float("inf")
    said = (
        f"the kernel grants {_mib(facts.granted)} of {asked.buffer_mib} MiB requested, enough for {holds:.2g} s of "
        f"{asked.rate:,.0f} records/s ({datagrams:,.0f} datagrams/s); its default is {_mib(facts.rmem_default)}"
    )
    if 2 * facts.granted >= need:
        return Check(name, "fine", said)
    wanted = max(asked.buffer_mib * MIB, -(-need // 2))
    advice = f"run sysctl -w net.core.rmem_max={wanted}, and add it to /etc/sysctl.d/90-prism.conf"
    if wanted > asked.buffer_mib * MIB:
        advice += f"; set buffer = {-(-wanted // MIB)} in the settings"
    return Check(name, "warning", said, advice)


def clock(facts: Facts, asked: Asked) -> Check:  # noqa: ARG001 - all checks are called alike
    """Whether the clock is set by somebody, and how wrong it may be."""
    name = "clock"
    if facts.clock is None:
        return Check(name, "unknown", "the kernel does not report the state of its clock")
    if not facts.clock.synchronised:
        advice = "install chrony or enable systemd-timesyncd; exporters and this machine need the same time"
        return Check(name, "warning", "the clock is not synchronised (NTP, PTP)", advice)
    said = f"synchronised, error at most {facts.clock.error_s * 1000:.3g} ms"
    if facts.clock.error_s > 0.1:
        return Check(name, "warning", said, "use a nearer NTP server; the analysis needs an error below 100 ms")
    return Check(name, "fine", said)


def packet_capture(facts: Facts, asked: Asked) -> Check:
    """Whether packets can be captured; a complaint only where they are to be."""
    name = "capture"
    bad: Level = "error" if asked.interface else "fine"
    only = "" if asked.interface else "; only prism-collect capture and erspan need it"
    if facts.interface == "missing":
        return Check(name, "error", f"interface {asked.interface} does not exist", "list the interfaces with ip link")
    if facts.interface == "down":
        return Check(name, "warning", f"{asked.interface} is down", f"run ip link set {asked.interface} up")
    if facts.capabilities is not None and not facts.capabilities >> CAP_NET_RAW & 1:
        advice = "start it with deploy/prism-collect-capture.service, which grants only CAP_NET_RAW"
        return Check(name, bad, f"the capability CAP_NET_RAW is missing{only}", advice if asked.interface else "")
    if facts.packet_sockets is None:
        return Check(name, "unknown", "packet sockets could not be tested")
    if facts.packet_sockets:
        advice = "use a kernel with CONFIG_PACKET, outside a sandbox that forbids AF_PACKET" if asked.interface else ""
        return Check(name, bad, f"packet sockets are not available: {facts.packet_sockets}{only}", advice)
    return Check(name, "fine", "packet sockets (AF_PACKET) are available")


def store(facts: Facts, asked: Asked) -> Check:
    """Whether the store answers and takes rows."""
    name = "store"
    if facts.store is None:
        return Check(name, "unknown", "not tested; give --store FOLDER or clickhouse://…")
    if facts.store.through:
        return Check(name, "fine", f"{facts.store.through} uses it: {facts.store.rows:,} flow records")
    if facts.store.absent:
        advice = f"create it with prism store init {asked.store}; prism serve creates its own at its first start"
        return Check(name, "warning", facts.store.error, advice)
    if facts.store.error:
        level: Level = "warning" if facts.store.transient else "error"
        advice = (
            "if a running Prism uses it, see its /readyz"
            if facts.store.transient
            else "check the address, the user and the log of the store"
        )
        return Check(name, level, facts.store.error, advice)
    if not facts.store.wrote:
        return Check(name, "error", f"ClickHouse {facts.store.version} did not return the test row", f"check {asked.store}")
    return Check(name, "fine", f"ClickHouse {facts.store.version}: the test row was written and read")


def disk(facts: Facts, asked: Asked) -> Check:
    """Whether the disk holds what is to be kept."""
    name = "disk"
    if facts.disk_writable is False:
        return Check(
            name, "error", f"{asked.folder} is not writable", f"run chown for the user that runs Prism: {asked.folder}"
        )
    if facts.disk_free is None:
        return Check(name, "unknown", f"the free space of {asked.folder} is not known")
    need = asked.rate * 86_400 * asked.days * ROW_OCTETS
    said = f"{_gib(facts.disk_free)} free; {asked.days:g} days of {asked.rate:,.0f} records/s need {_gib(need)}"
    if facts.disk_free >= need * 1.2:  # merges need room
        return Check(name, "fine", said)
    fits = facts.disk_free / 1.2 / (asked.rate * 86_400 * ROW_OCTETS)
    return Check(
        name, "warning", said, f"the disk holds {fits:.2g} days; keep fewer days, sample at the exporters, or use a larger disk"
    )


def ports(facts: Facts, asked: Asked) -> Check:
    """Whether the ports are free."""
    name = "ports"
    taken = {place: why for place, why in facts.ports.items() if why}
    if not taken:
        shown = ", ".join(f"{number}/{kind}" for kind, number in asked.ports)
        return Check(name, "fine", f"free: {shown}" if shown else "no port was given")
    shown = ", ".join(f"{number}/{kind} ({why})" for (kind, number), why in taken.items())
    return Check(name, "warning", f"in use: {shown}", "unless this is Prism itself, find the process with ss -lunpt")


def open_files(facts: Facts, asked: Asked, *, least: int = 4096) -> Check:  # noqa: ARG001
    """Whether enough files may be open at a time: the engine opens some per part and column."""
    name = "open files"
    if facts.files is None:
        return Check(name, "unknown", "the limit could not be read")
    if facts.files >= least:
        return Check(name, "fine", f"limit {facts.files:,}")
    return Check(
        name,
        "warning",
        f"limit {facts.files:,}, at least {least:,} are needed",
        f"set LimitNOFILE={least * 16} in the unit, or ulimit -n",
    )


def memory(facts: Facts, asked: Asked) -> Check:
    """Whether a window fits into memory beside the rest."""
    name = "memory"
    if facts.memory is None:
        return Check(name, "unknown", "the available memory could not be read")
    need = ENGINE_OCTETS + asked.rate * asked.window_s * WINDOW_OCTETS
    said = f"{_gib(facts.memory)} available; windows of {asked.window_s:g} s need {_gib(need)}"
    if facts.memory >= need:
        return Check(name, "fine", said)
    return Check(name, "error" if facts.memory < need / 2 else "warning", said, "use shorter windows, sampling, or more memory")


def compiled_code(facts: Facts, asked: Asked) -> Check:  # noqa: ARG001
    """Whether compiled code can be kept: else every start takes half a minute."""
    name = "compiled code"
    if facts.python and facts.python < (3, 11):
        return Check(name, "error", f"Python {'.'.join(map(str, facts.python))}", "Prism needs Python 3.11 or newer")
    if facts.cache is None:
        return Check(name, "unknown", "its folder is not known")
    folder, writable = facts.cache
    if writable:
        return Check(name, "fine", f"stored in {folder}")
    advice = "set NUMBA_CACHE_DIR to a writable folder; otherwise every start compiles again"
    return Check(name, "warning", f"{folder} is not writable", advice)


def _mib(octets: float | None) -> str:
    return "?" if octets is None else f"{octets / MIB:.3g} MiB"


def _gib(octets: float) -> str:
    return f"{octets / (1 << 30):.3g} GiB"


CHECKS: tuple[Callable[[Facts, Asked], Check], ...] = (
    receive_buffer,
    clock,
    packet_capture,
    store,
    disk,
    ports,
    open_files,
    memory,
    compiled_code,
)
