import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from collectors.cli import commands, live_commands
from collectors.cli.config_option import settings_of

DEPLOY = Path(__file__).parents[3] / "deploy"
HEAVY = {"numpy", "numba", "pyarrow", "scapy", "pyshark", "prometheus_client"}


@pytest.mark.parametrize("arguments", [["--help"], ["listen", "--help"], ["capture", "--help"], ["erspan", "-h"]])
def test_help_is_quick_since_it_imports_nothing_heavy(arguments):
    code = (
        f"import sys; from collectors.cli.commands import app; app({arguments!r}, standalone_mode=False); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=DEPLOY.parent)
    assert not HEAVY & set(done.stdout.split())


def test_help_says_what_is_open_to_whom():
    said = CliRunner().invoke(commands.app, ["listen", "--help"]).stdout
    assert "listens on loopback only" in " ".join(said.split())
    assert "--allow" in said
    assert "CAP_NET_RAW" in CliRunner().invoke(commands.app, ["capture", "--help"]).stdout


def test_values_of_the_wrong_kind_in_a_settings_file(tmp_path):
    (tmp_path / "a.toml").write_text('[listen]\nrate = "fast"\nipfix = ["0"]\n')
    result = CliRunner().invoke(commands.app, ["listen", "--config", str(tmp_path / "a.toml")])
    assert result.exit_code == 2
    assert "--rate" in result.stderr


@pytest.mark.parametrize("name", sorted(live_commands.COMMANDS))
def test_the_example_settings_are_known_to_the_commands(name):
    path = DEPLOY / "prism-collect.toml"
    whole = typer.main.get_command(commands.app)
    context = typer.Context(whole.commands[name], info_name=name, parent=typer.Context(whole, info_name="prism-collect"))
    assert set(settings_of(context, str(path))) == set(tomllib.loads(path.read_text())[name])


@pytest.mark.parametrize("unit", ["listen", "capture"])
def test_units_start_what_there_is_with_no_more_than_it_needs(unit):
    text = (DEPLOY / f"prism-collect-{unit}.service").read_text()
    command = re.search(r"^ExecStart=\S*prism-collect (\w+) ", text, re.MULTILINE)[1]
    assert command == unit
    given = re.search(r"^AmbientCapabilities=(.*)$", text, re.MULTILINE)[1]
    assert given == ("CAP_NET_RAW" if unit == "capture" else "")
    for option in re.findall(r"(--[a-z-]+)", re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)[1]):
        assert option in CliRunner().invoke(commands.app, [unit, "--help"]).stdout
    for hardening in ("NoNewPrivileges=yes", "ProtectSystem=strict", "DynamicUser=yes", "KillSignal=SIGTERM"):
        assert hardening in text
