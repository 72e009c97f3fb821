"""Check whether a machine meets the needs of Prism, and advise what to change. Checks are functions of facts; `machine_facts`
reads them.

The arithmetic: an IPFIX datagram of 1,364 octets carries 28 records and takes 2,304 octets of receive buffer (Linux: an sk_buff
and its data); the kernel doubles the buffer size that is requested. A record takes 18 octets on disk, and 850 octets of memory
while its window is analysed. A GPU causes up to 65 records per second (10,000 GPUs: 650,000).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Level = Literal["fine", "unknown", "warning", "error"]
LEVELS: tuple[Level, ...] = ("fine", "unknown", "warning", "error")
MIB = 1 << 20
DATAGRAM_OCTETS = 2304  # octets of receive buffer: SO_MEMINFO's SK_MEMINFO_RMEM_ALLOC with datagrams of 1,000 to 1,472 octets
DATAGRAM_RECORDS = 28
ROW_OCTETS = 18  # octets on disk, at 100 million rows
WINDOW_OCTETS = 850  # octets of memory per record: the peak of a diagnosis of 737,280
ENGINE_OCTETS = 1 << 30  # octets: the program, its compiled code, the embedded engine with its caches
CAP_NET_RAW = 13  # include/uapi/linux/capability.h


@dataclass(frozen=True)
class Requirements:
    """What the machine must be able to do."""

    rate: float = 65_000  # records per second: a thousand GPUs
    pause_s: float = 0.5  # time for which nothing may read the sockets, s
    buffer_mib: int = 32  # requested from the kernel, `buffer` in the settings
    window_s: float = 60  # time that is analysed at once, s
    days: float = 7  # time for which records are kept
    interface: str | None = None  # to capture from
    store: str | None = None  # where records are stored
    folder: str = "."  # folder on the disk of the store, if the store is not a folder
    ports: tuple[tuple[Literal["udp", "tcp"], int], ...] = ()


@dataclass(frozen=True)
class Clock:
    """State of the kernel's clock (adjtimex): whether it is synchronised, and its maximum error, s."""

    synchronised: bool
    error_s: float


@dataclass(frozen=True)
class Store:
    """Result of opening the store, and of writing and reading a row.

    `through`: the running service that has the store and answered instead; `rows`: flow records that it counts.
    """

    version: str = ""
    wrote: bool = False
    error: str = ""
    transient: bool = False  # a retry may succeed
    absent: bool = False  # the store does not exist yet
    through: str = ""
    rows: int = 0


@dataclass(frozen=True)
class Facts:
    """Facts of a machine; None if unknown."""

    granted: int | None = None  # octets of receive buffer that the kernel grants for `buffer_mib`
    rmem_max: int | None = None
    rmem_default: int | None = None
    clock: Clock | None = None
    capabilities: int | None = None  # bits of CapEff
    packet_sockets: str | None = None  # "" if one can be opened, else the error
    interface: str | None = None  # "up", "down", "missing"
    store: Store | None = None
    disk_free: int | None = None
    disk_writable: bool | None = None
    ports: dict[tuple[str, int], str] = field(default_factory=dict)  # "" if free, else the error
    files: int | None = None  # limit of open files
    memory: int | None = None  # octets available
    python: tuple[int, ...] = ()
    cache: tuple[str, bool] | None = None  # folder of compiled code, and whether it is writable


@dataclass(frozen=True)
class Check:
    """Result of a check: name, level, finding, and advice."""

    name: str
    level: Level
    said: str
    advice: str = ""


def examine(facts: Facts, requirements: Requirements) -> tuple[Check, ...]:
    """Run all checks, in order."""
    return tuple(check(facts, requirements) for check in CHECKS)


def worst(checks: tuple[Check, ...]) -> Level:
    """Return the worst level of some checks; "unknown" does not count."""
    return max((c.level for c in checks if c.level != "unknown"), key=LEVELS.index, default="fine")


def receive_buffer(facts: Facts, requirements: Requirements) -> Check:
    """Check whether the receive buffer holds the datagrams of a pause in reading."""
    name = "receive buffer"
    if facts.granted is None:
        return Check(name, "unknown", "no socket could be tested")
    datagrams = requirements.rate / DATAGRAM_RECORDS
    need = int(datagrams * requirements.pause_s * DATAGRAM_OCTETS)
    holds = 2 * facts.granted / DATAGRAM_OCTETS / datagrams if datagrams else float("inf")
    said = (
        f"the kernel grants {_mib(facts.granted)} of {requirements.buffer_mib} MiB requested, enough for {holds:.2g} s of "
        f"{requirements.rate:,.0f} records/s ({datagrams:,.0f} datagrams/s); its default is {_mib(facts.rmem_default)}"
    )
    if 2 * facts.granted >= need:
        return Check(name, "fine", said)
    wanted = max(requirements.buffer_mib * MIB, -(-need // 2))
    advice = f"run sysctl -w net.core.rmem_max={wanted}, and add it to /etc/sysctl.d/90-prism.conf"
    if wanted > requirements.buffer_mib * MIB:
        advice += f"; set buffer = {-(-wanted // MIB)} in the settings"
    return Check(name, "warning", said, advice)


def clock(facts: Facts, requirements: Requirements) -> Check:  # noqa: ARG001 - all checks are called alike
    """Check whether the clock is synchronised, and its error."""
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


def packet_capture(facts: Facts, requirements: Requirements) -> Check:
    """Check whether packets can be captured; a problem only if an interface was given."""
    name = "capture"
    bad: Level = "error" if requirements.interface else "fine"
    only = "" if requirements.interface else "; only prism-collect capture and erspan need it"
    if facts.interface == "missing":
        return Check(name, "error", f"interface {requirements.interface} does not exist", "list the interfaces with ip link")
    if facts.interface == "down":
        return Check(name, "warning", f"{requirements.interface} is down", f"run ip link set {requirements.interface} up")
    if facts.capabilities is not None and not facts.capabilities >> CAP_NET_RAW & 1:
        advice = "start it with deploy/prism-collect-capture.service, which grants only CAP_NET_RAW"
        return Check(name, bad, f"the capability CAP_NET_RAW is missing{only}", advice if requirements.interface else "")
    if facts.packet_sockets is None:
        return Check(name, "unknown", "packet sockets could not be tested")
    if facts.packet_sockets:
        advice = "use a kernel with CONFIG_PACKET, outside a sandbox that forbids AF_PACKET" if requirements.interface else ""
        return Check(name, bad, f"packet sockets are not available: {facts.packet_sockets}{only}", advice)
    return Check(name, "fine", "packet sockets (AF_PACKET) are available")


def store(facts: Facts, requirements: Requirements) -> Check:
    """Check whether the store answers and accepts rows."""
    name = "store"
    if facts.store is None:
        return Check(name, "unknown", "not tested; give --store FOLDER or clickhouse://…")
    if facts.store.through:
        return Check(name, "fine", f"{facts.store.through} uses it: {facts.store.rows:,} flow records")
    if facts.store.absent:
        advice = f"create it with prism store init {requirements.store}; prism serve creates its own at its first start"
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
        return Check(
            name, "error", f"ClickHouse {facts.store.version} did not return the test row", f"check {requirements.store}"
        )
    return Check(name, "fine", f"ClickHouse {facts.store.version}: the test row was written and read")


def disk(facts: Facts, requirements: Requirements) -> Check:
    """Check whether the disk holds the records for the requested time."""
    name = "disk"
    if facts.disk_writable is False:
        return Check(
            name,
            "error",
            f"{requirements.folder} is not writable",
            f"run chown for the user that runs Prism: {requirements.folder}",
        )
    if facts.disk_free is None:
        return Check(name, "unknown", f"the free space of {requirements.folder} is not known")
    need = requirements.rate * 86_400 * requirements.days * ROW_OCTETS
    said = f"{_gib(facts.disk_free)} free; {requirements.days:g} days of {requirements.rate:,.0f} records/s need {_gib(need)}"
    if facts.disk_free >= need * 1.2:  # merges need space
        return Check(name, "fine", said)
    fits = facts.disk_free / 1.2 / (requirements.rate * 86_400 * ROW_OCTETS)
    return Check(
        name, "warning", said, f"the disk holds {fits:.2g} days; keep fewer days, sample at the exporters, or use a larger disk"
    )


def ports(facts: Facts, requirements: Requirements) -> Check:
    """Check whether the ports are free."""
    name = "ports"
    taken = {place: why for place, why in facts.ports.items() if why}
    if not taken:
        shown = ", ".join(f"{number}/{kind}" for kind, number in requirements.ports)
        return Check(name, "fine", f"free: {shown}" if shown else "no port was given")
    shown = ", ".join(f"{number}/{kind} ({why})" for (kind, number), why in taken.items())
    return Check(name, "warning", f"in use: {shown}", "unless this is Prism itself, find the process with ss -lunpt")


def open_files(facts: Facts, requirements: Requirements, *, least: int = 4096) -> Check:  # noqa: ARG001
    """Check the limit of open files: the engine opens several per part and column."""
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


def memory(facts: Facts, requirements: Requirements) -> Check:
    """Check whether a window fits into memory with the rest of the program."""
    name = "memory"
    if facts.memory is None:
        return Check(name, "unknown", "the available memory could not be read")
    need = ENGINE_OCTETS + requirements.rate * requirements.window_s * WINDOW_OCTETS
    said = f"{_gib(facts.memory)} available; windows of {requirements.window_s:g} s need {_gib(need)}"
    if facts.memory >= need:
        return Check(name, "fine", said)
    return Check(name, "error" if facts.memory < need / 2 else "warning", said, "use shorter windows, sampling, or more memory")


def compiled_code(facts: Facts, requirements: Requirements) -> Check:  # noqa: ARG001
    """Check whether compiled code can be stored: else every start compiles for half a minute."""
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


CHECKS: tuple[Callable[[Facts, Requirements], Check], ...] = (
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
