from benchmarks import exports


def test_every_kind_is_measured(capsys):
    assert exports.main(["20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line[:22].strip() for line in lines] == [kind[0] for kind in exports.kinds(20)]
    assert [m.records for m in exports.measure(20, repeats=1)] == [560, 560, 560, 560, 200, 200]


def test_a_number_is_requested(capsys):
    assert exports.main(["many"]) == 2
    assert "usage" in capsys.readouterr().err
