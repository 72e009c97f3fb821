from prism.logs.parsing._tracebacks import names_error, start_block

TEXT = """[rank1]: Traceback (most recent call last):
[rank0]: iteration 3
[rank1]:   File "a.py", line 1, in f
[rank1]:     g()
[rank1]: KeyError: 'x'
[rank1]: iteration 4"""


def test_a_traceback_among_other_ranks_lines():
    lines = TEXT.split("\n")
    block = start_block(lines[0])
    assert block is not None
    assert [block.take(i, line) for i, line in enumerate(lines[1:], 2)] == [False, True, True, True, False]
    assert block.error_line == "KeyError: 'x'"
    assert not block.open


def test_a_launcher_s_summary_ends_with_its_second_rule():
    block = start_block("Traceback (most recent call last):")
    assert block is not None
    rule = "=" * 60
    errors = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
    lines = ["  File x", errors, rule, "worker FAILED", "Root Cause (first observed failure):", rule, "after"]
    taken = [block.take(i, line) for i, line in enumerate(lines) if block.open]
    assert taken == [True] * 6
    assert not block.open


def test_a_crash_dump_ends_with_the_first_line_that_is_not_indented():
    block = start_block("Current thread 0x00 (most recent call first):")
    assert block is not None
    assert block.take(2, '  File "a.py", line 2 in f')
    assert not block.take(3, "next")
    assert not block.open
    assert start_block("nothing") is None
    assert names_error("zlib.error: x")
