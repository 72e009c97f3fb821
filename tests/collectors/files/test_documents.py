import pytest

from collectors.files.documents import Object, load_json, load_yaml


def test_yaml_is_text_and_no_key_stands_twice():
    assert load_yaml("a: 0x10\nb: [no, 1]", "t.yaml") == {"a": "0x10", "b": ["no", "1"]}
    with pytest.raises(ValueError, match=r"t\.yaml:2:1: 'a' is given twice"):
        load_yaml("a: 1\na: 2", "t.yaml")
    with pytest.raises(ValueError, match=r"t\.yaml:2:2: "):
        load_yaml("a: [1\nb: 2", "t.yaml")


def test_json_keeps_its_types_and_remembers_a_key_given_twice():
    found = load_json('{"a": 1, "b": {"c": null, "c": true}}', "t.json")
    assert isinstance(found, Object)
    assert (found["a"], found.twice, found["b"].twice) == (1, None, "c")
    with pytest.raises(ValueError, match=r"t\.json:1:7: "):
        load_json('{"a": }', "t.json")


def test_no_depth_breaks_them():
    with pytest.raises(ValueError, match="is nested too deeply"):
        load_json("[" * 100_000, "t")
    with pytest.raises(ValueError, match="is nested too deeply"):
        load_yaml("[" * 10_000, "t")
