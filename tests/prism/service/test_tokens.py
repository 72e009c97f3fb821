import json
import os
import stat

import pytest

from prism.service.tokens import Tokens


def test_a_token_allows_what_it_is_for_until_it_is_revoked(tmp_path):
    tokens = Tokens(tmp_path / "tokens.json")
    assert tokens.all() == ()
    reader, admin = tokens.create("dashboard", "read"), tokens.create("ci", "admin")
    assert (tokens.scope(reader), tokens.scope(admin)) == ("read", "admin")
    for wrong in ("", "x", reader[:-1], reader + "x", "\udcff"):
        assert tokens.scope(wrong) is None
    tokens.revoke("dashboard")
    assert tokens.scope(reader) is None
    tokens.revoke(tokens.all()[0].id)
    assert tokens.all() == ()


def test_only_a_hash_is_kept_and_only_the_owner_may_read_it(tmp_path):
    path = tmp_path / "tokens.json"
    secret = Tokens(path).create("me", "read")
    assert len(secret) > 40
    assert secret not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["tokens.json"]


def test_another_process_s_changes_are_seen(tmp_path):
    service, command = Tokens(tmp_path / "t"), Tokens(tmp_path / "t")
    secret = command.create("me", "read")
    assert service.scope(secret) == "read"
    command.revoke("me")
    assert service.scope(secret) is None
    (tmp_path / "t").unlink()
    assert service.all() == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a file for somebody else")
def test_what_root_makes_is_the_folder_s_owner_s(tmp_path):
    os.chown(tmp_path, 10001, 10002)
    Tokens(tmp_path / "tokens.json").create("me", "read")
    found = (tmp_path / "tokens.json").stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (10001, 10002, 0o600)


def test_names(tmp_path):
    tokens = Tokens(tmp_path / "t")
    tokens.create("me", "read")
    for name in ("me", "", "x" * 65, "a\nb"):
        with pytest.raises(ValueError, match="token"):
            tokens.create(name, "read")
    with pytest.raises(ValueError, match="no token has the name or id 'you'"):
        tokens.revoke("you")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"tokens": 3}', '{"tokens": [{"id": "x"}]}', '{"tokens": [{"id": 1, "name": "x", "scope": "read"}]}'],
)
def test_a_file_that_is_none_of_ours(tmp_path, text):
    (tmp_path / "t").write_text(text)
    with pytest.raises(ValueError, match="not a token file"):
        Tokens(tmp_path / "t").all()


def test_a_scope_that_there_is_not(tmp_path):
    tokens = Tokens(tmp_path / "t")
    tokens.create("me", "read")
    kept = json.loads((tmp_path / "t").read_text())
    kept["tokens"][0]["scope"] = "root"
    (tmp_path / "t").write_text(json.dumps(kept))
    with pytest.raises(ValueError, match="not a token file"):
        Tokens(tmp_path / "t").all()
