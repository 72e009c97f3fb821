"""README and docs/: they build, their links and files are there, their commands and examples are right."""

import doctest
import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from benchmarks import accuracy
from collectors.cli import commands as collect
from prism.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = {path.name: path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))}
TEXTS = {"README.md": README, **PAGES}
PROGRAMS = {"prism": main.app, "prism-collect": collect.app}
GROUPS = ("alert", "silence", "store", "token")  # commands that have commands
EXAMPLES = {"NAME", "NAME.js", "constants.py"}  # names that stand for others


def commands(text):
    """The lines of the shell blocks of a page, without comments."""
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if words := shlex.split(line, comments=True):
                yield words


USED = [(name, words) for name, text in TEXTS.items() for words in commands(text)]


def test_the_site_builds_without_a_warning(tmp_path):
    """Strict: a broken link, a missing anchor or a page that the navigation lacks fails the build."""
    build = pytest.importorskip("mkdocs.commands.build")
    config = pytest.importorskip("mkdocs.config")
    found = config.load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path / "site"), strict=True)
    build.build(found)
    assert (tmp_path / "site" / "switches" / "index.html").is_file()
    pages = "".join(path.read_text() for path in (tmp_path / "site").rglob("*.html"))
    assert not re.findall(r"<(?:script|link|img)[^>]+(?:src|href)=\"(?:https?:)?//", pages), "pages ask other hosts"


def test_the_readme_is_short_and_shows_a_picture_and_two_commands_first():
    lines = README.splitlines()
    assert len(lines) <= 150
    first = "\n".join(lines[:20])
    assert "![" in first
    assert first.count("\nscripts/") == 2


def test_every_page_is_in_the_navigation():
    def leaves(items):
        for item in items:
            for value in item.values() if isinstance(item, dict) else [item]:
                yield from leaves(value) if isinstance(value, list) else [value]

    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert sorted(leaves(site["nav"])) == sorted(PAGES)


def test_scripts_that_are_named_can_be_run():
    scripts = {words[0] for _, words in USED if words[0].startswith("scripts/")}
    assert {"scripts/demo", "scripts/check"} <= scripts
    for script in scripts:
        assert os.access(ROOT / script, os.X_OK)


@pytest.mark.parametrize(("page", "words"), [(p, w) for p, w in USED if w[0] in PROGRAMS], ids=lambda v: " ".join(v)[:60])
def test_commands_have_the_options_that_are_shown(page, words):
    program, *rest = words
    rest = rest[: rest.index("&&")] if "&&" in rest else rest
    command = [word for word in rest if not word.startswith("-")][: 2 if rest[0] in GROUPS else 1]
    shown = CliRunner().invoke(PROGRAMS[program], [*command, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0, (page, words)
    for option in (word for word in rest if word.startswith("-") and word != "-"):
        assert re.search(rf"(?<!\S){option}\b", shown.stdout), (page, program, option)


@pytest.mark.parametrize("page", TEXTS)
def test_links_of_the_readme_and_files_that_pages_name_are_there(page):
    if page == "README.md":
        for name in re.findall(r"\]\(([^)#:]+)\)", README):
            assert (ROOT / name).exists(), name
    for name in re.findall(r"\bpcaps/\w[\w/.]*", TEXTS[page]):
        assert (ROOT / name.rstrip(".")).exists(), name
    roots = "prism|collectors|benchmarks|tests|deploy|docs|scripts"
    for name in re.findall(rf"`((?:{roots})/[\w./-]*)`", TEXTS[page]):
        assert Path(name).name in EXAMPLES or (ROOT / name).exists(), name


@pytest.mark.parametrize("page", TEXTS)
def test_benchmarks_that_are_named_are_there(page):
    for name in re.findall(r"python -m benchmarks\.(\w+)", TEXTS[page]):
        assert (ROOT / "benchmarks" / f"{name}.py").exists(), name


def test_examples_of_the_python_page_are_right():
    result = doctest.testfile(str(ROOT / "docs" / "python.md"), module_relative=False)
    assert result.attempted >= 6
    assert result.failed == 0


def test_the_demo_prints_what_the_readme_shows(monkeypatch):
    """The words of the block in the README are words that the demo prints; only the lines are broken elsewhere."""
    folder = ROOT / "pcaps" / "slow_rank"
    monkeypatch.chdir(folder)
    files = [Path(path).name for _, path in accuracy.inputs(folder)]
    done = CliRunner().invoke(main.app, ["replay", "--quiet", *files, "--topology", "topology.json"])
    shown = re.search(r"^The first prints.*?```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)[1]
    printed, expected = (set(re.findall(r"[\w./]+", text)) for text in (done.stdout, shown))
    assert len(expected) > 50
    assert expected <= printed


def test_the_changelog_keeps_its_form():
    """Keep a Changelog: known headings, one line per effect, the newest version is the one of the package."""
    text = (ROOT / "CHANGELOG.md").read_text()
    versions = re.findall(r"^## \[([\d.]+)\] - \d{4}-\d{2}-\d{2}$", text, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert versions[0] == project["version"]
    assert text.index("## [Unreleased]") < text.index(f"## [{versions[0]}]")
    assert set(re.findall(r"^### (.*)$", text, re.MULTILINE)) <= {
        "Added",
        "Changed",
        "Deprecated",
        "Removed",
        "Fixed",
        "Security",
    }
    for line in text.splitlines()[3:]:
        assert not line or line.startswith(("## ", "### ", "* ")), line
        assert len(line) <= 132, line
