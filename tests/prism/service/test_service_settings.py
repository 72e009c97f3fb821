from prism.service.service_settings import Limits, Service
from prism.tracking.board import Boards


def test_a_service_needs_boards_alone():
    service = Service(Boards())
    assert (service.mode, list(service.counts()), dict(service.health())) == ("live", [], {})
    assert service.limits == Limits()
    assert service.tokens is service.uploads is service.records is None
