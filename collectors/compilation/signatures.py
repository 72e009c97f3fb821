"""Encode the argument types of compiled loops as JSON, so that loops can be compiled before they are called."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numba.core import types as numba_types
from numba.np.numpy_support import as_dtype, from_dtype

Json = Any
types: Any = numba_types  # numba's types are only partly annotated


def encode(kind: Any) -> Json:
    """Encode a numba type as JSON: a name, or a list that starts with the kind of type. Raises ValueError on other types."""
    if isinstance(kind, types.Array):
        return ["array", encode(kind.dtype), kind.ndim, kind.layout, not kind.mutable, kind.aligned]
    if isinstance(kind, types.Record):
        return ["record", *_layout(as_dtype(kind))]
    if isinstance(kind, types.BaseNamedTuple):
        name = kind.instance_class
        return ["named", f"{name.__module__}:{name.__qualname__}", *map(encode, kind.types)]
    if isinstance(kind, types.BaseTuple):
        return ["tuple", *map(encode, kind.types)]
    if isinstance(kind, types.Omitted):
        return ["omitted", kind.value]
    if isinstance(kind, types.NoneType | types.Number | types.Boolean):
        return str(kind)
    raise ValueError(f"{kind}: unknown type")


def decode(encoded: Json) -> Any:
    """Decode the numba type that `encode` wrote."""
    if isinstance(encoded, str):
        return getattr(types, encoded)
    kind, *rest = encoded
    if kind == "array":
        dtype, ndim, layout, readonly, aligned = rest
        return types.Array(decode(dtype), ndim, layout, readonly=readonly, aligned=aligned)
    if kind == "record":
        names, formats, offsets, itemsize, align = rest
        shaped = [form if isinstance(form, str) else (form[0], tuple(form[1])) for form in formats]
        told_layout: Any = {"names": names, "formats": shaped, "offsets": offsets, "itemsize": itemsize}
        return from_dtype(np.dtype(told_layout, align=align))
    if kind == "omitted":
        return types.Omitted(rest[0])
    if kind == "tuple":
        return types.BaseTuple.from_types([decode(part) for part in rest])
    module, _, name = rest[0].partition(":")
    return types.BaseTuple.from_types([decode(part) for part in rest[1:]], getattr(importlib.import_module(module), name))


def _layout(dtype: np.dtype[Any]) -> list[Json]:
    """List names, formats, offsets, size and alignment of a structured type."""
    names = list(dtype.names or ())
    fields = [dtype.fields[name] for name in names] if dtype.fields else []
    formats = [f[0].str if f[0].subdtype is None else [f[0].subdtype[0].str, list(f[0].shape)] for f in fields]
    return [names, formats, [f[1] for f in fields], dtype.itemsize, dtype.isalignedstruct]
