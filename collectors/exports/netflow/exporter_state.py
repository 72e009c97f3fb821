"""Keep the state of each NetFlow and IPFIX exporter in bounded memory: templates, sampling rates, clocks, sequence numbers.

All of it but the sequence numbers survives a restart as a plain value (`to_state`, `from_state`) of texts and numbers.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from collectors.exports.netflow.sampling_rates import Rates, Scope
from collectors.exports.records.templates import FIRST_DATA_SET, IPFIX, MOST_FIELDS, V9, Definition, Field
from collectors.exports.records.time_formats import KNOWN, Clock
from collectors.packets.plain_decoder import DecodeError

SCHEMA = "prism-templates/1"
MAX_SOURCES = 256  # per exporter
MOST_NEW, MOST_NEW_EACH_S = 1 << 18, 1 << 15  # octets of new templates per exporter: at once; per second
_FIELD = struct.Struct(">IHH")
Key = tuple[int, int, int]  # version, observation domain, template


class Template(NamedTuple):
    """A stored template: packed fields, 8 octets each."""

    scope: int
    packed: bytes

    @classmethod
    def of(cls, definition: Definition) -> Template:
        """Pack a template."""
        return cls(definition.scope, b"".join(_FIELD.pack(*field) for field in definition.fields))

    def definition(self, number: int) -> Definition:
        """Unpack the template."""
        return Definition(number, self.scope, tuple(Field(*row) for row in _FIELD.iter_unpack(self.packed)))

    @property
    def octets(self) -> int:
        """Estimate its memory."""
        return 200 + len(self.packed)


class Source:
    """An observation domain of IPFIX, a source of v9, an engine of v5, of one exporter."""

    def __init__(self) -> None:
        self.expected = -1  # sequence number; -1: unknown
        self.rates = Rates()
        self.boot_ns = -1


class Exporter:
    """State of one exporter. `most_templates`, `most_octets` bound its templates: the least recently used are dropped."""

    def __init__(self, name: str, *, most_templates: int, most_octets: int) -> None:
        self.name, self.tally = name, Counter[str]()
        self.templates: OrderedDict[Key, Template] = OrderedDict()
        self.sources: OrderedDict[tuple[int, int], Source] = OrderedDict()
        self.octets, self.clock = 0, Clock()
        self.rated = False  # options announced a sampling rate
        self._new, self._new_ns = float(MOST_NEW), 0
        self._most_templates, self._most_octets = most_templates, most_octets

    def source(self, version: int, domain: int) -> Source:
        """Return the source of a version and domain; if there are too many, the one unused for longest is dropped."""
        source = self.sources.get((version, domain))
        if source is None:
            source = self.sources[version, domain] = Source()
            if len(self.sources) > MAX_SOURCES:
                self.sources.popitem(last=False)
        self.sources.move_to_end((version, domain))
        return source

    def announce(self, version: int, domain: int, scope: Scope, rate: int) -> bool:
        """Store a sampling rate of a source; return whether it is new."""
        self.rated = True
        return self.source(version, domain).rates.announce(scope, rate)

    def may_define(self, octets: int, now_ns: int) -> bool:
        """Check whether it may define new templates of so many octets: parsing them costs far more than decoding records."""
        passed = max(now_ns - self._new_ns, 0) / 1e9 if self._new_ns else 0.0
        self._new, self._new_ns = min(self._new + passed * MOST_NEW_EACH_S, float(MOST_NEW)), max(now_ns, self._new_ns)
        if octets > self._new:
            return False
        self._new -= octets
        return True

    def define(self, key: Key, template: Template) -> int:
        """Store a template; return the number of dropped ones."""
        self.withdraw(key)
        self.templates[key] = template
        self.octets += template.octets
        gone = 0
        while len(self.templates) > self._most_templates or (self.octets > self._most_octets and len(self.templates) > 1):
            self.octets -= self.templates.popitem(last=False)[1].octets
            gone += 1
        return gone

    def withdraw(self, key: Key) -> None:
        """Forget a template, if it is known."""
        template = self.templates.pop(key, None)
        if template is not None:
            self.octets -= template.octets

    def use(self, key: Key) -> Template | None:
        """Return a template and mark it as recently used."""
        template = self.templates.get(key)
        if template is not None:
            self.templates.move_to_end(key)
        return template


class Exporters:
    """Exporters by name, least recently used first; at most `most`, with at most `most_octets` of templates in total."""

    def __init__(
        self, *, most: int = 4096, most_templates: int = 1000, most_octets_each: int = 1 << 20, most_octets: int = 1 << 27
    ) -> None:
        self.most, self.most_octets = most, most_octets
        self._each = {"most_templates": most_templates, "most_octets": most_octets_each}
        self.known: OrderedDict[str, Exporter] = OrderedDict()

    def admit(self, names: Iterable[str]) -> tuple[dict[str, Exporter], list[Exporter]]:
        """Return the exporters of these names, at most `most`, and the exporters dropped for them.

        Known exporters have priority, so that a crowd of new senders does not displace active ones.
        """
        names = list(names)
        wanted = [*(n for n in names if n in self.known), *(n for n in names if n not in self.known)][: self.most]
        for name in wanted:
            if name not in self.known:
                self.known[name] = Exporter(name, **self._each)
            self.known.move_to_end(name)
        gone = [self.known.popitem(last=False)[1] for _ in range(len(self.known) - self.most)]
        return {name: self.known[name] for name in wanted}, gone

    def drop_templates(self) -> int:
        """Drop templates of the largest users while all exporters have too many; return their number."""
        gone = 0
        octets = sum(exporter.octets for exporter in self.known.values())
        while octets > self.most_octets:
            largest = max(self.known.values(), key=lambda e: e.octets)
            half = largest.octets // 2
            while largest.octets > half:
                template = largest.templates.popitem(last=False)[1]
                largest.octets -= template.octets
                octets -= template.octets
                gone += 1
        return gone

    def to_state(self) -> dict[str, Any]:
        """Convert templates, sampling rates, boot times and time formats to plain values for JSON."""
        return {"schema": SCHEMA, "exporters": {name: _exporter_state(e) for name, e in self.known.items()}}

    def from_state(self, state: Any) -> None:
        """Restore the value of `to_state`. Raises DecodeError for anything else; then nothing is restored."""
        try:
            if state["schema"] != SCHEMA:
                raise DecodeError(f"the templates have schema {state['schema']!r}, this Prism reads {SCHEMA!r}")
            found = {str(name): _restored(str(name), kept, self._each) for name, kept in state["exporters"].items()}
        except DecodeError:
            raise
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError, struct.error, binascii.Error) as error:
            raise DecodeError(f"the templates are damaged ({type(error).__name__}: {error})") from None
        for name in list(found)[-self.most :]:
            self.known[name] = found[name]


def _exporter_state(exporter: Exporter) -> dict[str, Any]:
    return {
        "templates": [[*key, t.scope, base64.b64encode(t.packed).decode()] for key, t in exporter.templates.items()],
        "sources": [
            [*key, source.boot_ns, [[*scope, rate] for scope, rate in source.rates.announced.items()]]
            for key, source in exporter.sources.items()
            if source.rates.announced or source.boot_ns >= 0
        ],
        "clock": dict(exporter.clock.formats),
    }


def _restored(name: str, kept: Mapping[str, Any], bounds: Mapping[str, int]) -> Exporter:
    exporter = Exporter(name, **bounds)
    for version, domain, number, scope, text in kept["templates"]:
        packed = base64.b64decode(text, validate=True)
        fields = len(packed) // _FIELD.size
        sound = (version in (V9, IPFIX), 0 <= domain < 1 << 32, FIRST_DATA_SET <= number < 1 << 16, -1 <= scope <= fields)
        if not (all(sound) and len(packed) % _FIELD.size == 0 and 0 < fields <= MOST_FIELDS):
            raise ValueError(f"template {number} of exporter {name} is not valid")
        template = Template(int(scope), packed)
        if not any(field.length for field in template.definition(number).fields):
            raise ValueError(f"template {number} of exporter {name} has no octets")
        exporter.define((int(version), int(domain), int(number)), template)
    formats = {str(unit): str(name) for unit, name in kept.get("clock", {}).items()}
    if not KNOWN.issuperset(formats.values()):
        raise ValueError(f"a time format of exporter {name} is not known")
    exporter.clock.formats = formats
    for version, domain, boot_ns, rates in kept["sources"]:
        source = exporter.source(int(version), int(domain))
        source.boot_ns = min(max(int(boot_ns), -1), 1 << 62)
        for *scope, rate in rates:  # older states have the sampler alone
            if not all(-1 <= int(value) < 1 << 32 for value in scope):
                raise ValueError(f"a sampling rate of exporter {name} is not valid")
            exporter.announce(int(version), int(domain), Scope(*map(int, scope)), min(max(int(rate), 1), 1 << 32))
    return exporter
