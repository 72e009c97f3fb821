"""The wheel, built as pip builds it and used from where it is unpacked: nothing that runs needs the repository."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools", minversion="77")
ROOT = Path(__file__).parents[1]
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
ASK = """
import urllib.request
from prism.api.server.web_server import served
from prism.tracking.board import Board, Boards
from prism.views.html_report import dumps
from prism.service.service_settings import Service
with served(Service(Boards())) as port:
    for path in ("", "js/main.js", "style.css", "icon.svg", "theme.js", "api/v1/board"):
        print(urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}").status, path)
print(len(dumps(Board())))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("prism", "collectors"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    done = subprocess.run([sys.executable, "-c", BUILD, str(out)], cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    (made,) = out.glob("*.whl")
    with zipfile.ZipFile(made) as file:
        file.extractall(out / "unpacked")
    return out / "unpacked"


def test_it_holds_all_that_is_ours_and_nothing_else(wheel):
    def files(folder):
        return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}

    ours = {f"{name}/{path}" for name in ("prism", "collectors") for path in files(ROOT / name) if "__pycache__" not in path}
    about = {path for path in files(wheel) if path.startswith("llm_prism-")}
    assert files(wheel) - about == ours
    for name in ("prism/web/index.html", "prism/web/js/main.js", "prism/py.typed", "collectors/py.typed"):
        assert name in ours
    (entries,) = (wheel / path for path in about if path.endswith("entry_points.txt"))
    assert "prism = prism.cli.main:main" in entries.read_text()
    assert "prism-collect = collectors.cli.commands:main" in entries.read_text()
    assert any(path.endswith("licenses/LICENSE") for path in about)


def test_pages_and_report_come_out_of_it(wheel, tmp_path):
    env = os.environ | {"PYTHONPATH": str(wheel), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-P", "-c", ASK], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    *pages, size = done.stdout.splitlines()
    assert [line.split()[0] for line in pages] == ["200"] * 6
    assert int(size) > 50_000
