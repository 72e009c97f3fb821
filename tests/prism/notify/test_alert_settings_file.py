import os
import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given
from hypothesis import settings as tried
from hypothesis import strategies as st

from prism.alerts.alert_settings import KINDS, Receiver, Settings
from prism.notify.alert_settings_file import PAGERDUTY, TABLES, read_alerts

EXAMPLE = Path(__file__).parents[3] / "deploy" / "alerts.yaml"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
HOOK = "receivers:\n- {name: hook, kind: webhook, url: 'https://hooks.example/T0/hidden'"


def write(folder, text):
    (folder / "alerts.yaml").write_text(text)
    return folder / "alerts.yaml"


def test_the_example_has_every_knob_at_its_default_with_a_comment():
    assert read_alerts(EXAMPLE) == Settings(folder=str(EXAMPLE.parent))
    lines = EXAMPLE.read_text().splitlines()
    keys = {field.name for kind in (Settings, *TABLES.values()) for field in fields(kind)}
    for key in keys - set(TABLES) - {"receivers"}:
        assert sum(bool(re.match(rf" *{key}: .+  # \S", line)) for line in lines) == 1, key


def test_the_example_s_receivers_are_right(tmp_path, monkeypatch):
    text = "\n".join(
        line[2:]
        for line in EXAMPLE.read_text().partition("# receivers:")[2].partition("# An action")[0].splitlines()
        if line.startswith("# ")
    )
    secrets = {"BRIDGE_URL": "https://bridge.example/x", "BRIDGE_TOKEN": "t0k", "PAGERDUTY_KEY": "k" * 32}
    for name, value in (secrets | {"OPSGENIE_KEY": "g", "SMTP_PASSWORD": "p"}).items():
        monkeypatch.setenv(name, value)
    (tmp_path / "automation.secret").write_text(f"{SECRET}\n")
    (tmp_path / "slack.url").write_text("https://hooks.slack.example/services/T0/B0/x\n")
    (tmp_path / "teams.url").write_text("https://teams.example/workflows/x\n")
    found = read_alerts(write(tmp_path, "receivers:\n" + text)).receivers
    assert {one.kind for one in found} == set(KINDS)
    assert (found[0].token, found[1].secrets, found[3].url) == ("t0k", (SECRET,), PAGERDUTY)
    assert str(found[2].allow[0]) == "10.0.0.9/32"
    assert [str(one) for one in found[3].match] == ['severity="critical"']
    bridge = yaml.safe_load("receivers:\n" + text)["receivers"]
    default = {field.name: field.default for field in fields(Receiver)}
    shown = {key: value for one in bridge for key, value in one.items() if not isinstance(value, dict)}
    assert {field.name for field in fields(Receiver)} <= {key for one in bridge for key in one}
    for key in ("resolved", "most", "refresh_s", "ca_file"):
        assert shown[key] == default[key], key


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("grouping: {wiat_s: 5}", "grouping: unknown key 'wiat_s'"),
        ("group: {}", "unknown key 'group'; known keys: actions, external_url"),
        ("grouping: {wait_s: soon}", "grouping.wait_s: must be a number"),
        ("grouping: {wait_s: -1}", "grouping.wait_s: must be a number"),
        ("grouping: {wait_s: nan}", "grouping.wait_s: must be a number"),
        ("grouping: {by: job}", "grouping.by: must be a list"),
        ("grouping: {by: [jobs]}", "grouping.by: unknown value 'jobs'"),
        ("telling: {severities: [bad]}", "telling.severities: unknown value 'bad'"),
        ("retrying: {after_s: []}", "must not be empty or 0"),
        ("limits: {answer_octets: 1.5}", "whole number"),
        ("- a", "a table of keys"),
        ("external_url: ftp://x", "external_url: must be http"),
        ("labels: {1a: x}", "labels: '1a'"),
        ("receivers: {}\n", None),
        ("receivers: {a: b}", "receivers: must be a list"),
        ("receivers:\n- {name: x}", r"receivers\[0\] \(x\): kind is missing"),
        ("receivers:\n- {name: x, kind: fax, url: 'http://x'}", "kind must be one of"),
        ("receivers:\n- {name: x, kind: signed, url: 'http://x'}", "signed needs secrets"),
        ("receivers:\n- {name: x, kind: pagerduty}", "pagerduty needs routing_key"),
        ("receivers:\n- {name: x, kind: opsgenie}", "opsgenie needs token"),
        ("receivers:\n- {name: x, kind: email, url: 'smtp://a', sender: a@b}", "email needs to"),
        ("receivers:\n- {name: x, kind: email, url: 'http://a', sender: a@b, to: [a@b]}", "must be smtp"),
        ("receivers:\n- {name: x, kind: email, url: 'smtp://a', sender: 'a b', to: [a@b]}", "not an email address"),
        (HOOK + ", secrets: [abc]}", "secrets: a secret"),
        (HOOK + ", resolved: maybe}", "true or false"),
        (HOOK + ", most: 0}", "at least 1"),
        (HOOK + ", allow: [10.0.0.1/8]}", "host bits"),
        (HOOK + ", match: [severity]}", "is not a matcher"),
        (HOOK + "}\n- {name: hook, kind: slack, url: 'http://x'}", "'hook' is given twice"),
        (HOOK + ", token: {env: PRISM_NOT_THERE}}", "the environment variable PRISM_NOT_THERE is not set"),
        (HOOK + ", token: {file: a, env: b}}", "text, {file: NAME} or {env: NAME}"),
        ("receivers:\n- {name: x, kind: webhook, url: 'http://u:pw@x/'}", "must not contain a user and password"),
        ("receivers:\n- {name: x, kind: webhook, url: 'http://x y/'}", "without spaces"),
        ("receivers:\n- {name: x, kind: webhook, url: 'http://x:99999/'}", "http"),
        ("receivers:\n- {name: x, kind: webhook, url: 'http:///x'}", "http"),
        ("receivers:\n- {name: x, kind: webhook, url: 'file:///etc/passwd'}", "http"),
    ],
)
def test_what_is_wrong_is_named_and_secrets_are_not(tmp_path, text, what):
    path = write(tmp_path, text)
    if what is None:
        assert read_alerts(path).receivers == ()
        return
    with pytest.raises(ValueError, match=what) as error:
        read_alerts(path)
    assert str(error.value).startswith(str(path))
    assert not re.search("hidden|abc|pw", str(error.value))


def test_files_that_are_not_there_are_named(tmp_path):
    for text in (HOOK + ", token: {file: no.secret}}", HOOK + ", ca_file: no.secret}"):
        with pytest.raises(OSError, match=r"no\.secret"):
            read_alerts(write(tmp_path, text))
    with pytest.raises(OSError, match=r"none\.yaml"):
        read_alerts(tmp_path / "none.yaml")


@given(
    st.recursive(
        st.none() | st.text(max_size=5),
        lambda of: (
            st.lists(of, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "receivers",
                        "name",
                        "kind",
                        "url",
                        "grouping",
                        "by",
                        "wait_s",
                        "labels",
                        "match",
                        "secrets",
                        "file",
                        "env",
                    ]
                ),
                of,
                max_size=3,
            )
        ),
    )
)
@tried(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_document_is_read_or_refused(tmp_path, document):
    path = write(tmp_path, yaml.safe_dump(document))
    try:
        read_alerts(path)
    except (ValueError, OSError) as error:
        assert str(error)  # noqa: PT017


def test_a_list_is_not_needed_for_nothing(tmp_path):
    assert read_alerts(write(tmp_path, "")).folder == os.path.realpath(tmp_path)
