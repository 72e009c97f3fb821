from prism.exporters.export_survey import Sent
from prism.exporters.exporter_report import exporter
from prism.exporters.exporter_silence import ExporterReception


def test_an_exporter_that_sent_nothing_is_reported_with_when_it_was_heard():
    found = exporter("", None, [], ExporterReception(5, 7), 10**12)
    assert (found["name"], found["lost"], found["last_ns"], found["records_per_s"]) == ("(no name)", 7, "5", 0.0)
    assert exporter("a", Sent(rates={64: 1}, records=1), [], None, 0)["sampling"] == 64
