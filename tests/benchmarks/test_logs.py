import json

from benchmarks.logs import main


def test_a_run_with_a_known_fault(tmp_path, capsys):
    run = tmp_path / "a"
    (run / "logs").mkdir(parents=True)
    (run / "logs" / "rank0.log").write_text("step 3 loss 1\n")
    (run / "logs" / "rank1.log").write_text("step 3 loss 1\nKeyError: 'x'\n")
    truth = {"failed": True, "rank": 1, "host": "n1", "cause": "user code", "stage": "training", "iteration": 3}
    (run / "truth.json").write_text(json.dumps({**truth, "lines": {"rank1.log": [2]}, "addresses": {}}))
    assert main([str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "F1 1.000" in shown
    assert "top-1 100.0%" in shown
    assert main(["--speed", str(run / "logs" / "rank1.log")]) == 0
