"""What no single module can promise: that the parts lie where a reader expects them."""

import os
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from collectors import cli as collect
from prism import cli

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MODULES = sorted(
    path.relative_to(ROOT) for package in ("prism", "collectors", "benchmarks") for path in (ROOT / package).rglob("*.py")
)
# these do I/O
EDGE = frozenset(
    re.findall(
        r"\S+",
        """
collectors.bpf collectors.capture collectors.capturing collectors.cli collectors.cli_files collectors.cli_live
collectors.arrowfile collectors.nfcapdfile collectors.throttle collectors.cli_given collectors.cli_settings collectors.cli_warm
collectors.clickhouse collectors.clickhouse_address collectors.clickhouse_embedded collectors.clickhouse_errors
collectors.clickhouse_server collectors.bounded
collectors.clickhouse_tables collectors.clickhouse_texts
collectors.clusterfile collectors.compiled collectors.compiling collectors.converting collectors.dump
collectors.exportfile collectors.files collectors.hops collectors.inbox collectors.inputs collectors.inserting
collectors.inspecting collectors.places prism.servicefile prism.storestatus
collectors.intake collectors.ipfixfile collectors.keeping collectors.listen collectors.listening collectors.live
collectors.locking collectors.logs collectors.memory collectors.metrics collectors.parquet collectors.pcap collectors.receiving
collectors.reading collectors.retention collectors.ring collectors.rotation collectors.settings collectors.showing
collectors.shares collectors.sinks collectors.slabs collectors.warming
collectors.spool collectors.statefile collectors.storing collectors.windows collectors.writing prism.alertfile prism.alerting
prism.alerttest prism.analysing prism.api.answers prism.api.application prism.api.asked prism.api.boards prism.api.connections
prism.api.described prism.api.events prism.api.findings prism.api.guard prism.api.hub prism.api.ops prism.api.pages
prism.api.heads prism.api.index prism.api.moments prism.api.parameters prism.api.problems
prism.api.replays prism.api.schemas prism.api.schemas_findings prism.api.schemas_service
prism.api.serving prism.api.session prism.asking prism.boardfile prism.cli prism.cli_alerts prism.cli_live prism.cli_ops

prism.cli_counters prism.cli_incident prism.cli_logs prism.cli_metrics prism.cli_stacks prism.counters.reading
prism.api.history prism.api.incidents prism.past.runs
prism.logs.healthystore prism.logs.loki prism.logs.opening prism.logs.reading prism.stacks.acting prism.stacks.folder
prism.cli_service prism.cli_store prism.demo prism.dumps prism.facts prism.histories prism.history prism.incoming
prism.keeping prism.live
prism.opening prism.outbox prism.page prism.playing prism.replay prism.serve prism.service prism.showing prism.silencing
prism.simulate prism.spread prism.store prism.stored prism.terminal prism.terminal_service prism.tokens prism.traces
prism.api.pictures prism.api.schemas_pictures prism.api.search prism.names.keeping prism.names.sources
prism.api.remarks prism.api.alerts prism.api.actions prism.api.schemas_feedback prism.feedback.desk prism.feedback.journal
prism.api.exporters prism.api.reports prism.reports.command prism.telemetry.jobs
prism.exporters.told
prism.exporters.ports prism.api.rates prism.api.past prism.past.again prism.past.command
prism.notify.mail prism.notify.sending
prism.scheduling prism.uploaded prism.uploads prism.watch prism.webhooks prism.workers
""",
    )
)
README = (ROOT / "README.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    for line in block.replace("\\\n", " ").splitlines()
    if line.strip() and not line.startswith("#")
]


@pytest.mark.parametrize("module", [m for m in MODULES if m.name != "__init__.py"], ids=str)
def test_every_module_has_its_test_file(module):
    assert list((ROOT / "tests" / module.parts[0]).rglob(f"test_{module.name}"))


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_a_file_is_a_room_you_can_see_across(module):
    assert len((ROOT / module).read_text().splitlines()) <= 350


def test_every_module_is_declared_pure_or_an_edge():
    contract = next(c for c in PROJECT["tool"]["importlinter"]["contracts"] if "no I/O" in c["name"])
    pure = tuple(contract["source_modules"])
    for module in MODULES:
        name = ".".join(module.with_suffix("").parts)
        if module.name != "__init__.py" and not name.startswith("benchmarks."):
            assert (name in EDGE) != any(name == p or name.startswith(p + ".") for p in pure), name


def test_every_requirement_is_pinned_and_nothing_says_where_from():
    pins = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, _, pin = line.partition("==")
            assert re.fullmatch(r"[A-Za-z0-9._-]+", name), line
            assert re.fullmatch(r"[0-9][A-Za-z0-9.]*", pin), line
            pins[re.sub(r"[-_.]+", "-", name).lower()] = pin
    project = PROJECT["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["test"], *project["optional-dependencies"]["lint"]]
    for requirement in asked:
        assert re.match(r"[A-Za-z0-9._-]+", requirement)[0].replace("_", "-").lower() in pins


def test_the_readme_s_scripts_are_there_and_can_be_run():
    scripts = [line.split()[0] for line in COMMANDS if line.startswith("scripts/")]
    assert len(scripts) >= 2
    for script in scripts:
        assert os.access(ROOT / script, os.X_OK)


def test_the_readme_s_commands_have_the_options_they_use():
    lines = [shlex.split(line, comments=True) for line in COMMANDS]
    programs = {"prism": cli.app, "prism-collect": collect.app}
    used = [words for words in lines if words and words[0] in programs]
    assert used
    for program, *words in used:
        command = [word for word in words if not word.startswith("-")][: 2 if words[0] in ("alert", "silence") else 1]
        shown = CliRunner().invoke(programs[program], [*command, "--help"], env={"COLUMNS": "200"})
        assert shown.exit_code == 0, words
        for option in (word for word in words if word.startswith("-") and word != "-"):
            assert re.search(rf"(?<!\S){option}\b", shown.stdout), (program, option)


def test_the_readme_s_files_are_there():
    for name in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"\bpcaps/\w[\w/.]*", README):
        assert (ROOT / name.rstrip(".")).exists(), name


def test_the_captures_described_are_the_captures_there():
    described = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "pcaps" / "README.md").read_text(), re.MULTILINE))
    assert described == {path.name for path in (ROOT / "pcaps").iterdir() if path.is_dir()}
