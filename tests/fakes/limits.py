"""Limits of other numbers, so that a test need not make hundreds of calls."""

from limits import RateLimitItemPerMinute

from verification.services.protection import limits


def set_limit(monkeypatch, name, amount, *, of=limits):
    """Have a limit of a module count up to ``amount``, in its own window of minutes."""
    limit = getattr(of, name)
    window = RateLimitItemPerMinute(amount, limit.window.multiples)
    monkeypatch.setattr(of, name, limit._replace(window=window))
