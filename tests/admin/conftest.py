import pytest


@pytest.fixture
def panel(db):
    from tests.admin.rows import make_panel  # Django is not set up yet when pytest reads this file

    return make_panel()
