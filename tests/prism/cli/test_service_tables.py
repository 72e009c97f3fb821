import io

from prism.cli import _service_tables as service_tables
from prism.report.terminal_report import console
from prism.service.tokens import Token
from prism.tracking.board import board_of
from prism.views import board_views, finding_views


def printed(show, *what, **options):
    out = io.StringIO()
    show(*what, console(out), **options)
    return out.getvalue()


def test_jobs_a_row_each(diagnosis):
    text = printed(service_tables.show_jobs, board_views.jobs(board_of(diagnosis)))
    (row,) = text.splitlines()[1:]
    words = (
        "job-1",
        "running",
        "DP 2 × PP 4 (98% sure)",
        "8 on 8 hosts",
        "20",
        "1.00 s (1.00 s)",
        "312.4 s",
        "1 critical, 1 info",
    )
    for word in words:
        assert word in row
    assert printed(service_tables.show_jobs, []) == "No training job.\n"


def test_findings_and_whom_to_isolate(diagnosis):
    board = board_of(diagnosis)
    cases = finding_views.case_list(board, board.cases)
    text = printed(service_tables.show_findings, cases)
    assert "Slow rank 10.10.5.1 of job job-1, since 2026-11-20" in text
    assert "; isolate server5 (93%)" in text
    assert text.count("isolate") == 1  # nobody is isolated for a symptom
    assert printed(service_tables.show_findings, []) == "No finding.\n"


def test_a_job_with_its_slowest_ranks(diagnosis):
    board = board_of(diagnosis)
    text = printed(service_tables.show_job, board_views.job(board, "job-1"), [], ranks=3)
    assert "a rank's time: compute 60%, DP 35%, idle 5%" in text
    assert "groups: 4 × DP, 2 × PP" in text
    assert "checkpoint 2026-11-20" in text
    assert "and 5 ranks that are no slower" in text


def test_names_from_packets_do_nothing_to_the_terminal(diagnosis):
    board = board_of(diagnosis)
    (case,) = finding_views.case_list(board, board.cases[:1])
    case["finding"]["message"] = "\x1b[2J[bold]x[/bold]"
    text = printed(service_tables.show_findings, [case])
    assert "\x1b" not in text
    assert "[bold]x[/bold]" in text


def test_tokens():
    text = printed(service_tables.show_tokens, (Token("ab12", "me", "read", "00", 1_795_214_542_677_184_076),))
    assert "me" in text
    assert "2026-11-20" in text
    assert printed(service_tables.show_tokens, ()) == "No token.\n"
