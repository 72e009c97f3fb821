"""Check values from the command line and the settings file: an empty text is an error, mostly an unset shell variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from collectors.memory.limit import SETTING

MOST_RATE = 400_000.0  # datagrams per second and exporter where nothing else is set: more than any switch sends
FREE = ("TEXT", "EXPRESSION")  # metavars of what may be empty: words for people, and all packets


MemoryOption = Annotated[
    int,
    typer.Option(SETTING, metavar="MIB", min=64, help="Memory limit of reading and analysing the files."),
]


class Commands(TyperGroup):
    """Commands, of the groups in it too, that refuse an empty text: taken as none, it would mean the current folder, or all."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        _guard(self)


def source(context: typer.Context, name: str) -> str:
    """Where the value of an option is from, as click calls it: COMMANDLINE, DEFAULT_MAP (the settings file), ..."""
    found = context.get_parameter_source(name)
    return "" if found is None else found.name


def _guard(command: Any) -> None:
    for inner in getattr(command, "commands", {}).values():
        _guard(inner)
    for parameter in command.params:
        if parameter.metavar not in FREE:
            parameter.callback = _filled(parameter.callback)


def _filled(then: Callable[..., Any] | None) -> Callable[..., Any]:
    """A parameter's callback that goes on with `then`."""

    def check(context: Any, parameter: Any, value: Any) -> Any:
        said = source(context, parameter.name) in ("COMMANDLINE", "DEFAULT_MAP")  # a default of ours may be empty
        if said and (value == "" or (isinstance(value, list | tuple) and "" in value)):
            raise typer.BadParameter("the value is empty; is a shell variable not set?", ctx=context, param=parameter)
        return then(context, parameter, value) if then else value

    return check
