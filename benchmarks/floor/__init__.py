"""The least that a service of these libraries does: two statements, a wake-up and a call, and no product."""
