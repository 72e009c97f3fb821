"""Check habits of the code: docstrings of shared names, sections of the public API, constants of the analysis in tables."""

import ast
from itertools import pairwise
from pathlib import Path

import pytest

import prism

ROOT = Path(__file__).parents[1]
FILES = [path.relative_to(ROOT) for package in ("prism", "collectors") for path in sorted((ROOT / package).rglob("*.py"))]
TREES = {path: ast.parse((ROOT / path).read_text()) for path in FILES}
ANALYSIS = (
    "evidence",
    "jobs",
    "layout",
    "steps",
    "graph",
    "diagnosis",
    "loops",
)  # folders whose numbers are in tables
PLAIN = {0, 0.5, 1, 2, 1e3, 1e6, 1e9, 8e9}  # a half, pairs, and units: ns, ms, octets per ns in bits per second
ROUNDING = 1e-9  # smaller numbers keep divisors above zero


def test_every_name_that_another_folder_imports_has_a_docstring():
    assert [f"{path}: {node.name}" for path, node in _shared() if not ast.get_docstring(node)] == []


def test_every_public_name_has_sections():
    """Functions of `import prism` list parameters, results, errors and assumptions; classes list their attributes."""
    missing = {}
    for name in prism.__all__:
        value = getattr(prism, name)
        sections = ("Attributes",) if isinstance(value, type) else ("Parameters", "Returns", "Raises", "Assumptions")
        lines = (value.__doc__ or "").splitlines()
        titles = {one.strip() for one, rule in pairwise(lines) if rule.strip().startswith("---")}
        if not titles.issuperset(sections):
            missing[name] = sorted(set(sections) - titles)
    assert missing == {}


def test_the_numbers_of_the_analysis_are_in_tables():
    """Thresholds of the analysis are in a folder's `constants.py`, where `benchmarks.scaling` finds them.

    Numbers count as thresholds if they are fractions or factors (floats), are compared with something, or are the value of a
    constant, a field or a parameter. Other whole numbers are structure: shapes, decimals, halves and quarters, bits of a key.
    """
    found = [
        f"{path}:{number.lineno}: {number.value}"
        for path, tree in TREES.items()
        if path.parts[0] == "prism" and path.parts[1] in ANALYSIS and path.stem != "constants"
        for number in _thresholds(tree)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("LEAST = 3", 1),
        ("NEAR, FAR = 0.1, -0.9", 2),
        ("LIMIT = 1 << 20", 1),
        ("def late(share=0.04, *, sigmas=6): ...", 2),
        ("def ways(tolerances=(0.001, 0.05)): ...", 2),
        ("class View:\n    least: int = 3", 1),
        ("few = len(steps) < 4", 1),
        ("near = 0.03 * period", 1),
        ("half, ns = 0.5 * period, 2.5e-10 + period * 1e9 if n > 2 else -1.0", 0),
        ("shown, first, sizes = round(share, 4), k * 3 // 4, np.empty((n, 4))", 0),
    ],
)
def test_what_counts_as_a_threshold(source, count):
    assert len(_thresholds(ast.parse(source))) == count


def _shared():
    """Files with their functions and classes that a file of another folder imports."""
    defined = {
        (".".join(path.with_suffix("").parts), node.name): (path, node)
        for path, tree in TREES.items()
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
    }
    imported = {
        (node.module, alias.name, path.parent)
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names = {(module, name) for module, name, folder in imported if (module, name) in defined}
    here = {key: defined[key][0].parent for key in names}
    apart = {(module, name) for module, name, folder in imported if (module, name) in names and here[module, name] != folder}
    return [defined[key] for key in sorted(apart)]


def _thresholds(tree):
    """Numbers of a module that belong into a table, in order of their lines."""
    found = {}
    for node in ast.walk(tree):
        values = [node] if _number(node) and isinstance(node.value, float) else []
        if isinstance(node, ast.Compare):
            values += [node.left, *node.comparators]
        elif isinstance(node, ast.arguments):
            values += [one for default in (*node.defaults, *node.kw_defaults) if default for one in ast.walk(default)]
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_numeric(node.value):
            values += ast.walk(node.value)
        for value in values:
            number = value.operand if isinstance(value, ast.UnaryOp) else value
            if _number(number) and abs(number.value) not in PLAIN and not 0 < number.value <= ROUNDING:
                found[number.lineno, number.col_offset] = number
    return [found[place] for place in sorted(found)]


def _number(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


def _is_numeric(value):
    """Whether an expression consists of numbers: one, a tuple or list of them, or a calculation."""
    if isinstance(value, ast.UnaryOp):
        return _is_numeric(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_numeric(value.left) and _is_numeric(value.right)
    return _number(value) or (
        isinstance(value, ast.Tuple | ast.List) and bool(value.elts) and all(map(_is_numeric, value.elts))
    )
