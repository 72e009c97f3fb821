from collectors.operations.stop_flag import Flag


def test_a_flag_is_what_it_was_made_last():
    flag = Flag()
    assert not flag.is_set()
    flag.set()
    flag.set()
    assert flag.is_set()
    flag.clear()
    assert not flag.is_set()
