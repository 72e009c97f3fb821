from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from collectors.cli.config_option import config_option

ConfigOption = Annotated[str | None, config_option("prism")]
app = typer.Typer()


@app.command()
def serve(
    port_number: int = 1,
    name: list[str] | None = None,
    quick: bool = False,
    config: ConfigOption = None,
):
    typer.echo(f"{port_number} {name} {quick} {config is not None}")


@app.command()
def other(config: ConfigOption = None) -> None:
    """A second one, so that the first has a name."""


def run(text, folder, *arguments):
    (folder / "a.toml").write_text(text)
    return CliRunner().invoke(app, ["serve", "--config", str(folder / "a.toml"), *arguments])


def test_settings_are_defaults_and_the_command_line_goes_before_them(tmp_path):
    text = '[serve]\nport_number = 7\nname = ["a", "b"]\nquick = true\n'
    assert run(text, tmp_path).stdout == "7 ['a', 'b'] True True\n"
    assert run(text, tmp_path, "--port-number", "9").stdout == "9 ['a', 'b'] True True\n"
    assert run("", tmp_path).stdout == "1 None False True\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[serve]\nconfig = 'b.toml'\n", "[serve]: unknown key 'config'"),
        ("[serve]\nport = 1\n", "[serve]: unknown key 'port'"),
        ("[third]\n", "unknown table [third]; known tables: other, serve"),
        ("serve", "a.toml"),
        ("[serve]\nport_number = 'x'\n", "--port-number"),
    ],
)
def test_what_it_does_not_know_is_refused_by_name(text, said, tmp_path):
    result = run(text, tmp_path)
    assert result.exit_code == 2
    assert said in result.stderr


def test_a_file_that_is_not_there():
    result = CliRunner().invoke(app, ["serve", "--config", "nosuch.toml"])
    assert result.exit_code == 2
    assert result.stderr == "prism: nosuch.toml: no such file or directory\n"
