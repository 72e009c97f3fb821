import json

from typer.testing import CliRunner

from prism.cli import main

WAIT = 'Thread 0x1 (most recent call first):\n  File "torch/distributed/distributed_c10d.py", line 1 in recv\n'
READ = 'Thread 0x1 (most recent call first):\n  File "data/loader.py", line 7 in read\n'


def test_the_outlier_of_a_folder(tmp_path):
    for rank in range(4):
        (tmp_path / f"rank{rank}.txt").write_text(READ if rank == 2 else WAIT)
    result = CliRunner().invoke(main.app, ["stacks", str(tmp_path)])
    assert result.exit_code == 0
    assert "Evict: ranks 2." in result.stdout
    told = json.loads(CliRunner().invoke(main.app, ["stacks", str(tmp_path), "--json"]).stdout)
    assert told["outliers"]["rule"] == "busy"
    assert CliRunner().invoke(main.app, ["stacks", str(tmp_path / "absent")]).exit_code == 2
