"""Group log lines into templates with a fixed-depth parse tree.

Reference: He, Zhu, Zheng, Lyu: Drain: An Online Log Parsing Approach with Fixed Depth Tree, ICWS 2017. This is a small own
implementation: drain3 was last released in 2022, keeps its state as a pickle and parses a few thousand lines per second.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

WILD = "<*>"
SIMILARITY = 0.5  # minimum share of equal tokens for a match; the paper's range is 0.4 … 0.6
CHILDREN = 100  # of a node, as in the paper
LEAF = 64  # templates per leaf: limits the comparisons for random lines
TOKENS = 64  # the rest of a line is one token
_SPLIT = re.compile(r"[\s=,|]+")
_NUMBER = re.compile(r"\d")


@dataclass(eq=False)
class Template:
    """Tokens of a template, with wildcards where lines differ."""

    tokens: list[str]
    count: int = 0

    def __str__(self) -> str:
        return " ".join(self.tokens)


class Drain:
    """Templates of all lines so far; at most `most` of them."""

    def __init__(self, *, similarity: float = SIMILARITY, most: int = 20_000) -> None:
        self.similarity, self.most = similarity, most
        self.templates: list[Template] = []
        self._tree: dict[tuple[int, str, str], list[Template]] = {}
        self._children: dict[tuple[int, str], set[str]] = {}

    def add(self, line: str) -> Template | None:
        """Assign a line to its template and update it; None if there are too many templates."""
        tokens = tokenize(line)
        leaf = self._leaf(tokens)
        best = self._best(leaf, tokens)
        if best is None:
            if len(self.templates) >= self.most or len(leaf) >= LEAF:
                return None
            best = Template(tokens)
            leaf.append(best)
            self.templates.append(best)
        elif best.tokens != tokens:
            best.tokens = [a if a == b else WILD for a, b in zip(best.tokens, tokens, strict=True)]
        best.count += 1
        return best

    def match(self, line: str) -> Template | None:
        """Find the template whose constant tokens a line has, or None; nothing is learnt."""
        tokens = tokenize(line)
        for one in self._leaf(tokens, make=False):
            if all(a in (b, WILD) for a, b in zip(one.tokens, tokens, strict=True)):
                return one
        return None

    def load(self, templates: Iterable[str]) -> None:
        """Load templates that `str` wrote."""
        for text in templates:
            tokens = text.split(" ")[: TOKENS + 1]
            leaf = self._leaf(tokens)
            if len(self.templates) < self.most and len(leaf) < LEAF and not any(one.tokens == tokens for one in leaf):
                own = Template(tokens, 1)
                leaf.append(own)
                self.templates.append(own)

    def _leaf(self, tokens: list[str], *, make: bool = True) -> list[Template]:
        length = len(tokens)
        first = self._branch((length, ""), tokens[0] if tokens else "", make=make)
        second = self._branch((length, first), tokens[1] if length > 1 else "", make=make)
        if not make:
            return self._tree.get((length, first, second), [])
        return self._tree.setdefault((length, first, second), [])

    def _branch(self, at: tuple[int, str], token: str, *, make: bool) -> str:
        known = self._children.get(at)
        if known is None:
            known = self._children[at] = set() if make else {token}
        if token in known or token == WILD:
            return token
        if make and len(known) < CHILDREN:
            known.add(token)
            return token
        return WILD

    def _best(self, leaf: list[Template], tokens: list[str]) -> Template | None:
        best, most = None, self.similarity
        for one in leaf:
            alike = sum(a == b for a, b in zip(one.tokens, tokens, strict=True)) / max(len(tokens), 1)
            if alike >= most:
                best, most = one, alike
        return best


def tokenize(line: str) -> list[str]:
    """Split a line into words. Words with digits are wildcards at once; the paper uses regular expressions per system."""
    words = _SPLIT.split(line.strip(), TOKENS)
    return [WILD if _NUMBER.search(word) or len(word) > 64 else word for word in words]
