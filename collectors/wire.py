"""Numbers out of memory and a keyed hash, for numba: what all fast loops share.

Octets are read at their address in memory (`array.ctypes.data` and on, int64). Nothing here looks where a buffer ends: callers
do, before each header.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_Function = TypeVar("_Function", bound=Callable[..., Any])

SEED = np.uint64(hash(b"collectors") & 0xFFFFFFFFFFFFFFFF)  # another one in each process: nobody can choose what collides

_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_32, _29 = np.uint64(32), np.uint64(29)


# Nothing here makes arrays, so numba can do without its run time, whose counting of references took most of the time.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}


def compiled(function: _Function) -> _Function:
    """The function, compiled when first called; kept on disk for the next process."""
    return cast(_Function, numba.njit(cache=True, **_OPTIONS)(function))


def part(function: _Function) -> _Function:
    """A part of compiled functions, put in its place there: a call would hand over every array, field by field."""
    return cast(_Function, numba.njit(forceinline=True, **_OPTIONS)(function))


def rare(function: _Function) -> _Function:
    """A part of compiled functions that is called, as it is seldom needed and big."""
    return cast(_Function, numba.njit(**_OPTIONS)(function))


def _loader(octets: int, *, swap: bool = True) -> Any:
    """Function: the number in network order that so many octets hold from an address on; of 8 octets, unsigned.

    In the order of x86 and ARM where octets are not to be swapped.
    """
    bits, answer = ir.IntType(8 * octets), types.uint64 if octets == 8 else types.int64

    def load(_: Any, address: Any) -> Any:  # noqa: ARG001 - numba knows arguments by name
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            found = builder.load(builder.inttoptr(arguments[0], bits.as_pointer()), align=1)
            found = builder.bswap(found) if octets > 1 and swap else found
            return builder.zext(found, ir.IntType(64)) if octets < 8 else found

        return answer(types.int64), generate

    return intrinsic(load)


octet, short, long, double = (_loader(octets) for octets in (1, 2, 4, 8))
little, plain = _loader(4, swap=False), _loader(8, swap=False)


def _swapped(_: Any, value: Any) -> Any:  # noqa: ARG001 - numba knows arguments by name
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


swapped: Any = intrinsic(_swapped)  # 64 bits, their octets the other way round


def _storer(octets: int) -> Any:
    """Function: keep so many octets of a number at an address, in the order of this processor."""
    bits = ir.IntType(8 * octets)

    def store(_: Any, address: Any, value: Any) -> Any:  # noqa: ARG001 - numba knows arguments by name
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            given = arguments[1] if octets == 8 else builder.trunc(arguments[1], bits)
            builder.store(given, builder.inttoptr(arguments[0], bits.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.uint64), generate

    return intrinsic(store)


store_octet, store_short, store_long, store_double = (_storer(octets) for octets in (1, 2, 4, 8))

# pread(2) and memmove(3) of the C library
read_at: Any = types.ExternalFunction("pread", types.int64(types.int64, types.int64, types.int64, types.int64))
move: Any = types.ExternalFunction("memmove", types.int64(types.int64, types.int64, types.int64))


def _fetcher(line: int) -> Any:
    """Function: have a line of 64 octets of a row of an array fetched into the cache, for a later loop."""

    def fetch(_: Any, array: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            of = signature.args[0]
            size = context.get_abi_sizeof(context.get_data_type(of.dtype))
            start = builder.ptrtoint(context.make_array(of)(context, builder, arguments[0]).data, ir.IntType(64))
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), *[ir.IntType(32)] * 3])
            fetch = builder.module.declare_intrinsic("llvm.prefetch", [ir.IntType(8).as_pointer()], kind)
            place = builder.add(start, builder.mul(arguments[1], ir.IntType(64)(size)))
            at = builder.inttoptr(builder.add(place, ir.IntType(64)(64 * line)), ir.IntType(8).as_pointer())
            builder.call(fetch, [at, *(ir.IntType(32)(n) for n in (0, 3, 1))])
            return context.get_dummy_value()

        return types.void(array, index), generate

    return intrinsic(fetch)


prefetch, prefetch_second = _fetcher(0), _fetcher(1)


def _soon(_: Any, address: Any) -> Any:  # noqa: ARG001 - numba knows arguments by name
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), *[ir.IntType(32)] * 3])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [ir.IntType(8).as_pointer()], kind)
        at = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        builder.call(fetch, [at, *(ir.IntType(32)(n) for n in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(types.int64), generate


soon: Any = intrinsic(_soon)  # has the 64 octets at an address fetched into the cache; any address will do


@part
def number(at: Any, big: Any) -> Any:
    """32 bits, in network order where `big`, else the other way round."""
    return long(at) if big else little(at)


@part
def hashed(a: Any, b: Any, seed: Any) -> Any:
    """A 64-bit mix of two numbers of 64 bits; its finaliser is that of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    h = (a ^ seed) * _M1
    h = (h ^ h >> _32 ^ b) * _M2
    h ^= h >> _29
    return h * _M1
