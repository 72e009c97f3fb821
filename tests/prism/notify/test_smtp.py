import ipaddress
import socket
import threading
from contextlib import contextmanager

import pytest

from prism.alerts.alert_settings import Limits
from prism.notify.smtp import Mail, send

LOCAL = (ipaddress.ip_network("127.0.0.1/32"),)
QUICK = Limits(timeout_s=5)


@contextmanager
def smtp(*, answers=None):
    """A mail server of one connection: what it heard. `answers` by the first word of a command."""
    heard, said = (
        [],
        {"EHLO": "250 hello", "MAIL": "250 ok", "RCPT": "250 ok", "DATA": "354 go", ".": "250 taken", "QUIT": "221 bye"},
    )
    said |= answers or {}
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = server.accept()
        with connection, connection.makefile("rb") as lines:
            connection.sendall(f"{said.get('hello', '220 ready')}\r\n".encode())
            inside = False
            for line in lines:
                text = line.decode().rstrip("\r\n")
                heard.append(text)
                if inside and text != ".":
                    continue
                word = text.split(" ")[0].upper()
                inside = word == "DATA" and said["DATA"].startswith("354")
                connection.sendall(f"{said.get(word, '502 what')}\r\n".encode())
                if word == "QUIT":
                    return

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"smtp://127.0.0.1:{server.getsockname()[1]}", heard
    finally:
        server.close()
        thread.join(10)


def letter(url, **more):
    return Mail(url, "prism@example.com", ("a@example.com",), b"Subject: x\r\n\r\nhello\r\n", **more)


def test_a_letter_is_taken():
    with smtp() as (url, heard):
        went = send(letter(url), allow=LOCAL, limits=QUICK)
    assert went.ok, went
    assert any(line.upper().startswith("RCPT TO:<A@EXAMPLE.COM>") for line in heard)
    assert "hello" in heard


@pytest.mark.parametrize(("code", "again"), [("451 later", True), ("550 nobody", False)])
def test_what_a_server_answers_decides_whether_it_is_tried_again(code, again):
    with smtp(answers={"RCPT": code}) as (url, _):
        went = send(letter(url), allow=LOCAL, limits=QUICK)
    assert (went.ok, went.may_retry) == (False, again)
    assert code in went.why.replace(":", "")


def test_a_password_is_not_sent_without_tls():
    with smtp() as (url, heard):
        went = send(letter(url, user="u", password="hidden"), allow=LOCAL, limits=QUICK, hidden=("hidden",))
    assert not went.ok
    assert "offers no TLS" in went.why
    assert not any("hidden" in line or line.startswith("AUTH") for line in heard)


def test_addresses_that_are_not_public_need_to_be_allowed():
    went = send(letter("smtp://127.0.0.1:9"), limits=QUICK)
    assert (went.ok, went.may_retry) == (False, False)
    assert "refused to connect" in went.why


def test_nobody_there_is_tried_again():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    went = send(letter(f"smtp://127.0.0.1:{port}"), allow=LOCAL, limits=QUICK)
    assert (went.ok, went.may_retry) == (False, True)
