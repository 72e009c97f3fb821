import base64
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.alerts.receivers.signing import key, signature

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_the_signature_of_the_reference_libraries():
    """The example that the Standard Webhooks libraries test themselves with."""
    assert signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}', [SECRET]) == (
        "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    )


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_openssl_signs_alike_with_each_secret():
    secrets = [SECRET, "whsec_" + base64.b64encode(bytes(range(32))).decode()]
    body = '{"größe": 1}'.encode()
    for one, secret in zip(signature("prism_1", 1795214600, body, secrets).split(" "), secrets, strict=True):
        octets = base64.b64decode(secret.removeprefix("whsec_"))
        done = subprocess.run(
            ["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", f"hexkey:{octets.hex()}", "-binary"],
            input=b"prism_1.1795214600." + body,
            capture_output=True,
            check=True,
        )
        assert one == f"v1,{base64.b64encode(done.stdout).decode()}"


@given(st.binary(min_size=24, max_size=64))
def test_secrets_are_what_they_were(octets):
    text = base64.b64encode(octets).decode()
    assert key(text) == key(f"whsec_{text}") == octets


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_short", "whsec_c2hvcnQ=", "not base64!", "whsec_" + "A" * 100])
def test_bad_secrets_are_refused_and_not_shown(secret):
    with pytest.raises(ValueError, match="secret") as error:
        key(secret)
    assert len(secret) < 8 or secret not in str(error.value)
