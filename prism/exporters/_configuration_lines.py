"""Configuration lines of vendors, each with the document that contains the command.

Names, addresses and rates in the lines are examples. A relevant limit from the document is in the line, after `!` or `#`. If
the vendor's manual was not readable, the document is another source of the command: for Arista and NX-OS a data model that the
vendor maintains, for IOS XE its test library or a book. The lines were not tried on switches.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

ARISTA, CISCO_XE, CISCO_NX, JUNOS, SONIC, CUMULUS = (
    "Arista EOS",
    "Cisco IOS XE",
    "Cisco NX-OS",
    "Juniper Junos",
    "SONiC",
    "NVIDIA Cumulus",
)
_JUNIPER = "juniper.net/documentation/us/en/software/junos/"
_AVD = "aristanetworks/avd, eos_cli_config_gen: "


class Line(NamedTuple):
    """A configuration line, and the document that describes it; "" if none was found."""

    text: str
    document: str


NO_SAMPLING_RATE: Mapping[str, Line] = {
    CISCO_XE: Line(
        "flow exporter PRISM\n option sampler-table timeout 60",
        "CiscoTestAutomation/genielibs: flow exporter; Catalyst 4500 Configuration Guide, IOS XE 3.9.xE, NetFlow-lite",
    ),
    JUNOS: Line(
        "set services flow-monitoring version-ipfix template PRISM option-refresh-rate seconds 60",
        _JUNIPER + "cli-reference/topics/ref/statement/flow-monitoring-edit-services.html",
    ),
}
SAMPLED: Mapping[str, Line] = {
    ARISTA: Line(  # rates below 16,384 need "dangerous"
        "sflow sample dangerous 1024\n"
        "! or mirror\nmonitor session PRISM source Ethernet1/1\nmonitor session PRISM destination Ethernet1/2",
        _AVD + "sflow, sample dangerous; monitor-sessions.j2",
    ),
    CISCO_NX: Line(
        "feature sflow\nsflow sampling-rate 4096",
        "netascode.cisco.com, NX-OS, sFlow: sampling_rate; Nexus 3000 System Management Configuration Guide: Configuring sFlow",
    ),
    CUMULUS: Line(
        "nv set system sflow sampling-rate speed-400g 1024\nnv config apply",
        "docs.nvidia.com/networking-ethernet-software/nvue-reference/Set-and-Unset-Commands/sFlow",
    ),
    JUNOS: Line(  # EX accepts egress and ingress, QFX one number
        "set protocols sflow sample-rate ingress 1024   # QFX: sample-rate 1024",
        "juniper.net/documentation/en_US/junos13.2: sample-rate (EX Series); en_US/junos: sample-rate (QFX Series)",
    ),
    SONIC: Line(  # 256 to 8,388,608
        "sudo config sflow interface sample-rate Ethernet0 1024",
        "sonic-net/SONiC, doc/sflow/sflow_hld.md: SONiC CLI",
    ),
}
LONG_RECORDS: Mapping[str, Line] = {
    CISCO_XE: Line(  # 1 to 604,800 s; Catalyst 3650: at least 30 s for a normal cache
        "flow monitor PRISM\n cache timeout active 1   ! Catalyst: 30 at least; sample (sFlow) or mirror instead",
        "Cisco IOS Flexible NetFlow Commands: cache; Catalyst 3650 Command Reference 16.6: cache",
    ),
    CISCO_NX: Line(
        "flow timeout 5   ! Nexus 7000 and others with NetFlow",
        "Cisco Nexus 7000 Series NX-OS System Management Command Reference: flow timeout",
    ),
    ARISTA: Line(  # milliseconds, at least 1,000
        "flow tracking hardware\n tracker PRISM\n  record export on interval 1000",
        "arista.com/en/um-eos/eos-sampled-flow-tracking; " + _AVD + "flow_tracking, record_export.on_interval",
    ),
    JUNOS: Line(  # 10 to 600 s; exports come at multiples of 60 s
        "set services flow-monitoring version-ipfix template PRISM flow-active-timeout 10"
        "   # 10 at least, may export each 60 s: sFlow shows more",
        _JUNIPER + "flow-monitoring/topics/ref/statement/flow-active-timeout-edit-forwarding-options.html",
    ),
}
WRONG_CLOCK: Mapping[str, Line] = {
    ARISTA: Line("ntp server 192.0.2.1", _AVD + "ntp.j2"),
    CISCO_XE: Line("ntp server 192.0.2.1", "Boney, Cisco IOS in a Nutshell: ntp server"),
    JUNOS: Line(
        "set system ntp server 192.0.2.1",
        _JUNIPER + "cli-reference/topics/ref/statement/server-edit-system-ntp.html",
    ),
}
LOST: Mapping[str, Line] = {
    "this machine": Line("prism doctor --rate 20000   # prints the required receive buffer", "prism doctor --help"),
}
NO_HEADERS: Mapping[str, Line] = {
    "any": Line(
        "export the headers of packets: sFlow raw headers of 128 octets, or IPFIX element 315 (dataLinkFrameSection)",
        "IANA: IPFIX Information Elements; sFlow version 5, section 5.3",
    ),
    ARISTA: Line(
        "sflow run\nsflow interface egress enable default",
        "arista.com/en/um-eos/eos-sflow; " + _AVD + "sflow, interface.egress.enable_default",
    ),
}
NO_OCTETS: Mapping[str, Line] = {
    CISCO_XE: Line(
        "flow record PRISM\n collect counter bytes long",
        "Catalyst 4500 Software Configuration Guide, IOS XE 3.9.xE: Configuring Flexible NetFlow, table 74-6",
    ),
}
SILENT: Mapping[str, Line] = {"any": Line("check that its export still runs", "")}
EVERY: tuple[Mapping[str, Line], ...] = (
    NO_SAMPLING_RATE,
    SAMPLED,
    LONG_RECORDS,
    WRONG_CLOCK,
    LOST,
    NO_HEADERS,
    NO_OCTETS,
    SILENT,
)
