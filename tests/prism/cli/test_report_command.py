from typer.testing import CliRunner

from prism.api.server.web_server import served
from prism.cli.main import app
from tests.prism.api.conftest import make_service
from tests.prism.notify.test_smtp import smtp

RECEIVER = """
receivers:
  - {{name: mail, kind: email, url: "{url}", allow: [127.0.0.1/32], sender: prism@example.com, to: [a@example.com]}}
"""


def test_a_report_is_printed_written_and_mailed(tmp_path):
    with served(make_service()) as port:
        asked = ["report", "--url", f"http://127.0.0.1:{port}", "--days", "30"]
        done = CliRunner().invoke(app, asked)
        assert "GPU-hours lost" in done.stdout
        assert "slow rank" in done.stdout
        assert CliRunner().invoke(app, [*asked, "--html", str(tmp_path / "r.html")]).exit_code == 0
        assert "<h2>By host</h2>" in (tmp_path / "r.html").read_text()
        with smtp() as (url, heard):
            (tmp_path / "alerts.yaml").write_text(RECEIVER.format(url=url))
            sent = CliRunner().invoke(app, [*asked, "--mail", str(tmp_path / "alerts.yaml")])
        assert sent.exit_code == 0, sent.output
        assert any("GPU-hours lost in 30 days" in line for line in heard)
        gone = CliRunner().invoke(app, [*asked, "--mail", str(tmp_path / "alerts.yaml")])
        assert (gone.exit_code, "mail: " in gone.stderr) == (1, True)
        (tmp_path / "none.yaml").write_text("receivers: []")
        none = CliRunner().invoke(app, [*asked, "--mail", str(tmp_path / "none.yaml")])
    assert (none.exit_code, "no receiver of the kind email" in none.stderr) == (2, True)
