from prism.logs.log_files_diagnosis import diagnose_files, scan_files, scanner_of
from prism.logs.parsing.log_scanner import Kinds


def test_files_of_a_run(tmp_path):
    for rank in range(3):
        (tmp_path / f"rank{rank}.log").write_text("step 3 loss 1\n" + ("KeyError: 'x'\n" if rank == 1 else ""))
    assert [one.rank for one in scan_files([str(tmp_path)])] == [0, 1, 2]
    said = diagnose_files([str(tmp_path)])
    assert said.suspects[0].name == "rank 1"
    assert scanner_of("x/rank7.log", "a", Kinds()).rank == 7
