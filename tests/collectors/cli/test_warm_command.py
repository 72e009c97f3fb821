import os
import subprocess
import sys

from typer.testing import CliRunner

from collectors.cli import warm_command
from collectors.compilation import warming
from collectors.compilation.warming import Task


def run(monkeypatch, tasks, *arguments):
    import typer

    monkeypatch.setattr(warming, "listed", lambda _packages: tasks)
    monkeypatch.setattr(warming, "missing", lambda found: found)
    monkeypatch.setattr(warming, "compile_all", lambda found, _many: iter(found))
    app = typer.Typer()
    app.command("warm")(warm_command.command("prism", ("prism",)))
    return CliRunner().invoke(app, arguments)


def test_progress_is_a_line_per_tenth_without_a_terminal(monkeypatch):
    done = run(monkeypatch, [Task("m", str(i), ()) for i in range(40)])
    *lines, last = done.stderr.splitlines()
    assert lines == [f"compiling loops: {4 * (i + 1)} of 40" for i in range(10)]
    assert last == "prism: compiled 40 loops in 0 s"
    assert done.exit_code == 0


def test_nothing_to_do_is_reported_and_quiet_says_nothing(monkeypatch):
    assert run(monkeypatch, []).stderr == "prism: all loops were compiled already\n"
    assert run(monkeypatch, [Task("m", "f", ())], "--quiet").output == ""


def test_a_folder_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    folder = tmp_path / "file"
    folder.write_text("")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-m", "collectors.cli.commands", "warm"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2 or "Traceback" not in done.stderr
