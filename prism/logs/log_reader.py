"""Open log files: folders, compressed files, growing files. Yields blocks of whole lines in bounded memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import zstandard

from prism.logs.parsing.log_envelopes import unwrap

BLOCK = 4 << 20  # octets
MAX_LINE_OCTETS = 1 << 20  # octets of a line without an end; the rest of it is dropped
MAX_FILES = 100_000  # files of a folder
_SKIPPED = (
    ".pcap",
    ".pcapng",
    ".parquet",
    ".arrow",
    ".json.gz",
    ".pt",
    ".bin",
    ".safetensors",
    ".npy",
    ".npz",
    ".whl",
    ".so",
    ".png",
    ".py",
)


def list_files(paths: Iterable[str]) -> list[str]:
    """List the named files and the files in named folders, in order. Raises FileNotFoundError, ValueError."""
    out: list[str] = []
    for path in paths:
        if not os.path.exists(path):
            raise FileNotFoundError(2, "No such file or directory", path)
        if not os.path.isdir(path):
            out.append(path)
            continue
        own = sorted(
            os.path.join(folder, name)
            for folder, _, names in os.walk(path)
            for name in names
            if not name.startswith(".") and not name.removesuffix(".gz").removesuffix(".zst").endswith(_SKIPPED)
        )
        if not own:
            raise ValueError(f"{path}: no log files in this folder")
        out += own
        if len(out) > MAX_FILES:
            raise ValueError(f"{path}: more than {MAX_FILES:,} files; name a folder of one run")
    return out


def read(path: str) -> Iterator[bytes]:
    """Yield blocks of whole lines of a file; compression is detected by content. A damaged end ends the stream.

    Raises OSError if the file cannot be read, ValueError if only its first octets look like a compressed file.
    """
    with open(path, "rb", buffering=0) as raw, closing(_opened(raw)) as stream:
        yield from unwrap(blocks(stream.read))


def _opened(raw: BinaryIO) -> BinaryIO:
    start = raw.read(6) if raw.seekable() else b""
    if raw.seekable():
        raw.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    if start.startswith(b"BZh"):
        return bz2.BZ2File(raw)  # type: ignore[return-value]
    if start.startswith(b"\xfd7zXZ"):
        return lzma.LZMAFile(raw)  # type: ignore[return-value]
    if start.startswith(b"\x28\xb5\x2f\xfd"):
        return zstandard.ZstdDecompressor(max_window_size=128 << 20).stream_reader(raw, read_across_frames=True)
    return raw


def blocks(take: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield blocks that end with a line feed, from a read function; the last block may lack it."""
    rest, dropping = b"", False
    while True:
        try:
            got = take(BLOCK)
        except (EOFError, lzma.LZMAError, zstandard.ZstdError, gzip.BadGzipFile, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            got = b""  # truncated or damaged: keep what came before
        if not got:
            break
        if dropping:
            end = got.find(b"\n")
            if end < 0:
                continue
            got, dropping = got[end:], False
        end = got.rfind(b"\n") + 1
        if end:
            yield rest + got[:end]
            rest = got[end:]
        else:
            rest += got
        if len(rest) > MAX_LINE_OCTETS:
            rest, dropping = rest[:MAX_LINE_OCTETS], True
    if rest:
        yield rest


class Tail:
    """A growing file, read from its start.

    A replaced or truncated file (rotation) is read again; a missing one may appear later.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._stream: io.FileIO | None = None
        self._rest = b""

    def more(self) -> bytes:
        """Return new whole lines, at most one block; empty if there are none."""
        if self._stream is None:
            try:
                self._stream = io.FileIO(self.path)
            except FileNotFoundError:
                return b""
        got = self._stream.read(BLOCK) or b""
        if not got and _replaced(self._stream, self.path):
            self._stream.close()
            self._stream, got, self._rest = None, self._rest, b""
            return got
        end = got.rfind(b"\n") + 1
        if not end:
            self._rest = (self._rest + got)[:MAX_LINE_OCTETS]
            return b""
        out, self._rest = self._rest + got[:end], got[end:]
        return out

    def close(self) -> None:
        """Close the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _replaced(stream: io.FileIO, path: str) -> bool:
    own = os.fstat(stream.fileno())
    try:
        now = Path(path).stat()
    except FileNotFoundError:
        return True
    return (own.st_dev, own.st_ino) != (now.st_dev, now.st_ino) or now.st_size < stream.tell()
