from benchmarks.incidents import main


def test_no_runs(tmp_path, capsys):
    assert main([str(tmp_path), str(tmp_path)]) == 0
    assert "0 failed runs" in capsys.readouterr().out
