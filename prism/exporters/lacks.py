"""What an exporter lacks for which analysis, and the configuration line of its vendor that changes it.

Lines are those of the vendors' manuals: Arista EOS (sFlow, flow tracking), Cisco IOS XE (Flexible NetFlow), Juniper Junos
(inline flow monitoring, sFlow), SONiC (sFlow). Numbers in them are examples.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prism.exporters.survey import S, Sent

LONG_NS = 2 * S  # records that are longer hide the steps inside them: fast steps take less
WRONG_NS = S // 10  # between clocks: prism doctor asks for the same
QUIET_NS = 60 * S  # an exporter that sent nothing for so long is told from one that has little to say


@dataclass(frozen=True)
class Lack:
    """What is missing, for which `analysis`; `lines`: what to configure, by vendor."""

    what: str
    analysis: str
    lines: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """As REST tells it."""
        return {"what": self.what, "analysis": self.analysis, "lines": dict(self.lines)}


def lacks(sent: Sent, *, now_ns: int = 0, lost: int = 0) -> list[Lack]:
    """What one exporter lacks; `lost` are datagrams and records that never arrived, `now_ns` is 0 where nothing is live."""
    found = [
        _silence(sent, now_ns),
        _sampling(sent),
        _timeout(sent),
        _clock(sent),
        _loss(sent, lost),
        _headers(sent),
        _octets(sent),
    ]
    return [one for one in found if one is not None]


def _silence(sent: Sent, now_ns: int) -> Lack | None:
    if not now_ns or now_ns - sent.last_ns < QUIET_NS:
        return None
    seconds = (now_ns - sent.last_ns) // S
    return Lack(
        f"nothing was received for {seconds:,} s", "all: its ports are not seen", {"any": "check that its export still runs"}
    )


def _sampling(sent: Sent) -> Lack | None:
    rate = max(sent.rates, key=lambda one: sent.rates[one], default=1)
    if rate == 0:
        lines = {
            "Cisco IOS XE": "flow exporter PRISM\n option sampler-table timeout 60",
            "Juniper Junos": "set services flow-monitoring version-ipfix template PRISM option-refresh-rate seconds 60",
        }
        return Lack("the sampling rate is not exported", "bandwidth and confidence: octets cannot be scaled up", lines)
    if rate == 1:
        return None
    lines = {
        "Arista EOS": "sflow sample dangerous 1024\nmonitor session PRISM source Ethernet1/1",
        "SONiC": "sudo config sflow interface sample-rate Ethernet0 1024",
        "Juniper Junos": "set protocols sflow sample-rate ingress 1024",
    }
    what = f"1 in {rate:,} packets is sampled"
    return Lack(what, "steps, phases and waits: most messages are not seen; mirror the ports (ERSPAN) or sample less", lines)


def _timeout(sent: Sent) -> Lack | None:
    if sent.timeout_ns < LONG_NS:
        return None
    lines = {
        "Cisco IOS XE": "flow monitor PRISM\n cache timeout active 1",
        "Arista EOS": "flow tracking hardware\n tracker PRISM\n  record export on interval 1000",
        "Juniper Junos": "set services flow-monitoring version-ipfix template PRISM flow-active-timeout 10",
    }
    seconds = sent.timeout_ns / S
    return Lack(
        f"records last {seconds:.3g} s: an active timeout cuts them", "steps: those that are shorter are not seen", lines
    )


def _clock(sent: Sent) -> Lack | None:
    if sent.offset_ns is None or sent.offset_ns > -WRONG_NS:
        return None
    line = "ntp server 192.0.2.1"
    lines = {"Arista EOS": line, "Cisco IOS XE": line, "Juniper Junos": f"set system {line}"}
    return Lack(
        f"its clock is {-sent.offset_ns / S:.3g} s ahead", "waits and stragglers: records of switches cannot be ordered", lines
    )


def _loss(sent: Sent, lost: int) -> Lack | None:
    if not lost or lost < sent.records / 1000:
        return None
    lines = {"this machine": "prism doctor --rate 20000   # says which receive buffer is needed"}
    return Lack(f"{lost:,} datagrams or records were lost on the way", "layout and steps: with 5 % lost some are missed", lines)


def _headers(sent: Sent) -> Lack | None:
    if not sent.roce or sent.queues >= sent.roce / 2:
        return None
    lines = {
        "any": "export the headers of packets: sFlow raw headers of 128 octets, or IPFIX element 315 (dataLinkFrameSection)",
        "Arista EOS": "sflow run\nsflow interface egress enable default",
    }
    return Lack("RoCE without queue pairs", "communicators: streams of one pair cannot be told apart", lines)


def _octets(sent: Sent) -> Lack | None:
    if sent.records and not sent.octets:
        lines = {"Cisco IOS XE": "flow record PRISM\n collect counter bytes long"}
        return Lack("records have no octets", "all: nothing can be weighed", lines)
    return None
