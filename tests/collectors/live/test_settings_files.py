import pytest

from collectors.live.settings_files import read_lines, read_settings

TABLES = {"listen": ["allow", "rate"], "capture": ["name"]}


def test_a_table_per_command(tmp_path):
    path = tmp_path / "collect.toml"
    path.write_text('[listen]\nallow = []\nrate = 5\n[capture]\nname = "leaf0"\n')
    assert read_settings(path, "listen", TABLES) == {"allow": [], "rate": 5}
    assert read_settings(path, "capture", TABLES) == {"name": "leaf0"}
    path.write_text("")
    assert read_settings(path, "listen", TABLES) == {}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[lisen]", r"unknown table \[lisen\]; known tables: capture, listen"),
        ("rate = 5", r"unknown table \[rate\]"),
        ("[listen]\nrat = 5", r"\[listen\]: unknown key 'rat'; known keys: allow, rate"),
        ("[capture]\nrate = 5", r"\[capture\]: unknown key 'rate'"),
        ("[listen", "collect.toml"),
        (b"\xff", "collect.toml"),
    ],
)
def test_what_is_not_known_is_refused_by_name(tmp_path, text, complaint):
    path = tmp_path / "collect.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=complaint):
        read_settings(path, "listen", TABLES)


def test_lists_in_files(tmp_path):
    path = tmp_path / "allow"
    path.write_text("# switches\n10.0.0.0/8  # leaves\n\n  192.0.2.1\n")
    assert read_lines(path) == ["10.0.0.0/8", "192.0.2.1"]
    path.write_text("")
    assert read_lines(path) == []
    path.write_bytes(b"\xff")
    with pytest.raises(ValueError, match="allow"):
        read_lines(path)
    with pytest.raises(FileNotFoundError):
        read_lines(tmp_path / "no")
