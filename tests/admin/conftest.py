import pytest


@pytest.fixture(scope="session", autouse=True)
def pages_are_loaded():
    """As in a web server. What a login starts comes with them."""
    from config import urls  # noqa: F401


@pytest.fixture
def panel(db):
    from tests.admin.rows import make_panel  # Django is not set up yet when pytest reads this file

    return make_panel()
