import subprocess
import sys


def test_a_reader_that_leaves_is_no_error_message():
    code = "from collectors.cli.errors import report_errors\nwith report_errors('x'):\n    print('line\\n' * 100000)"
    shell = f'"{sys.executable}" -c "$0" | head -n 1'
    done = subprocess.run(["bash", "-c", shell, code], capture_output=True, text=True, check=False)
    assert done.stdout == "line\n"
    assert "BrokenPipe" not in done.stderr
