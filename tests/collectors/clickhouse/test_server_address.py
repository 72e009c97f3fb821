import ssl

import pytest

from collectors.clickhouse.server_address import mask_password, parse_url
from collectors.clickhouse.store_error import StoreError


def test_what_is_not_said_is_as_usual():
    assert parse_url("clickhouse://db") == {
        "host": "db",
        "port": 9000,
        "user": "default",
        "password": "",
        "database": "prism",
        "secure": False,
        "connect_timeout": 5,
        "send_receive_timeout": 60,
    }
    found = parse_url("clickhouses://me:a%2Fb@db/flows?verify=No&send_receive_timeout=0.5&compression=zstd")
    assert (found["port"], found["user"], found["password"], found["database"]) == (9440, "me", "a/b", "flows")
    assert (found["secure"], found["verify"], found["send_receive_timeout"], found["compression"]) == (True, False, 0.5, "zstd")


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        (":0/prism", "the port must be"),
        (":70000/prism", "the port must be"),
        ("/prism?nope=1", "unknown option nope; known options: compression"),
        ("/prism?nope=", "unknown option nope"),
        ("/prism?compression=foo", "compression=foo: must be one of lz4, lz4hc, zstd"),
        ("/prism?connect_timeout=1e30", "connect_timeout=1e30: must be seconds, more than 0 and at most 86400"),
        ("/prism?connect_timeout=", "connect_timeout=: must be seconds"),
        ("/prism?send_receive_timeout=nan", "send_receive_timeout=nan: must be seconds"),
        ("/prism?connect_timeout=0", "connect_timeout=0: must be seconds"),
        ("/prism?verify=perhaps", "verify=perhaps: must be true or false"),
        ("/prism?ca_certs=/nope/ca.pem", "ca_certs=/nope/ca.pem: no such file or directory"),
        ("/prism?ca_certs=", "ca_certs=: no such file or directory"),
        ("/prism?ca_certs=/", "ca_certs=/: is a directory"),
    ],
)
def test_what_is_wrong_is_named_and_the_password_is_not(rest, said):
    with pytest.raises(StoreError) as caught:
        parse_url(f"clickhouses://me:secret@db{rest}")
    assert str(caught.value).startswith("clickhouses://me@db")
    assert said in str(caught.value)
    assert "secret" not in str(caught.value)
    assert not caught.value.transient


def test_what_holds_no_certificates_is_refused(tmp_path):
    path = tmp_path / "ca.pem"
    path.write_text("nothing")
    with pytest.raises(StoreError, match=r"ca\.pem: contains no certificates"):
        parse_url(f"clickhouses://db/prism?ca_certs={path}")
    kept = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    kept.load_default_certs()
    for one in kept.get_ca_certs(binary_form=True)[:1]:
        path.write_text(ssl.DER_cert_to_PEM_cert(one))
        assert parse_url(f"clickhouses://db/prism?ca_certs={path}")["ca_certs"] == str(path)


def test_an_address_without_its_password():
    assert mask_password("clickhouse://me:a%2Fb@[::1]:9000/prism?verify=no") == "clickhouse://me@[::1]:9000/prism"
