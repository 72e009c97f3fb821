"""Clean blocks of log text (terminal escapes, progress bars, binary data, over-long lines), and mask secrets."""

from __future__ import annotations

import re

MAX_OCTETS = 8192  # octets kept of a line: stack lines and argument dumps are shorter, binary data is not

_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROLS = bytes(octet for octet in range(32) if octet not in (9, 10, 13)) + b"\x7f"

_SECRETS = re.compile(
    r"""(?xi)
    (?P<url>[a-z][a-z0-9+.-]{1,20}://[^/\s:@]{0,64}:)[^/\s@]{1,256}(?=@)            # user:password@host
  | (?P<bearer>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{8,}
  | (?P<named>["']?\b[\w.-]{0,40}?(?:
        api[_-]?key|secret|token|passw(?:or)?d|passphrase|credential|private[_-]?key|access[_-]?key)
      [\w-]{0,20}["']?\s*(?:[:=]|\.{3,})\s*)(?:"[^"]{1,512}"|'[^']{1,512}'|(?!\s)[^\s,;}"']{4,512})
  | (?P<prefix>\b(?:hf_|sk-|ghp_|gho_|ghs_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|nvapi-|wandb_v1_|AIza))[A-Za-z0-9_-]{8,}
  | (?P<jwt>\beyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*
  | (?P<pem>-----BEGIN[ A-Z]{0,30}PRIVATE\ KEY-----).*
    """
)
# counts of tokens are no secrets: "tokens: 4096", "num_tokens=1.2e6"
_COUNT = re.compile(r"[\d.,eE+-]+[kKmMbB]?(?:/s)?|None|null|True|False|true|false")
MASK = "***"


def clean(block: bytes) -> bytes:
    """Remove terminal escapes and control characters from whole lines.

    Carriage returns stay for `segments`. The number of line feeds does not change.
    """
    if b"\r\n" in block:
        block = block.replace(b"\r\n", b"\n")
    if b"\x1b" in block:
        block = _ESCAPES.sub(b"", block)
    return block.translate(None, _CONTROLS)


def segments(block: bytes, first: int) -> tuple[list[bytes], list[int] | range]:
    """Split a cleaned block into lines, cut to `MAX_OCTETS`, with their numbers.

    A progress bar that rewrites its line gives several lines with one number.
    """
    lines = block.split(b"\n")
    if len(block) > MAX_OCTETS and max(map(len, lines)) > MAX_OCTETS:
        lines = [line[:MAX_OCTETS] for line in lines]
    if b"\r" not in block:
        return lines, range(first, first + len(lines))
    parts: list[bytes] = []
    numbers: list[int] = []
    for number, line in enumerate(lines, first):
        own = [part for part in line.split(b"\r") if part] or [b""]
        parts += own
        numbers += [number] * len(own)
    return parts, numbers


def mask(text: str) -> str:
    """Mask the secrets of a line: passwords in URLs, bearer tokens, values of secret keys, known token prefixes, JWT."""
    return _SECRETS.sub(_masked, text)


def _masked(found: re.Match[str]) -> str:
    kept = found.group(found.lastgroup or 0)
    if found.lastgroup == "named" and _COUNT.fullmatch(found.group(0)[len(kept) :].strip("\"'")):
        return found.group(0)
    return kept + MASK
