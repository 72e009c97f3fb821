from prism.incidents.incident import join_incident
from prism.incidents.incident_page import html
from tests.prism.incidents.made import ring
from tests.prism.incidents.test_incident import LATE, SEEN, said


def test_one_page():
    page = html(join_incident(said(LATE, LATE, "x\n", LATE), SEEN, ring(stops=2, ahead=30), None))
    assert "Logs and flows name the same node." in page
    assert "<svg" in page
    assert "Do logs and flows agree?" in page
    assert "http" not in page.replace("http://www.w3.org", "")


def test_text_of_logs_is_escaped_and_masked():
    page = html(join_incident(said("ValueError: <script>alert(1)</script> token=abcdefgh1\n"), SEEN, ring(), None))
    assert "<script>" not in page
    assert "abcdefgh1" not in page


def test_no_failure():
    assert "without a failure" in html(join_incident(said("step 1\n"), SEEN, ring(), None))
