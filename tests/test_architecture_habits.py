"""Check habits of the code: docstrings of shared names, sections of the public API, constants of the analysis in tables."""

import ast
from itertools import pairwise
from pathlib import Path

import prism

ROOT = Path(__file__).parents[1]
FILES = [path.relative_to(ROOT) for package in ("prism", "collectors") for path in sorted((ROOT / package).rglob("*.py"))]
TREES = {path: ast.parse((ROOT / path).read_text()) for path in FILES}
ANALYSIS = ("evidence", "jobs", "layout", "steps", "graph", "diagnosis", "detectors")  # folders whose numbers are in tables

# files with numeric constants that are not in their folder's table yet; the list only gets shorter
WITH_NUMBERS = frozenset(
    [
        "prism/jobs/cluster_periods.py",
        "prism/jobs/endpoint_pairs.py",
        "prism/jobs/halo_exchange.py",
        "prism/jobs/recognition.py",
        "prism/jobs/repetition.py",
        "prism/layout/hint_priors.py",
        "prism/layout/labels/dimensions.py",
        "prism/layout/labels/in_host_stages.py",
        "prism/steps/record_sequences.py",
    ]
)


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
    """A numeric constant of a module of the analysis is in its folder's `constants.py`, where `benchmarks.scaling` finds it."""
    found = {
        str(path)
        for path, tree in TREES.items()
        if path.parts[0] == "prism" and path.parts[1] in ANALYSIS and path.stem.strip("_") != "constants"
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _is_numeric(node.value)
    }
    assert found <= WITH_NUMBERS, sorted(found - WITH_NUMBERS)


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


def _is_numeric(value):
    """Whether an expression is a number, or a tuple or list of numbers."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return _is_numeric(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_numeric(value.left) and _is_numeric(value.right)
    return isinstance(value, ast.Tuple | ast.List) and bool(value.elts) and all(map(_is_numeric, value.elts))
