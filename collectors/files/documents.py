"""Read JSON and YAML from users: strictly, with the position in errors."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import yaml


class Object(dict[str, Any]):
    """A JSON object that remembers a duplicate key."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        counts = Counter(key for key, _ in pairs)
        self.twice = next((key for key, n in counts.items() if n > 1), None)


class _Loader(yaml.BaseLoader):
    """YAML in which every scalar is text (a host named 0x10 or `no` stays text) and keys are unique."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            if str(key.value) in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value!r} is given twice", problem_mark=key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep=deep)


def load_json(text: str, name: str) -> Any:
    """Parse JSON, objects as `Object`. Raises ValueError, one line with file and position."""
    try:
        return json.loads(text, object_pairs_hook=Object)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}:{error.lineno}:{error.colno}: {error.msg}") from None
    except RecursionError:
        raise ValueError(f"{name}: is nested too deeply") from None
    except ValueError as error:  # a number of thousands of digits
        raise ValueError(f"{name}: {error}") from None


def load_yaml(text: str, name: str) -> Any:
    """Parse YAML. Raises ValueError, one line with file and position, also for duplicate keys."""
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        at = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise ValueError(f"{name}{at}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ValueError(f"{name}: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise ValueError(f"{name}: is nested too deeply") from None
