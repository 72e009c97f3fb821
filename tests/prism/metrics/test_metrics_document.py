import json

import pytest

from prism.metrics.aggregate_metrics import aggregate
from prism.metrics.ettr import ettr
from prism.metrics.metrics_document import SCHEMA, earlier, job
from prism.metrics.regressions import figures, fingerprint
from tests.prism.metrics import test_aggregate_metrics as made


def test_there_and_back():
    diagnosed = made.job()
    own = aggregate(diagnosed)
    assert own is not None
    document = {"schema": SCHEMA, "jobs": [job(own, ettr(diagnosed), ())]}
    [(print_, told)] = earlier(json.loads(json.dumps(document)), "m.json")
    assert print_ == fingerprint(own)
    assert tuple(told) == figures(own)
    assert document["jobs"][0]["ettr"]["ratio"] == 1


@pytest.mark.parametrize("document", [{}, [], {"schema": SCHEMA}, {"schema": SCHEMA, "jobs": [{}]}])
def test_other_documents(document):
    with pytest.raises(ValueError, match=r"^m\.json: "):
        earlier(document, "m.json")
