"""What a service shows, to whom, and within which bounds: all that the REST interface is given."""

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
    from prism.exporters.exporter_silence import Heard
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
    """Bounds of what one client, and all of them, may ask for."""

    body: int = 64 << 10  # octets of a request that is no upload
    pause_s: float = 10.0  # between two parts of a body
    body_s: float = 1800.0  # for all of a body
    requests: int = 512  # that are answered at a time
    per_second: float = 100.0  # requests of one client address, in the long run ...
    burst: int = 600  # ... and at once
    clients: int = 10_000  # addresses that are told apart; the one not heard of longest is forgotten
    streams: int = 64  # event streams at a time
    looked_at: int = 2_000_000  # flow records looked at for an answer
    traced: int = 1_000_000  # intervals and transfers of one trace
    diagnosed: int = 4_000_000  # flow records of one diagnosis of the past: what --upload-memory holds by default


@dataclass(frozen=True)
class Feedback:
    """What people do about findings: `journal` keeps their remarks, `desk` their actions, silences are in a `folder`.

    `settings` are those of alerts; `notifications` gives those that were made last, at most so many.
    """

    journal: Journal
    desk: ActionRunner
    settings: Settings
    folder: str = ""
    notifications: Callable[[int], Sequence[Notification]] = lambda _most: ()


@dataclass(frozen=True)
class Service:
    """Where the REST interface finds what it shows.

    `counts` are the counters of all parts, for /metrics; `health` says in plain values how the parts are, by part: each a
    mapping that may have `ok`. Without `tokens` everybody may read and upload, which is for loopback alone
    (`api.server.web_server` refuses else); without `uploads` nothing can be uploaded. `names`: what the service is called in
    Host headers besides loopback's names. `store` gives the tables of the store, where there is one; `owner` is a token that
    reads, in a file of whoever runs the service (`service_file`). Without `feedback` nobody can say anything about a finding.
    `survey` is what exporters send, live, and `heard` what is known of them. `perfetto` is where pages open
    traces, `bookings` what schedulers said of jobs, also of those that ended. `history` gives the cases that were open at a
    time or later, as the store keeps them; `runs` are measures of jobs, also of those that ended.
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
    heard: Callable[[], Mapping[str, Heard]] = dict
    perfetto: str = ""
    bookings: Callable[[], Sequence[Booking]] = tuple
    history: Callable[[int], Sequence[Case]] | None = None
    runs: Callable[[], Sequence[Run]] = tuple
