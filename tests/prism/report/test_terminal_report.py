import dataclasses
import io

import pytest
from rich.console import Console

from prism.model import Alternative, Diagnosis, Layout, Severity
from prism.report import terminal_report

MS = 1_000_000


def screen(diagnosis):
    out = Console(width=80, height=24, force_terminal=True, file=io.StringIO(), record=True, highlight=False)
    terminal_report.show(diagnosis, out)
    return out.export_text(styles=False)


def piped(diagnosis):
    file = io.StringIO()
    terminal_report.show(diagnosis, terminal_report.console(file))
    return file.getvalue()


def test_one_job_with_two_findings_fits_a_small_terminal(diagnosis):
    lines = screen(diagnosis).splitlines()
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80


def test_a_long_message_and_many_notes_still_fit(diagnosis):
    findings = tuple(dataclasses.replace(f, message="because " * 40) for f in diagnosis.findings)
    source = dataclasses.replace(diagnosis.source, warnings=("cut short " * 30,), skipped={f"reason {i}": i for i in range(30)})
    wordy = dataclasses.replace(diagnosis, source=source, findings=findings, unexplained=("who knows " * 90,))
    assert len(screen(wordy).splitlines()) <= 23


def test_what_is_said_about_a_job(diagnosis):
    text = screen(diagnosis)
    assert "DP 2 × PP 4 (98% sure)" in text
    assert "8 on 8 hosts" in text
    assert "1.00 s (1.00 s)" in text
    assert "checkpoint +2.0 s … +2.3 s" in text
    assert "a rank's time: compute 60%, DP 35%, idle 5%" in text
    assert "171,767 packets in 9,312 flow records, 43.7 s from 2026-11-20 22:42:22 UTC" in text


def test_other_layouts_that_the_traffic_allows_are_named(diagnosis):
    (found,) = diagnosis.jobs
    others = (Alternative(Layout(dp=16, confidence=0.3), "why"), Alternative(Layout(tp=16, confidence=0.02), "why"))
    parallelism = dataclasses.replace(
        found.parallelism, layout=dataclasses.replace(found.parallelism.layout, confidence=0.65), alternatives=others
    )
    told = piped(dataclasses.replace(diagnosis, jobs=(dataclasses.replace(found, parallelism=parallelism),)))
    assert "(65% sure), or DP 16" in " ".join(told.split())
    assert "TP 16" not in told


def test_what_is_said_about_a_finding(diagnosis):
    text = screen(diagnosis)
    assert "CRITICAL  Slow rank 10.10.5.1  +14.3 s … +29.1 s, 1.42 × slower" in text
    assert "its peers wait for it" in text
    assert "cost 312 GPU-s; isolate server5 (93%); 97% sure" in text
    assert text.index("CRITICAL") < text.index("INFO")


def test_what_was_not_understood_is_reported(diagnosis):
    text = screen(diagnosis)
    assert "Not understood: 3 endpoints talk to every job and belong to none" in text
    assert "skipped: not IP (12)" in text


def test_elsewhere_than_on_a_terminal_a_fact_is_a_line_without_escape_codes(diagnosis):
    text = piped(diagnosis)
    assert "\x1b" not in text
    line = next(line for line in text.splitlines() if line.startswith("CRITICAL"))
    assert "10.10.5.1" in line
    assert "its peers wait for it" in line
    assert all(line == line.rstrip() for line in text.splitlines())


def test_many_jobs_have_a_row_each_and_their_events_are_counted(diagnosis, make_job):
    jobs = tuple(make_job(f"job-{i}", first=8 * i) for i in range(12))
    text = screen(dataclasses.replace(diagnosis, jobs=jobs))
    assert sum("DP 2 × PP 4" in line for line in text.splitlines()) == 12
    assert "events: 12 × checkpoint" in text
    assert "a rank's time" not in text
    assert "Slow rank 10.10.5.1 of job job-1" in text


def test_many_findings_are_the_ten_worst_and_a_count(diagnosis, make_finding):
    findings = (*(make_finding(i, Severity.WARNING) for i in range(13)), make_finding(20, Severity.CRITICAL))
    text = screen(dataclasses.replace(diagnosis, findings=findings))
    assert text.count("WARNING") == 9
    assert text.index("CRITICAL") < text.index("WARNING")
    assert "and 4 more: 4 warning" in text


def test_no_job(diagnosis):
    text = screen(Diagnosis(diagnosis.source, (), (), ("all traffic is aperiodic",)))
    assert "No training job seen." in text
    assert "171,767 packets" in text
    assert "all traffic is aperiodic" in text


def test_a_healthy_job(diagnosis):
    assert "No fault found." in screen(dataclasses.replace(diagnosis, findings=()))


def test_no_fault_found_is_said_only_of_a_job_with_steps(diagnosis, make_job):
    text = screen(dataclasses.replace(diagnosis, jobs=(make_job(steps=0),), findings=()))
    assert "No fault found" not in text
    assert "No step was recognised, so nothing is known about faults." in text


def test_unknown_layout_and_step_time(diagnosis, make_job):
    job = make_job(steps=0)
    job = dataclasses.replace(job, parallelism=dataclasses.replace(job.parallelism, layout=type(job.parallelism.layout)()))
    text = screen(dataclasses.replace(diagnosis, jobs=(job,)))
    assert "unknown (0% sure)" in text


def test_escape_codes_in_names_do_not_reach_the_terminal(diagnosis):
    source = dataclasses.replace(diagnosis.source, files=("a\x1b[2Jb.pcap",))
    assert "a\ufffd[2Jb.pcap" in piped(dataclasses.replace(diagnosis, source=source))


@pytest.mark.parametrize(
    ("span_ms", "since_ms", "text"),
    [(300, 120, "+120 ms"), (5_000, 1_234, "+1.23 s"), (60_000, 14_312, "+14.3 s"), (7_200_000, 3_661_000, "+1:01:01 h")],
)
def test_moments_are_as_fine_as_the_capture_is_short(diagnosis, span_ms, since_ms, text):
    start = diagnosis.source.start_ns
    source = dataclasses.replace(diagnosis.source, end_ns=start + span_ms * MS)
    assert terminal_report._format_time(start + since_ms * MS, source) == text


@pytest.mark.parametrize(
    ("ms", "text"), [(None, "unknown"), (0.25, "0.25 ms"), (842, "842 ms"), (1370, "1.37 s"), (61_500, "61.5 s")]
)
def test_durations(ms, text):
    assert terminal_report.duration(ms) == text
