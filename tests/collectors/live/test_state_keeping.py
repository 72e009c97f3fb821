import json

from collectors.live._state_keeping import StateSaver


def test_what_changed_is_saved_when_it_is_due(tmp_path):
    path, state = tmp_path / "templates.json", {"a": 1}
    keeper = StateSaver(str(path), lambda: dict(state), every_s=0)
    keeper.tick()
    assert json.loads(path.read_text()) == {"a": 1}
    path.unlink()
    keeper.tick()
    assert not path.exists()  # nothing is new
    state["a"] = 2
    keeper.save()
    assert json.loads(path.read_text()) == {"a": 2}


def test_not_before_it_is_due(tmp_path):
    path = tmp_path / "templates.json"
    StateSaver(str(path), lambda: 1, every_s=1000).tick()
    assert not path.exists()


def test_a_disk_that_refuses_is_told_of_once(tmp_path, monkeypatch):
    said = []
    monkeypatch.setattr(
        "collectors.live._state_keeping.log_event", lambda event, **fields: said.append((event, fields["file"]))
    )
    keeper = StateSaver(str(tmp_path / "gone" / "templates.json"), lambda: 1, every_s=0)
    keeper.save()
    keeper.save()
    assert said == [("templates not saved, trying again", keeper.path)]
    (tmp_path / "gone").mkdir()
    keeper.save()
    assert (tmp_path / "gone" / "templates.json").read_text() == "1"
