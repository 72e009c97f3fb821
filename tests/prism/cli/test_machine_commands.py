import json
import socket
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from prism.api.server.web_server import served
from prism.cli import main
from prism.cli.main import app
from tests.prism.api.conftest import make_service


def run(*args):
    return CliRunner().invoke(main.app, ["doctor", *map(str, args)])


def test_what_is_found_is_reported_and_the_exit_code_says_how_bad_it_is(tmp_path):
    result = run("--folder", tmp_path, "--json", "--port", "1/udp", "--rate", "1", "--pause", "0")
    told = json.loads(result.stdout)
    assert result.exit_code == {"fine": 0, "warning": 1, "error": 2}[told["level"]]
    assert [check["name"] for check in told["checks"]][:3] == ["receive buffer", "clock", "capture"]
    assert told["asked"]["rate"] == 1
    lines = run("--folder", tmp_path, "--rate", "1").stdout.splitlines()
    assert sum(": " in line and not line.startswith(" ") for line in lines) == len(told["checks"])


def test_a_port_in_use_is_a_warning_and_a_missing_interface_an_error(tmp_path):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        result = run("--folder", tmp_path, "--port", f"{port}/udp", "--capture", "nosuch0")
    assert result.exit_code == 2
    assert f"warning ports: in use: {port}/udp" in result.stdout
    assert "error   capture: interface nosuch0 does not exist" in result.stdout


@pytest.mark.parametrize("text", ["80", "80/sctp", "0/udp", "70000/tcp", "x/udp", "²/udp"])
def test_an_invalid_port_is_one_line_and_exit_2(text):
    result = run("--port", text)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"prism: {text!r} is not a port")


def test_the_doctor_says_what_exporters_lack():
    service = make_service()
    with served(service) as port:
        done = CliRunner().invoke(app, ["doctor", "--exporters", "--url", f"http://127.0.0.1:{port}"])
        told = CliRunner().invoke(app, ["doctor", "--exporters", "--url", f"http://127.0.0.1:{port}", "--json"])
    assert done.exit_code == 0, done.output
    assert "fine    leaf0: 40 records/s" in done.stdout
    assert json.loads(told.stdout)[0]["name"] == "leaf0"
    with served(replace(service, records=None)) as port:
        none = CliRunner().invoke(app, ["doctor", "--exporters", "--url", f"http://127.0.0.1:{port}"])
    assert (none.exit_code, "no records have been received" in none.stdout) == (1, True)
