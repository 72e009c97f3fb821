"""A real browser, which the tests of the pages and of the whole service share."""

import pytest

from tests.browsers import launched


@pytest.fixture(scope="session")
def browser():
    with launched() as made:
        yield made
