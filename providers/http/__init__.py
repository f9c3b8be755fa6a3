"""The one door out: HTTP, the outbound guard, TLS and deadlines."""
