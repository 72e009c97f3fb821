from dataclasses import replace

from prometheus_client.openmetrics.exposition import generate_latest

from benchmarks.boards import board
from collectors.operations.metrics import registry
from prism.api.server._job_metrics import MOST_JOBS, JobMetrics
from prism.exporters.export_survey import Sent
from prism.inventory.bookings import Booking

SHOWN = board(16, 10, stages=2)
BOOKING = Booking("4711", 'llama"70b', "ada", "gpu", source="slurm")
NAMED = replace(SHOWN, bookings={SHOWN.jobs[0].id: BOOKING})


def text(metrics, shown):
    return generate_latest(registry(lambda: metrics.counts(shown))).decode()


def test_a_job_has_its_metrics_and_a_finding_is_an_exemplar():
    case = SHOWN.cases[0]
    metrics = JobMetrics("https://prism.example")
    page = text(metrics, NAMED)
    assert (
        'prism_job_info{job="job-1",layout="DP 8 x PP 2",name="llama\\"70b",queue="gpu",state="running",user="ada"} 1.0' in page
    )
    assert 'prism_job_ranks{job="job-1"} 16.0' in page
    assert 'prism_job_phase_ratio{job="job-1",phase="idle"}' in page
    assert 'prism_job_bandwidth_bits{job="job-1",kind="dp"}' in page
    line = next(line for line in page.splitlines() if line.startswith("prism_job_findings_total{"))
    assert f'# {{finding="{case.id}",url="https://prism.example/#/findings/{case.id}"}} 1.0' in line
    assert (
        next(line for line in text(metrics, NAMED).splitlines() if line.startswith("prism_job_findings_total{")) == line
    )  # once
    assert page.endswith("# EOF\n")


def test_of_very_many_jobs_the_worst_have_metrics():
    one = SHOWN.jobs[0]
    many = tuple(replace(one, found=replace(one.found, job=replace(one.found.job, id=f"j{i}"))) for i in range(MOST_JOBS + 30))
    page = text(JobMetrics(), replace(SHOWN, jobs=many, cases=()))
    assert page.count("prism_job_ranks{") == MOST_JOBS
    assert "prism_job_left_out 30.0" in page


def test_exporters_have_theirs():
    page = text(JobMetrics(exporters=lambda: {"leaf0": Sent(100, 5, 0, 10**10, offset_ns=10**7)}), SHOWN)
    assert 'prism_exporter_records_rate{exporter="leaf0"} 10.0' in page
    assert 'prism_exporter_delay_seconds{exporter="leaf0"} 0.01' in page
