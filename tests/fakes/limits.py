"""Limits of other numbers, so that a test need not make hundreds of calls."""

from limits import RateLimitItemPerMinute

from verification.services.protection import limits


def set_limit(monkeypatch, name, amount):
    """Have a limit of :mod:`limits` count up to ``amount``, in its own window of minutes."""
    limit = getattr(limits, name)
    window = RateLimitItemPerMinute(amount, limit.window.multiples)
    monkeypatch.setattr(limits, name, limit._replace(window=window))
