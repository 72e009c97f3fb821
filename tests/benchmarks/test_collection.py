"""What imperfect collection costs."""

from benchmarks import collection


def test_every_setting_is_a_row_over_the_same_cases(capsys, monkeypatch):
    monkeypatch.setattr(collection, "SETTINGS", collection.SETTINGS[:1] + collection.SETTINGS[4:5])
    monkeypatch.setattr(collection, "SHARES", (20,))
    assert collection.main(["--grid", "3:1"]) == 0
    heading, rule, complete, sampled, summed = capsys.readouterr().out.splitlines()
    assert heading.count("|") == rule.count("|") == complete.count("|") == sampled.count("|")
    assert complete.split(" | ")[1:3] == ["1.00", "1.00"]
    assert summed.startswith("| records summed over 1/20 of a step | ")
    assert sampled.startswith("| 1 of 1,024 packets sampled | ")


def test_settings_have_names_of_their_own():
    names = [name for name, _ in collection.SETTINGS]
    assert len(set(names)) == len(names)
