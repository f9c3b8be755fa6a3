"""Provider adapters: how one message reaches one outside service.

A plain package. It imports nothing of ``verification``, has no models and no rules about sessions,
limits or retries: an adapter says what happened, dispatch decides what follows.
"""
