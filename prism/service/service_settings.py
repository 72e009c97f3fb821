"""Define what a service shows, to whom, and within which limits: all that the REST interface receives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from prism.tracking.board import Boards, Case
from prism.tracking.flow_sources import Records

if TYPE_CHECKING:
    from collectors.operations.metrics import Count
    from collectors.store.retention import Status
    from prism.alerts.alert_settings import Settings
    from prism.alerts.notifications import Notification
    from prism.exporters.exporter_silence import ExporterReception
    from prism.exporters.live_survey import Survey
    from prism.feedback.action_runner import ActionRunner
    from prism.feedback.remark_journal import Journal
    from prism.inventory.bookings import Booking
    from prism.metrics.earlier_runs import Run
    from prism.past.uploads import Uploads
    from prism.service.tokens import Tokens

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Limits:
    """Limits of requests per client and in total."""

    body: int = 64 << 10  # octets of a request that is no upload
    pause_s: float = 10.0  # seconds between two parts of a body
    body_s: float = 1800.0  # seconds for a complete body
    requests: int = 512  # concurrent requests
    per_second: float = 100.0  # requests per second and client address, on average ...
    burst: int = 600  # ... and at once
    clients: int = 10_000  # client addresses that are tracked; the oldest inactive one is dropped
    streams: int = 64  # concurrent event streams
    looked_at: int = 2_000_000  # flow records that an answer may read
    traced: int = 1_000_000  # intervals and transfers of one trace
    diagnosed: int = 4_000_000  # flow records of one diagnosis of the past: what --upload-memory holds by default


@dataclass(frozen=True)
class Feedback:
    """Reactions of users to findings: `journal` keeps remarks, `desk` actions, and `folder` silences.

    `settings` are the alert settings; `notifications` returns the newest notifications, at most a given number.
    """

    journal: Journal
    desk: ActionRunner
    settings: Settings
    folder: str = ""
    notifications: Callable[[int], Sequence[Notification]] = lambda _most: ()


@dataclass(frozen=True)
class Service:
    """Sources of the REST interface.

    `counts`: counters of all parts, for /metrics. `health`: plain values by part; each a mapping that may have `ok`. Without
    `tokens` everyone may read and upload, on loopback only (`api.server.web_server` refuses other addresses). Without `uploads`
    nothing can be uploaded. `names`: host names of the service in addition to those of loopback. `store` returns the tables of
    the store. `owner`: read token in a file of the owner (`service_file`). Without `feedback` findings cannot be commented.
    `survey`: live overview of exports; `heard`: state of exporters. `perfetto`: address at which pages open traces. `bookings`:
    scheduler jobs, also ended ones. `history` returns the cases that were open at a time or later, from the store. `runs`:
    measurements of jobs, also ended ones.
    """

    boards: Boards
    records: Records | None = None
    mode: Literal["live", "replay"] = "live"
    counts: Callable[[], Iterable[Count]] = tuple
    health: Callable[[], Mapping[str, Any]] = dict
    uploads: Uploads | None = None
    tokens: Tokens | None = None
    limits: Limits = field(default_factory=Limits)
    names: tuple[str, ...] = ()
    store: Callable[[], Iterable[Status]] | None = None
    owner: str = ""
    feedback: Feedback | None = None
    survey: Survey | None = None
    heard: Callable[[], Mapping[str, ExporterReception]] = dict
    perfetto: str = ""
    bookings: Callable[[], Sequence[Booking]] = tuple
    history: Callable[[int], Sequence[Case]] | None = None
    runs: Callable[[], Sequence[Run]] = tuple
