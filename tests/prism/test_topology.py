import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from prism.topology import Endpoint, is_topology, parse

JSON = """{"endpoints": {"10.10.0.1": {"host": "server0", "rail": 0, "leaf": "leaf0"},
 "10.10.0.2": {"host": "server0", "rail": 1, "leaf": "leaf0"},
 "2001:DB8:0::1": {"host": "server1", "rail": 0, "leaf": "leaf1"}},
 "links": [["leaf0", "spine0"], ["leaf1", "spine0"], ["spine0", "leaf0"]]}"""
CSV = """address,host,rail,leaf
10.10.0.1,server0,0,leaf0
10.10.0.2,server0,1,leaf0
2001:db8::1,server1,0,leaf1
"""
LINKS = '{"endpoints": {"10.0.0.1": {"host": "h"}}, "links": '


def test_the_design_document_s_example():
    t = parse(
        '{"endpoints": {"10.10.0.1": {"host": "server0", "rail": 0, "leaf": "leaf0"}}, "links": [["leaf0", "spine0"]]}',
        "t.json",
    )
    assert t.endpoints == {"10.10.0.1": Endpoint("server0", 0, "leaf0")}
    assert t.links == (("leaf0", "spine0"),)


def test_lookups():
    t = parse(JSON, "t.json")
    assert t.host("10.10.0.2") == "server0"
    assert t.leaf("2001:db8::1") == "leaf1"
    assert t.host("192.0.2.1") is None
    assert t.leaf("192.0.2.1") is None
    assert t.hosts() == ("server0", "server1")
    assert t.sizes == {"server0": 2, "server1": 1}
    assert t.switches() == ("leaf0", "leaf1", "spine0")
    assert t.switch_links("spine0") == (("leaf0", "spine0"), ("leaf1", "spine0"))
    assert t.switch_links("leaf1") == (("leaf1", "spine0"),)


def test_the_three_formats_agree():
    from_json = parse(JSON, "t.json")
    assert parse(yaml.safe_dump(json.loads(JSON)), "t.yaml") == from_json
    assert parse(CSV, "t.csv").endpoints == from_json.endpoints


@pytest.mark.parametrize("text", [JSON, CSV, yaml.safe_dump(json.loads(JSON))])
def test_the_format_shows_in_the_content_where_the_name_does_not_say(text):
    assert parse("\ufeff" + text, "topology").endpoints == parse(JSON, "t.json").endpoints


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ('{"endpoints": {"10.0.0.1": {}}}', True),
        ('\ufeff{\n  "links": [["leaf0", "spine0"]]', True),
        ("endpoints:\n  10.0.0.1: {host: a}\n", True),
        ("address,host,leaf\n10.0.0.1,a,l\n", True),
        ("start_ns,end_ns,src,dst,octets\n", False),
        ('{"start_ns": 1, "endpoints": 3}', False),
        ("", False),
    ],
)
def test_a_topology_shows_in_its_first_line(text, is_one):
    assert is_topology(text) is is_one


def test_what_a_site_does_not_know_may_be_left_out():
    expected = {"10.0.0.1": Endpoint("h", None, None), "10.0.0.2": Endpoint(None, None, "l")}
    assert (
        parse('{"endpoints": {"10.0.0.1": {"host": "h"}, "10.0.0.2": {"leaf": "l", "rail": null}}}', "t.json").endpoints
        == expected
    )
    assert parse("address,host,leaf\n10.0.0.1,h,\n\n10.0.0.2,,l\n", "t.csv").endpoints == expected
    assert parse("endpoints:\n  10.0.0.1: {host: h, leaf: ~}\n  10.0.0.2: {leaf: l}\n", "t.yml").endpoints == expected


def test_yaml_names_stay_text():
    endpoints = parse("endpoints:\n  10.0.0.1: {host: 0x10, rail: 3, leaf: no}\n", "t.yaml").endpoints
    assert endpoints == {"10.0.0.1": Endpoint("0x10", 3, "no")}


def test_an_ipv4_address_in_ipv6_clothes_is_that_address():
    assert list(parse('{"endpoints": {"::ffff:10.0.0.1": {}}}', "t.json").endpoints) == ["10.0.0.1"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.json", '{"endpoints": {', "t.json:1:16: "),
        ("t.json", "[]", "t.json: must be an object, not []"),
        ("t.json", "{}", '"endpoints" is missing'),
        ("t.json", '{"endpoints": {}}', "t.json: contains no endpoints"),
        ("t.json", '{"endpoints": {}, "link": []}', "unknown key 'link'; known keys: endpoints, links"),
        ("t.json", '{"endpoints": []}', "t.json: endpoints: must be an object, not []"),
        ("t.json", '{"endpoints": {"10.0.0.300": {}}}', "'10.0.0.300' is not an IPv4 or IPv6 address"),
        ("t.json", '{"endpoints": {"10.0.0.1": "leaf0"}}', 'endpoints["10.0.0.1"]: must be an object, not "leaf0"'),
        ("t.json", '{"endpoints": {"10.0.0.1": {"hots": "h"}}}', "unknown key 'hots'; known keys: host, rail, leaf"),
        ("t.json", '{"endpoints": {"10.0.0.1": {"host": 3}}}', 'endpoints["10.0.0.1"]: host must be a name, not 3'),
        ("t.json", '{"endpoints": {"10.0.0.1": {"host": "a\\u001b[31m"}}}', "host must be a name"),
        ("t.json", '{"endpoints": {"10.0.0.1": {"rail": true}}}', "rail must be a whole number from 0, not true"),
        ("t.json", '{"endpoints": {"10.0.0.1": {"rail": "0"}}}', 'rail must be a whole number from 0, not "0"'),
        ("t.json", '{"endpoints": {"10.0.0.1": {"rail": -1}}}', "rail must be a whole number from 0, not -1"),
        ("t.json", '{"endpoints": {"10.0.0.1": {"rail": 1%s}}}' % ("0" * 5000), "t.json: "),
        ("t.json", '{"endpoints": {"10.0.0.1": {}, "10.0.0.1": {}}}', "endpoints: '10.0.0.1' is given twice"),
        ("t.json", '{"endpoints": {"::1": {}, "0::1": {}}}', "0::1 is given twice, once as ::1"),
        ("t.json", '{"endpoints": {"10.0.0.1": {"host": "a", "host": "b"}}}', "'host' is given twice"),
        ("t.json", LINKS + '[["a"]]}', "links[0]: must be a pair of two switches"),
        ("t.json", LINKS + '["ab"]}', 'links[0]: must be a pair of two switches, not "ab"'),
        ("t.json", LINKS + '[["a", "a"]]}', "links[0]: must be a pair of two switches"),
        ("t.json", LINKS + '{"a": "b"}}', "links: must be a list of pairs"),
        ("t.json", "[" * 100_000, "is nested too deeply"),
        ("t.yaml", "endpoints:\n  10.0.0.1: {host: a}\n  10.0.0.1: {host: b}\n", "t.yaml:3:3: '10.0.0.1' is given twice"),
        ("t.yaml", "endpoints: [", "t.yaml:1:13: "),
        ("t.yaml", "endpoints: \x00", "t.yaml: "),
        ("t.yaml", "", "must be an object"),
        ("t.yaml", "endpoints: {10.0.0.1: {rail: one}}", 'rail must be a whole number from 0, not "one"'),
        ("t.csv", "", "t.csv: contains no endpoints"),
        ("t.csv", "address,host\n", "t.csv: contains no endpoints"),
        ("t.csv", "ip,host\n10.0.0.1,h\n", "t.csv:1: the header lacks the column address"),
        ("t.csv", "address,hots\n10.0.0.1,h\n", "t.csv:1: unknown column 'hots'"),
        ("t.csv", "address,host,host\n10.0.0.1,h,h\n", "t.csv:1: column 'host' is given twice"),
        ("t.csv", "address,host\n10.0.0.1,h\n10.0.0.2\n", "t.csv:3: 1 cells, but the header names 2 columns"),
        ("t.csv", "address,host\n10.0.0.1,h\n10.0.0.1,h\n", "t.csv:3: 10.0.0.1 is given twice"),
        ("t.csv", 'address,host\n"10.0.0.1,h\n', "t.csv:"),
    ],
)  # fmt: skip
def test_errors_name_file_and_position_in_one_line(name, text, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        parse(text, name)
    assert message in str(caught.value)
    assert str(caught.value).startswith(name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def assert_topology_or_error(text, name):
    try:
        parse(text, name)
        message = name
    except ValueError as error:
        message = str(error)
    assert message.startswith(name)


@given(st.text(), st.sampled_from(["t.json", "t.yaml", "t.csv", "t"]))
def test_any_text_is_a_topology_or_a_value_error(text, name):
    assert_topology_or_error(text, name)


SCALARS = st.none() | st.booleans() | st.integers() | st.text()


@given(st.recursive(SCALARS, lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=8))
def test_any_document_in_place_of_endpoints_or_links(value):
    for document in ({"endpoints": value}, {"endpoints": {"10.0.0.1": value}}, {"endpoints": {"10.0.0.1": {}}, "links": value}):
        assert_topology_or_error(json.dumps(document), "t.json")
