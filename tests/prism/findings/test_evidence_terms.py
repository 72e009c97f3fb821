import ast
import json
import re
from pathlib import Path

from prism.findings.evidence_terms import TERMS

ROOT = Path(__file__).parents[3]
REPORTS = sorted((ROOT / "pcaps").glob("*/report.json"))


def _written(path):
    """Names of entries that a file gives to the evidence of findings, as far as it spells them out there."""
    for node in ast.walk(ast.parse(path.read_text())):
        given = node.value if isinstance(node, ast.keyword | ast.Assign) else None
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        name = node.arg if isinstance(node, ast.keyword) else getattr(target, "id", "")
        if isinstance(given, ast.Dict) and name in ("evidence", "numbers"):
            yield from (key.value for key in given.keys if isinstance(key, ast.Constant))
        if isinstance(target, ast.Subscript) and getattr(target.value, "id", "") in ("evidence", "numbers"):
            yield target.slice.value


def test_every_entry_of_recorded_findings_has_a_meaning():
    used = {name for path in REPORTS for found in json.loads(path.read_text())["findings"] for name in found["evidence"]}
    assert len(used) > 10
    assert used <= TERMS.keys()


def test_every_entry_that_code_writes_has_a_meaning():
    folders = ("diagnosis", "tracking", "exporters", "steps")
    used = {name for folder in folders for path in (ROOT / "prism" / folder).rglob("*.py") for name in _written(path)}
    assert len(used) > 20
    assert used <= TERMS.keys()


def test_the_chapter_on_reports_lists_them():
    chapter = (ROOT / "docs" / "report.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \| (.+) \|$", chapter.partition("## Evidence")[2].partition("\n## ")[0], re.MULTILINE)
    assert dict(listed) == TERMS
    assert [name for name, _ in listed] == sorted(TERMS)


def test_entries_of_time_say_their_unit():
    for name, text in TERMS.items():
        unit = re.search(r"_(ms|s|octets|gbit_s)$", name)
        if unit and name not in ("gbit_s", "usual_gbit_s"):
            assert unit[1] in text, name


def test_the_pages_know_the_same_meanings():
    script = (ROOT / "prism" / "web" / "js" / "terms.js").read_text()
    assert {name: json.loads(text) for name, text in re.findall(r"^  (\w+): (\".*\"),$", script, re.MULTILINE)} == TERMS
