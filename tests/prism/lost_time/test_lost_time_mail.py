from prism.lost_time.lost_hours import BYS, lost
from prism.lost_time.lost_time_mail import page, text
from tests.prism.alerts.stories import TOPOLOGY, case, finding
from tests.prism.lost_time.test_lost_hours import WEEK, cases


def tables(found):
    return {by: lost(found, by, *WEEK, topology=TOPOLOGY) for by in BYS}


def test_a_mail_says_what_was_lost_and_who_was_to_blame_again():
    made = page(tables(cases()), *WEEK, "https://prism.example")
    assert "<h1>17.0 GPU-hours lost</h1>" in made
    assert "Repeat offenders</h2><p>server5 (3 findings)" in made
    assert 'href="https://prism.example/#/findings/' in made
    assert "17.0 GPU-hours lost" in text(tables(cases()), *WEEK)


def test_names_are_text_and_nothing_is_said_so():
    evil = page(tables([case("a", finding(job="<script>", lost_gpu_s=9e9))]), *WEEK)
    assert "<script>" not in evil
    assert "No claim cost anything" in page(tables([]), *WEEK)
