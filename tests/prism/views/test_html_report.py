import json
import re
from dataclasses import replace

import pytest

from collectors.columns.record import Flows
from prism.tracking.board import Board, JobStatus, board_of
from prism.tracking.flow_sources import Memory
from prism.views import html_report

EVIL = "</script><script>alert(1)</script><!--\u2028&amp;"


@pytest.fixture
def board(diagnosis):
    return board_of(diagnosis)


def held(text):
    """The answers inside a file."""
    found = re.search(r'<script type="application/json" id="documents">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


def test_a_file_holds_what_the_pages_ask_for(board):
    inside = held(html_report.dumps(board))
    case = board.cases[0].id
    assert inside["/board"]["mode"] == "replay"
    assert [job["id"] for job in inside["/jobs"]["items"]] == ["job-1"]
    assert inside[f"/findings/{case}"]["job"]["id"] == "job-1"
    assert inside["/jobs/job-1"]["ranks_total"] == 8
    assert {f"/jobs/job-1/{part}" for part in ("steps", "steps?measure=work", "timeline", "graph?by=leaf")} <= inside.keys()
    assert inside["/jobs/job-1/timeline"]["level"] == "phases"


def test_switches_are_counted_where_records_are_there(board):
    start = board.source.start_ns
    columns = {"start_ns": [start], "end_ns": [start + 1], "src": [0], "dst": [1], "octets": [7], "path": [1]}
    flows = Flows.build(columns, endpoints=("10.10.0.1", "10.10.1.1"), exporters=("leaf0",), paths=((), ("leaf0", "spine0")))
    links = html_report.documents(board, Memory(flows))["/switches"]["links"]
    assert [(link["src"], link["octets"]) for link in links if link["octets"]] == [("leaf0", 7)]


def test_no_name_ends_the_element_that_holds_it(board):
    case = board.cases[0]
    finding = replace(case.finding, message=EVIL, ids=(EVIL,))
    source = replace(board.source, files=(EVIL,))
    text = html_report.dumps(Board(**(vars(board) | {"cases": (replace(case, finding=finding),), "source": source})))
    assert len(re.findall(r"<script\b", text)) == 3  # the theme, the answers, the pages
    assert "alert(1)</script>" not in text
    assert held(text)[f"/findings/{case.id}"]["finding"]["message"] == EVIL


def test_only_its_own_scripts_run(board):
    text = html_report.dumps(board)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert policy.count("sha256-") == 3
    assert not re.search(r"(src|href)=\"(?!data:)", text.split("<body>")[0])


def test_an_empty_board_is_a_file_too():
    assert held(html_report.dumps(Board()))["/jobs"]["items"] == []


def test_a_large_job_has_the_timeline_around_its_worst_finding(make_job, make_finding, diagnosis):
    large = make_job("job-1", ranks=96, steps=90)
    board = board_of(replace(diagnosis, jobs=(large,), findings=(make_finding(85),)))
    timeline = html_report.documents(board)["/jobs/job-1/timeline"]
    ranks = [row["rank"] for row in timeline["rows"]]
    assert timeline["level"] == "phases"
    assert len(ranks) == html_report.ROWS
    assert large.job.endpoints.index("10.10.90.1") in ranks


def test_jobs_beyond_the_detailed_have_their_line(make_job, diagnosis):
    jobs = tuple(make_job(f"job-{i}", first=8 * i, ranks=4, steps=5) for i in range(html_report.MAX_DETAILED_JOBS + 3))
    inside = html_report.documents(Board(jobs=tuple(JobStatus(job) for job in jobs), source=diagnosis.source))
    assert len(inside["/jobs"]["items"]) == html_report.MAX_DETAILED_JOBS + 3
    assert sum(bool(re.fullmatch(r"/jobs/job-\d+", path)) for path in inside) == html_report.MAX_DETAILED_JOBS


def test_modules_become_one_script_in_order():
    script = html_report.bundle_modules("js/report.js")
    assert (
        script.index('modules["js/dom.js"] =')
        < script.index('modules["js/pages/job.js"] =')
        < script.index('["js/report.js"] =')
    )
    assert script.count('modules["js/dom.js"] =') == 1
    assert not re.search(r"^(import|export) ", script, re.MULTILINE)


@pytest.mark.parametrize(
    ("modules", "why"),
    [
        ({"a.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./a.js";'}, "imports itself"),
        ({"a.js": 'import b from "./b.js";', "b.js": ""}, "cannot be part"),
        ({"a.js": 'const end = "</script>";'}, "cannot be part"),
        ({"a.js": "export { b };"}, "cannot be part"),
    ],
)
def test_modules_that_cannot_be_one_script_are_refused(modules, why, tmp_path, monkeypatch):
    for name, text in modules.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(html_report, "WEB", tmp_path)
    with pytest.raises(ValueError, match=why):
        html_report.bundle_modules("a.js")
