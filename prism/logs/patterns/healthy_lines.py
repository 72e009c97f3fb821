"""Cross-job pattern: lines that healthy runs print too are no evidence. Learnt from their logs, stored as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from prism.logs.parsing.drain import Drain
from prism.logs.parsing.log_scanner import Event

SCHEMA = "prism-healthy-logs/1"
MAX_TEMPLATES = 20_000  # templates
MAX_CHARACTERS = 4096  # characters of a template


@dataclass(frozen=True)
class Healthy:
    """Templates of harmless lines that look like errors, from `runs` healthy runs."""

    templates: tuple[str, ...] = ()
    runs: int = 0

    def drain(self) -> Drain:
        """Make a parser with these templates."""
        out = Drain(most=MAX_TEMPLATES)
        out.load(self.templates)
        return out


def learn(events: Iterable[Event], earlier: Healthy | None = None) -> Healthy:
    """Add the lines of one healthy run."""
    return learn_texts((event.text for event in events), earlier)


def learn_texts(texts: Iterable[str], earlier: Healthy | None = None) -> Healthy:
    """Add texts of lines of one healthy run."""
    earlier = earlier or Healthy()
    drain = earlier.drain()
    for text in texts:
        drain.add(text)
    return Healthy(tuple(str(one)[:MAX_CHARACTERS] for one in drain.templates), earlier.runs + 1)


def dumps(healthy: Healthy) -> str:
    """Write as JSON."""
    return json.dumps({"schema": SCHEMA, "runs": healthy.runs, "templates": list(healthy.templates)}, indent=1) + "\n"


def loads(text: str, name: str) -> Healthy:
    """Read the JSON of `dumps`. Raises ValueError, one line with the file's name, for other content."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f"{name}: not JSON; write it with prism logs --learn") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"{name}: not a file of healthy logs (schema {SCHEMA}); write it with prism logs --learn")
    templates, runs = document.get("templates"), document.get("runs")
    if not isinstance(templates, list) or not all(isinstance(one, str) for one in templates) or len(templates) > MAX_TEMPLATES:
        raise ValueError(f"{name}: templates: must be a list of at most {MAX_TEMPLATES} texts")
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 0:
        raise ValueError(f"{name}: runs: must be a whole number")
    return Healthy(tuple(templates), runs)
