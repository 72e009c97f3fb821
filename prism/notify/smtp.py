"""Send a message by SMTP (RFC 5321) to a checked address: STARTTLS if the server offers it, or TLS at once.

A password goes over TLS only. The server's answer decides about retries, as with HTTP.
"""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from prism.alerts.alert_settings import Limits
from prism.alerts.receivers.delivery_results import Delivery
from prism.notify.address_check import Network, refusal

PORTS = {"smtp": 587, "smtps": 465}


@dataclass(frozen=True)
class Mail:
    """A message with sender, recipients and server: smtp://host[:port] or smtps://host[:port]."""

    url: str
    sender: str
    to: tuple[str, ...]
    body: bytes
    user: str = ""
    password: str = ""


class RefusedError(Exception):
    """A refused address."""


def send(
    letter: Mail,
    *,
    allow: Sequence[Network] = (),
    limits: Limits | None = None,
    ca_file: str = "",
    hidden: Iterable[str] = (),
) -> Delivery:
    """Send a message and return the result; `hidden` texts do not appear in the reason. Network errors are never raised."""
    try:
        found = _sent(letter, allow, limits or Limits(), ca_file)
    except RefusedError as error:
        found = Delivery(False, f"refused to connect: {error}")
    except smtplib.SMTPResponseException as error:
        found = _answered(error.smtp_code, error.smtp_error)
    except smtplib.SMTPRecipientsRefused as error:
        code, text = next(iter(error.recipients.values()))
        found = _answered(code, text)
    except TimeoutError:
        found = Delivery(False, f"no answer within {(limits or Limits()).timeout_s:g} s", may_retry=True)
    except (smtplib.SMTPException, OSError, ValueError) as error:
        said = " ".join(str(error).split())[:200] or type(error).__name__
        found = Delivery(False, said, may_retry=not isinstance(error, ValueError))
    why = found.why
    for secret in hidden:
        why = why.replace(secret, "***")
    return Delivery(found.ok, why, found.may_retry, found.after_s, found.gone)


def _sent(letter: Mail, allow: Sequence[Network], limits: Limits, ca_file: str) -> Delivery:
    parts = urlsplit(letter.url)
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    context = ssl.create_default_context(cafile=ca_file or None)

    def connected(timeout: float) -> socket.socket:
        addresses = dict.fromkeys(str(one[4][0]) for one in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        for address in addresses:
            if why := refusal(address, allow):
                raise RefusedError(f"{host}: {why}" if address != host else why)
        return socket.create_connection((next(iter(addresses)), port), timeout)

    class Plain(smtplib.SMTP):
        def _get_socket(self, _host: str, _port: int, timeout: float) -> socket.socket:
            return connected(timeout)

    class Secure(smtplib.SMTP):
        def _get_socket(self, _host: str, _port: int, timeout: float) -> socket.socket:
            return context.wrap_socket(connected(timeout), server_hostname=host)

    with (Secure if parts.scheme == "smtps" else Plain)(host, port, timeout=limits.timeout_s) as server:
        server.ehlo_or_helo_if_needed()
        if parts.scheme == "smtp" and server.has_extn("starttls"):
            server.starttls(context=context)
            server.ehlo()
        if letter.user:
            if not isinstance(server.sock, ssl.SSLSocket):
                raise ValueError("the server offers no TLS: the password is not sent; use smtps://, or leave out user")
            server.login(letter.user, letter.password)
        failed = server.sendmail(letter.sender, list(letter.to), letter.body)
    if failed:
        return Delivery(False, f"{len(failed)} of {len(letter.to)} addresses were refused: {', '.join(failed)}")
    return Delivery(True, f"accepted for {len(letter.to)} address{'es' if len(letter.to) != 1 else ''}")


def _answered(code: int, text: bytes | str) -> Delivery:
    """Interpret an SMTP reply (RFC 5321, 4.2.1): 4yz may be retried, 5yz not."""
    said = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    plain = "".join(c if c.isprintable() else "\ufffd" for c in " ".join(said.split()))[:200]
    return Delivery(False, f"SMTP {code}: {plain}", may_retry=400 <= code < 500 or code < 0)
