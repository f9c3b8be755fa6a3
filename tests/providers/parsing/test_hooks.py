"""What the adapters' webhooks have in common."""

import pytest

from providers.errors import HookForged
from providers.parsing import hooks


@pytest.mark.parametrize(("given", "expected"), [("", ""), ("x", ""), ("", "secret"), ("Secret", "secret"), ("é", "e")])
def test_another_secret_is_refused_and_so_is_every_one_while_ours_is_empty(given, expected):
    with pytest.raises(HookForged):
        hooks.require_same(given, expected)


def test_the_same_secret_passes():
    assert hooks.require_same("secret-é", "secret-é") is None
