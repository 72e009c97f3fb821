import pytest

from collectors.columns.record import Flows
from collectors.columns.switch_names import check_names


@pytest.mark.parametrize(
    ("exporters", "paths", "match"),
    [(("a\nb",), ((),), "line end"), ((), ((), ("a\r",)), "line end"), ((), ((), ("a|b",)), r"\|")],
)
def test_names_that_could_not_be_read_back_are_refused(exporters, paths, match):
    with pytest.raises(ValueError, match=match):
        check_names(Flows.build({"start_ns": []}, endpoints=(), exporters=exporters, paths=paths))


def test_other_names_are_not():
    check_names(Flows.build({"start_ns": []}, endpoints=(), exporters=("a|b", "c d"), paths=((), ("a", "b"))))
