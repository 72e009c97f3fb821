"""Build layouts of templates, once for all exporters with the same template."""

from __future__ import annotations

from collections import OrderedDict

from collectors.exports.netflow.exporter_state import Template
from collectors.exports.records.elements import Elements
from collectors.exports.records.templates import V5, Definition, Field, Layout, layout_of, unpack_templates

# A record of version 5 as a template: elements of v9 with their lengths; 210 is padding.
_V5 = (
    *((8, 4), (12, 4), (15, 4), (10, 2), (14, 2), (2, 4), (1, 4), (22, 4), (21, 4), (7, 2), (11, 2)),
    *((210, 1), (6, 1), (4, 1), (5, 1), (16, 2), (17, 2), (9, 1), (13, 1), (210, 2)),
)


MAX_READ_OCTETS = 1 << 23  # octets of remembered template sets
Read = tuple[tuple[int, Template | None], ...]


def templates_of(definitions: list[Definition]) -> Read:
    """Return templates by number; None: withdrawn."""
    return tuple((d.id, Template.of(d) if d.fields else None) for d in definitions)


class Layouts:
    """Caches layouts by template, at most `most`, in at most `most_octets`, oldest dropped first; and parsed template sets."""

    def __init__(self, elements: Elements, *, most: int = 4096, most_octets: int = 1 << 26) -> None:
        self._elements, self._most, self._most_octets = elements, most, most_octets
        self._made: OrderedDict[tuple[int, Template], Layout] = OrderedDict()
        self._octets = self._read_octets = 0
        self._read: OrderedDict[tuple[bytes, int, bool], Read] = OrderedDict()
        self.v5 = layout_of(Definition(V5, -1, tuple(Field(0, *row) for row in _V5)), elements)

    def read(self, octets: bytes, version: int, *, options: bool) -> Read:
        """Parse the templates of a set, by number; None: withdrawn. Results are cached, because exporters repeat templates.

        Raises TemplateError; templates before the invalid one are in its `good`.
        """
        key = (octets, version, options)
        found = self._read.get(key)
        if found is None:
            found = templates_of(unpack_templates(octets, version, options=options))
            self._read[key] = found
            self._read_octets += len(octets)
            while len(self._read) > self._most or self._read_octets > MAX_READ_OCTETS:
                self._read_octets -= len(self._read.popitem(last=False)[0][0])
        else:
            self._read.move_to_end(key)
        return found

    def has_read(self, octets: bytes, version: int, *, options: bool) -> bool:
        """Check whether `read` has the result in its cache."""
        return (octets, version, options) in self._read

    def of(self, version: int, template: Template) -> Layout:
        """Return the layout of a template of v9 or IPFIX."""
        key = (version, template)
        layout = self._made.get(key)
        if layout is None:
            layout = self._made[key] = layout_of(template.definition(0), self._elements)
            self._octets += layout.octets + template.octets
            while len(self._made) > self._most or self._octets > self._most_octets:
                (_, old), gone = self._made.popitem(last=False)
                self._octets -= gone.octets + old.octets
        return layout
