"""Every call of docs/api.md, by real curl against a service that shows a recorded run."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from prism.api.server.web_server import served
from prism.past.uploads import Bounds, Uploads
from prism.service.service_settings import Service
from prism.service.tokens import Tokens
from prism.tracking.board import Boards
from tests.prism.web.conftest import GENEROUS, recorded

ROOT = Path(__file__).parents[1]
CHAPTER = (ROOT / "docs" / "api.md").read_text()
CALLS = re.findall(r"```sh\n(.*?)```\n```(\w*)\n(.*?)```", CHAPTER, re.DOTALL)

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    board, records = recorded()
    tokens = Tokens(tmp_path_factory.mktemp("tokens") / "tokens.json")
    token = tokens.create("chapter", "admin")
    with Uploads(tmp_path_factory.mktemp("spool"), Bounds(seconds=900)) as uploads:
        service = Service(Boards(board), records, "live", uploads=uploads, limits=GENEROUS, tokens=tokens)
        with served(service) as port:
            names = {"PRISM": f"http://127.0.0.1:{port}", "AUTH": f"Authorization: Bearer {token}"}
            yield os.environ | names | {"JOB": board.jobs[0].id}


def shown(example, answer, where="answer"):
    """Assert that everything an example has is in the answer; of lists the first items are compared."""
    if isinstance(example, dict):
        for name, one in example.items():
            assert name in answer, f"{where}.{name}"
            shown(one, answer[name], f"{where}.{name}")
    elif isinstance(example, list):
        assert len(example) <= len(answer), where
        for at, one in enumerate(example):
            shown(one, answer[at], f"{where}[{at}]")
    elif isinstance(example, str) and "id" not in where.rsplit(".", 1)[-1]:
        assert isinstance(answer, str), where
        assert where.endswith((".board", ".state", ".stage")) or answer.startswith(example), where
    elif not where.endswith(".id"):
        assert answer == pytest.approx(example), where


def test_the_chapter_has_ten_calls():
    assert len(CALLS) == 10


@pytest.mark.parametrize(("call", "kind", "example"), CALLS, ids=range(1, len(CALLS) + 1))
def test_a_call_answers_as_the_chapter_says(environment, call, kind, example):
    done = subprocess.run(
        ["bash", "-c", call], cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    if kind == "json":
        shown(json.loads(example), json.loads(done.stdout))
    else:
        lines = example.splitlines()
        for expected, line in zip(lines, done.stdout.splitlines()[: len(lines)], strict=True):
            assert line.startswith(expected.removesuffix("…"))
