from copy import deepcopy

import pytest


@pytest.fixture(scope="session", autouse=True)
def pages_are_loaded():
    """Load the pages as a web server does. The receivers of a login's signals come with them."""
    from config import urls  # noqa: F401


@pytest.fixture(scope="module")
def shared_panel(around_all_tests):
    from tests.admin.rows import make_panel  # Django is not set up yet when pytest reads this file

    return make_panel()


@pytest.fixture
def panel(db, shared_panel):
    return deepcopy(shared_panel)  # what a test changes is rolled back in the database alone
