"""Check values from the command line and the settings file: empty text is an error, usually an unset shell variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from collectors.memory.limit import SETTING

MOST_RATE = 400_000.0  # default limit of datagrams per second and exporter: above the rate of any switch
FREE = ("TEXT", "EXPRESSION")  # metavars of values that may be empty: texts for people, and filters


MemoryOption = Annotated[
    int,
    typer.Option(SETTING, metavar="MIB", min=64, help="Memory limit of reading and analysing the files."),
]


class Commands(TyperGroup):
    """Commands, with those of their groups, that refuse empty text, which would otherwise mean the current folder, or all."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        _guard(self)


def source(context: typer.Context, name: str) -> str:
    """Return the source of an option's value in click's terms: COMMANDLINE, DEFAULT_MAP (the settings file), ..."""
    found = context.get_parameter_source(name)
    return "" if found is None else found.name


def _guard(command: Any) -> None:
    for inner in getattr(command, "commands", {}).values():
        _guard(inner)
    for parameter in command.params:
        if parameter.metavar not in FREE:
            parameter.callback = _filled(parameter.callback)


def _filled(then: Callable[..., Any] | None) -> Callable[..., Any]:
    """Make a parameter's callback that continues with `then`."""

    def check(context: Any, parameter: Any, value: Any) -> Any:
        said = source(context, parameter.name) in ("COMMANDLINE", "DEFAULT_MAP")  # our own default may be empty
        if said and (value == "" or (isinstance(value, list | tuple) and "" in value)):
            raise typer.BadParameter("the value is empty; is a shell variable not set?", ctx=context, param=parameter)
        return then(context, parameter, value) if then else value

    return check
