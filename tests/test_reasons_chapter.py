"""docs/reasons.md explains every reason for which something is skipped, and no others."""

import re
from pathlib import Path

from collectors.aggregation import batch_decoder, flow_table
from collectors.captures import damage
from collectors.exports import admission, counter_names
from collectors.exports.netflow import data_sets, netflow, template_assignment
from collectors.exports.records import message_loops, time_formats
from collectors.exports.sflow import sample_loops, sflow
from collectors.formats import foreign_records, text_files
from collectors.live import _mirror_sessions
from collectors.packets import plain_decoder, protocols
from collectors.recorded_exports import _ip_fragments, captured_exports, export_files
from collectors.store import spool, store_sink
from prism.tracking import record_windows

CHAPTER = (Path(__file__).parents[1] / "docs" / "reasons.md").read_text()
EXPLAINED = set(re.findall(r"^\| `([^`]+)` \|", CHAPTER, re.MULTILINE))
FRAMES = (*plain_decoder.REASONS, batch_decoder.OTHERS, plain_decoder.UNKNOWN_LINK.format("N"), *flow_table.TALLIES.values())
COPIES = (flow_table.ONCE, flow_table.ELSEWHERE)
MIRRORS = (_mirror_sessions.NO_MIRROR, _mirror_sessions.TOO_MANY, "clock went back")
EXPORTS = (captured_exports.NOT_UDP, captured_exports.OTHER_PORT, captured_exports.NO_EXPORT)
PIECES = (_ip_fragments.INCOMPLETE, _ip_fragments.OVERLAP, _ip_fragments.OVERSIZED)
UNCERTAIN = (
    counter_names.UNRATED,
    f"{time_formats.CORRECTED}FORMAT",
    counter_names.TOTALS_RESTARTED,
    counter_names.FORGOTTEN_TOTALS,
)
RECORDS = (*template_assignment.REASONS[1:], *sample_loops.FAULTS[1:], *message_loops.FAULTS[1:])
LATE = (
    netflow.NO_TEMPLATE,
    netflow.NO_ROOM,
    netflow.FORGOTTEN,
    export_files.LEFT_OUT[f" {counter_names.WAITING}"].partition(": ")[2],
)
NO_FLOWS = (data_sets.NO_ADDRESSES, data_sets.NO_FLOW, data_sets.NO_INCREASE, sflow.NO_FLOW, sflow.NO_PACKET, sflow.OTHER)
COLUMNS = tuple(
    text.format("COLUMN")
    for text in (foreign_records.NOTHING, foreign_records.NUMBER, foreign_records.ADDRESS, foreign_records.PATH)
)
ROWS = (foreign_records.MISSING, foreign_records.BACKWARDS, text_files.LONG, *COLUMNS)
KEPT = (*admission.REFUSALS, store_sink.EARLY, store_sink.LATE, store_sink.NAMELESS, spool.DAMAGED, spool.FULL)
WINDOWS = (record_windows.FUTURE, record_windows.FORGOTTEN)


def test_each_reason_is_explained_and_each_explanation_has_a_reason():
    packets = {*FRAMES, *COPIES, *MIRRORS, *damage.REASONS, *EXPORTS, *PIECES}
    assert {*packets, *RECORDS, *LATE, *NO_FLOWS, *UNCERTAIN, *ROWS, *KEPT, *WINDOWS} == EXPLAINED


def test_reasons_with_a_protocol_begin_with_an_explained_reason_and_the_examples_are_real():
    named = {protocols.reason_of(verdict) for verdict in range(protocols.OTHER_TYPE, protocols.VERDICTS)}
    assert {reason.partition(": ")[0] for reason in named} == {plain_decoder.NOT_IP, plain_decoder.NOT_TCP_OR_UDP}
    examples = set(re.findall(r"`(not [^`]+: [^`]+)`", CHAPTER)) - {batch_decoder.OTHERS}
    assert len(examples) >= 4
    assert examples <= named


def test_corrected_times_of_damaged_captures_are_explained():
    assert all(f"`{reason}`" in " ".join(CHAPTER.split()) for reason in (damage.FRACTION, damage.JUMP))


def test_each_explanation_says_what_it_means_and_what_to_do():
    for line in re.findall(r"^\| `.*$", CHAPTER, re.MULTILINE):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        assert len(cells) == 3, line
        assert all(cells), line
