from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from collectors.cli.commands import app as collect
from collectors.cli.config_option import config_option
from collectors.cli.option_values import Commands
from prism.cli.main import app as prism

ConfigOption = Annotated[str | None, config_option("prism")]
inner = typer.Typer(rich_markup_mode=None)
app = typer.Typer(cls=Commands, rich_markup_mode=None)
app.add_typer(inner, name="inner")


@app.command()
def go(
    store: Annotated[str, typer.Option(metavar="URL")] = "",
    names: list[str] | None = None,
    why: Annotated[str, typer.Option(metavar="TEXT")] = "because",
    config: ConfigOption = None,
) -> None:
    typer.echo(f"{store!r} {names} {why!r} {config is not None}")


@inner.command()
def deep(where: Annotated[str, typer.Argument(metavar="WHERE")]) -> None:
    typer.echo(where)


@inner.command()
def other() -> None:
    """A second one, so that the first has a name."""


def run(*words, of=app):
    return CliRunner().invoke(of, words)


def test_what_is_given_goes_on():
    assert run("go").stdout == "'' None 'because' False\n"
    assert run("go", "--store", "a", "--names", "b", "--why", "").stdout == "'a' ['b'] '' False\n"
    assert run("inner", "deep", "a").stdout == "a\n"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("go", "--store", ""), "'--store'"),
        (("go", "--store="), "'--store'"),
        (("go", "--names", "a", "--names", ""), "'--names'"),
        (("go", "--config", ""), "'--config'"),
        (("inner", "deep", ""), "'WHERE'"),
    ],
)
def test_an_empty_text_is_refused_by_name(words, name):
    found = run(*words)
    assert found.exit_code == 2
    assert f"{name}: the value is empty; is a shell variable not set?" in found.stderr


def test_one_in_a_settings_file_too(tmp_path):
    (tmp_path / "a.toml").write_text("[go]\nstore = ''\n")
    found = run("go", "--config", str(tmp_path / "a.toml"))
    assert found.exit_code == 2
    assert "'--store'" in found.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("serve", "--listen", "nope", "--data", ""),
        ("serve", "--listen", "nope", "--store", ""),
        ("watch", "a.csv", "--replay", "--store", ""),
        ("watch", "a.csv", "--replay", "--scheduler", ""),
        ("watch", "a.csv", "--replay", "--topology", ""),
        ("watch", "a.csv", "--replay", "--columns", ""),
        ("store", "init", "a", "--keep", ""),
        ("store", "prune", "a", "--keep", ""),
        ("token", "list", "--tokens", ""),
        ("doctor", "--store", ""),
    ],
)
def test_none_of_ours_is_ignored(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run(*words, of=prism)
    assert found.exit_code == 2
    assert f"Invalid value for '{words[-2]}': the value is empty" in found.stderr
    assert not list(tmp_path.iterdir())


def test_nor_where_packets_are_seen():
    assert "'--metrics'" in run("listen", "--sflow", ":6343", "--metrics", "", of=collect).stderr
