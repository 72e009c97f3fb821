"""docs/reasons.md explains every reason for which something is skipped, and no others."""

import re
from pathlib import Path

from collectors import (
    admission,
    clocks,
    damage,
    dump,
    exported,
    exportfile,
    exportsets,
    fastpath,
    flowtable,
    fragments,
    gather,
    ledger,
    mirrors,
    netflow,
    packet,
    protocols,
    recordsets,
    sflow,
    sflowwalk,
    spool,
    storing,
    walks,
)
from prism import windows

CHAPTER = (Path(__file__).parents[1] / "docs" / "reasons.md").read_text()
EXPLAINED = set(re.findall(r"^\| `([^`]+)` \|", CHAPTER, re.MULTILINE))
FRAMES = (*packet.REASONS, fastpath.OTHERS, packet.UNKNOWN_LINK.format("N"), *flowtable.TALLIES.values())
COPIES = (flowtable.ONCE, flowtable.ELSEWHERE)
MIRRORS = (mirrors.NO_MIRROR, mirrors.TOO_MANY, "clock went back")
EXPORTS = (exported.NOT_UDP, exported.OTHER_PORT, exported.NO_EXPORT)
PIECES = (fragments.INCOMPLETE, fragments.OVERLAP, fragments.OVERSIZED)
UNCERTAIN = (ledger.UNRATED, f"{clocks.CORRECTED}FORMAT", ledger.TOTALS_RESTARTED, ledger.FORGOTTEN_TOTALS)
RECORDS = (*exportsets.REASONS[1:], *sflowwalk.FAULTS[1:], *walks.FAULTS[1:])
LATE = (netflow.NO_TEMPLATE, netflow.NO_ROOM, netflow.FORGOTTEN, exportfile.LEFT_OUT[f" {ledger.WAITING}"].partition(": ")[2])
NO_FLOWS = (recordsets.NO_ADDRESSES, recordsets.NO_FLOW, recordsets.NO_INCREASE, sflow.NO_FLOW, sflow.NO_PACKET, sflow.OTHER)
COLUMNS = tuple(text.format("COLUMN") for text in (gather.NOTHING, gather.NUMBER, gather.ADDRESS, gather.PATH))
ROWS = (gather.MISSING, gather.BACKWARDS, dump.LONG, *COLUMNS)
KEPT = (*admission.REFUSALS, storing.EARLY, storing.LATE, storing.NAMELESS, spool.DAMAGED, spool.FULL)
WINDOWS = (windows.FUTURE, windows.FORGOTTEN)


def test_each_reason_is_explained_and_each_explanation_has_a_reason():
    packets = {*FRAMES, *COPIES, *MIRRORS, *damage.REASONS, *EXPORTS, *PIECES}
    assert {*packets, *RECORDS, *LATE, *NO_FLOWS, *UNCERTAIN, *ROWS, *KEPT, *WINDOWS} == EXPLAINED


def test_reasons_with_a_protocol_begin_with_an_explained_reason_and_the_examples_are_real():
    named = {protocols.reason_of(verdict) for verdict in range(protocols.OTHER_TYPE, protocols.VERDICTS)}
    assert {reason.partition(": ")[0] for reason in named} == {packet.NOT_IP, packet.NOT_TCP_OR_UDP}
    examples = set(re.findall(r"`(not [^`]+: [^`]+)`", CHAPTER)) - {fastpath.OTHERS}
    assert len(examples) >= 4
    assert examples <= named


def test_corrected_times_of_damaged_captures_are_explained():
    assert all(f"`{reason}`" in " ".join(CHAPTER.split()) for reason in (damage.FRACTION, damage.JUMP))


def test_each_explanation_says_what_it_means_and_what_to_do():
    for line in re.findall(r"^\| `.*$", CHAPTER, re.MULTILINE):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        assert len(cells) == 3, line
        assert all(cells), line
