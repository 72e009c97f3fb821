"""List the numbers of the constants tables, scale one temporarily, and record which are read.

The tables are the modules `constants.py` in the folders of `prism`. Each number of a table or tuple is scaled separately. Whole
numbers stay whole, positive ones at least 1. A number between 0 and 1 stays in that range (its odds are scaled if necessary):
most are probabilities or shares. Modules must read a table as `from prism.layout import constants as c`. The number may be the
default of a keyword-only argument (`share: float = c.SHARE`); other copies made at import do not change.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import prism


class Constant(NamedTuple):
    """One number: the table's module, its name there, and the keys to it inside a mapping or tuple."""

    module: ModuleType
    name: str
    keys: tuple[Any, ...]
    value: float

    def __str__(self) -> str:
        return f"{self.module.__name__.split('.')[-2]}.{self.name}{''.join(f'[{key!r}]' for key in self.keys)}"


def modules() -> list[ModuleType]:
    """List the tables of constants: `constants.py` in `prism` and its folders."""
    root = Path(prism.__path__[0])
    names = sorted(".".join(path.relative_to(root.parent).with_suffix("").parts) for path in root.rglob("constants.py"))
    return [importlib.import_module(name) for name in names]


def constants(module: ModuleType) -> Iterator[Constant]:
    """Yield every number of a table."""
    for name, value in vars(module).items():
        if name.isupper() and not name.startswith("_"):
            for keys, number in _leaves(value):
                yield Constant(module, name, keys, number)


def _leaves(value: Any) -> Iterator[tuple[tuple[Any, ...], float]]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield (), value
    elif isinstance(value, Mapping | tuple | list):
        for key, inner in value.items() if isinstance(value, Mapping) else enumerate(value):
            for keys, number in _leaves(inner):
                yield (key, *keys), number


def times(value: float, factor: float) -> float:
    """Scale a number within its valid range."""
    if isinstance(value, int):
        return max(1, round(value * factor)) if value > 0 else round(value * factor)
    if 0 < value < 1 <= value * factor:
        odds = factor * value / (1 - value)
        return odds / (1 + odds)
    return value * factor


@contextmanager
def scaled(constant: Constant, factor: float) -> Iterator[None]:
    """Replace a number in its table while the context lasts."""
    before = getattr(constant.module, constant.name)
    _set(constant, _with(before, constant.keys, times(constant.value, factor)))
    try:
        yield
    finally:
        _set(constant, before)


def _set(constant: Constant, value: Any) -> None:
    """Set a constant in its table, and in the loaded functions that have it as a default."""
    setattr(constant.module, constant.name, value)
    for function, argument in defaults(constant):
        function.__kwdefaults__[argument] = value


def defaults(constant: Constant) -> list[tuple[Any, str]]:
    """List the functions of loaded modules, and their keyword-only arguments, that have a constant as a default."""
    found = []
    for module in [one for name, one in sys.modules.items() if name.startswith("prism.")]:
        aliases = {name for name, value in vars(module).items() if value is constant.module}
        for name, argument, alias, default in _defaults(module) if aliases else ():
            function = inspect.unwrap(getattr(module, name))
            if alias in aliases and default == constant.name and argument in (getattr(function, "__kwdefaults__", None) or ()):
                found.append((function, argument))
    return found


@cache
def _defaults(module: ModuleType) -> list[tuple[str, str, str, str]]:
    """List function, argument, table and constant of the defaults of a module's functions that read a table."""
    return [
        (node.name, argument.arg, default.value.id, default.attr)
        for node in ast.parse(inspect.getsource(module)).body
        if isinstance(node, ast.FunctionDef)
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if isinstance(default, ast.Attribute) and isinstance(default.value, ast.Name)
    ]


def _with(value: Any, keys: tuple[Any, ...], number: float) -> Any:
    """Copy nested tables and tuples with one number replaced."""
    if not keys:
        return number
    inner = _with(value[keys[0]], keys[1:], number)
    if isinstance(value, Mapping):
        return {**value, keys[0]: inner}
    return type(value)(inner if i == keys[0] else one for i, one in enumerate(value))


class _Reading(ModuleType):
    """A module that records which of its names are read."""

    def __getattribute__(self, name: str) -> Any:
        if name.isupper():
            seen: set[tuple[str, str]] = _reading
            seen.add((super().__getattribute__("__name__"), name))
        return super().__getattribute__(name)


_reading: set[tuple[str, str]] = set()


@contextmanager
def reading(tables: Sequence[ModuleType]) -> Iterator[set[tuple[str, str]]]:
    """Record which constants are read while the context lasts: pairs of module and name.

    Defaults of arguments were read before; they count as read if anything else of their table is.
    """
    _reading.clear()
    for table in tables:
        table.__class__ = _Reading
    try:
        yield _reading
    finally:
        for table in tables:
            table.__class__ = ModuleType
        read = {name for name, _ in _reading}
        for one in (Constant(table, name, (), 0.0) for table in tables if table.__name__ in read for name in _names(table)):
            if defaults(one):
                _reading.add((one.module.__name__, one.name))


def _names(table: ModuleType) -> list[str]:
    return sorted({one.name for one in constants(table)})
