"""Read integers from memory, hash with a key, prefetch, copy: functions shared by all compiled loops.

Octets are read at their address in memory (`array.ctypes.data` and on, int64). Nothing here checks the end of a buffer: callers
do, before each header.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import _Intrinsic

from collectors.compilation.compiled import Function, made

SEED = np.uint64(hash(b"collectors") & 0xFFFFFFFFFFFFFFFF)  # differs between processes, so that nobody can prepare collisions

_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_32, _29 = np.uint64(32), np.uint64(29)


_NUMBERS: dict[int, Any] = {1: ctypes.c_uint8, 2: ctypes.c_uint16, 4: ctypes.c_uint32, 8: ctypes.c_uint64}  # by octets

# Nothing here makes arrays, so numba can omit its run time, whose reference counting took most of the time.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}


def compiled(function: Function) -> Function:
    """Compile a function at its first call; the code is stored for later processes."""
    return made(function, _OPTIONS, kept=True)


def part(function: Function) -> Function:
    """Mark a part of compiled functions that is inlined: a call would pass every array field by field."""
    return made(function, {"forceinline": True, **_OPTIONS}, kept=False)


def rare(function: Function) -> Function:
    """Mark a part of compiled functions that is called, because it is large and rarely needed."""
    return made(function, _OPTIONS, kept=False)


class Instruction(_Intrinsic):  # type: ignore[misc]
    """A few processor instructions, generated inside compiled code. `plain_twin` does the same in plain Python."""

    plain_twin: Callable[..., Any] = staticmethod(lambda *_: None)


def _instruction(definition: Callable[..., Any], plain_twin: Callable[..., Any]) -> Any:
    """Make an instruction that numba generates by a definition, as for `numba.extending.intrinsic`."""
    made = Instruction(definition.__name__, definition)
    made.plain_twin = plain_twin
    made._register()
    return made


class External(types.ExternalFunction):  # type: ignore[misc]
    """A function of the C library."""

    plain_twin: Callable[..., Any] = staticmethod(lambda *_: 0)


def _external(name: str, result: Any, *arguments: Any) -> Any:
    made = External(name, types.int64(*[types.int64] * len(arguments)))
    twin = getattr(ctypes.CDLL(None, use_errno=True), name)
    twin.restype, twin.argtypes = result, arguments
    made.plain_twin = lambda *args: twin(*map(int, args))
    return made


def _loader(octets: int, *, swap: bool = True) -> Any:
    """Make a function that loads a number of `octets` octets in network order from an address; of 8 octets, unsigned.

    With `swap=False` in the order of x86 and ARM.
    """
    bits, answer = ir.IntType(8 * octets), types.uint64 if octets == 8 else types.int64

    def load(_: Any, address: Any) -> Any:  # noqa: ARG001 - numba knows arguments by name
        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            found = builder.load(builder.inttoptr(arguments[0], bits.as_pointer()), align=1)
            found = builder.bswap(found) if octets > 1 and swap else found
            return builder.zext(found, ir.IntType(64)) if octets < 8 else found

        return answer(types.int64), generate

    kind = _NUMBERS[octets]
    if octets > 1:
        kind = kind.__ctype_be__ if swap else kind.__ctype_le__
    found: Any = np.uint64 if octets == 8 else int
    return _instruction(load, lambda address: found(kind.from_address(int(address)).value))


octet, short, long, double = (_loader(octets) for octets in (1, 2, 4, 8))
little, plain = _loader(4, swap=False), _loader(8, swap=False)


def _swapped(_: Any, value: Any) -> Any:  # noqa: ARG001 - numba knows arguments by name
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


swapped: Any = _instruction(_swapped, lambda value: np.uint64(value).byteswap())  # 64 bits with reversed octets


def _storer(octets: int) -> Any:
    """Make a function that stores `octets` octets of a number at an address, in the order of this processor."""
    bits = ir.IntType(8 * octets)

    def store(_: Any, address: Any, value: Any) -> Any:  # noqa: ARG001 - numba knows arguments by name
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            given = arguments[1] if octets == 8 else builder.trunc(arguments[1], bits)
            builder.store(given, builder.inttoptr(arguments[0], bits.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.uint64), generate

    def twin(address: Any, value: Any) -> None:
        _NUMBERS[octets].from_address(int(address)).value = int(value) & (1 << 8 * octets) - 1

    return _instruction(store, twin)


store_octet, store_short, store_long, store_double = (_storer(octets) for octets in (1, 2, 4, 8))

# pread(2) and memmove(3) of the C library
read_at: Any = _external("pread", ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)
move: Any = _external("memmove", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


def _fetcher(line: int) -> Any:
    """Make a function that prefetches a line of 64 octets of an array's row into the cache."""

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

    return _instruction(fetch, lambda _array, _index: None)


prefetch, prefetch_second = _fetcher(0), _fetcher(1)


def _soon(_: Any, address: Any) -> Any:  # noqa: ARG001 - numba knows arguments by name
    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), *[ir.IntType(32)] * 3])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [ir.IntType(8).as_pointer()], kind)
        at = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        builder.call(fetch, [at, *(ir.IntType(32)(n) for n in (0, 3, 1))])
        return context.get_dummy_value()

    return types.void(types.int64), generate


# prefetches the 64 octets at an address; any address is allowed
soon: Any = _instruction(_soon, lambda _address: None)


@part
def number(at: Any, big: Any) -> Any:
    """Load 32 bits, in network order if `big`, else reversed."""
    return long(at) if big else little(at)


@part
def hashed(a: Any, b: Any, seed: Any) -> Any:
    """Hash two 64-bit numbers to 64 bits; the finaliser is that of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014)."""
    h = (a ^ seed) * _M1
    h = (h ^ h >> _32 ^ b) * _M2
    h ^= h >> _29
    return h * _M1
