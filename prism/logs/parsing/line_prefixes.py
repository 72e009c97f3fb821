"""Parse the prefixes of launchers and loggers: rank, host and level of a line."""

from __future__ import annotations

import re
from typing import NamedTuple


class Prefix(NamedTuple):
    """Parsed prefix of a line. `rank` is None and `host` empty if the line does not have them."""

    rest: str
    rank: int | None = None
    host: str = ""
    level: str = ""  # one letter: I W E F, or empty

    @property
    def key(self) -> tuple[int | None, str]:
        """Key of the writer, for streams with several writers."""
        return self.rank, self.host


_LEVELS = {
    "debug": "I",
    "info": "I",
    "notice": "I",
    "warn": "W",
    "warning": "W",
    "error": "E",
    "err": "E",
    "critical": "F",
    "fatal": "F",
}
_WRITERS = (
    re.compile(r"\[(?:rank|Rank) ?(?P<rank>\d{1,7})\]:? ?"),
    re.compile(r"\[[A-Za-z_]{1,24}(?P<local>\d{1,4})\]:"),  # torchrun --tee: [default0]:
    re.compile(r"\[\d{1,4},(?P<rank>\d{1,7})\]<std(?:out|err)>: ?"),  # mpirun --tag-output
    re.compile(r"\((?:\w+ )?pid=\d+, ip=(?P<host>[0-9a-fA-F.:]{3,45})\) "),  # Ray
    re.compile(r"(?P<rank>\d{1,6}): "),  # srun --label
    re.compile(
        r"(?P<host>[A-Za-z][\w.-]{0,63}): (?=(?:\[?20\d\d-|\[rank|Traceback|\[ *iteration))"
    ),  # pdsh, DeepSpeed's launcher
    re.compile(r"20\d\d-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d) std(?:out|err) [FP] "),  # containers' runtime
    re.compile(
        r"(?:<\d{1,3}>)?[A-Z][a-z]{2} {1,2}\d{1,2} [\d:]{8}(?:\.\d+)? (?P<host>[\w.-]{1,64}) [\w./-]{1,48}(?:\[\d+\])?: "
    ),  # syslog
    re.compile(
        r"20\d\d-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:?\d\d) (?P<host>[\w.-]{1,64}) [\w./-]{1,48}(?:\[\d+\])?: "
    ),  # RFC 5424 style
    re.compile(r"\[? {0,8}\d{1,9}\.\d{6}\] (?=\S)"),  # kernel
    re.compile(r"\[(?P<letter>[IWEF])\d{3,4} [\d:.]{8,18} [\w./-]{1,80}:\d+\] "),  # PyTorch's C++ logs
    re.compile(r"\[(?P<letter>[IWEF]) [\w./-]{1,80}:\d+\] "),  # the same before 2.2, without a time
    re.compile(r"(?P<letter>[IWEF])\d{3,4} [\d:.]{8,18} +\d+ [\w./-]{1,96}:\d+\] "),  # glog, torch.distributed.elastic
    re.compile(r"(?P<host>[\w.-]{1,64}):\d{1,8}:\d{1,8} (?:\[(?P<device>\d{1,3})\] )?(?=(?:[\w./]+:\d+ )?NCCL )"),
)
_ANY = re.compile("|".join(re.sub(r"\(\?P<\w+>", "(?:", one.pattern) for one in _WRITERS))
_LEVEL = re.compile(r"\b(DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b|^\[NeMo ([IWE])\b")
_BAR = re.compile(r"^[^|\n]{0,80}\|[^|]{0,400}\| *\d+/\d+ \[[^\]]{1,600}\](?=\S)")  # a progress bar without a line end
_INLINE_RANK = re.compile(r"\[(?:rank|Rank|RANK|PG ID \d+ PG GUID [\w()]+ Rank) ?:?(\d{1,7})\]|\bRank (\d{1,7})\] ")
_FILE_RANK = re.compile(r"(?i)(?:^|[^a-z])rank[_-]?(\d{1,6})(?!\d)")
_FILE_HOST = re.compile(
    r"(?i)(?:^|[/_.-])((?:node|host|worker|server|gpu|dgx|hgx|compute|cn|ip-)[a-z]{0,12}[-_]?\d[\w-]{0,40}?)(?=[/_.]|$)"
)


def prefix(line: str) -> Prefix:
    """Split a line into prefix and text; several prefixes may follow one another."""
    rank: int | None = None
    host = level = ""
    if "/s" in line or "/it" in line:
        line = _BAR.sub("", line, count=1)
    for _ in range(4):
        if _ANY.match(line) is None:
            break
        for pattern in _WRITERS:
            if found := pattern.match(line):
                break
        if found is None:
            break
        groups = found.groupdict()
        rank = int(groups["rank"]) if groups.get("rank") else rank
        host = groups.get("host") or host
        level = groups.get("letter") or level
        line = line[found.end() :]
    if not level and (word := _LEVEL.search(line[:120])):
        level = word[2] or _LEVELS[word[1].lower()]
    if rank is None and (own := _INLINE_RANK.search(line[:160])):
        rank = int(own[1] or own[2])
    return Prefix(line, rank, host, level)


def of_path(path: str) -> tuple[int | None, str]:
    """Parse rank and host from a file's path (`rank3.log`, `node07/…`)."""
    rank = _FILE_RANK.search(path)
    if rank is None:  # folders of torchrun: attempt_0/3/stderr.log
        rank = re.search(r"attempt_\d+/(\d{1,6})/", path)
    host = _FILE_HOST.search(path)
    return int(rank[1]) if rank else None, host[1] if host else ""
