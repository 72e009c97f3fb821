"""deploy/ is consistent with itself and with what the programs do: names of services, ports, files, metrics, columns."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.request
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import typer
import yaml
from typer.testing import CliRunner

from prism.app.doctor import DATAGRAM_OCTETS, DATAGRAM_RECORDS, ROW_OCTETS, WINDOW_OCTETS, Requirements
from prism.cli import main
from tests.collectors.builders.toys import Child

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
RULES = yaml.safe_load((DEPLOY / "rules.yml").read_text())
DASHBOARD = json.loads((DEPLOY / "grafana" / "prism.json").read_text())
SOURCES = {s["uid"]: s for s in yaml.safe_load((DEPLOY / "grafana" / "datasources.yml").read_text())["datasources"]}
EXPRESSIONS = [rule["expr"] for group in RULES["groups"] for rule in group["rules"]]
BY_JOB = json.loads((DEPLOY / "grafana" / "prism-job.json").read_text())
PANELS = [panel for board in (DASHBOARD, BY_JOB) for panel in board["panels"] if panel["type"] != "row"]
EXPRESSIONS += [target["expr"] for panel in PANELS for target in panel["targets"] if "expr" in target]
SIZES = (ROOT / "docs" / "deployment.md").read_text()
QUERIES = [target["rawSql"] for panel in PANELS for target in panel["targets"] if "rawSql" in target]
UNITS = sorted(DEPLOY.glob("*.service"))
LISTENS = {"clickhouse": {9000, 8123}, "prometheus": {9090}, "alertmanager": {9093}, "grafana": {3000}}  # as their images do
PATHS = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"


def run(program, *arguments):
    found = shutil.which(program, path=PATHS)
    if found is None:
        pytest.skip(f"{program} is not there")
    done = subprocess.run([found, *map(str, arguments)], capture_output=True, text=True, timeout=60, cwd=DEPLOY, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def exposed():
    """Ports of the image, by protocol."""
    line = re.search(r"^EXPOSE (.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)[1]
    return {(port.split("/")[1], int(port.split("/")[0])) for port in line.split()}


def published(service):
    """Ports inside the container that are published."""
    ports = [str(port).rsplit(":", 1)[-1] for port in SERVICES[service].get("ports", ())]
    return {(port.partition("/")[2] or "tcp", int(port.partition("/")[0])) for port in ports}


def test_what_is_published_is_what_is_listened_on():
    assert published("prism") == exposed()
    for service, ports in LISTENS.items():
        assert {port for _, port in published(service)} <= ports
    assert "8080" in re.search(r"HEALTHCHECK.*?CMD (.*)", (DEPLOY / "Dockerfile").read_text(), re.DOTALL)[1]


def test_only_exports_are_open_to_the_network_unless_somebody_says_so():
    for service in SERVICES.values():
        for port in service.get("ports", ()):
            assert port.startswith(("127.0.0.1:", "${PRISM_ADDRESS:-127.0.0.1}:")) or port.endswith("/udp")


def test_whoever_is_called_is_there_and_listens():
    places = LISTENS | {"prism": {port for kind, port in exposed() if kind == "tcp"}}
    prometheus = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())
    targets = [t for job in prometheus["scrape_configs"] for s in job["static_configs"] for t in s["targets"]]
    targets += [t for a in prometheus["alerting"]["alertmanagers"] for s in a["static_configs"] for t in s["targets"]]
    targets += [source["url"].removeprefix("http://") for source in SOURCES.values() if "url" in source]
    targets += [f"{s['jsonData']['host']}:{s['jsonData']['port']}" for s in SOURCES.values() if "host" in s.get("jsonData", {})]
    targets += re.findall(r"@([a-z]+:\d+)/", " ".join(SERVICES["prism"]["command"]))
    assert len(targets) >= 5
    for target in targets:
        host, _, port = target.partition(":")
        assert int(port) in places[host], target
    for service in SERVICES.values():
        assert set(service.get("depends_on", ())) <= set(SERVICES)


def test_who_scrapes_has_the_token_that_the_readme_makes():
    (secret,) = COMPOSE["secrets"]
    assert SERVICES["prometheus"]["secrets"] == [secret]
    prism = yaml.safe_load((DEPLOY / "prometheus.yml").read_text())["scrape_configs"][0]
    assert prism["authorization"]["credentials_file"] == f"/run/secrets/{secret}"
    name = COMPOSE["secrets"][secret]["file"].removeprefix("./")
    readme = (ROOT / "docs" / "deployment.md").read_text()
    made = re.search(rf"prism (token create .*) >{name}$", readme, re.MULTILINE)[1].split()
    assert made[-1].startswith("/var/lib/prism/")
    assert CliRunner().invoke(main.app, [*made[:2], "--help"]).exit_code == 0
    assert f"deploy/{name}" in (ROOT / ".gitignore").read_text()


def test_the_sizes_follow_from_what_was_measured():
    """GPUs, records and datagrams a second, disk a day and for a week, receive buffer."""
    number, octets = r"([\d,]+) \| ", r"([\d.]+ [GT]B) \| "
    rows = re.findall(rf"^\| {number * 3}{octets * 2}([\d.]+) MB \| ([\d.]+) GB \| ([\d.]+) \|$", SIZES, re.MULTILINE)
    assert len(rows) == 5
    for row in rows:
        gpus, rate, datagrams = (int(cell.replace(",", "")) for cell in row[:3])
        day, week = (float(n) * {"GB": 1e9, "TB": 1e12}[unit] for n, unit in (cell.split() for cell in row[3:5]))
        asked = Requirements(rate=rate, days=7)
        assert rate == 65 * gpus
        assert datagrams == pytest.approx(rate / DATAGRAM_RECORDS, abs=0.5)
        assert day == pytest.approx(rate * 86_400 * ROW_OCTETS, rel=0.02)
        assert week == pytest.approx(7 * 1.2 * rate * 86_400 * ROW_OCTETS, rel=0.02)
        assert float(row[5]) * 1e6 == pytest.approx(datagrams * asked.pause_s * DATAGRAM_OCTETS / 2, abs=0.05e6)
        assert float(row[6]) * 1e9 == pytest.approx(rate * asked.window_s * WINDOW_OCTETS, abs=0.05e9)
        assert float(row[7]) == pytest.approx(rate / 95_000, abs=0.005)


def test_what_is_mounted_is_there():
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith(".") else source in COMPOSE["volumes"], volume


def test_passwords_come_from_outside_and_are_the_same_on_both_sides():
    text = (DEPLOY / "compose.yaml").read_text()
    assert set(re.findall(r"\$\{(\w*PASSWORD)([^}]*)\}", text)) == {
        (name, ":?set it") for name in ("PRISM_STORE_PASSWORD", "PRISM_READER_PASSWORD", "PRISM_GRAFANA_PASSWORD")
    }
    reader = ElementTree.parse(DEPLOY / "clickhouse" / "reader.xml").find("users/reader")
    clickhouse = SOURCES["prism-clickhouse"]
    assert clickhouse["jsonData"]["username"] == reader.tag
    assert clickhouse["secureJsonData"]["password"] == "$" + reader.find("password").get("from_env")
    for service in ("clickhouse", "grafana"):
        assert reader.find("password").get("from_env") in SERVICES[service]["environment"]
    database = SERVICES["clickhouse"]["environment"]["CLICKHOUSE_DB"]
    assert clickhouse["jsonData"]["defaultDatabase"] == database
    assert SERVICES["prism"]["command"][-1].endswith(f"/{database}")


def test_the_image_is_made_of_what_is_there_and_runs_as_nobody():
    text = (DEPLOY / "Dockerfile").read_text()
    allowed = {line[1:] for line in (DEPLOY / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")}
    for line in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE):
        for name in line.split()[:-1]:
            assert (ROOT / name).exists()
            assert name in allowed
    user = re.search(r"^USER (\w+)$", text, re.MULTILINE)[1]
    assert f"--uid 10001 --no-create-home --shell /usr/sbin/nologin {user}" in text.replace("\\\n", "")
    extras = re.findall(r"'\.\[(\w+)\]'", text)
    assert set(extras) <= set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    assert set(re.findall(r"/var/\w+/prism", text)) == {"/var/lib/prism", "/var/cache/prism"}
    for service in SERVICES.values():
        assert re.search(r":(v?\d+\.\d+[\d.]*|local)$", service["image"])  # pinned


@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.stem)
def test_units_are_what_systemd_takes(unit, tmp_path):
    copy = tmp_path / unit.name
    copy.write_text(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", unit.read_text(), flags=re.MULTILINE))
    assert run("systemd-analyze", "verify", copy) == ""
    for hardening in ("NoNewPrivileges=yes", "ProtectSystem=strict", "DynamicUser=yes", "KillSignal=SIGTERM", "MemoryMax="):
        assert hardening in unit.read_text()


def test_prometheus_takes_its_settings_and_the_rules():
    assert f"{sum(len(g['rules']) for g in RULES['groups'])} rules found" in run("promtool", "check", "rules", "rules.yml")
    run("promtool", "check", "config", "--syntax-only", "prometheus.yml")
    run("amtool", "check-config", "alertmanager.yml")


def test_every_alert_says_how_bad_it_is_and_what_to_do():
    for rule in (rule for group in RULES["groups"] for rule in group["rules"]):
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}


SERIES = {  # what happens from a minute on, and the alerts it should raise after twenty
    "nothing": ({}, set()),
    "away": ({"up": "0x30"}, {"PrismDown"}),
    "silence": ({"prism_collect_datagrams_received_total": "5x30", "prism_collect_records_total": "9x30"}, {"PrismNoData"}),
    "loss": ({'prism_collect_kernel_lost_total{kind="ipfix"}': "0+60x30"}, {"PrismKernelLoss"}),
    "little loss": ({'prism_collect_kernel_lost_total{kind="ipfix"}': "0+0.1x30"}, set()),
    "strangers": ({'prism_collect_datagrams_refused_total{reason="not allowed"}': "0+600x30"}, {"PrismRefused"}),
    "a fault": ({"prism_collect_datagrams_failed_total": "0+1x30"}, {"PrismDecoderFault"}),
    "a full disk": ({'prism_collect_sink_records_total{fate="dropped: no room"}': "0+60x30"}, {"PrismRecordsDropped"}),
    "a quiet leaf": ({'prism_collect_exporter_datagrams_total{exporter="leaf1"}': "0+60x4 240x30"}, {"PrismExporterSilent"}),
    "a store that is away": ({"prism_collect_store_up": "0x30"}, {"PrismStoreAway"}),
    "a full spool": (
        {"prism_collect_spool_oldest_seconds": "0+60x30", "prism_collect_store_errors_total": "0+30x30"},
        {"PrismSpoolOld", "PrismStoreErrors"},
    ),
    "behind": ({"prism_analysis_lag_seconds": "0+60x30"}, {"PrismAnalysisLag"}),
    "windows fail": ({"prism_analysis_failed_total": "0+1x30"}, {"PrismAnalysisFails"}),
    "state is lost": ({"prism_analysis_unsaved_total": "0+1x30"}, {"PrismAnalysisUnsaved"}),
    "nobody is told": ({'prism_alerts_waiting{receiver="a"}': "3x30"}, {"PrismAlertsWait"}),
    "a receiver is gone": ({'prism_alerts_disabled{receiver="a"}': "1x30"}, {"PrismReceiverGone"}),
    "no boards": ({"prism_board_revision": "7x30"}, {"PrismAnalysisStands"}),
}
USUAL = {
    "up": "1x30",
    "prism_collect_datagrams_received_total": "0+6000x30",
    "prism_collect_records_total": "0+160000x30",
    "prism_collect_datagrams_failed_total": "0x30",
    'prism_collect_sink_records_total{fate="kept"}': "0+160000x30",
    'prism_collect_exporter_datagrams_total{exporter="leaf0"}': "0+6000x30",
    "prism_board_revision": "1+6x30",
    "prism_collect_store_up": "1x30",
    "prism_collect_store_errors_total": "0x30",
    "prism_collect_spool_oldest_seconds": "1x30",
    "prism_analysis_lag_seconds": "3x30",
    "prism_analysis_failed_total": "0x30",
    "prism_analysis_unsaved_total": "0x30",
    'prism_alerts_waiting{receiver="a"}': "0x30",
    'prism_alerts_disabled{receiver="a"}': "0x30",
}


def test_alerts_are_raised_when_they_should_and_not_else(tmp_path):
    names = [rule["alert"] for group in RULES["groups"] for rule in group["rules"]]
    tests = []
    for happening, _ in SERIES.values():
        series = []
        for name, values in (USUAL | happening).items():
            base, _, labels = name.partition("{")
            series.append(
                {"series": base + '{job="prism",instance="a:8080"' + ("," + labels if labels else "}"), "values": values}
            )
        told = [{"eval_time": "25m", "alertname": name, "exp_alerts": []} for name in names]
        tests.append({"interval": "1m", "input_series": series, "alert_rule_test": told})
    told = _promtool(tmp_path, tests)
    for i, (name, (_, raised)) in enumerate(SERIES.items()):
        assert told[i] == raised, name
    assert set().union(*(raised for _, raised in SERIES.values())) == set(names)


def _promtool(folder, tests):
    """The alerts that were raised in each test, of which each expects none."""
    program = shutil.which("promtool", path=PATHS)
    if program is None:
        pytest.skip("promtool is not there")
    raised = []
    for i, test in enumerate(tests):
        path = folder / f"{i}.yml"
        path.write_text(
            yaml.safe_dump({"rule_files": [str(DEPLOY / "rules.yml")], "evaluation_interval": "1m", "tests": [test]})
        )
        done = subprocess.run([program, "test", "rules", str(path)], capture_output=True, text=True, timeout=60, check=False)
        said = done.stdout + done.stderr
        raised.append(set(re.findall(r"alertname:\s*(\w+), time", said)))
        assert bool(raised[-1]) == (done.returncode != 0), said
    return raised


def metric_names(expressions):
    return {name for text in expressions for name in re.findall(r"\bprism_\w+", text)}


def scraped(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        return answer.read().decode()


def exported(page):
    """The families of a page of metrics by the names of their samples."""
    kinds = re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE)
    return {name if kind != "counter" else name.removesuffix("_total") + "_total" for name, kind in kinds}


def test_every_metric_that_is_requested_is_exported(tmp_path):
    command = (sys.executable, "-c", "from prism.cli.main import main; main()")
    words = ["--data", str(tmp_path / "data"), "--listen", "netflow://127.0.0.1:0", "--http", "0"]
    with Child("serve", *words, command=command) as service:
        url = service.expect(r"event=pages url=(\S+)")[1]
        names = exported(scraped(f"{url}/metrics"))
        assert service.end() == 0
    assert metric_names(EXPRESSIONS) <= names


def test_the_dashboard_s_annotations_are_answered_by_the_api():
    import httpx

    from prism.api.server.web_server import served
    from tests.prism.api.conftest import make_service

    [asked] = [one["target"] for one in BY_JOB["annotations"]["list"] if one["datasource"]["uid"] == "prism-api"]
    given = {"${__from}": "1795214542677", "${__to}": "1795218142677", "${job:csv}": ".*"}
    params = {}
    for one in asked["url_options"]["params"]:
        params[one["key"]] = one["value"]
        for name, value in given.items():
            params[one["key"]] = params[one["key"]].replace(name, value)
    with served(make_service()) as port:
        (row,) = httpx.get(f"http://127.0.0.1:{port}{asked['url']}", params=params).json()[asked["root_selector"]]
    assert {column["selector"] for column in asked["columns"]} <= set(row)
    assert SOURCES["prism-api"]["secureJsonData"]["bearerToken"] == "$__file{/run/secrets/prometheus-token}"
    assert SERVICES["grafana"]["secrets"] == SERVICES["prometheus"]["secrets"]


def test_the_dashboard_s_queries_are_answered_by_the_store(tmp_path):
    from collectors.clickhouse.drivers import opened
    from collectors.store.flow_rows import TABLES

    database = opened(str(tmp_path / "store"))
    try:
        for table in TABLES:
            database.create(table)
        for query in QUERIES:
            database.query(query.replace("${__from}", "1795214542677").replace("${__to}", "1795218142677"))
    finally:
        database.close()
    assert len(QUERIES) >= 3


def test_the_example_settings_of_the_service_name_every_option():
    text = (DEPLOY / "prism.toml").read_text()
    whole = typer.main.get_command(main.app)
    command = whole.commands["serve"]
    options = {option.name for option in command.params} - {"config", "help"}
    assert set(re.findall(r"^#? ?(\w+) = ", text, re.MULTILINE)) == options
    parent = typer.Context(whole, info_name="prism")
    with command.make_context("serve", ["--config", str(DEPLOY / "prism.toml")], parent=parent) as context:
        assert set(context.default_map) == set(tomllib.loads(text)["serve"])
        given = context.params
    assert {urlsplit(url).port for url in given["listen"]} == {port for kind, port in exposed() if kind == "udp"}
    shown = {
        name: tomllib.loads(f"{name} = {value}")[name] for name, value in re.findall(r"^# (\w+) = (.*)$", text, re.MULTILINE)
    }
    usual = {option.name: option.default for option in command.params}
    for name, value in shown.items():  # what is behind # is the default, or an example where there is none
        assert usual[name] in (value, None)
