import json
import os

import pytest

from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.live.state_file import load, save
from collectors.packets.plain_decoder import DecodeError
from tests.collectors.builders.exports import batch, ipfix, record, set_, template


def test_templates_outlive_a_restart_on_disk(tmp_path):
    path = tmp_path / "templates.json"
    assert load(path) is None
    first = NetflowDecoder()
    first.decode(batch(ipfix(template(300))))
    save(path, first.state)
    save(path, first.state)
    assert os.listdir(tmp_path) == ["templates.json"]
    assert len(NetflowDecoder(state=load(path)).decode(batch(ipfix(set_(300, record()))))) == 1


def test_a_write_that_fails_leaves_the_old_value(tmp_path):
    path = tmp_path / "state"
    save(path, {"a": 1})
    with pytest.raises(TypeError):
        save(path, {"a": object()})
    assert (load(path), os.listdir(tmp_path)) == ({"a": 1}, ["state"])


@pytest.mark.parametrize("octets", [b"", b"{", b"\xff\xfe", b"[" * 100_000])
def test_damage_is_reported(tmp_path, octets):
    (tmp_path / "state").write_bytes(octets)
    with pytest.raises(DecodeError, match="state: not a file of templates"):
        load(tmp_path / "state")


@pytest.mark.parametrize(
    "change",
    [
        lambda s: [s],
        lambda s: s | {"schema": "prism-templates/9"},
        lambda s: s | {"exporters": {"a": {}}},
        lambda s: s | {"exporters": {"a": {"templates": [[10, 1, 300, -1, "AAA"]], "sources": []}}},
        lambda s: s | {"exporters": {"a": {"templates": [[10, 1, 300, -1, ""]], "sources": []}}},
        lambda s: s | {"exporters": {"a": {"templates": [[10, 1, 300, 9, "AAAAAAAIAAQ="]], "sources": []}}},
        lambda s: s | {"exporters": {"a": {"templates": [[10, 1, 300, -1, "AAAAAAAIAAA="]], "sources": []}}},
        lambda s: s | {"exporters": {"a": {"templates": [[10, 1, 3, -1, "AAAAAAAIAAQ="]], "sources": []}}},
        lambda s: s | {"exporters": {"a": {"templates": [[10, "x", 300, -1, "AAAAAAAIAAQ="]], "sources": []}}},
        lambda s: s | {"exporters": {"a": {"templates": [], "sources": [[10, 1, "x", []]]}}},
    ],
)
def test_a_value_that_is_something_else_is_refused(change):
    first = NetflowDecoder()
    first.decode(batch(ipfix(template(300))))
    state = change(json.loads(json.dumps(first.state)))
    with pytest.raises(DecodeError, match=r"the templates (are damaged|have schema)"):
        NetflowDecoder(state=state)
