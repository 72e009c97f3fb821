"""Convert Arrow arrays of any producer to numbers and times, and mark missing and wrong values."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from collectors.columns.record import Ints, Mask

LIMIT = 2**63 - 1
NANO = 10**9
_EXACT = pa.decimal128(30, 9)
_WHOLE, _DECIMAL = r"^-?[0-9]{1,18}$", r"^-?[0-9]{1,18}(\.[0-9]{1,9})?$"  # fit into 64 bits; Arrow alone would accept 0x10 too
_CLOCK = re.compile(r"(?:(\d+)d )?(\d+):(\d+):(\d+(?:\.\d+)?)")
_FRACTION = re.compile(r"[.,](\d+)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_list(values: pa.Array) -> list[Any]:
    """List the values of an array; invalid UTF-8 becomes U+FFFD."""
    try:
        return list(values.to_pylist())
    except UnicodeDecodeError:
        texts = values.cast(pa.large_binary()).to_pylist()
        return [text if text is None else text.decode("utf-8", "replace") for text in texts]


class Numbers(NamedTuple):
    """Parsed numbers, one entry per row: the number, whether it is valid, whether it was empty."""

    value: Ints
    good: Mask
    empty: Mask


def integers(values: pa.Array, scale: float = 1, words: Callable[[str], int] | None = None) -> Numbers:
    """Convert values of any type, times `scale`, to int64; `words` converts text that is no number (`parse_time`: a time).

    Arrow's times become ns since the epoch, its durations ns, whatever the scale. With a scale, fractions are rounded; without
    one, fractions are invalid, as are booleans and numbers beyond 64 bits. Empty text counts as missing.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _by_dictionary(values, scale, words)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _of_texts(values, scale, words)
    empty = _mask(values.is_null())
    try:
        number, good = _of_numbers(values, scale)
    except pa.ArrowException:  # a decimal too long: convert one by one
        return _of_texts(values.cast(pa.string()), scale, words)
    return Numbers(np.where(empty, 0, number), good & ~empty, empty)


def _mask(values: pa.Array) -> Mask:
    return np.asarray(values.to_numpy(zero_copy_only=False), np.bool_)


def _by_dictionary(values: pa.Array, scale: float, words: Callable[[str], int] | None) -> Numbers:
    """Convert every distinct value once."""
    distinct = integers(values.dictionary, scale, words)
    nothing = _mask(values.indices.is_null())
    at = np.asarray(values.indices.fill_null(len(values.dictionary)).to_numpy(zero_copy_only=False), np.int64)
    value, good, empty = (np.append(column, end)[at] for column, end in zip(distinct, (0, False, True), strict=True))
    return Numbers(value, good, empty | nothing)


def _of_numbers(values: pa.Array, scale: float) -> tuple[Ints, Mask]:
    """Convert numbers and times that are no text; null entries are undefined. Raises ArrowException if impossible."""
    kind = values.type
    if pa.types.is_date(kind):
        values = values.cast(pa.timestamp("ms"))
        kind = values.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        counts = values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
        return _scaled(counts, {"s": NANO, "ms": 1_000_000, "us": 1_000, "ns": 1}[kind.unit])
    if pa.types.is_decimal(kind):
        return _of_decimals(values.fill_null(0).cast(_EXACT), scale)
    if pa.types.is_floating(kind):
        return _of_floats(np.asarray(values.cast(pa.float64()).fill_null(0).to_numpy(zero_copy_only=False)), scale)
    if pa.types.is_uint64(kind):
        unsigned = values.fill_null(0).to_numpy(zero_copy_only=False)
        number, good = _scaled(unsigned.astype(np.int64), scale)
        return number, good & (unsigned <= LIMIT)
    if pa.types.is_integer(kind):
        return _scaled(values.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), scale)
    return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)


def _scaled(number: Ints, scale: float) -> tuple[Ints, Mask]:
    if scale == 1:
        return number, np.ones(len(number), np.bool_)
    if isinstance(scale, int):
        most = LIMIT // scale
        good = (number >= -most) & (number <= most)
        return np.where(good, number, 0) * scale, good
    return _of_floats(number.astype(np.float64), scale)


def _of_floats(number: Any, scale: float) -> tuple[Ints, Mask]:
    """Convert floats; seconds since the epoch are rounded to the microsecond, the resolution of a double."""
    if scale == NANO:
        micros, good = _of_floats(number, scale / 1000)
        nanos, fit = _scaled(micros, 1000)
        return nanos, good & fit
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = number * scale
        whole = np.rint(scaled)
        good = np.isfinite(scaled) & (np.abs(scaled) < 2.0**63)
        if scale == 1:
            good &= whole == scaled
    return np.where(good, whole, 0).astype(np.int64), good


def _of_decimals(values: pa.Array, scale: float) -> tuple[Ints, Mask]:
    """Convert decimals, exactly for an integer scale: a decimal of scale 9 counts billionths."""
    whole = pc.trunc(values)
    billionths = np.frombuffer(pc.subtract(values, whole).cast(pa.decimal128(38, 9)).buffers()[1], np.int64)[::2][: len(values)]
    large = _mask(pc.greater(pc.abs(whole), pa.scalar(Decimal(LIMIT), _EXACT)))
    units = np.asarray(pc.if_else(pa.array(large), pa.scalar(Decimal(0), _EXACT), whole).cast(pa.int64()))
    if not isinstance(scale, int):
        number, good = _of_floats(units + billionths / NANO, scale)
        return number, good & ~large
    number, good = _scaled(units, scale)
    if scale == 1:
        return number, good & ~large & (billionths == 0)
    part = np.rint(billionths * (scale / NANO)).astype(np.int64) if scale > NANO else (billionths * scale + NANO // 2) // NANO
    return number + part, good & ~large & (np.abs(number) < LIMIT - scale)


def _of_texts(values: pa.Array, scale: float, words: Callable[[str], int] | None) -> Numbers:
    empty = _mask(pc.fill_null(pc.equal(values, ""), True))
    texts = values if not empty.any() else pc.if_else(pa.array(empty), pa.scalar("0", values.type), values)
    number, good = np.zeros(len(texts), np.int64), np.zeros(len(texts), np.bool_)
    plain = _mask(pc.match_substring_regex(texts, _WHOLE))
    if plain.all():
        number, good = _scaled(np.asarray(texts.cast(pa.int64()).to_numpy(zero_copy_only=False)), scale)
    elif words is parse_time and (times := _times(texts)) is not None:
        number, good = times, np.ones(len(texts), np.bool_)
    else:
        plain = _mask(pc.match_substring_regex(texts, _DECIMAL))
        if plain.any():
            number[plain], good[plain] = _of_decimals(texts.filter(pa.array(plain)).cast(_EXACT), scale)
        odd = texts.filter(pa.array(~plain)).dictionary_encode()
        if len(odd):
            alone = [_alone(text, scale, words) for text in to_list(odd.dictionary)]
            at = np.asarray(odd.indices)
            number[~plain] = np.array([n for n, _ in alone], np.int64)[at]
            good[~plain] = np.array([ok for _, ok in alone], np.bool_)[at]
    return Numbers(np.where(empty, 0, number), good & ~empty, empty)


def _times(texts: pa.Array) -> Ints | None:
    """Parse ISO times without a zone, None if some are none."""
    try:
        return np.asarray(texts.cast(pa.timestamp("ns")).cast(pa.int64()).to_numpy(zero_copy_only=False))
    except pa.ArrowException:
        return None


def _alone(text: str, scale: float, words: Callable[[str], int] | None) -> tuple[int, bool]:
    """Convert one text as in `integers`; return also whether it is a number."""
    text = text.strip()
    try:
        number = Decimal(text) if len(text) <= 40 and "_" not in text else None
        if number is None or not number.is_finite() or abs(number) > LIMIT:
            return 0, False
        value = number * Decimal(scale)
        if (scale == 1 and value != int(value)) or abs(value) > LIMIT:
            return 0, False
        return int(value.to_integral_value()), True
    except InvalidOperation:
        pass
    try:
        return (words(text), True) if words else (0, False)
    except (ValueError, OverflowError):
        return 0, False


def parse_time(text: str) -> int:
    """Parse an ISO 8601 time (UTC without a zone) to ns since the epoch; or a duration such as 1d 02:03:04.5 to ns.

    Raises ValueError.
    """
    clock = _CLOCK.fullmatch(text)
    if clock:
        days, hours, minutes = (int(part or 0) for part in clock.groups()[:3])
        return int((((days * 24 + hours) * 60 + minutes) * 60 + Decimal(clock[4])) * NANO)
    if not re.match(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", text):
        raise ValueError(text)
    fraction = _FRACTION.search(text)
    billionths = int((fraction[1] + "000000000")[:9]) if fraction else 0
    when = datetime.fromisoformat(_FRACTION.sub("", text, count=1))
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    since = when - _EPOCH
    value = (since.days * 86_400 + since.seconds) * NANO + billionths
    if abs(value) > LIMIT:
        raise ValueError(text)
    return value
